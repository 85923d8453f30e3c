"""A sync that is recorded rather than run: inside a TensorFlow function, or under `keras.StatelessScope`."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from ramet._weights.policy import is_inexact

__all__ = ["assign_all", "is_recording", "under_stateless_scope"]


def is_recording() -> bool:
    """Whether an assignment now is recorded, and carried out later or by somebody else."""
    if under_stateless_scope():
        return True
    if keras.backend.backend() != "tensorflow":
        return False
    from ramet._weights.tensorflow_blend import is_in_function

    return is_in_function()


def under_stateless_scope() -> bool:
    """Whether a `keras.StatelessScope` keeps the assignments."""
    # The scope has no public question for it; its own methods ask this function.
    current = keras.StatelessScope.__enter__.__globals__["get_stateless_scope"]
    return current() is not None


def assign_all(sources: list[Any], targets: list[Any], tau: Any, *, between: bool = False) -> None:
    """Assign to each target what lies between it and its source.

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
            return ops.copy(ops.cast(source, dtype))  # on JAX, two variables must not hold one array
        return _blend(source, target, dtype, tau)
    if not is_inexact(dtype):
        return ops.where(tau > 0, source, target)
    # By the formula alone, the last bit of a full step may be another.
    return ops.where(tau >= 1, ops.cast(source, dtype), _blend(source, target, dtype, tau))


def _blend(source: Any, target: Any, dtype: str, tau: Any) -> Any:
    wide = dtype if dtype == "float64" or dtype.startswith("complex") else "float32"
    old = ops.cast(target, wide)
    step = tau if isinstance(tau, float) else ops.cast(tau, wide)
    return ops.cast(old + step * (ops.cast(source, wide) - old), dtype)
