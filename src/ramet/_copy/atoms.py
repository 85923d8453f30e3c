"""What is shared: values that cannot change, and things there is only one of."""

from __future__ import annotations

import contextvars
import datetime
import decimal
import enum
import fractions
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

# Objects live at addresses far above this; a smaller int is no `id`.
SMALLEST_ID = 1 << 32

# Of exactly these classes. The loops over attributes and items ask this set first. Ints are not among them: a large one
# may be the id of an object.
ATOMS: frozenset[type] = frozenset(
    {
        type(None),
        object,  # a marker, known by its identity
        bool,
        float,
        complex,
        str,
        bytes,
        type,
        range,
        slice,
        type(Ellipsis),
        type(NotImplemented),
        types.CodeType,
        types.ModuleType,
        types.GetSetDescriptorType,
        types.MemberDescriptorType,
        types.MethodDescriptorType,
        types.WrapperDescriptorType,
        types.ClassMethodDescriptorType,
        types.GenericAlias,
        types.UnionType,
        property,
        staticmethod,
        classmethod,
        inspect.Signature,
        inspect.Parameter,
        re.Pattern,
        datetime.date,
        datetime.time,
        datetime.datetime,
        datetime.timedelta,
        datetime.timezone,
        decimal.Decimal,
        fractions.Fraction,
        uuid.UUID,
        zoneinfo.ZoneInfo,
        string.Template,
        typing.TypeVar,
        logging.Logger,
        logging.RootLogger,
    }
)
# Whether values of these classes cannot change: asked of all items of a container in one step.
are_atoms = ATOMS.issuperset


def are_constant(values: Iterable[Any]) -> bool:
    """Whether nothing can change any of these values: atoms, small ints, and tuples of these."""
    for value in values:
        kind = type(value)
        if kind in ATOMS or (kind is int and value < SMALLEST_ID):
            continue
        if kind is not tuple or not all(type(item) in ATOMS or _is_small(item) for item in value):
            return False
    return True


def _is_small(value: Any) -> bool:
    return type(value) is int and value < SMALLEST_ID


# A flag of classes made while the program runs. The others are builtin; their instances carry no attributes.
HEAP_TYPE = 1 << 9

# Of these classes or subclasses of them.
_SHARED_BASES: tuple[type, ...] = (
    type,
    types.ModuleType,
    int,
    contextvars.ContextVar,
    logging.Handler,
    enum.Enum,
    pathlib.PurePath,
    logging.Logger,
    logging.LoggerAdapter,
    datetime.tzinfo,
)

# Known by module and name, so that a library that is not there need not be imported. Classes of theirs that hold
# values nothing can change: types, shapes, devices, layouts, and global singletons.
_SHARED_NAMES: dict[str, frozenset[str]] = {
    "numpy": frozenset({"dtype", "generic", "ufunc", "_NoValueType", "_ArrayFunctionDispatcher"}),
    "torch": frozenset(
        {"dtype", "device", "Size", "layout", "memory_format", "qscheme", "finfo", "iinfo", "OpOverload"}
    ),
    "tensorflow": frozenset(
        {
            "DType",
            "TensorShape",
            "Dimension",
            "TypeSpec",
            "Tensor",
            "CompositeTensor",
            "IndexedSlices",
            "StrategyBase",
            "StrategyExtendedV2",
            "DatasetV2",
            "Graph",
            "Operation",
            "Device",
            "DeviceSpecV2",
            "TraceType",
        }
    ),
    "jax": frozenset(
        {
            "Tracer",
            "Mesh",
            "AbstractMesh",
            "Sharding",
            "PartitionSpec",
            "AbstractValue",
            "ShapeDtypeStruct",
            "Layout",
            "Format",
        }
    ),
    "jaxlib": frozenset({"Device", "Client", "PartitionSpec", "Sharding", "Memory"}),
    "keras": frozenset({"DTypePolicy", "InputSpec", "TensorLayout", "DeviceMesh", "Distribution"}),
    "optree": frozenset({"PyTreeSpec"}),
    "ml_dtypes": frozenset({"finfo", "iinfo"}),
    "typing": frozenset({"_GenericAlias", "_SpecialForm", "_BaseGenericAlias", "ForwardRef"}),
    "google": frozenset({"Descriptor"}),
}

# The exceptions to the table above: subclasses that can change.
_NOT_SHARED_NAMES: dict[str, frozenset[str]] = {
    "tensorflow": frozenset({"Variable", "BaseResourceVariable"}),
    # Keras blanks the names of quantised policies where a model lists them in its config.
    "keras": frozenset({"DTypePolicyMap", "QuantizedDTypePolicy"}),
}


def is_shared_class(cls: type) -> bool:
    """Whether the twin uses the very same instances of this class."""
    if cls in ATOMS or issubclass(cls, _SHARED_BASES):
        return True
    if not cls.__flags__ & HEAP_TYPE and issubclass(cls, int | str | float | bytes):
        return True
    return _named(cls, _SHARED_NAMES) and not _named(cls, _NOT_SHARED_NAMES)


def _named(cls: type, table: dict[str, frozenset[str]]) -> bool:
    return any(base.__name__ in table.get(base.__module__.partition(".")[0], frozenset()) for base in cls.__mro__)
