"""Policies that adapt an array to another shape, and the axes of weights that hold several parts in a row.

The gates of an LSTM, for example, are in a row along one axis. Zeros at the end of the axis would shift the parts against each
other, so each part is adapted on its own; where that is not possible, the weight is not adapted at all.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import keras
import numpy as np
from keras import layers

from ramet._keras import locations_below, structure
from ramet.errors import ArgumentError, WeightsDoNotFitError, shown

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

POLICIES = ("refuse", "slice", "pad", "mean", "repeat", "fresh")

_CONVOLUTIONS = (layers.Conv1D, layers.Conv2D, layers.Conv3D)
_DEPTHWISE = (layers.DepthwiseConv1D, layers.DepthwiseConv2D)
_SEPARABLE = (layers.SeparableConv1D, layers.SeparableConv2D)
_CONV_LSTM = layers.ConvLSTM1D.__mro__[1]
# Operations that place values of several axes or tensors in a row.
_MERGING = frozenset({"Flatten", "Reshape", "Ravel", "Concatenate", "Hstack", "Stack"})


def adapt(
    value: Array,
    shape: tuple[int, ...],
    policy: str,
    *,
    fresh: Array | None = None,
    path: str = "",
    blocks: Mapping[int, int] | None = None,
) -> Array:
    """Return an array adapted to another shape, in its own dtype; the array itself if it has that shape already.

    The axes that differ are adapted in order. The given array is not changed.

    Args:
        value: The array.
        shape: The new shape, with as many axes.
        policy: `"refuse"`: raise an error. `"slice"`: keep the first values; shrinks only. `"pad"`: append zeros; grows
            only. `"mean"`: append the mean of the old values; to shrink, the mean of all values everywhere. `"repeat"`:
            repeat the old values in order; to shrink, the first values. `"fresh"`: use `fresh`.
        fresh: Newly initialized values of the new shape, for `"fresh"`.
        path: The path of the weight, for error messages.
        blocks: By axis, the number of equal parts in a row there, such as the gates of an LSTM: each part is adapted on
            its own.

    Raises:
        WeightsDoNotFitError: the policy cannot adapt the array to the shape.

    >>> adapt(np.array([1.0, 3.0]), (3,), "pad")
    array([1., 3., 0.])
    >>> adapt(np.array([1.0, 3.0]), (4,), "mean")
    array([1., 3., 2., 2.])
    >>> adapt(np.array([1, 3]), (5,), "repeat")
    array([1, 3, 1, 3, 1])
    >>> adapt(np.array([[1, 2, 3], [4, 5, 6]]), (1, 2), "slice")
    array([[1, 2]])
    >>> adapt(np.array([1, 2, 8, 9]), (6,), "pad", blocks={0: 2})
    array([1, 2, 0, 8, 9, 0])
    """
    check_policy(policy)
    value = np.asarray(value)
    if value.shape == shape:
        return value
    if policy == "fresh" and fresh is not None:
        return np.array(fresh)
    reason = _objection(value, shape, policy, blocks or {})
    if reason is not None:
        where = f"'{path}' of shape" if path else "shape"
        others = ", ".join(f"'{name}'" for name in POLICIES if name not in ("refuse", policy))
        raise WeightsDoNotFitError(
            f"Cannot adapt weights of shape {value.shape} to {where} {shape}: {reason}.",
            expected=f"shape {shape}",
            found=f"shape {value.shape}",
            fix=f"choose another policy: {others}.",
            path=path or None,
        )
    before, after = _split(value.shape, shape, blocks or {})
    result = value.reshape(before)
    for axis, wanted in enumerate(after):
        if result.shape[axis] != wanted:
            result = _AXIS[policy](result, axis, wanted)
    return result.reshape(shape)


def _split(old: tuple[int, ...], new: tuple[int, ...], blocks: Mapping[int, int]) -> tuple[list[int], list[int]]:
    """Return both shapes with a separate axis for the parts of each axis that has several."""
    before: list[int] = []
    after: list[int] = []
    for axis, (length, wanted) in enumerate(zip(old, new, strict=True)):
        count = blocks.get(axis, 1)
        if count > 1 and length != wanted:
            before += [count, length // count]
            after += [count, wanted // count]
        else:
            before.append(length)
            after.append(wanted)
    return before, after


def check_policy(policy: Any) -> None:
    """Raise unless there is a policy of this name."""
    if not isinstance(policy, str) or policy not in POLICIES:
        raise ArgumentError(
            f"Cannot adapt weights with policy={shown(policy)}: unknown policy.",
            expected=", ".join(f"'{name}'" for name in POLICIES),
            found=None if isinstance(policy, str) else f"an object of class {type(policy).__name__}",
            fix="pass one of these policies.",
        )


def is_inexact(dtype: Any) -> bool:
    """Return whether a dtype is a float of any width or complex, so that its numbers can be averaged.

    >>> is_inexact(np.dtype("float16")), is_inexact("bfloat16"), is_inexact("int8"), is_inexact("bool")
    (True, True, False, False)
    """
    return str(dtype).startswith(("float", "bfloat", "complex"))


def _objection(value: Array, shape: tuple[int, ...], policy: str, blocks: Mapping[int, int]) -> str | None:
    """Return the reason why a policy cannot adapt an array to a shape, or None."""
    if policy == "refuse":
        return "the shapes differ"
    if policy == "fresh":
        return "there are no fresh values"
    if value.ndim != len(shape):
        return f"'{policy}' works axis by axis, but there are {value.ndim} and {len(shape)} axes"
    for axis, count in blocks.items():
        if value.shape[axis] != shape[axis] and (value.shape[axis] % count or shape[axis] % count):
            return f"axis {axis} holds {count} equal parts, and its length is not a multiple of that"
    for axis, (length, wanted) in enumerate(zip(*_split(value.shape, shape, blocks), strict=True)):
        if policy == "slice" and wanted > length:
            return f"'slice' can only shrink, but axis {axis} must grow from {length} to {wanted}"
        if policy == "pad" and wanted < length:
            return f"'pad' can only grow, but axis {axis} must shrink from {length} to {wanted}"
        if policy in ("mean", "repeat") and length == 0 != wanted:
            return f"axis {axis} is empty, so there is nothing to make {wanted} values of"
    if policy == "mean" and not is_inexact(value.dtype):
        return f"'mean' needs floats, but these are {value.dtype}"
    return None


def _slice(value: Array, axis: int, wanted: int) -> Array:
    return np.take(value, np.arange(wanted), axis)


def _pad(value: Array, axis: int, wanted: int) -> Array:
    missing = (*value.shape[:axis], wanted - value.shape[axis], *value.shape[axis + 1 :])
    return np.concatenate([value, np.zeros(missing, value.dtype)], axis)


def _mean(value: Array, axis: int, wanted: int) -> Array:
    length = value.shape[axis]
    # Half floats would lose precision in the sum of a long axis, and numpy cannot promote the floats of other libraries.
    wide = value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)
    mean = wide.mean(axis, keepdims=True).astype(value.dtype)
    kept = length if wanted > length else 0
    return np.concatenate([_slice(value, axis, kept), mean.repeat(wanted - kept, axis)], axis)


def _repeat(value: Array, axis: int, wanted: int) -> Array:
    repeated: Array = np.take(value, np.arange(wanted) % value.shape[axis], axis)
    return repeated


_AXIS = {"slice": _slice, "pad": _pad, "mean": _mean, "repeat": _repeat}


def blocks_of(layer: Any, name: str, rank: int) -> dict[int, int]:
    """Return, by axis of a layer's weight, the number of equal parts in a row there."""
    is_conv_lstm = type(layer).__name__ == "ConvLSTMCell" and type(layer).__module__ == _CONV_LSTM.__module__
    if name in ("kernel", "recurrent_kernel", "bias"):
        if isinstance(layer, layers.LSTMCell) or is_conv_lstm:
            return {rank - 1: 4}
        if isinstance(layer, layers.GRUCell):
            return {rank - 1: 3}
        if isinstance(layer, _CONVOLUTIONS) and layer.groups > 1:
            return {rank - 1: layer.groups}
    return {}


