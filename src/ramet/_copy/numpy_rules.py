"""Copy rules for NumPy: arrays and random generators."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np

from ramet._copy.attributes import copy_attributes
from ramet._copy.copier import Copier
from ramet._copy.rule import CopyRule, ShellRule


class NumpyArrayRule(CopyRule):
    """An array. Views of the same array remain views of the same array in the twin."""

    def copy(self, old: Any, copier: Copier) -> Any:
        if isinstance(old, np.memmap):
            return self._copy_memory_map(old, copier)
        if old.dtype.hasobject:
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
        copier.kept_alive.append(old)
        return new

    def _copy_memory_map(self, old: Any, copier: Copier) -> Any:
        """Share a read-only memory map; copy the contents of a writable one into memory."""
        if not old.flags.writeable:
            return old
        new = copier.memo[id(old)] = np.array(old)
        return new


def _root(array: Any) -> Any:
    """Return the array that owns the memory, if it is a plain, contiguous, writable one; otherwise the array itself."""
    root = array
    while isinstance(root.base, np.ndarray):
        root = root.base
    if root is array or root.base is not None or root.dtype.hasobject or array.dtype.hasobject:
        return array
    if not root.flags.forc or not root.flags.writeable:
        return array
    return root


class ObjectArrayRule(ShellRule):
    """An array of Python objects, or of records with objects: each object is copied. Views stay views."""

    def start(self, old: Any, copier: Copier) -> Any:
        root = old
        while isinstance(root.base, np.ndarray):
            root = root.base
        if root is old or not root.flags.forc:
            return old.copy(order="K")
        offset = old.__array_interface__["data"][0] - root.__array_interface__["data"][0]
        flat = copier.copy(root).reshape(-1, order="A")[offset // root.itemsize :]
        return np.lib.stride_tricks.as_strided(flat, old.shape, old.strides)

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        if old.dtype.names is not None:
            for name in old.dtype.names:
                if old.dtype[name].hasobject:
                    self.fill(old[name], new[name], copier)
            return
        for index in np.ndindex(old.shape):
            new[index] = copier.copy(old[index])


_OBJECTS = ObjectArrayRule()


class NumpyGeneratorRule(CopyRule):
    """NumPy's generators, old and new: same class, same state."""

    def copy(self, old: Any, copier: Copier) -> Any:
        if self.shares(old, copier):
            return old
        # NumPy's own copy keeps the seed sequence, from which children are spawned; the memo keeps shared ones shared.
        new = copy.deepcopy(old, copier.lend_memo())
        copier.take_memo_back()
        copier.memo[id(old)] = new
        copier.kept_alive.append(old)
        if not isinstance(old, np.random.BitGenerator):
            copier.records["generators"].append((old, new))
        return new

    def shares(self, old: Any, copier: Copier) -> bool:
        # The global generator behind `np.random.normal` and similar functions, which `np.random.seed` seeds.
        return old is np.random.mtrand._rand


def numpy_rule(cls: type) -> CopyRule | None:
    """Return the copy rule for a class of NumPy, or None."""
    if issubclass(cls, np.ndarray):
        return NumpyArrayRule()
    if issubclass(cls, np.random.Generator | np.random.RandomState | np.random.BitGenerator):
        return NumpyGeneratorRule()
    return None
