"""The option `share=`: objects that are one in a model and its twin, with what stands in them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import keras

from ramet._keras import structure
from ramet.errors import ArgumentError


def list_of_shared(share: Any, verb: str, roots: Iterable[Any]) -> list[Any]:
    """The objects given as `share=`, and the layers and variables inside them, which may be reached in other ways, too.

    Args:
        share: What was given.
        verb: What is to be done, for the error when it is no list.
        roots: What is cloned. A shared object that holds one of them stays out, and gives away nothing that it holds.
    """
    if isinstance(share, keras.Operation | keras.KerasTensor) or not isinstance(share, Iterable):
        raise ArgumentError(
            f"Cannot {verb} with share=: it is a list of objects.",
            found=f"an object of class {type(share).__name__}",
            fix="pass share=[...], even for one object.",
        )
    given, cloned = list(share), set(map(id, roots))
    for whole in list(given):
        parts = list(_parts(whole))
        if cloned.isdisjoint(map(id, parts)):
            given += parts
    return given


def _parts(whole: Any) -> Iterator[Any]:
    """The layers and variables inside an object of Keras, and what holds the values of these."""
    if isinstance(whole, keras.Operation):
        yield from _layers_below(whole)
    if isinstance(whole, keras.Variable):
        variables = [whole]
    elif isinstance(whole, keras.Operation | keras.optimizers.Optimizer | keras.Metric):
        variables = list(getattr(whole, "variables", ()))
    else:
        return
    yield from variables
    if keras.backend.backend() != "jax":  # whose arrays nothing can change
        held = map(structure.value_of, variables)
        yield from (value for value in held if value is not None)


def _layers_below(op: Any) -> list[Any]:
    found: dict[int, Any] = {}
    waiting = structure.layers_of(op)
    while waiting:
        layer = waiting.pop()
        if id(layer) not in found:
            found[id(layer)] = layer
            waiting += structure.layers_of(layer)
    return list(found.values())