def why_not_by_axis(layer: Any, name: str, old: tuple[int, ...], new: tuple[int, ...]) -> str | None:
    """Return the reason why a weight of a layer cannot be adapted axis by axis from its old shape to the new one, or None."""
    if len(old) != len(new):
        return None
    differ = [axis for axis, (a, b) in enumerate(zip(old, new, strict=True)) if a != b]
    if isinstance(layer, _CONVOLUTIONS) and layer.groups > 1 and name == "kernel" and len(old) - 2 in differ:
        return f"the channels are divided into {layer.groups} groups, and channels would change groups"
    if isinstance(layer, _DEPTHWISE) and layer.depth_multiplier > 1 and name == "bias" and differ:
        return f"it holds {layer.depth_multiplier} consecutive values for each channel"
    rows = isinstance(layer, _SEPARABLE) and name == "pointwise_kernel" and len(old) - 2 in differ
    if rows and layer.depth_multiplier > 1:
        return f"it holds {layer.depth_multiplier} consecutive rows for each channel"
    return None


def merging_op_before(model: Any, layer: Any) -> str | None:
    """Return the name of an operation that merges values into one axis for a dense layer's input, or None.

    The search goes back from the calls of the layer as far as there are no weights.
    """
    if not isinstance(layer, layers.Dense | layers.EinsumDense):
        return None
    functions = [structure.function_of(location.op) for location in locations_below(model) if location.same_as is None]
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
