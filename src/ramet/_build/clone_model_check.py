"""What `clone_model` refuses before it begins, and what it takes for `input_tensors`."""

from __future__ import annotations

from typing import Any

import keras

from ramet._arguments import check_choice
from ramet._build.weights import WEIGHTS
from ramet._keras import structure
from ramet.errors import ArgumentError, NotAModelError


def check(model: Any, input_tensors: Any, clone_function: Any, call_function: Any, weights: Any) -> None:
    """Raise for arguments that cannot be meant."""
    if not isinstance(model, keras.Model):
        raise NotAModelError(
            f"Cannot clone {_shown(model)}: it is not a model.",
            expected="a keras model",
            fix="pass a model; ramet.clone takes layers, optimizers and metrics, too.",
        )
    for name, value in (("clone_function", clone_function), ("call_function", call_function)):
        if value is not None and not callable(value):
            raise ArgumentError(
                f"Cannot clone '{model.name}': {name} is not a function.",
                found=_shown(value),
                fix=f"pass a function as {name}, or leave it out.",
            )
    check_choice("clone", "weights", weights, WEIGHTS)
    if structure.function_of(model) is not None or (isinstance(model, keras.Sequential) and input_tensors is not None):
        return
    for name, value in (("call_function", call_function), ("input_tensors", input_tensors)):
        if value is not None:
            raise _no_calls(model, name)


def in_structure(model: Any, given: Any) -> Any:
    """The input tensors, input layers taken for their outputs; in a dict by name where the model takes one."""
    if given is None:
        return None
    given = keras.tree.map_structure(_tensor_of, given)
    function = structure.function_of(model)
    if function is None:
        return _single(model, given)
    reference = structure.inputs_of(function)
    if isinstance(reference, dict) and isinstance(given, list | tuple) and len(function.inputs) > 1:
        raise ArgumentError(
            # In Keras' words, for those who look for them.
            f"Cannot clone '{model.name}': `input_tensors` must have the same structure as model.input.",
            expected=f"a dict with the keys {', '.join(map(repr, reference))}",
            found=f"a {type(given).__name__} of {len(given)}",
            fix="pass a dict with these keys, or one by input name.",
        )
    return given


def _single(model: Any, given: Any) -> Any:
    """What an unbuilt Sequential can be built on."""
    flat = keras.tree.flatten(given)
    if len(flat) != 1:
        raise ArgumentError(
            f"Cannot rebuild '{model.name}' on these inputs: a Sequential has one input, and {len(flat)} were given.",
            fix="pass one tensor, or a list of one.",
        )
    if not hasattr(flat[0], "shape") or not hasattr(flat[0], "dtype"):
        raise ArgumentError(
            f"Cannot rebuild '{model.name}' on this input: what was given is no tensor.",
            expected="a keras.Input, a symbolic tensor, an array or a backend tensor",
            found=_shown(flat[0]),
            fix="pass keras.Input(shape).",
        )
    return flat


def _tensor_of(item: Any) -> Any:
    return item.output if isinstance(item, keras.layers.InputLayer) else item


def _no_calls(model: Any, argument: str) -> ArgumentError:
    if isinstance(model, keras.Sequential):
        return ArgumentError(
            f"Cannot clone '{model.name}' with {argument}=: it has not been built, so its layers have no calls yet.",
            fix="build it first, model.build(shape), or pass input_tensors= with the clone's input.",
        )
    return ArgumentError(
        f"Cannot clone '{model.name}' with {argument}=: it has no call graph.",
        expected="a functional or Sequential model",
        found=f"a model of class {type(model).__name__}, whose layers are called by its own code",
        fix=f"leave {argument}= out.",
    )


def _shown(value: Any) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else f"an object of class {type(value).__name__}"
