"""Writing values into variables, all of them or none."""

from __future__ import annotations

from typing import Any

import keras

from ramet._keras import structure

__all__ = ["write_all"]


def write_all(writes: list[tuple[Any, Any]]) -> None:
    """Write into each variable what a variable or an array holds, cast to its dtype. If one fails, all get back what was.

    The device and the sharding of the variables stay, and nothing that is written is shared with where it came from.
    """
    new = [(variable, _value_for(variable, value)) for variable, value in writes]
    before: list[tuple[Any, Any]] = []
    try:
        for variable, value in new:
            before.append((variable, keras.ops.copy(structure.value_of(variable))))
            variable.assign(value)
    except BaseException:
        for variable, value in before:
            variable.assign(value)
        raise


def _value_for(variable: Any, value: Any) -> Any:
    if isinstance(value, keras.Variable):
        value = structure.value_of(value)
    if keras.backend.backend() == "jax":
        from ramet._weights.jax_blend import array_like

        return array_like(value, structure.value_of(variable))
    return value  # written by copying, on torch and TensorFlow
