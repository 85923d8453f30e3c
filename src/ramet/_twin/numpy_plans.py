"""NumPy arrays and random generators."""

from __future__ import annotations

from typing import Any

import numpy as np

from ramet._twin.containers import copy_attributes
from ramet._twin.copier import Copier, Plan, Shell


class ArrayPlan(Plan):
    """An array. Views of one array are views of one array in the twin, too."""

    def copy(self, old: Any, copier: Copier) -> Any:
        if old.dtype.hasobject and old.dtype.names is None:
            return _OBJECTS.copy(old, copier)
        root = _root(old)
        if root is old:
            new = old.copy(order="K")
        else:
            twin_root = copier.copy(root)
            offset = old.__array_interface__["data"][0] - root.__array_interface__["data"][0]
            memory = np.ndarray((twin_root.nbytes,), np.uint8, twin_root)
            new = np.ndarray(old.shape, old.dtype, memory, offset, old.strides)
        if type(old) is not type(new):
            new = new.view(type(old))
        copy_attributes(old, new, copier)
        new.flags.writeable = old.flags.writeable
        copier.memo[id(old)] = new
        copier.kept.append(old)
        return new


def _root(array: Any) -> Any:
    """The array that owns the memory, where it is a plain contiguous one that something can write to."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    if root is array or root.base is not None or root.dtype.hasobject or array.dtype.hasobject:
        return array
    if not root.flags.forc or not root.flags.writeable:
        return array
    return root


class ObjectArrayPlan(Shell):
    """An array of Python objects: each object is copied."""

    def start(self, old: Any, copier: Copier) -> Any:
        return np.empty_like(old)

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        for index in np.ndindex(old.shape):
            new[index] = copier.copy(old[index])


_OBJECTS = ObjectArrayPlan()


class BitGeneratorPlan(Plan):
    """NumPy's generators, old and new: same class, same state."""

    def copy(self, old: Any, copier: Copier) -> Any:
        if isinstance(old, np.random.Generator):
            new: Any = np.random.Generator(copier.copy(old.bit_generator))
        elif isinstance(old, np.random.RandomState):
            new = np.random.RandomState()
            new.set_state(old.get_state(legacy=False))
        else:
            new = type(old)(0)
            new.state = old.state
        copier.memo[id(old)] = new
        if not isinstance(old, np.random.BitGenerator):
            copier.record("generators").append((old, new))
        return new


def numpy_plan(cls: type) -> Plan | None:
    """The plan for a class of NumPy's, or None."""
    if issubclass(cls, np.ndarray):
        return ArrayPlan()
    if issubclass(cls, np.random.Generator | np.random.RandomState | np.random.BitGenerator):
        return BitGeneratorPlan()
    return None
