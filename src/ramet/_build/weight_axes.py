"""Rules for Keras' layers: which axis of which weight belongs to which axis of the layer's input.

A rule returns the weights that depend on the positions of the input, and the positions of the output. There is no rule for a
user's layer, or for a subclass that overrides how it is built or called: its weights are never adapted by guessing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

import keras
import numpy as np
from keras import layers

from ramet._build.positions import SAME, Axis, combined, lost_axis, widened
from ramet._keras import structure

R = TypeVar("R")
Axes = tuple[Axis, ...]


@dataclass(frozen=True, eq=False)
class WeightAxis:
    """One axis of a weight whose slices belong to positions of the input.

    Attributes:
        variable: The weight.
        axis: The axis, counted from 0.
        positions: The positions along it.
        fill: The value at new positions without an old one: scales and statistics of normalization begin as in a new
            layer, so that no variance is 0.
    """

    variable: Any
    axis: int
    positions: Axis
    fill: float = 0.0


@dataclass(frozen=True)
class LayerEffect:
    """The result of a rule: the weight axes that depend on the input, and the axes of each output (None: unknown)."""

    uses: list[WeightAxis]
    outputs: tuple[Axes, ...] | None


# The values in a new layer, for new positions.
_NEUTRAL = {"gamma": 1.0, "moving_variance": 1.0, "variance": 1.0}


def effect_of_layer(layer: Any, axes: list[Axes], policy: str) -> LayerEffect | None:
    """Return the effect of calling a layer on tensors with these axes, or None if there is no rule for it."""
    for cls in type(layer).__mro__:
        # The rule of a base class does not apply to a subclass that builds or calls in its own way.
        known = cls in _RULES or cls in _RULES_FOR_SEVERAL
        if known or "build" in cls.__dict__ or "call" in cls.__dict__:
            if not known or getattr(layer, "quantization_mode", None):
                return None
            if cls in _RULES_FOR_SEVERAL:
                return _RULES_FOR_SEVERAL[cls](layer, axes, policy)
            (given,) = axes
            return _RULES[cls](layer, given, policy)
    return None


def check_sizes(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise a ValueError if a built layer is called on a tensor that its weights do not fit.

    Not every layer of Keras raises while a graph is made: recurrent layers, wrappers, attention and normalization do not, and
    the model fails, or broadcasts weights of length 1, when it runs.
    """
    if not isinstance(layer, keras.Layer) or structure.function_of(layer) is not None:
        return
    if not layer.built or not layer.weights:
        return
    # Each position corresponds to itself, so that the effect tells how many a weight would need.
    axes = [
        tuple(SAME if size is None else Axis(np.arange(size)[:, None], size) for size in tensor.shape)
        for tensor in tensor_arguments(layer, args, kwargs)
    ]
    try:
        effect = effect_of_layer(layer, axes, "refuse")
    except (AttributeError, IndexError, TypeError, ValueError):  # called in a way that the rule does not cover
        return
    for use in () if effect is None else effect.uses:
        length = use.variable.shape[use.axis]
        if use.positions.sources is not None and len(use.positions.sources) != length:
            raise ValueError(
                f"its weight '{use.variable.name}' {tuple(use.variable.shape)} expects {length} values along axis "
                f"{use.axis}, but got {len(use.positions.sources)}"
            )


