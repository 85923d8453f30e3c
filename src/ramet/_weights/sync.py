"""The door of `sync`: a target network, or an average of weights, brought up to date."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from ramet._keras import structure
from ramet._weights.derived import refresh
from ramet._weights.pair import Pair, pair_of
from ramet._weights.symbolic import assign_all, is_recording
from ramet.errors import ArgumentError, StateElsewhereError

__all__ = ["sync"]


def sync(source: Any, target: Any, tau: Any = 1.0) -> None:
    """Change the weights of `target` in place, towards those of `source`; see `ramet.sync`."""
    recording = is_recording()
    share = _checked(tau, recording=recording)
    pair, sources, targets = pair_of(source, target)
    exact = isinstance(share, float) and share in (0.0, 1.0)
    if pair.quantised is not None and not exact:
        raise ArgumentError(
            f"Cannot sync '{target.name}' with tau={tau}: '{pair.quantised}' is quantised, and such weights have no average.",
            fix="sync with tau=1, or average before you quantise.",
            path=pair.quantised,
        )
    if not targets or (exact and share == 0):
        return
    if recording:
        _record(pair, sources, targets, share)
        return
    _run(pair, sources, targets, share)
    for layer in [ref() for ref in pair.derived]:
        if layer is not None:
            refresh(layer)


def _run(pair: Pair, sources: list[Any], targets: list[Any], tau: float) -> None:
    backend = keras.backend.backend()
    if backend == "jax":
        from ramet._weights.jax_blend import blend

        blend(sources, targets, tau)
    elif backend == "torch":
        from ramet._weights.torch_blend import blend as blend_parameters

        blend_parameters(sources, targets, tau)
    else:
        from ramet._weights.tensorflow_blend import Blend

        compiled = pair.compiled.get("blend")
        if compiled is None or not compiled.fits(sources + targets):
            compiled = pair.compiled["blend"] = Blend(sources, targets)
        compiled(tau)


def _record(pair: Pair, sources: list[Any], targets: list[Any], tau: Any) -> None:
    if pair.derived:
        raise StateElsewhereError(
            "Cannot sync inside a compiled step: a Normalization layer keeps constants that cannot follow there.",
            fix="sync after the step, or in a callback.",
        )
    assign_all(sources, targets, tau)


def _checked(tau: Any, *, recording: bool) -> Any:
    """The share of the source: a float between 0 and 1, or a tensor that is not known yet."""
    if isinstance(tau, keras.Variable):
        tau = tau.value if recording else structure.value_of(tau)
    if keras.ops.is_tensor(tau):
        if recording and tuple(tau.shape) == ():
            return tau
        tau = _read(tau)
    is_number = (
        isinstance(tau, int | float | np.number | np.ndarray) and not isinstance(tau, bool) and np.ndim(tau) == 0
    )
    if not is_number or not 0 <= float(tau) <= 1:  # false for NaN, too
        raise ArgumentError(
            f"Cannot sync with tau={tau!r}: it is the share of the source.",
            expected="a number from 0 (nothing changes) to 1 (a copy)",
            fix="pass such a number, 0.005 say.",
        )
    return float(tau)


def _read(tau: Any) -> Any:
    try:
        return np.asarray(keras.ops.convert_to_numpy(tau))
    except Exception as error:
        raise StateElsewhereError(
            "Cannot sync inside a function that is being compiled: the value of tau is not known there.",
            fix="sync after the step, or pass a float.",
        ) from error
