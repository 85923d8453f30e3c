"""`ramet.sync`: move the weights of a target network, or of an average of weights, towards those of a model.

Outside of compiled code, all variables are updated in one call: see `jax_blend.py`, `torch_blend.py` and `tensorflow_blend.py`.
Inside a TensorFlow function or a `keras.StatelessScope`, the assignments are recorded instead.
"""

from __future__ import annotations

from typing import Any

import keras
import numpy as np
from keras import ops

from ramet._keras import structure
from ramet._weights.pair import Pair, pair_of
from ramet._weights.policy import is_inexact
from ramet._weights.variables import refresh
from ramet.errors import ArgumentError, StateElsewhereError


def sync(source: Any, target: Any, tau: Any = 1.0) -> None:
    """Update the weights of `target` in place to `tau * source + (1 - tau) * target`.

    For a target network, or an average of weights. Batch statistics are averaged like weights; integers and booleans are
    copied; random and RNN states, metrics and the optimizer stay as they are. With `tau=1`, every bit is copied. Floats
    narrower than single precision are averaged in single precision. The update runs on the device in one call, compiled
    once for two models; it keeps neither of them alive.

    In a callback, `sync` works on every backend, also while one of the models is being trained. In a custom `train_step` it
    works on TensorFlow and torch; on JAX it raises an error there, except under a `keras.StatelessScope`, which then
    holds the new values.

    Args:
        source: A model or layer. It is not changed.
        target: A model or layer with the same weights by path, such as `ramet.clone(source)`; changed in place.
        tau: How far the target moves: from 0, not at all, to 1, a copy. A new value does not compile again. A tensor is
            read first, except inside a TensorFlow function or a `keras.StatelessScope`, where its value is not checked.

    Raises:
        WeightsDoNotFitError: the weights differ in paths, shapes or kinds of dtype. Nothing was written.
        ArgumentError: `tau` is not a number from 0 to 1, or the models are quantized, and such weights have no average.
        StateElsewhereError: the values are not in the models at the moment.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="d")])
    >>> target = ramet.clone(model)
    >>> model.get_layer("d").bias.assign([1.0, 2.0]) is None
    False
    >>> ramet.sync(model, target, tau=0.5)
    >>> [float(x) for x in target.get_layer("d").bias.numpy()]
    [0.5, 1.0]
    """
    recording = _is_recording()
    share = _checked_share(tau, recording=recording)
    pair, sources, targets = pair_of(source, target)
    exact = isinstance(share, float) and share in (0.0, 1.0)
    if pair.quantized is not None and not exact:
        raise ArgumentError(
            f"Cannot sync '{target.name}' with tau={tau}: '{pair.quantized}' is quantized, and such weights have no average.",
            fix="sync with tau=1, or average before quantizing.",
            path=pair.quantized,
        )
    if not targets or (exact and share == 0):
        return
    if recording:
        if pair.derived:
            raise StateElsewhereError(
                "Cannot sync inside a compiled step: a Normalization layer has constants that cannot be updated there.",
                fix="sync after the step, or in a callback.",
            )
        assign_all(sources, targets, share)
        return
    _blend(pair, sources, targets, share)
    for layer in [ref() for ref in pair.derived]:
        if layer is not None:
            refresh(layer)


def _checked_share(tau: Any, *, recording: bool) -> Any:
    """Return tau as a float between 0 and 1, or as a tensor whose value is not known yet."""
    if isinstance(tau, keras.Variable):
        tau = tau.value if recording else structure.value_of(tau)
    if ops.is_tensor(tau):
        if recording and tuple(tau.shape) == ():
            return tau
        tau = _read_tensor(tau)
    is_number = (
        isinstance(tau, int | float | np.number | np.ndarray) and not isinstance(tau, bool) and np.ndim(tau) == 0
    )
    if not is_number or not 0 <= float(tau) <= 1:  # also refuses NaN
        raise ArgumentError(
            f"Cannot sync with tau={tau!r}: it is not a number from 0 to 1.",
            expected="a number from 0 (no change) to 1 (a copy)",
            fix="pass a number such as 0.005.",
        )
    return float(tau)


def _read_tensor(tau: Any) -> Any:
    try:
        return np.asarray(ops.convert_to_numpy(tau))
    except Exception as error:
        raise StateElsewhereError(
            "Cannot sync inside a function that is being compiled: the value of tau is not known there.",
            fix="sync after the step, or pass a float.",
        ) from error


def _is_recording() -> bool:
    """Return whether assignments are recorded now instead of being run."""
    # Keras has no public function for this; the methods of the scope use this one.
    current = keras.StatelessScope.__enter__.__globals__["get_stateless_scope"]
    if current() is not None:
        return True
    if keras.backend.backend() != "tensorflow":
        return False
    from ramet._weights.tensorflow_blend import is_in_function

    return is_in_function()


def assign_all(sources: list[Any], targets: list[Any], tau: Any, *, between: bool = False) -> None:
    """Assign `tau * source + (1 - tau) * target` to each target.

    Args:
        sources: Variables.
        targets: Variables of the same shapes.
        tau: A float, or a scalar tensor whose value is not known yet.
        between: Whether a tensor is known to be neither 0 nor 1.
    """
    for source, target in zip(sources, targets, strict=True):
        target.assign(_mix(source.value, target.value, str(target.dtype), tau, between=between))


def _mix(source: Any, target: Any, dtype: str, tau: Any, *, between: bool) -> Any:
    if isinstance(tau, float) or between:
        if not is_inexact(dtype) or (not between and tau == 1):
            return ops.copy(ops.cast(source, dtype))  # on JAX, two variables must not hold the same array
        return _average(source, target, dtype, tau)
    if not is_inexact(dtype):
        return ops.where(tau > 0, source, target)
    # With the formula alone, the last bit could differ at tau=1.
    return ops.where(tau >= 1, ops.cast(source, dtype), _average(source, target, dtype, tau))


def _average(source: Any, target: Any, dtype: str, tau: Any) -> Any:
    wide = dtype if dtype == "float64" or dtype.startswith("complex") else "float32"
    old = ops.cast(target, wide)
    step = tau if isinstance(tau, float) else ops.cast(tau, wide)
    return ops.cast(old + step * (ops.cast(source, wide) - old), dtype)


def _blend(pair: Pair, sources: list[Any], targets: list[Any], tau: float) -> None:
    """Update all target variables in one call of the backend."""
    backend = keras.backend.backend()
    if backend == "jax":
        from ramet._weights import jax_blend

        jax_blend.blend(sources, targets, tau)
    elif backend == "torch":
        from ramet._weights import torch_blend

        torch_blend.blend(sources, targets, tau)
    else:
        from ramet._weights.tensorflow_blend import Blend

        compiled = pair.compiled.get("blend")
        if compiled is None or not compiled.fits(sources + targets):
            compiled = pair.compiled["blend"] = Blend(sources, targets)
        compiled(tau)
