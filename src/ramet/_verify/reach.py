"""Every object that can be reached from another, with the steps that lead to it."""

from __future__ import annotations

import enum
import functools
import gc
import inspect
import logging
import pathlib
import re
import sys
import types
import weakref
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import keras
import numpy as np

# Immutable objects, and objects that exist once per process.
_SINGLE = (
    type, types.ModuleType, types.CodeType, types.BuiltinFunctionType, types.FrameType, types.GetSetDescriptorType,
    types.MemberDescriptorType, types.MethodDescriptorType, types.WrapperDescriptorType, types.GenericAlias,
    types.UnionType, staticmethod, classmethod, property, enum.Enum, np.dtype, np.ufunc, np.generic, int, float, complex,
    str, bytes, range, slice, type(None), type(Ellipsis), inspect.Signature, inspect.Parameter, re.Pattern,
    logging.Logger, pathlib.PurePath, keras.DTypePolicy, keras.layers.InputSpec,
)  # fmt: skip

# Immutable classes of libraries, by library.
_FIXED = {
    "keras": {"TensorLayout", "DeviceMesh", "KerasHistory"},
    "jax": {"Mesh", "AbstractMesh", "PartitionSpec", "NamedSharding", "SingleDeviceSharding", "ShapedArray"},
    "jaxlib": {
        "ArrayImpl", "Device", "Client", "NamedSharding", "SingleDeviceSharding", "PartitionSpec", "PjitFunction",
        "GSPMDSharding",
    },
    "torch": {"dtype", "device", "Size", "layout", "memory_format"},
    "tensorflow": {
        "DType", "TensorShape", "EagerTensor", "RaggedTensor", "SparseTensor", "TensorSpec", "SymbolicTensor", "_DefaultDistributionStrategy",
        "_DefaultDistributionExtended", "OwnedGraph",
    },
}  # fmt: skip
# The only classes of TensorFlow that are followed: its wrappers of lists, tuples and dicts.
_WRAPPERS = {"ListWrapper", "_TupleWrapper", "_DictWrapper"}


_TORCH_COMPILER = ("torch._dynamo", "torch._inductor", "torch._functorch", "torch.fx", "torch._guards")


class Reached(NamedTuple):
    """An object, the last step that leads to it, and the object before that step."""

    value: Any
    step: str
    before: Any


class _Kind:
    """Facts about a class. A model has many objects of few classes, so they are computed once per class.

    `is_fixed`, whether its objects are immutable, is None if that depends on the object. The walk does not follow an object
    that `is_opaque`. `is_variable` is true for variables of TensorFlow. `slots` has the names of slots and their descriptors.
    """

    def __init__(self, cls: type) -> None:
        self.library = library = cls.__module__.partition(".")[0]
        is_callable = any("__call__" in base.__dict__ for base in cls.__mro__)
        self.is_fixed: bool | None = None if is_callable and not issubclass(cls, keras.Operation) else False
        if issubclass(cls, keras.dtype_policies.QuantizedDTypePolicy):
            self.is_fixed = False  # Keras blanks their names where a model lists them in its config
        elif issubclass(cls, _SINGLE) or cls is object or cls.__name__ in _FIXED.get(library, ()):
            self.is_fixed = True
        if issubclass(cls, np.ndarray):
            self.is_array = True
        elif library in {"jaxlib", "jax"}:
            self.is_array = cls.__name__ == "ArrayImpl"
        elif library == "torch" or any(base.__module__ == "torch" for base in cls.__mro__):
            self.is_array = hasattr(cls, "data_ptr")
        else:
            self.is_array = library == "tensorflow" and cls.__name__ in {"EagerTensor", "RaggedTensor", "SparseTensor"}
        if library == "torch":  # objects that its compiler attaches to functions
            self.is_opaque = cls.__module__.startswith(_TORCH_COMPILER)
        else:
            self.is_opaque = library in {"jax", "jaxlib"} or (library == "tensorflow" and cls.__name__ not in _WRAPPERS)
        self.is_variable = library == "tensorflow" and hasattr(cls, "assign") and hasattr(cls, "read_value")
        self.slots = tuple(_slots_of(cls))


kind_of: Callable[[type], _Kind] = functools.lru_cache(maxsize=4096)(_Kind)


def _slots_of(cls: type) -> Iterator[tuple[str, types.MemberDescriptorType]]:
    for base in cls.__mro__:
        names = base.__dict__.get("__slots__", ())
        for name in (names,) if isinstance(names, str) else names:
            member = base.__dict__.get(name)
            if isinstance(member, types.MemberDescriptorType):
                yield name, member


def is_fixed(value: Any) -> bool:
    """Return whether the object is immutable, or exists once per process."""
    known = kind_of(type(value)).is_fixed
    return _is_importable(value) if known is None else known


