"""What stands for each layer of a model when a `clone_function` is asked for it.

Asked is for each layer once, however often it is called. A function that returns the layer it was given means: a new layer object
on the same variables.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from ramet._build.rebuild import rebuild
from ramet._build.trampoline import Work
from ramet._keras import structure
from ramet._twin.clone import clone
from ramet.errors import ArgumentError

CloneFunction = Callable[[Any], Any]


class Replacements:
    """The layers of one clone.

    Args:
        function: The user's `clone_function`.
        call_op: The user's `call_function`, or None.
        recursive: Whether to enter nested models, wrappers and composite layers.
        counterpart: The op of the twin on the same variables, for each op of the original.
    """

    def __init__(
        self, function: CloneFunction, call_op: Any, counterpart: Callable[[Any], Any], *, recursive: bool
    ) -> None:
        self.function = function
        self.call_op = call_op
        self.counterpart = counterpart
        self.recursive = recursive
        self.made: dict[int, Any] = {}

    def of(self, op: Any) -> Work:
        """What stands for an op of the original."""
        if id(op) not in self.made:
            if self.recursive and isinstance(op, keras.Model):
                self.made[id(op)] = yield self._nested(op)
            else:
                self.made[id(op)] = yield self._layer(op)
        return self.made[id(op)]

    def _nested(self, op: Any) -> Work:
        """A nested model keeps its class; what is inside it is asked for."""
        twin = self.counterpart(op)
        function = structure.function_of(op)
        if function is None:
            return (yield self._entered(op, twin))
        swap = yield self.swaps(function, structure.function_of(twin))
        return (yield rebuild(twin, structure.inputs_of(structure.function_of(twin)), call_op=self.call_op, swap=swap))

    def swaps(self, function: Any, twin_function: Any) -> Work:
        """For each op of a twin's graph, by id, what is called in its place."""
        swap: dict[int, Any] = {}
        for op, twin_op in zip(function.operations, twin_function.operations, strict=True):
            if not isinstance(op, keras.layers.InputLayer):
                swap[id(twin_op)] = yield self.of(op)
        return swap

    def without_calls(self, model: Any, twin: Any) -> Work:
        """A model without a call graph: its layers give way wherever they stand."""
        return (yield self._entered(model, twin))

    def _layer(self, op: Any) -> Work:
        result = self.function(op)
        if result is op:
            twin = self.counterpart(op)
            return (yield self._entered(op, twin)) if self.recursive and structure.layers_of(op) else twin
        if not isinstance(result, keras.Operation):
            raise ArgumentError(
                f"Cannot clone '{op.name}': clone_function returned no layer.",
                expected="a layer, a model or an operation",
                found=f"an object of class {type(result).__name__}",
                fix="return a layer for every layer, the given one included.",
                path=op.name,
            )
        if self.recursive and type(result) is type(op) and structure.layers_of(op):
            _build_like(result, op)
            return (yield self._entered(op, result))
        return result

    def _entered(self, op: Any, result: Any) -> Work:
        """A wrapper or composite layer with what was asked for in the place of each layer inside it."""
        replace: dict[int, Any] = {}
        for inner, held in zip(structure.layers_of(op), structure.layers_of(result), strict=False):
            new = yield self.of(inner)
            _build_like(new, inner)
            if new is not held:
                replace[id(held)] = new
        if not replace:
            return result
        variables = [part for v in result.variables for part in (v, structure.value_of(v)) if part is not None]
        return clone(result, share=variables, replace=replace)


def _build_like(new: Any, old: Any) -> None:
    if not new.built and old.built:
        new.build_from_config(old.get_build_config() or {})
