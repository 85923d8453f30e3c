"""Everything reachable from an object, found without the copier: through the garbage collector.

This covers unforeseen cases: no mutable object is reachable from both an original and its twin, and no int or string in the
twin is, or contains, the `id` of an object of the original.
"""

import enum
import gc
import inspect
import re
import sys
import types
import weakref

import keras
import numpy as np

# Objects that exist once in the whole program, or are immutable.
_SINGLE = (
    type,
    types.ModuleType,
    types.CodeType,
    types.BuiltinFunctionType,
    types.FrameType,
    types.GetSetDescriptorType,
    types.MemberDescriptorType,
    types.MethodDescriptorType,
    types.WrapperDescriptorType,
    types.GenericAlias,
    types.UnionType,
    staticmethod,
    classmethod,
    property,
    enum.Enum,
    np.dtype,
    np.ufunc,
    np.generic,
    int,
    float,
    complex,
    str,
    bytes,
    range,
    slice,
    type(None),
    type(Ellipsis),
    inspect.Signature,
    inspect.Parameter,
    re.Pattern,
)

# Immutable values and singletons of libraries, by module and class name.
_FIXED = {
    "keras": {
        "DTypePolicy",
        "FloatDTypePolicy",
        "InputSpec",
        "TensorLayout",
        "DeviceMesh",
    },
    "jax": {"Mesh", "AbstractMesh", "PartitionSpec", "NamedSharding", "SingleDeviceSharding", "ShapedArray"},
    "jaxlib": {
        "Device",
        "Client",
        "NamedSharding",
        "SingleDeviceSharding",
        "PartitionSpec",
        "PjitFunction",
        "GSPMDSharding",
    },
    "torch": {"dtype", "device", "Size", "layout", "memory_format"},
    "tensorflow": {
        "DType",
        "TensorShape",
        "EagerTensor",
        "TensorSpec",
        "SymbolicTensor",
        "_DefaultDistributionStrategy",
        "_DefaultDistributionExtended",
        "OwnedGraph",
    },
    "logging": {"Logger", "RootLogger"},
    "pathlib": {"PosixPath", "PurePosixPath"},
}


def _is_fixed(value):
    if isinstance(value, _SINGLE) or type(value) is object:
        return True
    cls = type(value)
    return cls.__name__ in _FIXED.get(cls.__module__.partition(".")[0], ())


def parts_of(value):
    """Yield the objects that an object holds; for functions, cells, defaults and attributes, but not globals."""
    if isinstance(value, types.FunctionType):
        yield from value.__closure__ or ()
        yield value.__defaults__
        yield value.__kwdefaults__
        yield value.__dict__
        return
    if isinstance(value, weakref.ReferenceType):
        yield value()
        return
    yield from gc.get_referents(value)
    # Objects that the collector does not track still have attributes.
    if not gc.is_tracked(value):
        yield from getattr(value, "__dict__", {}).values()


def reachable(root):
    """Return all objects reachable from `root` by id, with one path to each."""
    found = {id(root): (root, ())}
    stack = [(root, ())]
    while stack:
        value, path = stack.pop()
        if _is_fixed(value) or _is_importable(value):
            continue
        for part in parts_of(value):
            if part is None or id(part) in found:
                continue
            step = (type(value).__name__, path)
            found[id(part)] = (part, step)
            stack.append((part, step))
    return found


def _is_importable(value):
    if not callable(value) or isinstance(value, keras.Layer):
        return False
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if module is None or not isinstance(name, str) or "<locals>" in name:
        return False
    for part in name.split("."):
        module = getattr(module, part, None)
    return module is value


def can_change(value):
    """Return whether the object can be changed in a way that another holder would notice."""
    if _is_fixed(value) or _is_importable(value):
        return False
    if isinstance(value, tuple | frozenset | types.MethodType | weakref.ReferenceType):
        return False  # its parts are checked separately
    # The same holds for functions, and for cells of shared functions: functions that rebind a cell are never shared.
    return not isinstance(value, types.FunctionType | types.CellType)


def _path(step):
    names = []
    while step:
        names.append(step[0])
        step = step[1]
    return " > ".join(reversed(names[:12]))


def _function_dicts(found):
    """Return the ids of attribute dicts and annotations of functions: `functools.wraps` sets them, and nothing changes them."""
    return {id(v.__dict__) for v, _ in found.values() if isinstance(v, types.FunctionType)} | {
        id(v.__annotations__) for v, _ in found.values() if isinstance(v, types.FunctionType)
    }


def _is_untouched_container(value):
    """Return whether a value is an empty dict, such as the attributes of a shared function."""
    return isinstance(value, dict) and not value


def assert_independent(original, twin, shared=()):
    """Fail if a mutable object is reachable from both, or if the twin contains an id of the original."""
    ours, theirs = reachable(original), reachable(twin)
    allowed = {key for item in shared for key in reachable(item)} | _function_dicts(ours)
    common = [
        (value, path)
        for key, (value, path) in theirs.items()
        if key in ours and key not in allowed and can_change(value) and not _is_untouched_container(value)
    ]
    assert not common, "common to original and twin: " + "; ".join(
        f"a {type(value).__module__}.{type(value).__name__} {str(value)[:60]!r} by {_path(path)}"
        for value, path in common[:5]
    )
    own = {
        key
        for key, (value, _) in ours.items()
        if key not in allowed and key not in theirs and not isinstance(value, int | float | str)
    }
    stale = []
    for value, path in theirs.values():
        numbers = re.findall(r"\d{12,}", value) if isinstance(value, str) else [value]
        if any(type(value) in (int, str) and int(number) in own for number in numbers):
            stale.append((value, path))
    assert not stale, f"ids of the original in the twin: {[(v, _path(p)) for v, p in stale[:5]]}"
