"""What stands for each layer of a model when a `clone_function` is asked for it.

Asked is for each layer once, however often it is called, and just before its first call, as Keras does. A function that returns a
layer of the original means: a new layer object in its place, the original's is never called.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from ramet._build.build_like import build_like, place_below
from ramet._build.rebuild import arguments_of, rebuild
from ramet._build.trampoline import Work, run
from ramet._keras import places_below
from ramet._keras import structure
from ramet._copy import clone
from ramet.errors import ArgumentError

CloneFunction = Callable[[Any], Any]


class Replacements:
    """The layers of one clone.

    Args:
        function: The user's `clone_function`.
        call_function: How a call is made, or None.
        model: The original.
        twin: Its twin, whose layers stand for those that the function returns as they are.
        recursive: Whether to enter nested models, wrappers and composite layers.
    """

    def __init__(self, function: CloneFunction, call_function: Any, model: Any, twin: Any, *, recursive: bool) -> None:
        self.function = function
        self.call_function = call_function
        self.recursive = recursive
        self.made: dict[int, Any] = {}
        self._counterparts = {
            id(ours.op): theirs.op for ours, theirs in zip(places_below(model), places_below(twin), strict=True)
        }

    def of(self, op: Any, held: Any = None) -> Work:
        """What stands for an op of the original, and instead of the layer that a new wrapper holds in its place."""
        if id(op) not in self.made:
            nested = isinstance(op, keras.Sequential) or structure.function_of(op) is not None
            self.made[id(op)] = yield self.entered(op) if self.recursive and nested else self._asked(op, held)
        return self.made[id(op)]

    def entered(self, model: Any, inputs: Any = None) -> Work:
        """A model that keeps its class, with what was asked for in the place of each layer inside it."""
        twin = self._counterparts[id(model)]
        function, twin_function = structure.function_of(model), structure.function_of(twin)
        if function is None:
            return (yield self._held(model, twin))
        swap = _Swap(self, function, twin_function)
        inputs = structure.inputs_of(twin_function) if inputs is None else inputs
        return (yield rebuild(twin, inputs, call_op=swap.call if self.call_function else None, swap=swap))

    def _asked(self, op: Any, held: Any) -> Work:
        result = self.function(op)
        if id(result) in self._counterparts:
            twin = self._counterparts[id(result)]
            return (yield self._held(op, twin)) if result is op and self._is_entered(op) else twin
        if isinstance(result, type) or not callable(result):
            raise _no_layer(op, result)
        if not isinstance(result, keras.Operation):
            return PlainFunction(result, op.name)
        result = self._off_the_original(result)
        place_below(result, held, op)
        if type(result) is type(op) and self._is_entered(op):
            build_like(result, op)
            return (yield self._held(op, result))
        return result

    def _is_entered(self, op: Any) -> bool:
        return self.recursive and structure.function_of(op) is None and bool(structure.layers_of(op))

    def _held(self, op: Any, result: Any) -> Work:
        """A wrapper, composite layer or subclassed model: the layers that it holds give way wherever they stand."""
        replace: dict[int, Any] = {}
        for inner, held in zip(structure.layers_of(op), structure.layers_of(result), strict=False):
            if isinstance(inner, keras.layers.InputLayer):
                continue
            new = yield self.of(inner, held if result.name != op.name else None)
            if not isinstance(new, keras.Layer):
                raise _no_layer(inner, new)
            build_like(new, inner)
            if new is not held:
                replace[id(held)] = new
        return clone(result, share=_state_of(result), replace=replace) if replace else result

    def _off_the_original(self, result: Any) -> Any:
        """A new wrapper around a layer of the original: around its counterpart. What has calls already is the user's."""
        ops = [place.op for place in places_below(result)]
        replace = {id(op): self._counterparts[id(op)] for op in ops if id(op) in self._counterparts}
        if not replace or any(structure.function_of(op) is not None for op in ops):
            return result
        return clone(result, share=_state_of(result), replace=replace)


class _Swap(dict[int, Any]):
    """For each op of a twin's graph, by id, what is called in its place: asked for when its call comes."""

    def __init__(self, replacements: Replacements, function: Any, twin_function: Any) -> None:
        super().__init__()
        self._replacements = replacements
        self._found = _found_by_keras(twin_function)
        self._originals = {
            id(twin_op): op
            for op, twin_op in zip(function.operations, twin_function.operations, strict=True)
            if id(twin_op) not in self._found
        }

    def __bool__(self) -> bool:
        return True  # nothing was asked for yet, but will be

    def call(self, op: Any, *args: Any, **kwargs: Any) -> Any:
        """One call, by the user's function unless it is about a mask that Keras found."""
        return op(*args, **kwargs) if id(op) in self._found else self._replacements.call_function(op, *args, **kwargs)

    def get(self, key: int, default: Any = None) -> Any:
        if key not in self and key in self._originals:
            self[key] = run(self._replacements.of(self._originals[key]))
        return super().get(key, default)


def _found_by_keras(function: Any) -> set[int]:
    """The ops, by id, that serve nothing but masks that Keras found by itself, and will find again."""
    needed = set(map(id, keras.tree.flatten(structure.outputs_of(function))))
    found: set[int] = set()
    for call in reversed(structure.calls_of(function)):
        if isinstance(call.operation, keras.Layer) or any(id(tensor) in needed for tensor in call.outputs):
            needed.update(map(id, keras.tree.flatten(arguments_of(call, {}))))
        else:
            found.add(id(call.operation))
    return found


class PlainFunction:
    """A function that is called in the place of a layer, under the layer's name."""

    def __init__(self, function: Callable[..., Any], name: str) -> None:
        self.function = function
        self.name = name

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def _state_of(layer: Any) -> list[Any]:
    return [part for v in layer.variables for part in (v, structure.value_of(v)) if part is not None]


def _no_layer(op: Any, result: Any) -> ArgumentError:
    found = (
        f"the class {result.__name__}" if isinstance(result, type) else f"an object of class {type(result).__name__}"
    )
    if isinstance(result, PlainFunction):
        found = "a function, where only a layer can stand"
    return ArgumentError(
        f"Cannot clone '{structure.name_of(op)}': clone_function returned no layer.",
        expected="a layer, a model or an operation",
        found=found,
        fix="return a layer for every layer; the given one, to keep it.",
        path=op.name,
    )
