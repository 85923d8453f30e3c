"""Rules for Keras' layers: which axis of which weight belongs to which axis of the layer's input.

A rule returns the weights that depend on the positions of the input, and the positions of the output. There is no rule for a
user's layer, or for a subclass that overrides how it is built or called: its weights are never adapted by guessing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import layers

from ramet._build.positions import SAME, Axis, lost_axis, widened
from ramet._keras import structure

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

    uses: tuple[WeightAxis, ...]
    outputs: tuple[Axes, ...] | None


Rule = Callable[[Any, list[Axes], str], LayerEffect | None]

# The values in a new layer, for new positions.
_NEUTRAL = {"gamma": 1.0, "moving_variance": 1.0, "variance": 1.0}


def effect_of_layer(layer: Any, axes: list[Axes], policy: str) -> LayerEffect | None:
    """Return the effect of calling a layer on tensors with these axes, or None if there is no rule for it."""
    for cls in type(layer).__mro__:
        # The rule of a base class does not apply to a subclass that builds or calls in its own way.
        if cls in _RULES or "build" in cls.__dict__ or "call" in cls.__dict__:
            rule = _RULES.get(cls)
            return None if rule is None or getattr(layer, "quantization_mode", None) else rule(layer, axes, policy)
    return None


def check_sizes(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise a ValueError if a built layer is called on a tensor that its weights do not fit.

    Not every layer of Keras raises while a graph is made: recurrent layers, wrappers, attention and normalization do not, and
    the model fails, or broadcasts weights of length 1, when it runs.
    """
    if not isinstance(layer, keras.Layer) or structure.function_of(layer) is not None or not layer.built:
        return
    if not layer.weights:
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
    values = [named[name] for name in order if "mask" not in name]
    return [value for value in keras.tree.flatten(values) if isinstance(value, keras.KerasTensor)]


def _held(layer: Any, *names: str) -> list[Any]:
    return [variable for variable, is_weight in structure.variables_of(layer) if is_weight and variable.name in names]


def _use(layer: Any, name: str, axis: int, positions: Axis) -> list[WeightAxis]:
    found = _held(layer, name)
    return [WeightAxis(one, axis % len(one.shape), positions, _NEUTRAL.get(name, 0.0)) for one in found]


def _dense(layer: Any, axes: list[Axes], policy: str) -> LayerEffect:
    (given,) = axes
    uses = _use(layer, "kernel", 0, given[-1]) + _use(layer, "lora_kernel_a", 0, given[-1])
    return LayerEffect(tuple(uses), ((*given[:-1], SAME),))


def _einsum(layer: Any, axes: list[Axes], policy: str) -> LayerEffect | None:
    (given,) = axes
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
    uses = [use for n, label in enumerate(kernel) if label in known for use in _use(layer, "kernel", n, known[label])]
    output: Axes = ()
    for part in _labels(right):
        output += rest if part == "..." else (known.get(part, SAME),)
    if layer.bias_axes:
        labels = [part for part in _labels(right) if part != "..."]
        first = min(labels.index(label) for label in layer.bias_axes)
        for n, label in enumerate(labels[first:]):
            if label in layer.bias_axes and label in known:
                uses += _use(layer, "bias", n, known[label])
    if any(_held(layer, "lora_kernel_a")) and any(not axis.same for axis in known.values()):
        return None
    return LayerEffect(tuple(uses), (output,))


def _labels(spec: str) -> list[str]:
    before, dots, after = spec.partition("...")
    return [*before, *([dots] if dots else []), *after]


def _split(layer: Any, given: Axes, *, steps: int = 0) -> tuple[Axis, list[Axis]]:
    """Return the channel axis, and the axes in space."""
    rest = list(given[1 + steps :])
    channel = rest.pop(0 if layer.data_format == "channels_first" else -1)
    return channel, rest


def _joined(layer: Any, batch: Sequence[Axis], channel: Axis, rest: list[Axis]) -> Axes:
    return (*batch, channel, *rest) if layer.data_format == "channels_first" else (*batch, *rest, channel)


def _mixed(layer: Any, rest: list[Axis]) -> list[Axis]:
    """Return the positions in space after a convolution; a 1 x 1 convolution keeps them."""
    sizes = zip(
        *(_sized(getattr(layer, name, 1), len(rest)) for name in ("kernel_size", "strides", "dilation_rate")),
        strict=True,
    )
    reason = f"'{layer.name}' combines positions along a resized axis"
    return [
        axis if axis.same or size == (1, 1, 1) else lost_axis(axis.lost or reason)
        for axis, size in zip(rest, sizes, strict=True)
    ]


def _sized(value: Any, rank: int) -> tuple[int, ...]:
    return (value,) * rank if isinstance(value, int) else tuple(value)


