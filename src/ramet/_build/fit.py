"""Nested models that are called with other shapes than they were made for."""

from __future__ import annotations

from typing import Any

import keras

from ramet._keras import structure


class Fit:
    """What one rebuild knows of its nested models, at all levels."""

    def __init__(self) -> None:
        self._called: set[int] = set()
        self._changed: set[int] = set()

    def inputs_for(self, call: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """The inputs that a nested model must be rebuilt on to take these arguments; None if it takes them as it is.

        A model that was called before takes what it took before, too: where the two differ, any size will do.
        """
        op = call.operation
        first, self._called = id(op) not in self._called, self._called | {id(op)}
        function = structure.function_of(op)
        own = keras.tree.flatten(structure.inputs_of(function))
        before = keras.tree.flatten(_first(call.arguments.args, call.arguments.kwargs))
        now = keras.tree.flatten(_first(args, kwargs))
        if len(own) != len(now) or all(map(_takes, own, now)):
            return None
        if id(op) not in self._changed and list(map(_shape, before)) == list(map(_shape, now)):
            return None  # the call was always like this
        self._changed.add(id(op))
        made = {id(old): _input(old, new, merge=not first) for old, new in zip(own, now, strict=True)}
        return keras.tree.map_structure(lambda old: made[id(old)], structure.inputs_of(function))


def _first(args: Any, kwargs: Any) -> Any:
    return args[0] if args else kwargs.get("inputs")


def _shape(tensor: Any) -> Any:
    return None if tensor is None else tuple(tensor.shape)


def _takes(old: Any, new: Any) -> bool:
    if new is None or len(old.shape) != len(new.shape):
        return True  # the model itself says what is wrong
    return all(size in (None, given) for size, given in zip(old.shape[1:], new.shape[1:], strict=True))


def _input(old: Any, new: Any, *, merge: bool) -> Any:
    if _takes(old, new):
        return structure.input_like(old, old.shape)
    sizes = [None if merge and a != b else b for a, b in zip(old.shape[1:], new.shape[1:], strict=True)]
    return structure.input_like(old, (old.shape[0], *sizes))