def tensor_arguments(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """Return the tensors that a layer is called on, in the order of its parameters, without masks."""
    named = structure.arguments_by_name(layer, args, kwargs)
    order = [name for name in structure.parameters_of(layer) if name in named]
    return structure.tensors_in([named[name] for name in order if "mask" not in name])


def _use(layer: Any, axis: int, positions: Axis, *names: str) -> list[WeightAxis]:
    """Return one axis of the weights with these names, as far as the layer has them."""
    held = [variable for variable, is_weight in structure.variables_of(layer) if is_weight]
    return [
        WeightAxis(one, axis % len(one.shape), positions, _NEUTRAL.get(name, 0.0))
        for name in names
        for one in held
        if one.name == name
    ]


def _dense(layer: Any, given: Axes, policy: str) -> LayerEffect:
    return LayerEffect(_use(layer, 0, given[-1], "kernel", "lora_kernel_a"), ((*given[:-1], SAME),))


def _einsum(layer: Any, given: Axes, policy: str) -> LayerEffect | None:
    left, _, right = layer.equation.replace(" ", "").partition("->")
    source, kernel = left.split(",")
    if "..." in kernel:
        return None
    known: dict[str, Axis] = {}
    rest: Axes = ()
    if "..." in source:
        before, after = source.split("...")
        known |= dict(zip(before, given, strict=False))
        known |= dict(zip(reversed(after), reversed(given), strict=False))
        rest = given[len(before) : len(given) - len(after)]
    elif len(source) == len(given):
        known |= dict(zip(source, given, strict=True))
    else:
        return None
    uses = [use for n, label in enumerate(kernel) if label in known for use in _use(layer, n, known[label], "kernel")]
    start, dots, end = right.partition("...")
    output = (*(known.get(label, SAME) for label in start), *(rest if dots else ()), *(known.get(label, SAME) for label in end))
    if layer.bias_axes:
        labels = start + end
        first = min(labels.index(label) for label in layer.bias_axes)
        for n, label in enumerate(labels[first:]):
            if label in layer.bias_axes and label in known:
                uses += _use(layer, n, known[label], "bias")
    if _use(layer, 0, SAME, "lora_kernel_a") and any(not axis.same for axis in known.values()):
        return None
    return LayerEffect(uses, (output,))


def _split(layer: Any, given: Axes) -> tuple[Axis, list[Axis]]:
    """Return the channel axis, and the axes in space, of the axes after the batch and the steps."""
    rest = list(given)
    channel = rest.pop(0 if layer.data_format == "channels_first" else -1)
    return channel, rest


def _joined(layer: Any, channel: Axis, rest: list[Axis]) -> Axes:
    return (channel, *rest) if layer.data_format == "channels_first" else (*rest, channel)


def _convolved(layer: Any, given: Axes, channel: Axis, uses: list[WeightAxis]) -> LayerEffect:
    """Return the effect of a convolution with these output channels; only a 1 x 1 convolution keeps positions in space."""
    _, rest = _split(layer, given[1:])
    settings = [getattr(layer, name, 1) for name in ("kernel_size", "strides", "dilation_rate")]
    sizes = [(value,) * len(rest) if isinstance(value, int) else tuple(value) for value in settings]
    reason = f"'{layer.name}' combines positions along a resized axis"
    mixed = [
        axis if size == (1, 1, 1) else combined(axis, reason)
        for axis, size in zip(rest, zip(*sizes, strict=True), strict=True)
    ]
    return LayerEffect(uses, ((given[0], *_joined(layer, channel, mixed)),))


def _conv(layer: Any, given: Axes, policy: str) -> LayerEffect:
    channel, _ = _split(layer, given[1:])
    if layer.groups > 1 and not channel.same:
        channel = lost_axis(
            f"'{layer.name}' divides the channels into {layer.groups} groups, and channels would change groups"
        )
    return _convolved(layer, given, SAME, _use(layer, -2, channel, "kernel", "lora_kernel_a"))


def _conv_transpose(layer: Any, given: Axes, policy: str) -> LayerEffect:
    channel, _ = _split(layer, given[1:])
    return _convolved(layer, given, SAME, _use(layer, -1, channel, "kernel"))


def _depthwise(layer: Any, given: Axes, policy: str) -> LayerEffect:
    channel, _ = _split(layer, given[1:])
    after = widened(channel, layer.depth_multiplier)
    return _convolved(layer, given, after, _use(layer, -2, channel, "kernel") + _use(layer, 0, after, "bias"))


def _separable(layer: Any, given: Axes, policy: str) -> LayerEffect:
    channel, _ = _split(layer, given[1:])
    uses = _use(layer, -2, channel, "depthwise_kernel")
    uses += _use(layer, -2, widened(channel, layer.depth_multiplier), "pointwise_kernel")
    return _convolved(layer, given, SAME, uses)


def _batch_norm(layer: Any, given: Axes, policy: str) -> LayerEffect:
    names = ("gamma", "beta", "moving_mean", "moving_variance")
    return LayerEffect(_use(layer, 0, given[layer.axis], *names), (given,))


def _normalization(layer: Any, given: Axes, policy: str) -> LayerEffect:
    kept = sorted(axis % len(given) for axis in layer.axis)
    uses = [use for n, axis in enumerate(kept) for use in _use(layer, n, given[axis], "mean", "variance")]
    return LayerEffect(uses, (given,))


def _layer_norm(layer: Any, given: Axes, policy: str) -> LayerEffect:
    """Return the effect of a layer that normalizes over axes as a whole.

    Zeros at new positions would change the results at old ones.
    """
    over = [axis % len(given) for axis in (layer.axis if isinstance(layer.axis, list | tuple) else [layer.axis])]
    output = list(given)
    reason = f"'{layer.name}' normalizes over this axis, so that new positions change the results at old ones"
    for axis in over if policy == "pad" else ():
        output[axis] = given[axis] if given[axis].same else lost_axis(reason)
    uses = [use for n, axis in enumerate(over) for use in _use(layer, n, output[axis], "gamma", "beta", "scale")]
    return LayerEffect(uses, (tuple(output),))


def _prelu(layer: Any, given: Axes, policy: str) -> LayerEffect:
    shared = set(layer.shared_axes or ())
    uses = [use for n, axis in enumerate(given[1:]) if n + 1 not in shared for use in _use(layer, n, axis, "alpha")]
    return LayerEffect(uses, (given,))


def _embedding(layer: Any, given: Axes, policy: str) -> LayerEffect:
    return LayerEffect([], ((*given, SAME),))


def _time_distributed(layer: Any, given: Axes, policy: str) -> LayerEffect | None:
    inner = effect_of_layer(layer.layer, [(given[0], *given[2:])], policy)
    if inner is None or inner.outputs is None:
        return None
    return LayerEffect(inner.uses, tuple((one[0], given[1], *one[1:]) for one in inner.outputs))


def _recurrent(layer: Any, axes: list[Axes], policy: str) -> LayerEffect | None:
    given, *states = axes
    # The cell that takes the input.
    cell = layer.cell.cells[0] if isinstance(layer.cell, layers.StackedRNNCells) else layer.cell
    known = type(cell) in (layers.LSTMCell, layers.GRUCell, layers.SimpleRNNCell)
    if not _are_same(states) or not (known or given[-1].same):
        return None
    uses = _use(cell, 0, given[-1], "kernel") if known else []
    return LayerEffect(uses, _sequence(layer, given, (SAME,)))


def _conv_recurrent(layer: Any, axes: list[Axes], policy: str) -> LayerEffect | None:
    given, *states = axes
    if not _are_same(states):
        return None
    channel, rest = _split(layer, given[2:])
    reason = f"'{layer.name}' combines positions along a resized axis"
    after = _joined(layer, SAME, [combined(axis, reason) for axis in rest])
    return LayerEffect(_use(layer.cell, -2, channel, "kernel"), _sequence(layer, given, after))


def _are_same(tensors: list[Axes]) -> bool:
    return all(axis.same for axes in tensors for axis in axes)


def _sequence(layer: Any, given: Axes, rest: Axes) -> tuple[Axes, ...]:
    steps = combined(given[1], f"'{layer.name}' combines the steps along a resized axis")
    return ((given[0], steps, *rest) if layer.return_sequences else (given[0], *rest),)  # states have no steps


def _bidirectional(layer: Any, axes: list[Axes], policy: str) -> LayerEffect | None:
    forward = effect_of_layer(layer.forward_layer, axes, policy)
    backward = effect_of_layer(layer.backward_layer, axes, policy)
    if forward is None or backward is None:
        return None
    outputs = forward.outputs or ()
    return LayerEffect(forward.uses + backward.uses, outputs * (2 if layer.merge_mode is None else 1))


def _attended_steps(layer: Any, axes: list[Axes]) -> Axes:
    """Return the steps of the query after attention, which combines them with those of the other tensors."""
    query = axes[0]
    if _are_same([one[:-1] for one in axes]):
        return query[1:-1]
    reason = f"'{layer.name}' combines the steps along a resized axis"
    return tuple(axis if axis.same else lost_axis(reason) for axis in query[1:-1])


def _attention(layer: Any, axes: list[Axes], policy: str) -> LayerEffect | None:
    query, value, *more = axes
    key = more[0] if more else value
    parts = {part.name: part for part in structure.layers_of(layer)}
    if not {"query", "key", "value", "attention_output"} <= parts.keys():
        return None
    uses: list[WeightAxis] = []
    for name, one in (("query", query), ("key", key), ("value", value)):
        uses += _use(parts[name], 0, one[-1], "kernel")
    output = SAME
    if layer.get_config().get("output_shape") is None:
        output = query[-1]
        uses += _use(parts["attention_output"], -1, output, "kernel", "bias")
    steps = _attended_steps(layer, [query, value, key])
    return LayerEffect(uses, ((query[0], *steps, output),) if len(axes) <= 3 else None)


def _additive_attention(layer: Any, axes: list[Axes], policy: str) -> LayerEffect | None:
    query, value, *_ = axes
    return LayerEffect(
        _use(layer, 0, query[-1], "scale"), ((query[0], *_attended_steps(layer, axes), value[-1]),)
    )


Rule = Callable[[Any, Axes, str], LayerEffect | None]
RuleForSeveral = Callable[[Any, list[Axes], str], LayerEffect | None]


def _with_bases(rule: R, *classes: type) -> dict[type, R]:
    """Return the rule for some classes and for the private base class that builds and calls them."""
    return {base: rule for cls in classes for base in (cls, cls.__mro__[1])}


# Rules for layers that are called on one tensor, and for those that may be called on several.
_RULES: dict[type, Rule] = {
    layers.Dense: _dense,
    layers.EinsumDense: _einsum,
    **_with_bases(_conv, layers.Conv1D, layers.Conv2D, layers.Conv3D),
    **_with_bases(_conv_transpose, layers.Conv1DTranspose, layers.Conv2DTranspose, layers.Conv3DTranspose),
    **_with_bases(_depthwise, layers.DepthwiseConv1D, layers.DepthwiseConv2D),
    **_with_bases(_separable, layers.SeparableConv1D, layers.SeparableConv2D),
    layers.BatchNormalization: _batch_norm,
    layers.Normalization: _normalization,
    **dict.fromkeys((layers.LayerNormalization, layers.RMSNormalization, layers.GroupNormalization), _layer_norm),
    layers.PReLU: _prelu,
    layers.Embedding: _embedding,
    layers.TimeDistributed: _time_distributed,
}
_RULES_FOR_SEVERAL: dict[type, RuleForSeveral] = {
    **dict.fromkeys((layers.RNN, layers.LSTM, layers.GRU, layers.SimpleRNN), _recurrent),
    **_with_bases(_conv_recurrent, layers.ConvLSTM1D, layers.ConvLSTM2D, layers.ConvLSTM3D),
    layers.Bidirectional: _bidirectional,
    layers.AdditiveAttention: _additive_attention,
    **dict.fromkeys((layers.MultiHeadAttention, layers.GroupQueryAttention), _attention),
}
