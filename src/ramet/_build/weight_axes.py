"""Which axis of which weight belongs to which axis of a layer's input, for the layers of Keras.

A rule answers with the weights that depend on the positions of the input, and with the positions of the output. A layer without
a rule (a class of the user's, or one that overrides how it is built or called) is never guessed at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import layers

from ramet._keras import structure
from ramet._build.positions import SAME, Axis, lost, widened

Axes = tuple[Axis, ...]


@dataclass(frozen=True, eq=False)
class Use:
    """One axis of a weight whose slices belong to positions of the input.

    Attributes:
        variable: The weight.
        axis: The axis, counted from 0.
        positions: The positions there.
        fill: What stands for positions that are new, where nothing of the old is taken: statistics and scales of
            normalisation begin as in a new layer, so that no variance is 0.
    """

    variable: Any
    axis: int
    positions: Axis
    fill: float = 0.0


@dataclass(frozen=True)
class Answer:
    """What a rule says: the uses, the axes of each output (None: to be tried out), and layers that hold used variables."""

    uses: tuple[Use, ...]
    outputs: tuple[Axes, ...] | None


Rule = Callable[[Any, list[Axes], str], Answer | None]

# Values of a new layer for the positions that are new.
_NEUTRAL = {"gamma": 1.0, "moving_variance": 1.0, "variance": 1.0}


def answer_for(layer: Any, axes: list[Axes], policy: str) -> Answer | None:
    """What is known of a layer that is called on tensors with these axes; None if there is no rule for it."""
    for cls in type(layer).__mro__:
        if "build" in cls.__dict__ or "call" in cls.__dict__:
            rule = _RULES.get(cls)
            # A subclass that builds or calls in its own way is not what the rule is about.
            return None if rule is None or getattr(layer, "quantization_mode", None) else rule(layer, axes, policy)
        if cls in _RULES:
            return None if getattr(layer, "quantization_mode", None) else _RULES[cls](layer, axes, policy)
    return None


def check_sizes(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    """Raise a ValueError where a built layer is called on a tensor that its weights are not made for.

    Not every layer says so itself while a graph is made: recurrent layers, wrappers, attention and normalisation do not,
    and the model breaks, or weights of length 1 are stretched, when it runs.
    """
    if not isinstance(layer, keras.Layer) or structure.function_of(layer) is not None or not layer.built:
        return
    if not layer.weights:
        return
    # Each position stands for itself, so that the answer says how many a weight would need.
    axes = [
        tuple(SAME if size is None else Axis(np.arange(size)[:, None], size) for size in tensor.shape)
        for tensor in arguments_of_layer(layer, args, kwargs)
    ]
    try:
        answer = answer_for(layer, axes, "refuse")
    except (AttributeError, IndexError, TypeError, ValueError):  # called in a way that the rule is not about
        return
    for use in () if answer is None else answer.uses:
        length = use.variable.shape[use.axis]
        if use.positions.sources is not None and len(use.positions.sources) != length:
            raise ValueError(
                f"its weight '{use.variable.name}' {tuple(use.variable.shape)} is made for {length} values along axis "
                f"{use.axis}, and {len(use.positions.sources)} arrive"
            )


def arguments_of_layer(layer: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Any]:
    """The tensors that a layer is called on, in the order of its parameters, without masks."""
    named = structure.arguments_by_name(layer, args, kwargs)
    order = [name for name in structure.parameters_of(layer) if name in named]
    values = [named[name] for name in order if "mask" not in name]
    return [value for value in keras.tree.flatten(values) if isinstance(value, keras.KerasTensor)]


def _held(layer: Any, *names: str) -> list[Any]:
    return [variable for variable, is_weight in structure.variables_of(layer) if is_weight and variable.name in names]


def _use(layer: Any, name: str, axis: int, positions: Axis) -> list[Use]:
    found = _held(layer, name)
    return [Use(one, axis % len(one.shape), positions, _NEUTRAL.get(name, 0.0)) for one in found]


def _dense(layer: Any, axes: list[Axes], policy: str) -> Answer:
    (given,) = axes
    uses = _use(layer, "kernel", 0, given[-1]) + _use(layer, "lora_kernel_a", 0, given[-1])
    return Answer(tuple(uses), ((*given[:-1], SAME),))


def _einsum(layer: Any, axes: list[Axes], policy: str) -> Answer | None:
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
    return Answer(tuple(uses), (output,))


def _labels(spec: str) -> list[str]:
    before, dots, after = spec.partition("...")
    return [*before, *([dots] if dots else []), *after]


def _split(layer: Any, given: Axes, *, steps: int = 0) -> tuple[Axis, list[Axis]]:
    """The channel axis and the others between it and the batch."""
    rest = list(given[1 + steps :])
    channel = rest.pop(0 if layer.data_format == "channels_first" else -1)
    return channel, rest


def _joined(layer: Any, batch: Sequence[Axis], channel: Axis, rest: list[Axis]) -> Axes:
    return (*batch, channel, *rest) if layer.data_format == "channels_first" else (*batch, *rest, channel)


def _mixed(layer: Any, rest: list[Axis]) -> list[Axis]:
    """Positions in space after a convolution: those of a 1 x 1 convolution stay what they are."""
    sizes = zip(
        *(_sized(getattr(layer, name, 1), len(rest)) for name in ("kernel_size", "strides", "dilation_rate")),
        strict=True,
    )
    reason = f"'{layer.name}' combines positions along an axis that has another size now"
    return [
        axis if axis.same or size == (1, 1, 1) else lost(axis.lost or reason)
        for axis, size in zip(rest, sizes, strict=True)
    ]


def _sized(value: Any, rank: int) -> tuple[int, ...]:
    return (value,) * rank if isinstance(value, int) else tuple(value)


def _conv(layer: Any, axes: list[Axes], policy: str) -> Answer:
    (given,) = axes
    channel, rest = _split(layer, given)
    if layer.groups > 1 and not channel.same:
        channel = lost(f"'{layer.name}' divides the channels into {layer.groups} groups, and they change their group")
    uses = _use(layer, "kernel", -2, channel) + _use(layer, "lora_kernel_a", -2, channel)
    return Answer(tuple(uses), (_joined(layer, given[:1], SAME, _mixed(layer, rest)),))


def _conv_transpose(layer: Any, axes: list[Axes], policy: str) -> Answer:
    (given,) = axes
    channel, rest = _split(layer, given)
    return Answer(tuple(_use(layer, "kernel", -1, channel)), (_joined(layer, given[:1], SAME, _mixed(layer, rest)),))


def _depthwise(layer: Any, axes: list[Axes], policy: str) -> Answer:
    (given,) = axes
    channel, rest = _split(layer, given)
    after = widened(channel, layer.depth_multiplier)
    uses = _use(layer, "kernel", -2, channel) + _use(layer, "bias", 0, after)
    return Answer(tuple(uses), (_joined(layer, given[:1], after, _mixed(layer, rest)),))


def _separable(layer: Any, axes: list[Axes], policy: str) -> Answer:
    (given,) = axes
    channel, rest = _split(layer, given)
    uses = _use(layer, "depthwise_kernel", -2, channel)
    uses += _use(layer, "pointwise_kernel", -2, widened(channel, layer.depth_multiplier))
    return Answer(tuple(uses), (_joined(layer, given[:1], SAME, _mixed(layer, rest)),))


def _batch_norm(layer: Any, axes: list[Axes], policy: str) -> Answer:
    (given,) = axes
    names = ("gamma", "beta", "moving_mean", "moving_variance")
    uses = [use for name in names for use in _use(layer, name, 0, given[layer.axis])]
    return Answer(tuple(uses), (given,))


def _normalization(layer: Any, axes: list[Axes], policy: str) -> Answer:
    (given,) = axes
    kept = sorted(axis % len(given) for axis in layer.axis)
    uses = [
        use for n, axis in enumerate(kept) for name in ("mean", "variance") for use in _use(layer, name, n, given[axis])
    ]
    return Answer(tuple(uses), (given,))


def _layer_norm(layer: Any, axes: list[Axes], policy: str) -> Answer:
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
    return Answer(tuple(uses), (tuple(output),))


def _group_norm(layer: Any, axes: list[Axes], policy: str) -> Answer:
    (given,) = axes
    channel = layer.axis % len(given)
    output = list(given)
    output[channel] = _all_together(layer, given[channel], policy)
    uses = [use for name in ("gamma", "beta") for use in _use(layer, name, 0, output[channel])]
    return Answer(tuple(uses), (tuple(output),))


def _all_together(layer: Any, axis: Axis, policy: str) -> Axis:
    """An axis that is normalised as a whole: with zeros for new positions, the old ones would give something else."""
    if axis.same or policy != "pad":
        return axis
    return lost(f"'{layer.name}' normalises over this axis, so that new positions change the result at the old ones")


def _prelu(layer: Any, axes: list[Axes], policy: str) -> Answer:
    (given,) = axes
    shared = set(layer.shared_axes or ())
    uses = [use for n, axis in enumerate(given[1:]) if n + 1 not in shared for use in _use(layer, "alpha", n, axis)]
    return Answer(tuple(uses), (given,))


def _embedding(layer: Any, axes: list[Axes], policy: str) -> Answer:
    (given,) = axes
    return Answer((), ((*given, SAME),))


def _recurrent(layer: Any, axes: list[Axes], policy: str) -> Answer | None:
    given, *states = axes
    if any(not axis.same for state in states for axis in state):
        return None
    cell = _first_cell(layer)
    if not given[-1].same and type(cell) not in _CELLS:
        return None
    uses = _use(cell, "kernel", 0, given[-1]) if type(cell) in _CELLS else []
    return Answer(tuple(uses), _sequence(layer, given[0], given[1], (SAME,)))


def _sequence(layer: Any, batch: Axis, time: Axis, rest: Axes) -> tuple[Axes, ...]:
    reason = f"'{layer.name}' combines the steps along an axis that has another size now"
    after = time if time.same else lost(time.lost or reason)
    return ((batch, after, *rest) if layer.return_sequences else (batch, *rest),)  # states have no steps


def _first_cell(layer: Any) -> Any:
    """The cell of a recurrent layer that takes its input."""
    cell = layer.cell
    return cell.cells[0] if isinstance(cell, layers.StackedRNNCells) else cell


def _conv_recurrent(layer: Any, axes: list[Axes], policy: str) -> Answer | None:
    given, *states = axes
    if any(not axis.same for state in states for axis in state):
        return None
    channel, rest = _split(layer, given, steps=1)
    uses = _use(layer.cell, "kernel", -2, channel)
    reason = f"'{layer.name}' combines positions along an axis that has another size now"
    after = [axis if axis.same else lost(axis.lost or reason) for axis in rest]
    return Answer(tuple(uses), _sequence(layer, given[0], given[1], _joined(layer, (), SAME, after)))


def _bidirectional(layer: Any, axes: list[Axes], policy: str) -> Answer | None:
    parts = [answer_for(part, axes, policy) for part in (layer.forward_layer, layer.backward_layer)]
    if any(part is None for part in parts):
        return None
    found = [part for part in parts if part is not None]
    outputs = found[0].outputs or ()
    return Answer(tuple(use for part in found for use in part.uses), outputs * (2 if layer.merge_mode is None else 1))


def _time_distributed(layer: Any, axes: list[Axes], policy: str) -> Answer | None:
    (given,) = axes
    inner = answer_for(layer.layer, [(given[0], *given[2:])], policy)
    if inner is None or inner.outputs is None:
        return None
    return Answer(inner.uses, tuple((one[0], given[1], *one[1:]) for one in inner.outputs))


def _attention(layer: Any, axes: list[Axes], policy: str) -> Answer | None:
    query, value, *more = axes
    key = more[0] if more else value
    if any(not axis.same for one in (query, value, key) for axis in one[:-1]):
        time = [
            lost(f"'{layer.name}' combines the steps along an axis that has another size now")
            if not axis.same
            else axis
            for axis in query[1:-1]
        ]
    else:
        time = list(query[1:-1])
    parts = {part.name: part for part in structure.layers_of(layer)}
    if not {"query", "key", "value", "attention_output"} <= parts.keys():
        return None
    uses: list[Use] = []
    for name, one in (("query", query), ("key", key), ("value", value)):
        uses += _use(parts[name], "kernel", 0, one[-1])
    output = SAME
    if layer.get_config().get("output_shape") is None:
        output = query[-1]
        uses += _use(parts["attention_output"], "kernel", -1, output) + _use(
            parts["attention_output"], "bias", 0, output
        )
    return Answer(tuple(uses), ((query[0], *time, output),) if len(axes) <= 3 else None)


def _additive_attention(layer: Any, axes: list[Axes], policy: str) -> Answer | None:
    query, value, *_ = axes
    time = query[1:-1]
    if any(not axis.same for one in axes for axis in one[:-1]):
        reason = f"'{layer.name}' combines the steps along an axis that has another size now"
        time = tuple(axis if axis.same else lost(reason) for axis in time)
    return Answer(tuple(_use(layer, "scale", 0, query[-1])), ((query[0], *time, value[-1]),))


_CELLS = (layers.LSTMCell, layers.GRUCell, layers.SimpleRNNCell)

_RULES: dict[type, Rule] = {
    layers.Dense: _dense,
    layers.EinsumDense: _einsum,
    **dict.fromkeys(
        (base for cls in (layers.Conv1D, layers.Conv2D, layers.Conv3D) for base in (cls, cls.__mro__[1])), _conv
    ),
    **dict.fromkeys(
        (
            base
            for cls in (layers.Conv1DTranspose, layers.Conv2DTranspose, layers.Conv3DTranspose)
            for base in (cls, cls.__mro__[1])
        ),
        _conv_transpose,
    ),
    **dict.fromkeys(
        (base for cls in (layers.DepthwiseConv1D, layers.DepthwiseConv2D) for base in (cls, cls.__mro__[1])), _depthwise
    ),
    **dict.fromkeys(
        (base for cls in (layers.SeparableConv1D, layers.SeparableConv2D) for base in (cls, cls.__mro__[1])), _separable
    ),
    layers.BatchNormalization: _batch_norm,
    layers.Normalization: _normalization,
    layers.LayerNormalization: _layer_norm,
    layers.RMSNormalization: _layer_norm,
    layers.GroupNormalization: _group_norm,
    layers.PReLU: _prelu,
    layers.Embedding: _embedding,
    layers.RNN: _recurrent,
    layers.LSTM: _recurrent,
    layers.GRU: _recurrent,
    layers.SimpleRNN: _recurrent,
    layers.ConvLSTM1D: _conv_recurrent,
    layers.ConvLSTM2D: _conv_recurrent,
    layers.ConvLSTM3D: _conv_recurrent,
    layers.ConvLSTM2D.__mro__[1]: _conv_recurrent,
    layers.Bidirectional: _bidirectional,
    layers.TimeDistributed: _time_distributed,
    layers.AdditiveAttention: _additive_attention,
    layers.MultiHeadAttention: _attention,
    layers.GroupQueryAttention: _attention,
}
