"""The update of `sync` on JAX: new arrays, which reuse the buffers of the old ones if nothing else holds them."""

from __future__ import annotations

import sys
import types
from typing import Any

import jax
import jax.numpy as jnp

from ramet._keras import names
from ramet._weights.syncing import mix
from ramet._weights.variables import read_values, settle_values
from ramet.errors import StateElsewhereError


def blend(sources: list[Any], targets: list[Any], tau: float) -> None:
    """Update all target variables in one compiled call."""
    theirs = read_values(sources, "sync")
    ours = settle_values(targets, "sync")
    shardings = [value.sharding for value in ours]
    theirs = [
        value if value.sharding == sharding else jax.device_put(value, sharding)
        for value, sharding in zip(theirs, shardings, strict=True)
    ]
    steps = _hard if tau == 1 else _soft
    step = steps[0] if _held_by_variables_only(ours) else steps[1]
    new = step(theirs, ours, tau)
    if isinstance(new[0], jax.core.Tracer):
        raise StateElsewhereError(
            "Cannot sync inside a function that JAX compiles: variables cannot be assigned there.",
            fix="sync after the step, in a callback, or under keras.StatelessScope.",
        )
    for variable, value, sharding in zip(targets, new, shardings, strict=True):
        setattr(variable, names.VALUE, value if value.sharding == sharding else jax.device_put(value, sharding))


def array_like(value: Any, old: Any) -> Any:
    """Return a new array of the same values, with the dtype, device and sharding of another."""
    new = jnp.array(value, dtype=old.dtype, copy=True)
    return new if new.sharding == old.sharding else jax.device_put(new, old.sharding)


def _copy_all(sources: list[Any], targets: list[Any], tau: Any) -> list[Any]:
    # Copies, because JAX would otherwise return the buffers of the source, which Keras' train step donates.
    return [mix(s, t, str(t.dtype), 1.0) for s, t in zip(sources, targets, strict=True)]


def _blend_all(sources: list[Any], targets: list[Any], tau: Any) -> list[Any]:
    return [mix(s, t, str(t.dtype), tau, between=True) for s, t in zip(sources, targets, strict=True)]


# The first of each donates the buffers of the targets, which are therefore arguments even if they are not read.
_hard = (jax.jit(_copy_all, donate_argnums=1, keep_unused=True), jax.jit(_copy_all))
_soft = (jax.jit(_blend_all, donate_argnums=1), jax.jit(_blend_all))


def _held_by_variables_only(values: list[Any]) -> bool:
    """Return whether nothing but its variable and this list holds each array.

    A donated array is gone for everybody: for a user who keeps it, and for another variable that it was assigned to.
    """
    variable = types.SimpleNamespace(value=object())
    most, expected = (max(map(sys.getrefcount, held)) for held in (values, [variable.value]))
    return most <= expected
