"""Snapshots: the state of every variable, container and attribute that can be reached from models, to restore it later.

Checks run models, train them and save them, and users must find them unchanged afterwards. Keras has no way to undo that, and
copying a model to run the copy would rely on the code under test. So every reachable object is recorded first. Immutable
values (JAX) are kept as they are, others as copies. Restoring writes only to objects that changed; objects created in the
meantime are dropped.
"""

from __future__ import annotations

import collections
import functools
import itertools
import operator
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np

from ramet._keras import is_live
from ramet._verify.compare import Copies, same_bits
from ramet._verify.reach import attributes, is_fixed, kind_of, slots

_Restore: TypeAlias = Callable[[], None]
# Containers compared at once. Only if one of them has changed, each is compared alone.
_TOGETHER = 256


class Snapshot:
    """The state of some objects at one moment.

    They are kept alive: an object that is freed while a model runs could not be restored.
    """

    def __init__(self, values: Iterable[Any], copies: Copies) -> None:
        self._values = list(values)
        containers: dict[type, list[Any]] = {base: [] for base in _BASES}
        restores: list[_Restore | None] = []
        for value in self._values:
            if is_fixed(value):
                continue
            cls = type(value)
            kind = kind_of(cls)
            if kind.is_array:
                restores.append(_array(value, copies))
            elif kind.is_variable:
                restores.append(_tensorflow(value))
            elif issubclass(cls, types.CellType):
                restores.append(_cell(value))
            else:
                if issubclass(cls, _BASES):
                    containers[next(base for base in _BASES if issubclass(cls, base))].append(value)
                own = attributes(value)
                if own is not None:
                    containers[dict].append(own)
                if kind.slots and not issubclass(cls, tuple | frozenset):
                    restores.append(_slots(value))
        self._restores = [restore for restore in restores if restore is not None]
        self._groups = [
            _Group(base, found[start : start + _TOGETHER])
            for base, found in containers.items()
            for start in range(0, len(found), _TOGETHER)
        ]

    def restore(self) -> None:
        """Restore all objects."""
        for restore in self._restores:
            restore()
        self._groups = [part for group in self._groups for part in group.restore()]


# The kinds of mutable containers, subclasses first.
_BASES: tuple[Any, ...] = (collections.OrderedDict, dict, list, collections.deque, set)


class _Group:
    """Containers of one kind that are compared together: a model has thousands of them, and few ever change."""

    def __init__(self, base: Any, items: list[Any]) -> None:
        self._base, self._items = base, items
        self._is_dict = issubclass(base, dict)
        self._sizes = list(map(base.__len__, items))
        # The others have no content to compare.
        self._filled = [item for item, size in zip(items, self._sizes, strict=True) if size]
        self._before = tuple(map(tuple, self._streams(self._filled)))

    def _streams(self, items: Sequence[Any]) -> list[Iterable[Any]]:
        """Return iterators over the content of all containers: the keys, then the values."""
        base = self._base
        reads = (base.keys, base.values) if self._is_dict else (base.__iter__,)
        return [itertools.chain.from_iterable(map(read, items)) for read in reads]

    def _is_unchanged(self, items: Sequence[Any], before: tuple[tuple[Any, ...], ...]) -> bool:
        """Return whether every item is the same object as before. No code of the user runs for this."""
        return all(all(map(operator.is_, now, then)) for now, then in zip(self._streams(items), before, strict=True))

    def restore(self) -> list[_Group]:
        """Restore the content of the containers, and return the groups for the next time.

        Every run changes the same few containers. They form a group of their own, so that the others stay fast to compare.
        """
        size_of = self._base.__len__
        if list(map(size_of, self._items)) == self._sizes and self._is_unchanged(self._filled, self._before):
            return [self]
        changed, rest, start = [], [], 0
        for item, size in zip(self._items, self._sizes, strict=True):
            before = tuple(held[start : start + size] for held in self._before)
            start += size
            if size_of(item) != size or not self._is_unchanged((item,), before):
                self._write(item, before)
                changed.append(item)
            else:
                rest.append(item)
        return [_Group(self._base, items) for items in (rest, changed)] if changed and rest else [self]

    def _write(self, item: Any, before: tuple[tuple[Any, ...], ...]) -> None:
        base = self._base
        base.clear(item)
        if self._is_dict:
            base.update(item, zip(*before, strict=True))
        else:
            (base.update if base is set else base.extend)(item, before[0])


def _slots(value: Any) -> _Restore:
    before = list(slots(value))

    def restore() -> None:
        now = dict(slots(value))
        for name, held in before:
            if name not in now or now[name] is not held:
                object.__setattr__(value, name, held)

    return restore


def _cell(cell: types.CellType) -> _Restore | None:
    try:
        return functools.partial(setattr, cell, "cell_contents", cell.cell_contents)
    except ValueError:  # empty
        return None


def _array(array: Any, copies: Copies) -> _Restore | None:
    if hasattr(array, "data_ptr"):
        return _torch(array, copies)
    if not isinstance(array, np.ndarray) or not array.flags.writeable:
        return None
    before = array.copy()

    def restore() -> None:
        if not same_bits(array, before):
            array[...] = before

    return restore


def _torch(tensor: Any, copies: Copies) -> _Restore:
    # torch counts the changes of a tensor, so an unchanged one need not be compared.
    version = tensor._version
    live = is_live(tensor)
    before = copies.of(tensor.detach().numpy()) if live else tensor.detach().clone()
    grad, wants_grad = tensor.grad if tensor.is_leaf else None, tensor.requires_grad

    def restore() -> None:
        nonlocal version
        if tensor._version != version:
            if live:
                np.copyto(tensor.detach().numpy(), before)
            else:
                tensor.data.copy_(before)
            version = tensor._version
        if tensor.is_leaf:
            if tensor.grad is not grad:
                tensor.grad = grad
            if tensor.requires_grad != wants_grad:
                tensor.requires_grad_(wants_grad)

    return restore


def _tensorflow(variable: Any) -> _Restore | None:
    try:
        before = variable.read_value()  # shares memory until either of them changes
    except Exception:  # noqa: BLE001  # TensorFlow's errors have no common class; a variable without a value has no state
        return None
    if type(variable).__name__ == "ResourceVariable":
        # `assign` also checks its argument and reads the value back, which takes several times as long.
        assign = sys.modules["tensorflow"].raw_ops.AssignVariableOp
        return functools.partial(assign, resource=variable.handle, value=before)
    return functools.partial(variable.assign, before, read_value=False)