def _conv(layer: Any, axes: list[Axes], policy: str) -> LayerEffect:
    (given,) = axes
    channel, rest = _split(layer, given)
    if layer.groups > 1 and not channel.same:
        channel = lost_axis(
            f"'{layer.name}' divides the channels into {layer.groups} groups, and channels would change groups"
        )
    uses = _use(layer, "kernel", -2, channel) + _use(layer, "lora_kernel_a", -2, channel)
    return LayerEffect(tuple(uses), (_joined(layer, given[:1], SAME, _mixed(layer, rest)),))


def _conv_transpose(layer: Any, axes: list[Axes], policy: str) -> LayerEffect:
    (given,) = axes
    channel, rest = _split(layer, given)
    return LayerEffect(
        tuple(_use(layer, "kernel", -1, channel)), (_joined(layer, given[:1], SAME, _mixed(layer, rest)),)
    )


def _depthwise(layer: Any, axes: list[Axes], policy: str) -> LayerEffect:
    (given,) = axes
    channel, rest = _split(layer, given)
    after = widened(channel, layer.depth_multiplier)
    uses = _use(layer, "kernel", -2, channel) + _use(layer, "bias", 0, after)
    return LayerEffect(tuple(uses), (_joined(layer, given[:1], after, _mixed(layer, rest)),))


def _separable(layer: Any, axes: list[Axes], policy: str) -> LayerEffect:
    (given,) = axes
    channel, rest = _split(layer, given)
    uses = _use(layer, "depthwise_kernel", -2, channel)
    uses += _use(layer, "pointwise_kernel", -2, widened(channel, layer.depth_multiplier))
    return LayerEffect(tuple(uses), (_joined(layer, given[:1], SAME, _mixed(layer, rest)),))


def _batch_norm(layer: Any, axes: list[Axes], policy: str) -> LayerEffect:
    (given,) = axes
    names = ("gamma", "beta", "moving_mean", "moving_variance")
    uses = [use for name in names for use in _use(layer, name, 0, given[layer.axis])]
    return LayerEffect(tuple(uses), (given,))


def _normalization(layer: Any, axes: list[Axes], policy: str) -> LayerEffect:
    (given,) = axes
    kept = sorted(axis % len(given) for axis in layer.axis)
    uses = [
        use for n, axis in enumerate(kept) for name in ("mean", "variance") for use in _use(layer, name, n, given[axis])
    ]
    return LayerEffect(tuple(uses), (given,))


def _layer_norm(layer: Any, axes: list[Axes], policy: str) -> LayerEffect:
    (given,) = axes
    wanted = list(layer.axis) if isinstance(layer.axis, list | tuple) else [layer.axis]
    over = [axis % len(given) for axis in wanted]
    output = list(given)
    for axis in over:
        output[axis] = _all_together(layer, given[axis], policy)
    uses = [
        use
        for n, axis in enumerate(over)
        for name in ("gamma", "beta", "scale")
        for use in _use(layer, name, n, output[axis])
    ]
    return LayerEffect(tuple(uses), (tuple(output),))


def _group_norm(layer: Any, axes: list[Axes], policy: str) -> LayerEffect:
    (given,) = axes
    channel = layer.axis % len(given)
    output = list(given)
    output[channel] = _all_together(layer, given[channel], policy)
    uses = [use for name in ("gamma", "beta") for use in _use(layer, name, 0, output[channel])]
    return LayerEffect(tuple(uses), (tuple(output),))


def _all_together(layer: Any, axis: Axis, policy: str) -> Axis:
    """Return an axis that is normalized as a whole: zeros at new positions would change the results at old ones."""
    if axis.same or policy != "pad":
        return axis
    return lost_axis(f"'{layer.name}' normalizes over this axis, so that new positions change the results at old ones")


def _prelu(layer: Any, axes: list[Axes], policy: str) -> LayerEffect:
    (given,) = axes
    shared = set(layer.shared_axes or ())
    uses = [use for n, axis in enumerate(given[1:]) if n + 1 not in shared for use in _use(layer, "alpha", n, axis)]
    return LayerEffect(tuple(uses), (given,))


def _embedding(layer: Any, axes: list[Axes], policy: str) -> LayerEffect:
    (given,) = axes
    return LayerEffect((), ((*given, SAME),))


def _recurrent(layer: Any, axes: list[Axes], policy: str) -> LayerEffect | None:
    given, *states = axes
    if any(not axis.same for state in states for axis in state):
        return None
    cell = _first_cell(layer)
    if not given[-1].same and type(cell) not in _CELLS:
        return None
    uses = _use(cell, "kernel", 0, given[-1]) if type(cell) in _CELLS else []
    return LayerEffect(tuple(uses), _sequence(layer, given[0], given[1], (SAME,)))


def _sequence(layer: Any, batch: Axis, time: Axis, rest: Axes) -> tuple[Axes, ...]:
    reason = f"'{layer.name}' combines the steps along a resized axis"
    after = time if time.same else lost_axis(time.lost or reason)
    return ((batch, after, *rest) if layer.return_sequences else (batch, *rest),)  # states have no steps


