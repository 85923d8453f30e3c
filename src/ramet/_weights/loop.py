"""Values that Keras' loops hold while they run: on JAX, a variable of a model that is being fit has none."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ramet._keras import structure, training
from ramet.errors import StateElsewhereError

__all__ = ["settle", "settled_values", "values_to_read"]


def settle(variables: Iterable[Any], verb: str) -> None:
    """Let loops further up in this thread put their values back into these variables, if they hold them."""
    settled_values(list(variables), verb)


def settled_values(variables: list[Any], verb: str) -> list[Any]:
    """The values of variables that will be written. A loop that holds some puts all of its values back first."""
    values = [structure.value_of(variable) for variable in variables]
    if any(value is None for value in values):
        for model in training.models_in_running_loops():
            if hasattr(model, "jax_state_sync"):
                model.jax_state_sync()
        values = [structure.value_of(variable) for variable in variables]
        _check(variables, values, verb)
    return values


def values_to_read(variables: list[Any], verb: str) -> list[Any]:
    """The values of variables that are only read: where they stand, and the loops are not disturbed."""
    values = [structure.value_of(variable) for variable in variables]
    if any(value is None for value in values):
        held = training.values_in_running_loops()
        values = [
            held.get(id(variable)) if value is None else value
            for variable, value in zip(variables, values, strict=True)
        ]
        _check(variables, values, verb)
    return values


def _check(variables: list[Any], values: list[Any], verb: str) -> None:
    for variable, value in zip(variables, values, strict=True):
        if value is None:
            raise StateElsewhereError(
                f"Cannot {verb}: the variable '{variable.path}' has no value right now.",
                found="a step that is being compiled, or a fit, evaluate or predict in another thread; on JAX, Keras "
                "keeps the values beside the model meanwhile",
                fix=f"{verb} in a callback or between two steps.",
                path=variable.path,
            )
