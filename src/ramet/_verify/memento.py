"""How things were: every variable, container and attribute that can be reached from models, to be put back.

Values are held as they are where nothing can change them (JAX), and as copies elsewhere. Only what has changed is
written to when it is put back; what was made in the meantime is let go.
"""

from __future__ import annotations

import collections
import operator
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from ramet._verify.reach import attributes, is_array, is_fixed, library_of, reach, slots

# Answers with whether something had changed.
Restore = Callable[[], bool]


class Memento:
    """A moment in the life of some objects."""

    def __init__(self, roots: Iterable[Any]) -> None:
        # What was reached is kept alive: an object that is let go while a model runs could not be put back.
        self._reached = reach(roots)
        self._restores = [
            restore for found in self._reached.values() for restore in _restores(found.value) if restore is not None
        ]

    def put_back(self) -> int:
        """Let everything be as it was; answers with how many objects had changed."""
        return sum([restore() for restore in self._restores])


def _restores(value: Any) -> Iterable[Restore | None]:
    if is_fixed(value):
        return
    cls = type(value)
    if is_array(value):
        yield _numpy(value) if issubclass(cls, np.ndarray) else _torch(value) if hasattr(value, "data_ptr") else None
        return
    if library_of(value) == "tensorflow" and hasattr(value, "assign") and hasattr(value, "read_value"):
        yield _tensorflow(value)
        return
    if issubclass(cls, types.CellType):
        yield _cell(value)
        return
    if issubclass(cls, dict):
        yield _dict(value)
    elif issubclass(cls, list | collections.deque | set):
        yield _collection(value)
    own = attributes(value)
    if own is not None:
        yield _dict(own)
    held = list(slots(value))
    if held:
        yield _slots(value, held)


def _dict(value: dict[Any, Any]) -> Restore:
    base: Any = collections.OrderedDict if issubclass(type(value), collections.OrderedDict) else dict
    keys, held = tuple(base.keys(value)), tuple(base.values(value))

    def restore() -> bool:
        # Looked at after every run, for each of the many thousand dicts of a model: nothing is made to compare them.
        if dict.__len__(value) == len(keys) and _are(base.values(value), held) and _are(base.keys(value), keys):
            return False
        base.clear(value)
        base.update(value, zip(keys, held, strict=True))
        return True

    return restore


def _are(now: Iterable[Any], before: Iterable[Any]) -> bool:
    """Whether each item is the very object that it was; there must be equally many."""
    return all(map(operator.is_, now, before))


def _collection(value: Any) -> Restore:
    base: Any = next(kind for kind in (list, collections.deque, set) if issubclass(type(value), kind))
    before = tuple(base.__iter__(value))

    def restore() -> bool:
        if base.__len__(value) == len(before) and _are(base.__iter__(value), before):
            return False
        base.clear(value)
        (base.update if base is set else base.extend)(value, before)
        return True

    return restore


def _slots(value: Any, before: list[tuple[str, Any]]) -> Restore | None:
    if issubclass(type(value), tuple | frozenset):
        return None

    def restore() -> bool:
        now = dict(slots(value))
        changed = [(name, held) for name, held in before if name not in now or now[name] is not held]
        for name, held in changed:
            object.__setattr__(value, name, held)
        return bool(changed)

    return restore


def _cell(cell: types.CellType) -> Restore | None:
    try:
        before = cell.cell_contents
    except ValueError:  # empty
        return None

    def restore() -> bool:
        if cell.cell_contents is before:
            return False
        cell.cell_contents = before
        return True

    return restore


def _numpy(array: Any) -> Restore | None:
    if not array.flags.writeable:
        return None
    before = array.copy()

    def restore() -> bool:
        if array.tobytes() == before.tobytes():
            return False
        array[...] = before
        return True

    return restore


def _torch(tensor: Any) -> Restore:
    # torch counts the changes of a tensor, so that an unchanged one need not be looked at.
    version, before = tensor._version, tensor.detach().clone()
    grad, wants_grad = tensor.grad if tensor.is_leaf else None, tensor.requires_grad

    def restore() -> bool:
        nonlocal version
        changed = bool(tensor._version != version)
        if changed:
            tensor.data.copy_(before)
            version = tensor._version
        if tensor.is_leaf:
            if tensor.grad is not grad:
                tensor.grad, changed = grad, True
            if tensor.requires_grad != wants_grad:
                tensor.requires_grad_(wants_grad)
                changed = True
        return changed

    return restore


def _tensorflow(variable: Any) -> Restore | None:
    try:
        before = variable.read_value()  # shares its memory until one of the two changes
    except Exception:  # noqa: BLE001  # TensorFlow's errors have no common class; a variable without a value has no state
        return None

    def restore() -> bool:
        variable.assign(before)
        return False  # TensorFlow does not tell whether it had changed

    return restore
