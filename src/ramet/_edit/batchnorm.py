"""`fold_batchnorm`: a normalisation at inference is one multiplication and one addition, which the layer beside it can do."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from ramet._edit.activation import is_linear
from ramet._edit.edit import Edit
from ramet._edit.plan import Skip, Step, Touch
from ramet._edit.scene import Scene
from ramet._edit.updating import update
from ramet._keras import lora, quantization, structure
from ramet.errors import EditError

_CONVOLUTIONS = (
    keras.layers.Conv1D,
    keras.layers.Conv2D,
    keras.layers.Conv3D,
)
_TRANSPOSED = (keras.layers.Conv1DTranspose, keras.layers.Conv2DTranspose, keras.layers.Conv3DTranspose)
_DEPTHWISE = (keras.layers.DepthwiseConv1D, keras.layers.DepthwiseConv2D)
_SEPARABLE = (keras.layers.SeparableConv1D, keras.layers.SeparableConv2D)
_ALL = (*_CONVOLUTIONS, *_TRANSPOSED, *_DEPTHWISE, *_SEPARABLE, keras.layers.Dense)


@dataclass(frozen=True)
class _Pair:
    """A layer and the normalisation that goes into it."""

    layer: str
    after: bool  # whether the normalisation comes after the layer


def touch(edit: Edit, scene: Scene) -> Step:
    """Every normalisation that can go exactly into the layer before or after it."""
    touched, skipped = [], []
    used: set[str] = set()
    for candidate in scene.find(edit):
        norm = scene.op(candidate.path)
        if not isinstance(norm, keras.layers.BatchNormalization):
            continue
        pair = _partner(candidate.path, norm, scene, used)
        if isinstance(pair, str):
            skipped.append(Skip(candidate.path, pair))
            continue
        used.add(pair.layer)
        side = "before" if pair.after else "after"
        claims = frozenset({"layer"})
        touched.append(Touch(candidate.path, f"folded into '{pair.layer}' {side} it", claims=claims, detail=pair))
    return Step(edit, tuple(touched), tuple(skipped))


def carry_out(edit: Edit, step: Step, scene: Scene) -> None:
    """Put scale and shift into the weights of the partner, and leave the normalisation out."""
    for item in step.touched:
        pair: _Pair = item.detail
        norm, layer = scene.op(item.path), scene.op(pair.layer)
        _check_plain(layer, pair.layer)
        scale, shift = _scale_and_shift(norm)
        if not layer.use_bias:
            update(scene, pair.layer, {"use_bias": True})
        else:
            scene.orders.touch(layer)
        (_fold_after if pair.after else _fold_before)(layer, scale, shift)
        for call in scene.calls(item.path).values():
            scene.orders.at(call).keep = (0,)
        scene.changed_inside(item.path)


def _check_plain(layer: Any, path: str) -> None:
    """Another edit before this one may have changed what the weights of the partner mean."""
    if quantization.mode_of(layer) is not None or lora.is_enabled(layer):
        raise EditError(
            f"Cannot fold a normalisation into '{path}': an edit before this one quantises it or enables LoRA.",
            fix="fold first: put fold_batchnorm() before quantize() and lora().",
            path=path,
        )


def _scale_and_shift(norm: Any) -> tuple[Any, Any]:
    mean, variance = _wide(norm.moving_mean), _wide(norm.moving_variance)
    scale = (_wide(norm.gamma) if norm.scale else 1.0) / np.sqrt(variance + norm.epsilon)
    return scale, (_wide(norm.beta) if norm.center else 0.0) - mean * scale


def _fold_after(layer: Any, scale: Any, shift: Any) -> None:
    """What is computed: scale * (W x + b) + shift."""
    # Of two kernels the second decides an output's scale.
    kernel = layer.pointwise_kernel if isinstance(layer, _SEPARABLE) else layer.kernel
    value = _wide(kernel)
    if isinstance(layer, _TRANSPOSED):
        value = value * scale[:, None]  # (..., outputs, inputs)
    elif isinstance(layer, _DEPTHWISE):
        value = value * scale.reshape(value.shape[-2:])  # (..., inputs, multiplier)
    else:
        value = value * scale  # (..., inputs, outputs)
    kernel.assign(value.astype(_np_dtype(kernel)))
    layer.bias.assign((_wide(layer.bias) * scale + shift).astype(_np_dtype(layer.bias)))


def _fold_before(layer: Any, scale: Any, shift: Any) -> None:
    """What is computed: W (scale * x + shift) + b, where no zeros are padded between the two."""
    kernel = layer.depthwise_kernel if isinstance(layer, _SEPARABLE) else layer.kernel
    value = _wide(kernel)
    taps = tuple(range(value.ndim - 2))
    if isinstance(layer, _DEPTHWISE):
        added = (value * shift[:, None]).sum(taps).reshape(-1)
        kernel.assign((value * scale[:, None]).astype(_np_dtype(kernel)))
    elif isinstance(layer, _SEPARABLE):
        added = (value * shift[:, None]).sum(taps).reshape(-1) @ _wide(layer.pointwise_kernel).reshape(
            -1, layer.filters
        )
        kernel.assign((value * scale[:, None]).astype(_np_dtype(kernel)))
    else:
        groups = getattr(layer, "groups", 1)
        per_group = value.shape[-2]
        outputs = value.shape[-1] // groups
        # A group reads its own part of the channels.
        scales = np.concatenate(
            [np.repeat(scale[g * per_group : (g + 1) * per_group, None], outputs, 1) for g in range(groups)], 1
        )
        shifts = np.concatenate(
            [np.repeat(shift[g * per_group : (g + 1) * per_group, None], outputs, 1) for g in range(groups)], 1
        )
        added = (value * shifts).sum(axis=(*taps, value.ndim - 2))
        kernel.assign((value * scales).astype(_np_dtype(kernel)))
    layer.bias.assign((_wide(layer.bias) + added).astype(_np_dtype(layer.bias)))


def _partner(path: str, norm: Any, scene: Scene, used: set[str]) -> _Pair | str:
    """The layer that a normalisation can go into, or why there is none."""
    calls = list(scene.calls(path).values())
    if structure.function_of(scene.holder(path)) is None:
        return "it is called by the code of the layer it is inside of"
    if len(calls) != 1:
        return f"it is called {len(calls)} times"
    call = calls[0]
    if type(norm) is not keras.layers.BatchNormalization:
        return f"{type(norm).__name__} may compute something else"
    if call.arguments.kwargs.get("training"):
        return "it is called with training=True, and normalises by the batch"
    if call.arguments.kwargs.get("mask") is not None:
        return "it is called with a mask"
    prefix = path.rpartition("/")[0]
    before = structure.producing_call(call.input_tensors[0])
    reason = _before_reason(norm, call, before, scene, prefix, used)
    if reason is None:
        return _Pair(f"{prefix}/{structure.name_of(before.operation)}".lstrip("/"), after=True)
    following = _only_reader(call, scene, prefix)
    other = following if isinstance(following, str) else _after_reason(norm, following, scene, prefix, used)
    if other is None and not isinstance(following, str):
        return _Pair(f"{prefix}/{structure.name_of(following.operation)}".lstrip("/"), after=False)
    return f"{reason}; {other}"


def _before_reason(norm: Any, call: Any, before: Any, scene: Scene, prefix: str, used: set[str]) -> str | None:
    """Why the normalisation cannot go into the layer before it, or None."""
    if before is None or before.is_input:
        return "before it is an input"
    layer = before.operation
    reason = _unfit(layer, norm, f"{prefix}/{layer.name}".lstrip("/"), scene, used)
    if reason:
        return f"before it, {reason}"
    if not is_linear(layer.activation):
        return f"before it, '{layer.name}' ends with an activation"
    if getattr(layer, "activity_regularizer", None) is not None:
        return f"before it, '{layer.name}' has an activity regulariser"
    if _channel_axis(layer) != _norm_axis(norm, call):
        return "it normalises another axis than that of the channels"
    readers = _only_reader(before, scene, prefix)
    return f"before it, {readers}" if isinstance(readers, str) else None


def _after_reason(norm: Any, following: Any, scene: Scene, prefix: str, used: set[str]) -> str | None:
    """Why the normalisation cannot go into the layer after it, or None."""
    layer = following.operation
    reason = _unfit(layer, norm, f"{prefix}/{layer.name}".lstrip("/"), scene, used)
    if reason:
        return f"after it, {reason}"
    if _channel_axis(layer) != _norm_axis(norm, following):
        return "it normalises another axis than that of the channels"
    if isinstance(layer, _TRANSPOSED):
        return f"after it, '{layer.name}' adds its taps up differently from place to place"
    if not isinstance(layer, keras.layers.Dense) and getattr(layer, "padding", "valid") != "valid":
        _, shift = _scale_and_shift(norm)
        if np.any(shift != 0):
            return f"after it, '{layer.name}' pads with zeros, which would not be shifted"
    return None


def _unfit(layer: Any, norm: Any, path: str, scene: Scene, used: set[str]) -> str | None:
    if not isinstance(layer, keras.Layer) or type(layer) not in _ALL:
        return f"'{layer.name}' is a {type(layer).__name__}"
    if path in used:
        return f"'{layer.name}' takes another normalisation already"
    if len(scene.calls(path)) != 1:
        return f"'{layer.name}' is called {len(scene.calls(path))} times"
    if getattr(layer, "quantization_mode", None) is not None:
        return f"'{layer.name}' is quantised"
    if getattr(layer, "lora_enabled", False):
        return f"'{layer.name}' has LoRA enabled"
    if getattr(layer, "kernel_constraint", None) is not None or getattr(layer, "bias_constraint", None) is not None:
        return f"'{layer.name}' has a constraint"
    shared = [v for v in (*layer.variables, *norm.variables) if scene.is_tied(v)]
    return f"'{shared[0].path}' is shared with another layer" if shared else None


def _only_reader(call: Any, scene: Scene, prefix: str) -> Any:
    """The only call that reads the value of another, or why there is none."""
    tensor = call.outputs[0]
    readers = scene.readers(tensor, prefix)
    if scene.is_output(tensor, prefix):
        return f"the value of '{structure.name_of(call.operation)}' is an output"
    if len(readers) != 1:
        return f"the value of '{structure.name_of(call.operation)}' is read {len(readers)} times"
    return readers[0]


def _channel_axis(layer: Any) -> int:
    first = getattr(layer, "data_format", "channels_last") == "channels_first"
    return 1 if first else -1


def _norm_axis(norm: Any, call: Any) -> int:
    rank = len(call.input_tensors[0].shape)
    axis = norm.axis if norm.axis < 0 else norm.axis - rank
    return 1 if axis == 1 - rank and rank > 2 else axis


def _wide(variable: Any) -> Any:
    return keras.ops.convert_to_numpy(variable).astype("float64")


def _np_dtype(variable: Any) -> Any:
    return keras.ops.convert_to_numpy(variable).dtype
