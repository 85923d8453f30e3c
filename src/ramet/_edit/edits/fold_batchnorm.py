"""`fold_batchnorm`: at inference, batch normalization is a scale and a shift, which the layer beside it can apply."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from ramet._edit.base import Edit, SelectorLike
from ramet._edit.edits.split_activation import is_linear
from ramet._edit.plans import PlanItems, Skip, Step, Touch
from ramet._edit.session import EditSession
from ramet._edit.settings import CONVOLUTIONS, DEPTHWISE, SEPARABLE, TRANSPOSED, update_settings
from ramet._keras import lora, quantization, structure
from ramet._report import with_article
from ramet.errors import EditError

_SUPPORTED = (*CONVOLUTIONS, *TRANSPOSED, *DEPTHWISE, *SEPARABLE, keras.layers.Dense)


@dataclass(frozen=True, repr=False)
class FoldBatchnorm(Edit):
    """Fold each batch normalization into the convolution or dense layer before or after it.

    At inference, batch normalization is a scale and a shift per channel, which the weights of the other layer take
    over; it gets a bias if it has none. The model computes the same at inference, up to rounding. The edit skips a
    normalization that cannot be folded exactly, for example behind an activation or a shared layer; a plan gives the
    reason.

    Args:
        selector: The normalizations to fold; all by default. Other layers are ignored.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> layers = [keras.layers.Dense(3, name="dense"), keras.layers.BatchNormalization(name="norm")]
    >>> model = keras.Sequential([keras.Input((4,)), *layers], name="net")
    >>> print(ramet.plan(model, e.fold_batchnorm()))
    Plan for 'net': 1 edit, 1 op touched
    <BLANKLINE>
    1. fold_batchnorm(): 1 op, function preserved
      norm  folded into 'dense' before it
    >>> [layer.name for layer in ramet.edit(model, e.fold_batchnorm()).layers]
    ['dense']
    """

    kind = "fold_batchnorm"
    preserves_function = True
    adds_layers = False

    selector: SelectorLike = None

    def plan(self, session: EditSession) -> PlanItems:
        used: set[str] = set()
        for candidate in session.find(self.selector):
            norm = session.op(candidate.path)
            if not isinstance(norm, keras.layers.BatchNormalization):
                continue
            partner = _find_partner(candidate.path, norm, session, used)
            if isinstance(partner, str):
                yield Skip(candidate.path, partner)
                continue
            path, side = partner
            used.add(path)
            what = f"folded into '{path}' {side} it"
            yield Touch(candidate.path, what, claims=frozenset({"layer"}), detail=partner)

    def apply(self, step: Step, session: EditSession) -> None:
        """Put scale and shift into the weights of the partner, and remove the normalization."""
        for item in step.touched:
            path, side = item.detail
            norm, layer = session.op(item.path), session.op(path)
            _check_plain(layer, path)
            scale, shift = scale_and_shift(norm)
            if not layer.use_bias:
                update_settings(session, path, {"use_bias": True})
            else:
                session.changes.redo(layer)
            (_fold_into_previous if side == "before" else _fold_into_next)(layer, scale, shift)
            for call in session.calls(item.path).values():
                session.changes.at(call).keep = (0,)
            session.changed.append(item.path)


def _check_plain(layer: Any, path: str) -> None:
    """Refuse a partner whose weights an earlier edit has quantized or split."""
    if quantization.mode_of(layer) is not None or lora.is_enabled(layer):
        raise EditError(
            f"Cannot fold a normalization into '{path}': an earlier edit quantizes it or enables LoRA.",
            fix="fold first: put fold_batchnorm() before quantize() and lora().",
            path=path,
        )


def scale_and_shift(norm: Any) -> tuple[Any, Any]:
    """Return the factor and the summand of a normalization at inference, per channel."""
    mean, variance = _as_float64(norm.moving_mean), _as_float64(norm.moving_variance)
    scale = (_as_float64(norm.gamma) if norm.scale else 1.0) / np.sqrt(variance + norm.epsilon)
    return scale, (_as_float64(norm.beta) if norm.center else 0.0) - mean * scale


def _fold_into_previous(layer: Any, scale: Any, shift: Any) -> None:
    """Make a layer compute scale * (W x + b) + shift."""
    # Of two kernels, the second decides the scale of an output.
    kernel = layer.pointwise_kernel if isinstance(layer, SEPARABLE) else layer.kernel
    value = _as_float64(kernel)
    if isinstance(layer, TRANSPOSED):
        value = value * scale[:, None]  # (..., outputs, inputs)
    elif isinstance(layer, DEPTHWISE):
        value = value * scale.reshape(value.shape[-2:])  # (..., inputs, multiplier)
    else:
        value = value * scale  # (..., inputs, outputs)
    _assign(kernel, value)
    _assign(layer.bias, _as_float64(layer.bias) * scale + shift)


def _fold_into_next(layer: Any, scale: Any, shift: Any) -> None:
    """Make a layer compute W (scale * x + shift) + b, where no zeros are padded in between."""
    kernel = layer.depthwise_kernel if isinstance(layer, SEPARABLE) else layer.kernel
    value = _as_float64(kernel)
    taps = tuple(range(value.ndim - 2))
    if isinstance(layer, (*DEPTHWISE, *SEPARABLE)):
        added = (value * shift[:, None]).sum(taps).reshape(-1)
        if isinstance(layer, SEPARABLE):
            added = added @ _as_float64(layer.pointwise_kernel).reshape(-1, layer.filters)
        _assign(kernel, value * scale[:, None])
    else:
        groups = getattr(layer, "groups", 1)
        outputs = value.shape[-1] // groups

        def per_group(channels: Any) -> Any:
            # Each group takes its own part of the channels: (inputs of a group, all outputs).
            return np.concatenate([np.repeat(part[:, None], outputs, 1) for part in np.split(channels, groups)], 1)

        added = (value * per_group(shift)).sum(axis=(*taps, value.ndim - 2))
        _assign(kernel, value * per_group(scale))
    _assign(layer.bias, _as_float64(layer.bias) + added)


def _find_partner(path: str, norm: Any, session: EditSession, used: set[str]) -> tuple[str, str] | str:
    """Return the path of the layer to fold a normalization into, and whether it comes "before" or "after" it.

    If there is none, return the reason instead.
    """
    calls = list(session.calls(path).values())
    function = structure.function_of(session.holder(path))
    if function is None:
        return "it is called by the code of the layer around it"
    if len(calls) != 1:
        return f"it is called {len(calls)} times"
    call = calls[0]
    if type(norm) is not keras.layers.BatchNormalization:
        return f"{type(norm).__name__} may compute something else"
    if call.arguments.kwargs.get("training"):
        return "it is called with training=True, so it normalizes by the batch"
    if call.arguments.kwargs.get("mask") is not None:
        return "it is called with a mask"
    previous = structure.producing_call(call.input_tensors[0])
    reason = _objection_to_previous(path, norm, call, previous, function, session, used)
    if reason is None:
        return _beside(path, previous.operation), "before"
    following = _only_consumer(call, function)
    other = following if isinstance(following, str) else _objection_to_next(path, norm, following, session, used)
    return f"{reason}; {other}" if other else (_beside(path, following.operation), "after")


def _beside(path: str, op: Any) -> str:
    """Return the path of an op in the graph that contains the op at a path. Other layers may hold it under other paths."""
    return f"{path.rpartition('/')[0]}/{structure.name_of(op)}".lstrip("/")


def _objection_to_previous(
    path: str, norm: Any, call: Any, previous: Any, function: Any, session: EditSession, used: set[str]
) -> str | None:
    """Return why the normalization cannot be folded into the layer before it, or None."""
    if previous is None or previous.is_input:
        return "before it is an input"
    layer = previous.operation
    reason = _objection(_beside(path, layer), layer, norm, session, used)
    if reason:
        return f"before it, {reason}"
    if not is_linear(layer.activation):
        return f"before it, '{layer.name}' ends with an activation"
    if getattr(layer, "activity_regularizer", None) is not None:
        return f"before it, '{layer.name}' has an activity regularizer"
    if _channel_axis(layer) != _norm_axis(norm, call):
        return "it normalizes another axis than the channels"
    consumer = _only_consumer(previous, function)
    return f"before it, {consumer}" if isinstance(consumer, str) else None


def _objection_to_next(path: str, norm: Any, following: Any, session: EditSession, used: set[str]) -> str | None:
    """Return why the normalization cannot be folded into the layer after it, or None."""
    layer = following.operation
    reason = _objection(_beside(path, layer), layer, norm, session, used)
    if reason:
        return f"after it, {reason}"
    if _channel_axis(layer) != _norm_axis(norm, following):
        return "it normalizes another axis than the channels"
    if isinstance(layer, TRANSPOSED):
        return f"after it, '{layer.name}' sums different taps at different positions"
    if not isinstance(layer, keras.layers.Dense) and layer.padding != "valid" and np.any(scale_and_shift(norm)[1] != 0):
        return f"after it, '{layer.name}' pads with zeros, which would not be shifted"
    return None


def _objection(path: str, layer: Any, norm: Any, session: EditSession, used: set[str]) -> str | None:
    """Return why no normalization can be folded into the layer at a path, or None."""
    if type(layer) not in _SUPPORTED:
        return f"'{layer.name}' is {with_article(type(layer).__name__)}"
    if path in used:
        return f"another normalization is already folded into '{layer.name}'"
    if len(session.calls(path)) != 1:
        return f"'{layer.name}' is called {len(session.calls(path))} times"
    if getattr(layer, "quantization_mode", None) is not None:
        return f"'{layer.name}' is quantized"
    if getattr(layer, "lora_enabled", False):
        return f"'{layer.name}' has LoRA enabled"
    if getattr(layer, "kernel_constraint", None) is not None or getattr(layer, "bias_constraint", None) is not None:
        return f"'{layer.name}' has a constraint"
    shared = [v for v in (*layer.variables, *norm.variables) if session.is_tied(v)]
    return f"'{shared[0].path}' is shared with another layer" if shared else None


def _only_consumer(call: Any, function: Any) -> Any:
    """Return the only call that takes the output of another, or why there is none."""
    tensor = call.outputs[0]
    if any(tensor is output for output in keras.tree.flatten(structure.outputs_of(function))):
        return f"the output of '{structure.name_of(call.operation)}' is an output of the model"
    readers = [one for one in structure.calls_of(function) if any(tensor is taken for taken in one.input_tensors)]
    if len(readers) != 1:
        return f"the output of '{structure.name_of(call.operation)}' is used {len(readers)} times"
    return readers[0]


def _channel_axis(layer: Any) -> int:
    first = getattr(layer, "data_format", "channels_last") == "channels_first"
    return 1 if first else -1


def _norm_axis(norm: Any, call: Any) -> int:
    rank = len(call.input_tensors[0].shape)
    axis = norm.axis if norm.axis < 0 else norm.axis - rank
    return 1 if axis == 1 - rank and rank > 2 else axis


def _as_float64(variable: Any) -> Any:
    return keras.ops.convert_to_numpy(variable).astype("float64")


def _assign(variable: Any, value: Any) -> None:
    variable.assign(value.astype(keras.ops.convert_to_numpy(variable).dtype))


fold_batchnorm = FoldBatchnorm
