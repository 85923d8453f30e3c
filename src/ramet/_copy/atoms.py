"""Atoms: values that the twin shares, because they cannot change or because there is only one of each."""

from __future__ import annotations

import contextvars
import datetime
import decimal
import enum
import fractions
import functools
import inspect
import logging
import pathlib
import re
import string
import types
import typing
import uuid
import zoneinfo
from collections.abc import Iterable
from typing import Any

# Objects live at addresses far above this, so a smaller int is not an id.
SMALLEST_ID = 1 << 32
# Exactly these classes, not their subclasses. The loops over attributes and items check this set first. It has no ints: a
# large int may be the id of an object.
ATOMS: frozenset[type] = frozenset(
    {
        object,  # a marker, known by its identity
        *(type(None), bool, float, complex, str, bytes, range, slice, type(Ellipsis), type(NotImplemented)),
        *(type, property, staticmethod, classmethod, types.CodeType, types.ModuleType, types.GenericAlias),
        *(types.UnionType, types.GetSetDescriptorType, types.MemberDescriptorType, types.MethodDescriptorType),
        *(types.WrapperDescriptorType, types.ClassMethodDescriptorType, inspect.Signature, inspect.Parameter),
        *(datetime.date, datetime.time, datetime.datetime, datetime.timedelta, datetime.timezone, zoneinfo.ZoneInfo),
        *(decimal.Decimal, fractions.Fraction, uuid.UUID, re.Pattern, string.Template, typing.TypeVar),
        *(logging.Logger, logging.RootLogger),
    }
)
# Checks all items of a container in one step.
are_atoms = ATOMS.issuperset


def are_constant(values: Iterable[Any]) -> bool:
    """Return whether no value can change: atoms, small ints, and tuples of these."""
    for value in values:
        kind = type(value)
        if kind in ATOMS or (kind is int and value < SMALLEST_ID):
            continue
        if kind is not tuple or not all(type(item) in ATOMS or _is_small(item) for item in value):
            return False
    return True


def _is_small(value: Any) -> bool:
    return type(value) is int and value < SMALLEST_ID


# The flag of classes that are created at run time. Others are builtin; their instances have no attributes.
HEAP_TYPE = 1 << 9
# These classes and their subclasses.
_SHARED_BASES: tuple[type, ...] = (
    *(type, types.ModuleType, int, enum.Enum, pathlib.PurePath, datetime.tzinfo, contextvars.ContextVar),
    *(logging.Handler, logging.Logger, logging.LoggerAdapter),
)

# By module and name, so that no library has to be imported. Instances are immutable (types, shapes, devices, layouts) or
# global singletons.
_SHARED_NAMES = {
    "numpy": "dtype generic ufunc _NoValueType _ArrayFunctionDispatcher",
    "torch": "dtype device Size layout memory_format qscheme finfo iinfo OpOverload",
    "tensorflow": (
        "DType TensorShape Dimension TypeSpec Tensor CompositeTensor IndexedSlices StrategyBase "
        "StrategyExtendedV2 DatasetV2 Graph Operation Device DeviceSpecV2 TraceType"
    ),
    "jax": "Tracer Mesh AbstractMesh Sharding PartitionSpec AbstractValue ShapeDtypeStruct Layout Format",
    "jaxlib": "Device Client PartitionSpec Sharding Memory",
    "keras": "DTypePolicy InputSpec TensorLayout DeviceMesh Distribution",
    "optree": "PyTreeSpec",
    "ml_dtypes": "finfo iinfo",
    "typing": "_GenericAlias _SpecialForm _BaseGenericAlias ForwardRef",
    "google": "Descriptor",
}
# Exceptions to the table above: mutable subclasses. Keras blanks the names of quantized policies in configs of models.
_NOT_SHARED_NAMES = {
    "tensorflow": "Variable BaseResourceVariable",
    "keras": "DTypePolicyMap QuantizedDTypePolicy",
}


def is_shared_class(cls: type) -> bool:
    """Return whether the twin uses the same instances of this class."""
    if cls in ATOMS or issubclass(cls, _SHARED_BASES):
        return True
    if not cls.__flags__ & HEAP_TYPE and issubclass(cls, int | str | float | bytes):
        return True
    return _named(cls, _SHARED_NAMES) and not _named(cls, _NOT_SHARED_NAMES)


def _named(cls: type, table: dict[str, str]) -> bool:
    return any(base.__name__ in table.get(base.__module__.partition(".")[0], "").split() for base in cls.__mro__)


_LIBRARIES = frozenset({"keras", "jax", "torch", "tensorflow", "numpy", "builtins", "functools", "abc"})


def is_from_library(value: Any) -> bool:
    """Return whether a function or class comes from one of the libraries that models are made with."""
    return _is_library(getattr(value, "__module__", "") or "")


@functools.lru_cache(maxsize=4096)
def _is_library(module: str) -> bool:
    return module.partition(".")[0] in _LIBRARIES
