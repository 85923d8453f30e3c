"""`ramet.clone`: an exact twin of a model, with copied, fresh or shared weights, on its own or on other inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeVar

import keras

from ramet._arguments import check_choice
from ramet._build.fresh import reinitialize
from ramet._build.inputs import new_inputs
from ramet._build.rebuild import rebuild, run_steps
from ramet._copy import copy_model
from ramet._keras import keep_name_counters, structure
from ramet.errors import ArgumentError, RebuildError, foreign_errors

T = TypeVar("T")

WEIGHTS = ("copy", "fresh", "share")


def clone(
    model: T,
    *,
    weights: Literal["copy", "fresh", "share"] = "copy",
    inputs: Any = None,
    name: str | None = None,
    seed: int | None = None,
    compile: bool = True,
    share: Iterable[Any] = (),
) -> T:
    """Return an exact, independent twin of a model.

    The twin keeps the class, the graph, names, config, every flag, every bit of state (weights, statistics, random
    generators, RNN states, tables, metrics, optimizer), sharing inside the model, attributes set by hand, devices and
    sharding. It does not keep compiled functions, which it compiles again when needed, or gradients stored on torch
    parameters. The original is not changed, and the two share nothing mutable.

    Args:
        model: A model of any kind, a layer (without its calls), an optimizer (cloned alone, it goes on optimizing the
            same variables; cloned together with its model, those of the twin), a metric or a loss, or a list, tuple or
            dict of these: objects that they share are shared among their twins.
        weights: `"copy"`; `"fresh"` for newly initialized weights and batch statistics (vocabularies, adapted
            statistics and the learning rate are kept; `seed=` makes the result reproducible); or `"share"` for new
            layers on the original's own variables.
        inputs: Other inputs to build the twin on, with its weights: a `keras.Input` of another shape or dtype, a tensor
            inside another model, or an array, of which the shape and dtype are used; in the structure of the model's
            inputs, in a list, or in a dict by name.
        name: Another name. Every variable path of the twin begins with it, so that the original and the twin can be
            part of one model.
        seed: Reseed every random generator and initializer from this number and its path: all different, and
            reproducible.
        compile: `False` for a twin without optimizer, loss and metrics.
        share: Objects that the twin uses as they are instead of copying them, with the layers and variables inside
            them. An op of a functional model that is shared then belongs to the graphs of both models.

    Raises:
        NotAModelError: `model` is not an object that can be cloned.
        CannotCopyError: something inside the model cannot be copied; the error names its location.
        RebuildError: a layer refused the new inputs.
        StateElsewhereError: another thread is running the model, so its values are incomplete.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    >>> twin = ramet.clone(model)
    >>> bool((twin.layers[0].kernel.numpy() == model.layers[0].kernel.numpy()).all())
    True
    """
    if inputs is not None:
        _check_call_graph(model)
    check_choice("clone", "weights", weights, WEIGHTS)
    if weights == "share":
        if name is not None:
            raise ArgumentError(
                "Cannot clone with weights='share' and name=: a shared variable has one path, and name= would change it.",
                fix="leave name= out, or copy the weights.",
            )
        share = [*share, *(part for root in _roots(model) for part in _state(root, seeded=seed is not None))]
    twin = copy_model(model, name=name, seed=seed, compile=compile, share=share)
    if weights == "fresh":
        for root in _roots(twin):
            reinitialize(root, seed=seed)
    if inputs is None:
        return twin  # type: ignore[no-any-return]  # a twin has the class of its original
    # Layers create ops for masks while they are called; these must not use up names.
    with keep_name_counters(), foreign_errors("rebuild", f"'{structure.name_of(model)}' on other inputs", RebuildError):
        return run_steps(rebuild(twin, new_inputs(twin, inputs, original=model)))  # type: ignore[no-any-return]


def _check_call_graph(model: Any) -> None:
    if isinstance(model, keras.Model) and structure.function_of(model) is not None:
        return
    if isinstance(model, keras.Sequential):
        raise ArgumentError(
            f"Cannot rebuild '{model.name}' on other inputs: it has not been built, so it has no inputs yet.",
            fix="clone it without inputs= and build the twin: twin.build(shape).",
        )
    what = f"'{model.name}'" if isinstance(model, keras.Operation) else "this object"
    raise ArgumentError(
        f"Cannot rebuild {what} on other inputs: it has no call graph.",
        expected="a functional or Sequential model",
        found=f"an object of class {type(model).__name__}",
        fix="clone it without inputs=; a subclassed model accepts other inputs as it is.",
    )


def _state(root: Any, *, seeded: bool) -> list[Any]:
    """Return the variables of a model or layer and their values, without generators that get a new seed."""
    if not isinstance(root, keras.Layer):
        return []
    return structure.with_values(root.weights if seeded else root.variables)


def _roots(model: Any) -> list[Any]:
    if structure.is_clonable(model):
        return [model]
    return list(model.values()) if isinstance(model, dict) else list(model)
