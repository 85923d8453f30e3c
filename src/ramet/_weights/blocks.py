"""Axes of weights that hold several parts behind each other, such as the gates of an LSTM.

Zeros at the end of such an axis would move the parts against each other: each part is adapted on its own, and where the parts
themselves would have to change, nothing is.
"""

from __future__ import annotations

from typing import Any

import keras
from keras import layers

from ramet._keras import places_below, structure

__all__ = ["blocks_of", "merged_before", "why_not_by_axis"]

_GATED = {"kernel", "recurrent_kernel", "bias"}
_CONVOLUTIONS = (layers.Conv1D, layers.Conv2D, layers.Conv3D)
_DEPTHWISE = (layers.DepthwiseConv1D, layers.DepthwiseConv2D)
_SEPARABLE = (layers.SeparableConv1D, layers.SeparableConv2D)
_CONV_LSTM = layers.ConvLSTM1D.__mro__[1]


def blocks_of(layer: Any, name: str, rank: int) -> dict[int, int]:
    """By axis of a layer's weight, how many equal parts lie behind each other there."""
    gates = {layers.LSTMCell: 4, layers.GRUCell: 3}
    count = next((number for cls, number in gates.items() if isinstance(layer, cls)), 0)
    if type(layer).__name__ == "ConvLSTMCell" and type(layer).__module__ == _CONV_LSTM.__module__:
        count = 4
    if count and name in _GATED:
        return {rank - 1: count}
    if isinstance(layer, _CONVOLUTIONS) and layer.groups > 1 and name in ("kernel", "bias"):
        return {rank - 1: layer.groups}
    return {}


def why_not_by_axis(layer: Any, name: str, old: tuple[int, ...], new: tuple[int, ...]) -> str | None:
    """Why a weight of a layer cannot be adapted axis by axis, or None.

    Args:
        layer: The layer that has the new weight.
        name: What the weight is called.
        old: Its old shape.
        new: Its new shape.
    """
    if len(old) != len(new):
        return None
    differ = [axis for axis, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
    if isinstance(layer, _CONVOLUTIONS) and layer.groups > 1 and name == "kernel" and len(old) - 2 in differ:
        return f"it divides the channels into {layer.groups} groups, and they change their group"
    if isinstance(layer, _DEPTHWISE) and layer.depth_multiplier > 1 and name == "bias" and differ:
        return f"it holds {layer.depth_multiplier} values for each channel, one after the other"
    rows = isinstance(layer, _SEPARABLE) and name == "pointwise_kernel" and len(old) - 2 in differ
    if rows and layer.depth_multiplier > 1:
        return f"it holds {layer.depth_multiplier} rows for each channel, one after the other"
    return None


def merged_before(model: Any, layer: Any) -> str | None:
    """The name of the operation that puts values behind each other for a dense layer's input; None where none does.

    Followed back from the calls of the layer as far as there are no weights.
    """
    if not isinstance(layer, layers.Dense | layers.EinsumDense):
        return None
    functions = [structure.function_of(place.op) for place in places_below(model) if place.same_as is None]
    calls = [call for function in functions if function is not None for call in structure.calls_of(function)]
    waiting = [tensor for call in calls if call.operation is layer for tensor in call.input_tensors[:1]]
    seen: set[int] = set()
    while waiting:
        tensor = waiting.pop()
        call = structure.producing_call(tensor)
        if call is None or id(call) in seen or call.is_input:
            continue
        seen.add(id(call))
        op = call.operation
        if type(op).__name__ in _MERGING:
            return str(op.name)
        inner = structure.function_of(op)
        if inner is not None:
            waiting += keras.tree.flatten(structure.outputs_of(inner))
        elif not getattr(op, "weights", ()):
            waiting += call.input_tensors
    return None


_MERGING = frozenset({"Flatten", "Reshape", "Ravel", "Concatenate", "Hstack", "Stack"})
