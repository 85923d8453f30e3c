"""Everything that can be reached from an object, found without the copier: by what the garbage collector sees.

The test that covers what nobody thought of: no object that can change is reachable from an original and its twin, and
no int or string in the twin is, or contains, the `id` of an object of the original.
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

# There is one of each, for the whole program; or nothing can change them.
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

# Values of libraries that offer no way to change them, by module and class name, and what only one exists of.
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
    """What an object holds. Of functions: cells, defaults and attributes, not globals."""
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
    """All objects reachable from `root`, by id, with one way to each."""
    found = {id(root): (root, ())}
    stack = [(root, ())]
    while stack:
        value, way = stack.pop()
        if _is_fixed(value) or _is_importable(value):
            continue
        for part in parts_of(value):
            if part is None or id(part) in found:
                continue
            step = (type(value).__name__, way)
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
    """Whether anything can be done to the object that another holder of it would notice."""
    if _is_fixed(value) or _is_importable(value):
        return False
    if isinstance(value, tuple | frozenset | types.MethodType | weakref.ReferenceType):
        return False  # its parts are looked at on their own
    # Functions likewise; and a shared function's cell: what it holds is looked at, and one that rebinds is never shared.
    return not isinstance(value, types.FunctionType | types.CellType)


def _way(step):
    names = []
    while step:
        names.append(step[0])
        step = step[1]
    return " > ".join(reversed(names[:12]))


def _function_dicts(found):
    """Attribute dicts and defaults of shared functions: `functools.wraps` leaves names there; nobody changes them."""
    return {id(v.__dict__) for v, _ in found.values() if isinstance(v, types.FunctionType)} | {
        id(v.__annotations__) for v, _ in found.values() if isinstance(v, types.FunctionType)
    }


def _is_untouched_container(value):
    """A shared container that holds only fixed things, inside a shared function's attributes."""
    return isinstance(value, dict) and not value


def assert_independent(original, twin, shared=()):
    """Fail if anything that can change is reachable from both, or an id of the original stands in the twin."""
    ours, theirs = reachable(original), reachable(twin)
    allowed = {key for item in shared for key in reachable(item)} | _function_dicts(ours)
    common = [
        (value, way)
        for key, (value, way) in theirs.items()
        if key in ours and key not in allowed and can_change(value) and not _is_untouched_container(value)
    ]
    assert not common, "common to original and twin: " + "; ".join(
        f"a {type(value).__module__}.{type(value).__name__} {str(value)[:60]!r} by {_way(way)}"
        for value, way in common[:5]
    )
    own = {
        key
        for key, (value, _) in ours.items()
        if key not in allowed and key not in theirs and not isinstance(value, int | float | str)
    }
    stale = []
    for value, way in theirs.values():
        numbers = re.findall(r"\d{12,}", value) if isinstance(value, str) else [value]
        if any(type(value) in (int, str) and int(number) in own for number in numbers):
            stale.append((value, way))
    assert not stale, f"ids of the original in the twin: {[(v, _way(w)) for v, w in stale[:5]]}"