def _first_cell(layer: Any) -> Any:
    """Return the cell of a recurrent layer that takes its input."""
    cell = layer.cell
    return cell.cells[0] if isinstance(cell, layers.StackedRNNCells) else cell


def _conv_recurrent(layer: Any, axes: list[Axes], policy: str) -> LayerEffect | None:
    given, *states = axes
    if any(not axis.same for state in states for axis in state):
        return None
    channel, rest = _split(layer, given, steps=1)
    uses = _use(layer.cell, "kernel", -2, channel)
    reason = f"'{layer.name}' combines positions along a resized axis"
    after = [axis if axis.same else lost_axis(axis.lost or reason) for axis in rest]
    return LayerEffect(tuple(uses), _sequence(layer, given[0], given[1], _joined(layer, (), SAME, after)))


def _bidirectional(layer: Any, axes: list[Axes], policy: str) -> LayerEffect | None:
    parts = [effect_of_layer(part, axes, policy) for part in (layer.forward_layer, layer.backward_layer)]
    if any(part is None for part in parts):
        return None
    found = [part for part in parts if part is not None]
    outputs = found[0].outputs or ()
    return LayerEffect(
        tuple(use for part in found for use in part.uses), outputs * (2 if layer.merge_mode is None else 1)
    )


def _time_distributed(layer: Any, axes: list[Axes], policy: str) -> LayerEffect | None:
    (given,) = axes
    inner = effect_of_layer(layer.layer, [(given[0], *given[2:])], policy)
    if inner is None or inner.outputs is None:
        return None
    return LayerEffect(inner.uses, tuple((one[0], given[1], *one[1:]) for one in inner.outputs))


def _attended_steps(layer: Any, query: Axes, axes: Sequence[Axes]) -> Axes:
    """Return the steps of the query after attention, which combines them with those of the other tensors."""
    if all(axis.same for one in axes for axis in one[:-1]):
        return query[1:-1]
    reason = f"'{layer.name}' combines the steps along a resized axis"
    return tuple(axis if axis.same else lost_axis(reason) for axis in query[1:-1])


def _attention(layer: Any, axes: list[Axes], policy: str) -> LayerEffect | None:
    query, value, *more = axes
    key = more[0] if more else value
    time = _attended_steps(layer, query, (query, value, key))
    parts = {part.name: part for part in structure.layers_of(layer)}
    if not {"query", "key", "value", "attention_output"} <= parts.keys():
        return None
    uses: list[WeightAxis] = []
    for name, one in (("query", query), ("key", key), ("value", value)):
        uses += _use(parts[name], "kernel", 0, one[-1])
    output = SAME
    if layer.get_config().get("output_shape") is None:
        output = query[-1]
        uses += _use(parts["attention_output"], "kernel", -1, output) + _use(
            parts["attention_output"], "bias", 0, output
        )
    return LayerEffect(tuple(uses), ((query[0], *time, output),) if len(axes) <= 3 else None)


def _additive_attention(layer: Any, axes: list[Axes], policy: str) -> LayerEffect | None:
    query, value, *_ = axes
    time = _attended_steps(layer, query, axes)
    return LayerEffect(tuple(_use(layer, "scale", 0, query[-1])), ((query[0], *time, value[-1]),))


def _with_bases(rule: Rule, *classes: type) -> dict[type, Rule]:
    """Return the rule for some classes and for the private base class that builds and calls them."""
    return {base: rule for cls in classes for base in (cls, cls.__mro__[1])}


_CELLS = (layers.LSTMCell, layers.GRUCell, layers.SimpleRNNCell)

_RULES: dict[type, Rule] = {
    layers.Dense: _dense,
    layers.EinsumDense: _einsum,
    **_with_bases(_conv, layers.Conv1D, layers.Conv2D, layers.Conv3D),
    **_with_bases(_conv_transpose, layers.Conv1DTranspose, layers.Conv2DTranspose, layers.Conv3DTranspose),
    **_with_bases(_depthwise, layers.DepthwiseConv1D, layers.DepthwiseConv2D),
    **_with_bases(_separable, layers.SeparableConv1D, layers.SeparableConv2D),
    layers.BatchNormalization: _batch_norm,
    layers.Normalization: _normalization,
    layers.LayerNormalization: _layer_norm,
    layers.RMSNormalization: _layer_norm,
    layers.GroupNormalization: _group_norm,
    layers.PReLU: _prelu,
    layers.Embedding: _embedding,
    **dict.fromkeys((layers.RNN, layers.LSTM, layers.GRU, layers.SimpleRNN), _recurrent),
    **_with_bases(_conv_recurrent, layers.ConvLSTM1D, layers.ConvLSTM2D, layers.ConvLSTM3D),
    layers.Bidirectional: _bidirectional,
    layers.TimeDistributed: _time_distributed,
    layers.AdditiveAttention: _additive_attention,
    layers.MultiHeadAttention: _attention,
    layers.GroupQueryAttention: _attention,
}
