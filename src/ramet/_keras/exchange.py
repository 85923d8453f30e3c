"""Exchanging parts of a layer or model in place: whatever it refers to an old part by, it refers to the new one by."""

from __future__ import annotations

import collections
import contextlib
from collections.abc import Iterator
from typing import Any

import keras

from ramet._keras import calls, names

# Containers that are looked into; anything else is either a part to exchange or none of our business.
_CONTAINERS = (dict, list, tuple, set, frozenset, collections.deque)
_SKIPPED = frozenset({names.INBOUND, names.OUTBOUND, names.TRACKER})


def exchange(holder: Any, new_for: dict[int, Any]) -> None:
    """Let an object refer to new parts in the place of old ones, by id, in its attributes and the containers in them.

    The order in which Keras lists the parts stays. Parts are not entered: a wrapper that holds the very layer it stands for
    keeps it.
    """
    attributes = holder.__dict__
    seen: set[int] = set()
    for name in list(attributes):
        if name not in _SKIPPED:
            attributes[name] = _exchanged(attributes[name], new_for, seen)
    tracker = attributes.get(names.TRACKER)
    if tracker is not None:
        _exchange_tracked(tracker, new_for)
    _follow_torch(holder)


def _exchange_tracked(tracker: Any, new_for: dict[int, Any]) -> None:
    ids = getattr(tracker, names.STORED_IDS)
    for store, (_, items) in getattr(tracker, names.STORES).items():
        _exchanged(items, new_for, set())
        ids[store] = {id(item) for item in items}


def _exchanged(value: Any, new_for: dict[int, Any], seen: set[int]) -> Any:
    """The value with its parts exchanged: containers that can change in place, the others made again.

    Containers nest a few levels deep at most, by hand: this may recurse.
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
        if any(new is not old for new, old in zip(parts, items, strict=True)):
            calls.empty(value)
            calls.put(value, parts)
    return value


def _follow_torch(layer: Any) -> None:
    """torch: a layer lists the parameters of everything inside it, by path."""
    modules = layer.__dict__.get("_modules")
    held = modules.get(names.TORCH_PARAMS) if modules else None
    if held is None:
        return
    held.clear()
    for variable in layer.variables:
        held[variable.path] = variable.value


@contextlib.contextmanager
def unlocked(layer: Any) -> Iterator[None]:
    """Let a built layer take other variables and layers for a moment."""
    tracker = layer.__dict__[names.TRACKER]
    locked = tracker.locked
    tracker.unlock()
    try:
        yield
    finally:
        if locked:
            tracker.lock()


def follow_torch_upwards(root: Any) -> None:
    """torch: after variables changed anywhere inside, every layer lists its parameters anew."""
    if keras.backend.backend() != "torch":
        return
    waiting, seen = [root], set()
    while waiting:
        layer = waiting.pop()
        if id(layer) in seen:
            continue
        seen.add(id(layer))
        _follow_torch(layer)
        waiting.extend(getattr(layer, names.LAYERS, None) or ())


def become(model: Any, cls: type) -> None:
    """A model of a plainer class: everything it holds stays, its own methods and its config go."""
    model.__class__ = cls


def own_flag(layer: Any, *, trainable: bool) -> None:
    """The layer's own flag, without those of what is inside it."""
    layer.__dict__["_trainable"] = trainable
