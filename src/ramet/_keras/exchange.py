"""Exchange parts of a layer or model in place: every reference to an old part becomes a reference to the new one."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterator
from typing import Any

import keras

from ramet._keras import calls, names, structure

# Containers that are searched; anything else is either a part to exchange or left alone.
_CONTAINERS = (dict, list, tuple, set, frozenset, collections.deque)
_SKIPPED = frozenset({names.INBOUND, names.OUTBOUND, names.TRACKER})


def exchange_parts(holder: Any, new_for: dict[int, Any]) -> None:
    """Replace parts of an object by id, in its attributes and in the containers there.

    The order in which Keras lists the parts is kept. Parts are not searched themselves: a wrapper that holds the
    layer it replaces keeps it.
    """
    attributes = holder.__dict__
    seen: set[int] = set()
    for name in list(attributes):
        if name not in _SKIPPED:
            attributes[name] = _exchanged(attributes[name], new_for, seen)
    tracker = attributes.get(names.TRACKER)
    for store, (_, items) in ({} if tracker is None else getattr(tracker, names.STORES)).items():
        _exchanged(items, new_for, set())
        getattr(tracker, names.STORED_IDS)[store] = {id(item) for item in items}
    _follow_torch(holder)


def _exchanged(value: Any, new_for: dict[int, Any], seen: set[int]) -> Any:
    """Return the value with its parts exchanged: mutable containers in place, immutable ones recreated.

    Containers in attributes are nested a few levels deep at most, so recursion is safe here.
    """
    if id(value) in new_for:
        return new_for[id(value)]
    if not isinstance(value, _CONTAINERS) or id(value) in seen:
        return value
    if isinstance(value, tuple | frozenset):
        parts = [_exchanged(part, new_for, seen) for part in value]
        if all(new is old for new, old in zip(parts, value, strict=True)):
            return value
        return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)
    seen.add(id(value))
    if isinstance(value, dict):
        for key, part in list(value.items()):
            new = _exchanged(part, new_for, seen)
            if new is not part:
                dict.__setitem__(value, key, new)
    elif isinstance(value, set):
        parts = [_exchanged(part, new_for, seen) for part in value]
        if any(id(part) in new_for for part in value):
            set.clear(value)
            set.update(value, parts)
    else:
        items = list(value)
        parts = [_exchanged(part, new_for, seen) for part in items]
        if all(new is old for new, old in zip(parts, items, strict=True)):
            return value
        if isinstance(value, list):
            calls.refill(value, parts)
        else:
            value.clear()
            value.extend(parts)
    return value


def _follow_torch(layer: Any) -> None:
    """Rebuild the dict in which a layer lists all torch parameters inside it by path."""
    modules = layer.__dict__.get("_modules")
    held = modules.get(names.TORCH_PARAMS) if modules else None
    if held is None:
        return
    held.clear()
    for variable in layer.variables:
        held[variable.path] = variable.value


@contextlib.contextmanager
def unlock(layer: Any) -> Iterator[None]:
    """Allow changes to the variables and layers of a built layer within this context."""
    tracker = layer.__dict__[names.TRACKER]
    locked = tracker.locked
    tracker.unlock()
    try:
        yield
    finally:
        if locked:
            tracker.lock()


def follow_torch_upwards(root: Any) -> None:
    """Rebuild the parameter dict of every layer below the root, after variables changed anywhere inside."""
    if keras.backend.backend() != "torch":
        return
    for layer in structure.layer_tree(root):
        _follow_torch(layer)


def change_class(model: Any, cls: type) -> None:
    """Make a model an instance of a plainer class: it keeps everything it holds, but not its methods and config."""
    model.__class__ = cls


def set_own_trainable(layer: Any, *, trainable: bool) -> None:
    """Set the layer's own flag, but not those of the layers inside it."""
    layer.__dict__["_trainable"] = trainable
