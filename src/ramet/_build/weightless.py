"""Operations without weights whose effect on positions is known.

Trying an operation out takes time on large images, and image models mostly consist of these.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import layers

from ramet._build.positions import SAME, Axis, lost
from ramet._build.weight_axes import Axes
from ramet._keras import kinds

# Layers and operations that work elementwise.
_EACH = (
    layers.ReLU,
    layers.LeakyReLU,
    layers.ELU,
    layers.Dropout,
    layers.SpatialDropout1D,
    layers.SpatialDropout2D,
    layers.SpatialDropout3D,
    layers.GaussianNoise,
    layers.GaussianDropout,
    layers.AlphaDropout,
    layers.Identity,
    layers.ActivityRegularization,
    layers.Add,
    layers.Subtract,
    layers.Multiply,
    layers.Average,
    layers.Maximum,
    layers.Minimum,
)
_EACH_FUNCTIONS = frozenset(
    (
        "relu relu6 leaky_relu elu selu silu swish gelu sigmoid hard_sigmoid hard_silu hard_swish tanh "
        "softplus softsign mish exponential linear log_sigmoid celu"
    ).split()
)
_EACH_OPS = frozenset(
    (
        "Add Subtract Multiply Divide TrueDivide Maximum Minimum Negative Abs Absolute Square Sqrt Exp Log "
        "Relu Relu6 LeakyRelu Elu Selu Silu Gelu Sigmoid HardSigmoid HardSilu Tanh Softplus Softsign Clip "
        "Cast Identity"
    ).split()
)
# Layers that combine positions in space and keep channels apart.
_IN_SPACE = tuple(
    getattr(layers, f"{name}{rank}D")
    for name in ("MaxPooling", "AveragePooling", "ZeroPadding", "Cropping", "UpSampling")
    for rank in (1, 2, 3)
)
_OVER_SPACE = tuple(
    getattr(layers, f"{name}{rank}D") for name in ("GlobalMaxPooling", "GlobalAveragePooling") for rank in (1, 2, 3)
)


def known_outputs(op: Any, axes: list[Axes]) -> tuple[Axes, ...] | None:
    """Return the axes of the outputs of a known operation, or None if it must be tried out."""
    if _works_on_each(op) and len({len(given) for given in axes}) == 1:
        merged = tuple(_merged(op, [given[k] for given in axes]) for k in range(len(axes[0])))
        return (merged,)
    if type(op) in _IN_SPACE + _OVER_SPACE and len(axes) == 1:
        (given,) = axes
        rest = list(given[1:])
        first = getattr(op, "data_format", "channels_last") == "channels_first"
        channel = rest.pop(0 if first else -1)
        if type(op) in _OVER_SPACE:
            after = [SAME] * len(rest) if op.keepdims else []
        else:
            reason = f"'{op.name}' combines or moves positions along an axis that has another size now"
            after = [axis if axis.same else lost(axis.lost or reason) for axis in rest]
        return ((given[0], channel, *after) if first else (given[0], *after, channel),)
    return None


def _works_on_each(op: Any) -> bool:
    if type(op) is layers.Activation:
        return getattr(op.activation, "__name__", "") in _EACH_FUNCTIONS
    if isinstance(op, keras.Layer):
        return type(op) in _EACH
    return kinds.is_from_keras(op) and type(op).__name__ in _EACH_OPS


def _merged(op: Any, found: list[Axis]) -> Axis:
    changed = [axis for axis in found if not axis.same]
    if not changed:
        return SAME
    if len({axis.key() for axis in changed}) == 1:
        return changed[0]
    return lost(f"'{op.name}' combines tensors whose positions changed in different ways")