def is_array(value: Any) -> bool:
    """Return whether an object is an array or tensor with values, of any library."""
    return kind_of(type(value)).is_array


def is_opaque(value: Any) -> bool:
    """Return whether an object is a cache, graph or handle of a library, which the walk does not follow."""
    return kind_of(type(value)).is_opaque


def can_change(value: Any) -> bool:
    """Return whether the object itself can change in a way that other holders of it would notice."""
    if is_fixed(value):
        return False
    # The parts of these are separate objects. A function that rebinds a cell changes the cell.
    passive = (
        *(tuple, frozenset, types.MethodType, weakref.ReferenceType, types.FunctionType, types.CellType),
        functools._lru_cache_wrapper,  # a cache of results
    )
    return not issubclass(type(value), passive)


def _is_importable(value: Any) -> bool:
    module: Any = sys.modules.get(_attribute(value, "__module__") or "")
    name = _attribute(value, "__qualname__") or _attribute(value, "__name__")
    if module is None or name is None or "<locals>" in name:
        return False
    for part in name.split("."):
        module = getattr(module, part, None)
    return module is value


def _attribute(value: Any, name: str) -> str | None:
    try:
        found = getattr(value, name, None)
    except Exception:  # noqa: BLE001  # a user's __getattr__ may raise anything
        return None
    return found if isinstance(found, str) else None


def attributes(value: Any) -> dict[str, Any] | None:
    """Return the dict with the attributes of an object, or None."""
    try:
        found = object.__getattribute__(value, "__dict__")
    except (AttributeError, TypeError):
        return None
    return found if type(found) is dict else None


def slots(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the attributes of an object that are stored in slots."""
    for name, member in kind_of(type(value)).slots:
        try:
            yield name, member.__get__(value)
        except AttributeError:  # never set
            continue


def parts(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of an object, each with the step that leads to it."""
    cls = type(value)
    if issubclass(cls, types.FunctionType):
        yield from zip((f".{name}" for name in value.__code__.co_freevars), value.__closure__ or (), strict=False)
        for name in ("__defaults__", "__kwdefaults__"):
            if getattr(value, name):
                yield f".{name}", getattr(value, name)
        yield from ((f".{name}", part) for name, part in value.__dict__.items())
        return
    if issubclass(cls, types.CellType):
        yield from (("", part) for part in gc.get_referents(value))  # its content, if it has one
        return
    if issubclass(cls, weakref.ReferenceType):
        yield "()", value()
        return
    if issubclass(cls, types.MethodType):
        yield ".__self__", value.__self__
        yield f".{value.__func__.__name__}", value.__func__
        return
    if is_array(value) or is_opaque(value):
        return
    if kind_of(cls).library == "tensorflow" and hasattr(value, "__wrapped__"):
        yield "", value.__wrapped__
        return
    yield from _items(value)
    own = attributes(value)
    if own is not None:
        yield from ((f".{name}", part) for name, part in list(own.items()))
    yield from ((f".{name}", part) for name, part in slots(value))
    if own is None and not issubclass(cls, dict | list | tuple | set | frozenset):
        yield from (("", part) for part in gc.get_referents(value))


def _items(value: Any) -> Iterator[tuple[str, Any]]:
    cls = type(value)
    if issubclass(cls, dict):
        for key, part in list(dict.items(value)):
            if isinstance(key, str | int | float | bool | None):
                yield f"[{key!r}]", part
            else:
                yield from ((".keys()", key), ("[...]", part))
    elif issubclass(cls, list | tuple):
        yield from ((f"[{index}]", part) for index, part in enumerate(cls.__iter__(value)))
    elif issubclass(cls, set | frozenset):
        yield from (("{...}", part) for part in list(value))
    elif issubclass(cls, functools.partial):
        yield from ((".func", value.func), (".args", value.args), (".keywords", value.keywords))


def reach(roots: Iterable[Any], but: frozenset[int] = frozenset()) -> dict[int, Reached]:
    """Return all objects that can be reached from the roots, by id. Immutable objects are not followed.

    Objects whose ids are in `but` are left out, with everything that is reached only through them.
    """
    found = {id(root): Reached(root, "", None) for root in roots}
    waiting = list(found.values())
    while waiting:
        reached = waiting.pop()
        if is_fixed(reached.value):
            continue
        for step, part in parts(reached.value):
            if part is not None and id(part) not in found and id(part) not in but:
                found[id(part)] = Reached(part, step, reached)
                waiting.append(found[id(part)])
    return found


def path_to(reached: Reached | None, names: dict[int, str]) -> str:
    """Return the steps to an object, from the nearest object with a name."""
    steps: list[str] = []
    while reached is not None:
        known = names.get(id(reached.value))
        if known is not None:
            return known + "".join(reversed(steps))
        steps.append(reached.step)
        reached = reached.before
    return "".join(reversed(steps)).lstrip(".")
