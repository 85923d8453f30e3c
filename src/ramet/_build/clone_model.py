"""`clone_model`: a drop-in for `keras.models.clone_model`, with the wrong cases put right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from ramet._build.door import clone as clone_by_options
from ramet._build.inputs import new_inputs
from ramet._build.rebuild import rebuild
from ramet._build.replacement import CloneFunction, Replacements
from ramet._build.trampoline import run
from ramet._capture.tree import places_below
from ramet._keras import rewire, structure
from ramet._keras.counters import names_untouched
from ramet.errors import ArgumentError, NotAModelError


def clone_model(
    model: Any,
    input_tensors: Any = None,
    clone_function: CloneFunction | None = None,
    call_function: Callable[..., Any] | None = None,
    recursive: bool = False,  # noqa: FBT001, FBT002  # as in keras.models.clone_model
    *,
    weights: str = "fresh",
    seed: int | None = None,
) -> Any:
    """The clone; see `ramet.clone_model`."""
    _check(model, clone_function, call_function)
    if clone_function is None and call_function is None:
        return clone_by_options(model, weights=weights, inputs=input_tensors, seed=seed)
    if clone_function is None:
        twin = clone_by_options(model, weights=weights, seed=seed)
        return run(rebuild(twin, _inputs(twin, input_tensors), call_op=call_function))
    twin = clone_by_options(model, weights="share")
    replacements = Replacements(clone_function, call_function, _counterparts(model, twin), recursive=recursive)
    result = run(_rebuilt(model, twin, input_tensors, replacements))
    if weights == "copy":
        _carry_weights(replacements, model)
    _renew_compile(result)
    return result if seed is None else clone_by_options(result, weights="copy", seed=seed)


def _rebuilt(model: Any, twin: Any, input_tensors: Any, replacements: Replacements) -> Any:
    function = structure.function_of(model)
    if function is None:
        result = yield replacements.without_calls(model, twin)
        return result
    swap = yield replacements.swaps(function, structure.function_of(twin))
    return (yield rebuild(twin, _inputs(twin, input_tensors), call_op=replacements.call_op, swap=swap))


def _inputs(twin: Any, given: Any) -> Any:
    own = structure.inputs_of(structure.function_of(twin))
    return own if given is None else new_inputs(twin, own, given)


def _counterparts(model: Any, twin: Any) -> Callable[[Any], Any]:
    """The op of the twin that stands where an op of the original stands."""
    pairs = {
        id(ours.op): theirs.op for ours, theirs in zip(places_below(model), places_below(twin), strict=True)
    }
    return lambda op: pairs[id(op)]


def _carry_weights(replacements: Replacements, model: Any) -> None:
    """The original's weights into the layers that have places for them."""
    for place in places_below(model):
        new = replacements.made.get(id(place.op))
        if new is None or not isinstance(place.op, keras.Layer):
            continue
        ours, theirs = place.op.weights, new.weights
        if [tuple(v.shape) for v in ours] == [tuple(v.shape) for v in theirs]:
            for old, variable in zip(ours, theirs, strict=True):
                if old is not variable:
                    variable.assign(old)


def _renew_compile(model: Any) -> None:
    """An optimizer knows the variables it was built for; other layers need one that is not built yet."""
    if not getattr(model, "compiled", False) or getattr(model, "optimizer", None) is None:
        return
    with names_untouched():
        optimizer = type(model.optimizer).from_config(model.optimizer.get_config())
    rewire.set_optimizer(model, optimizer)
    model.reset_metrics()


def _check(model: Any, clone_function: Any, call_function: Any) -> None:
    if not isinstance(model, keras.Model):
        raise NotAModelError(
            f"Cannot clone an object of class {type(model).__name__}: it is not a model.",
            expected="a keras model",
            fix="pass a model; ramet.clone takes layers, optimizers and metrics, too.",
        )
    for name, value in (("clone_function", clone_function), ("call_function", call_function)):
        if value is not None and not callable(value):
            raise ArgumentError(
                f"Cannot clone '{model.name}': {name} is not a function.",
                found=f"an object of class {type(value).__name__}",
                fix=f"pass a function as {name}, or leave it out.",
            )
    if call_function is not None and structure.function_of(model) is None:
        raise ArgumentError(
            f"Cannot clone '{model.name}' with a call_function: it has no call graph.",
            expected="a functional or a built Sequential model",
            found=f"a model of class {type(model).__name__}, whose layers are called by its own code",
            fix="leave call_function out.",
        )
