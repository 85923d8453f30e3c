"""The user's functions of `clone_model`: which layer replaces which (`clone_function`), and how it is called (`call_function`).

As in Keras, `clone_function` is called once per layer, however often the layer is called, and just before its first call. If it
returns a layer of the original, the clone gets a new layer in its place, and the original's is never called.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import keras

from ramet._build.fresh import build_like, inherit_parent_path
from ramet._build.rebuild import Steps, arguments_of, rebuild
from ramet._copy import copy_model
from ramet._keras import locations_below, structure
from ramet.errors import ArgumentError, RametError

CloneFunction = Callable[[Any], Any]


class Replacements:
    """The layers of one clone, by the layers of the original that they replace.

    Args:
        function: The user's `clone_function`.
        call_function: How a call is made, or None.
        model: The original.
        twin: Its twin; its layers are used for layers that the function returns unchanged.
        recursive: Whether to enter nested models, wrappers and composite layers.
    """

    def __init__(self, function: CloneFunction, call_function: Any, model: Any, twin: Any, *, recursive: bool) -> None:
        self.function = function
        self.call_function = call_function
        self.recursive = recursive
        self.made: dict[int, Any] = {}
        self._counterparts = {
            id(ours.op): theirs.op for ours, theirs in zip(locations_below(model), locations_below(twin), strict=True)
        }

    def replace(self, op: Any, held: Any = None) -> Steps:
        """Return the replacement of an op of the original, calling the user's function if it is the first time.

        `held` is the layer that a new wrapper holds in its place; the replacement inherits its path.
        """
        if id(op) not in self.made:
            nested = isinstance(op, keras.Sequential) or structure.function_of(op) is not None
            self.made[id(op)] = yield self.rebuild(op) if self.recursive and nested else self._replace_one(op, held)
        return self.made[id(op)]

    def rebuild(self, model: Any, inputs: Any = None) -> Steps:
        """Return the twin of a model with the replacements of the layers inside it."""
        twin = self._counterparts[id(model)]
        function, twin_function = structure.function_of(model), structure.function_of(twin)
        if function is None:
            return (yield self._replace_held(model, twin))
        originals = dict(zip(map(id, twin_function.operations), function.operations, strict=True))
        mask_ops = _ops_of_found_masks(twin_function)

        def replace_op(op: Any) -> Steps:
            return op if id(op) in mask_ops else (yield self.replace(originals[id(op)]))

        def call_op(op: Any, *args: Any, **kwargs: Any) -> Any:
            return op(*args, **kwargs) if id(op) in mask_ops else self.call_function(op, *args, **kwargs)

        inputs = structure.inputs_of(twin_function) if inputs is None else inputs
        return (yield rebuild(twin, inputs, call_op=call_op if self.call_function else None, replace_op=replace_op))

    def _replace_one(self, op: Any, held: Any) -> Steps:
        result = self.function(op)
        if id(result) in self._counterparts:
            twin = self._counterparts[id(result)]
            return (yield self._replace_held(op, twin)) if result is op and self._enters(op) else twin
        if isinstance(result, type) or not callable(result):
            raise _not_a_layer(op, result)
        if not isinstance(result, keras.Operation):
            return _PlainFunction(result, op.name)
        result = self._without_original_layers(result)
        inherit_parent_path(result, held, op)
        if type(result) is type(op) and self._enters(op):
            build_like(result, op)
            return (yield self._replace_held(op, result))
        return result

    def _enters(self, op: Any) -> bool:
        return self.recursive and structure.function_of(op) is None and bool(structure.layers_of(op))

    def _replace_held(self, op: Any, result: Any) -> Steps:
        """Replace the layers that a wrapper, a composite layer or a subclassed model holds, at every reference."""
        replace: dict[int, Any] = {}
        for inner, held in zip(structure.layers_of(op), structure.layers_of(result), strict=False):
            if isinstance(inner, keras.layers.InputLayer):
                continue
            new = yield self.replace(inner, held if result.name != op.name else None)
            if not isinstance(new, keras.Layer):
                raise _not_a_layer(inner, new)
            build_like(new, inner)
            if new is not held:
                replace[id(held)] = new
        return _with_parts(result, replace) if replace else result

    def _without_original_layers(self, result: Any) -> Any:
        """Return a new wrapper around a layer of the original with the layer's counterpart; models are left to the user."""
        ops = [location.op for location in locations_below(result)]
        replace = {id(op): self._counterparts[id(op)] for op in ops if id(op) in self._counterparts}
        if not replace or any(structure.function_of(op) is not None for op in ops):
            return result
        return _with_parts(result, replace)


def _ops_of_found_masks(function: Any) -> set[int]:
    """Return the ids of ops that only serve masks that Keras found by itself, and will find again."""
    needed = set(map(id, keras.tree.flatten(structure.outputs_of(function))))
    found: set[int] = set()
    for call in reversed(structure.calls_of(function)):
        if isinstance(call.operation, keras.Layer) or any(id(tensor) in needed for tensor in call.outputs):
            needed.update(map(id, keras.tree.flatten(arguments_of(call, {}))))
        else:
            found.add(id(call.operation))
    return found


def _with_parts(layer: Any, replace: dict[int, Any]) -> Any:
    """Return a layer on the same variables with other layers inside it."""
    return copy_model(layer, share=structure.with_values(layer.variables), replace=replace)


@dataclass(eq=False)
class _PlainFunction:
    """A function that is called instead of a layer, under the layer's name."""

    function: Callable[..., Any]
    name: str

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)


def described(value: Any) -> str:
    """Return the words for an argument of a wrong type, in messages."""
    return f"the class {value.__name__}" if isinstance(value, type) else f"an object of class {type(value).__name__}"


def _not_a_layer(op: Any, result: Any) -> ArgumentError:
    held = isinstance(result, _PlainFunction)
    return ArgumentError(
        f"Cannot clone '{structure.name_of(op)}': clone_function did not return a layer.",
        expected="a layer, a model or an operation",
        found="a function for a layer that is held by another layer" if held else described(result),
        fix="return a layer for every layer; return the given layer to keep it.",
        path=op.name,
    )


class _UserError(RametError):
    """Carries an error of the user's function, its cause, past everything that translates errors."""


def checked_call(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return the user's `call_function` with a check of its results."""

    def call(op: Any, *args: Any, **kwargs: Any) -> Any:
        try:
            outputs = function(op.function if isinstance(op, _PlainFunction) else op, *args, **kwargs)
        except RametError:
            raise
        except Exception as error:
            error.add_note(f"ramet: in call_function, for '{op.name}'.")
            raise _UserError("call_function raised an error.") from error
        for index, output in enumerate(keras.tree.flatten(outputs)):
            if not isinstance(output, keras.KerasTensor):
                raise ArgumentError(
                    f"Cannot clone '{op.name}': call_function did not return a tensor as output {index}.",
                    expected="the outputs of the call, as symbolic tensors",
                    found="None" if output is None else f"an object of class {type(output).__name__}",
                    fix="return the result of layer(*args, **kwargs), or tensors to use instead.",
                    path=op.name,
                )
        return outputs

    return call


@contextlib.contextmanager
def user_errors_as_raised() -> Iterator[None]:
    """Let an error of the user's function leave `clone_model` as it was raised."""
    try:
        yield
    except _UserError as error:
        cause = error.__cause__ or error
        raise cause from cause.__cause__
