"""Quantised layers: which modes Keras has, what a layer supports, and the float weights that quantised ones stand for."""

from __future__ import annotations

import warnings
from typing import Any

import keras
import numpy as np

from ramet._keras import policies
from ramet._keras.pause import collections_bounded

# These need calibration data and a list of blocks; a single layer cannot be quantised with them.
CALIBRATED = ("gptq", "awq")
_LAYERS = (keras.layers.Dense, keras.layers.EinsumDense, keras.layers.Embedding)


def modes() -> tuple[str, ...]:
    """The modes that the running Keras knows."""
    # The tuple has no public name; a method of every layer reads it.
    found = keras.Layer._check_quantize_args.__globals__["dtype_policies"].QUANTIZATION_MODES
    return tuple(found)


def mode_of(layer: Any) -> str | None:
    """The mode that a layer is quantised with, or None."""
    mode = getattr(layer, "quantization_mode", None)
    return None if mode is None else str(mode)


def objection(layer: Any, mode: str) -> str | None:
    """Why a layer cannot be quantised, or None. Layers of other libraries are tried on a copy by the caller."""
    name = type(layer).__name__
    if mode_of(layer) is not None:
        return f"already quantised to {mode_of(layer)}"
    if not layer.weights and layer.built:
        return "it has no weights"
    if type(layer).quantize is keras.Layer.quantize:
        return f"{name} has no quantize method"
    if not layer.built:
        return "it is not built yet"
    base = _base(layer)
    if base is not None and type(layer).quantize is base.quantize and type(layer) is not base:
        return f"{name} is a subclass of {base.__name__} without a quantize method of its own"
    spec = getattr(layer, "variable_serialization_spec", None)
    if isinstance(spec, dict) and mode not in spec:
        return f"Keras cannot quantise a {name} to {mode}"
    if mode == "int8" and layer.compute_dtype == "float16":
        return "Keras refuses int8 for layers that compute in float16"
    if mode == "float8" and getattr(layer, "lora_enabled", False):
        return "LoRA is enabled, and Keras has no float8 call with LoRA"
    return None


def is_foreign(layer: Any) -> bool:
    """Whether the quantize method of a layer is not one of Keras'."""
    return not str(type(layer).quantize.__module__).startswith("keras.")


def quantize(layer: Any, mode: str, config: Any = None) -> None:
    """Call Keras' `quantize` of one layer, without its warnings."""
    with warnings.catch_warnings(), collections_bounded():
        warnings.simplefilter("ignore")
        layer.quantize(mode, config=config) if config is not None else layer.quantize(mode)


def source_policy(layer: Any) -> str:
    """The name of the float policy that a layer was quantised from."""
    policy = policies.effective(layer)
    return str(getattr(policy, "_source_name", None) or policy.name.partition("_from_")[2])


def can_dequantise(layer: Any) -> bool:
    """Whether the layout of a layer's quantised weights is known."""
    base = _base(layer)
    known = base is not None and type(layer).quantize is base.quantize
    return known and mode_of(layer) in ("int8", "int4", "float8")


def dequantised(layer: Any) -> dict[str, Any]:
    """By variable name, the float values that the quantised weights of a layer stand for, in double precision."""
    if mode_of(layer) == "float8":
        return {}  # the kernel was never anything but float
    if isinstance(layer, keras.layers.Embedding):
        values = {"embeddings": _embeddings(layer)}
        if not getattr(layer, "tie_weights", True):
            values["reverse_embeddings"] = _reverse_embeddings(layer)
        return values
    return {"kernel": _kernel(layer)}


def _kernel(layer: Any) -> Any:
    quantised, scale = _unpacked(layer, "kernel"), _wide(layer.kernel_scale)
    if _is_grouped(layer):
        flat = quantised.reshape(-1, scale.shape[-1])
        return _grouped(flat, scale, _wide(layer.kernel_zero), layer.g_idx, axis=0).reshape(quantised.shape)
    if isinstance(layer, keras.layers.EinsumDense):
        if mode_of(layer) == "int4" and hasattr(layer, "_int4_unpacked_column_size"):  # from Keras 3.13 on
            return (quantised.reshape(-1, scale.shape[-1]) / scale).reshape(quantised.shape)
        scale = _wide(layer._adjust_scale_for_dequant(keras.ops.convert_to_tensor(layer.kernel_scale)))
    return quantised / scale


def _embeddings(layer: Any) -> Any:
    quantised, scale = _unpacked(layer, "embeddings"), _wide(layer.embeddings_scale)
    if _is_grouped(layer):
        return _grouped(quantised, scale, _wide(layer.embeddings_zero), layer.g_idx, axis=-1)
    return quantised / scale[:, None]


def _reverse_embeddings(layer: Any) -> Any:
    quantised, scale = layer.reverse_embeddings, _wide(layer.reverse_embeddings_scale)
    if mode_of(layer) == "int4":
        quantised = keras.quantizers.unpack_int4(quantised, layer.output_dim, axis=0)
    if _is_grouped(layer):
        return _grouped(_wide(quantised), scale, _wide(layer.reverse_embeddings_zero), layer.g_idx, axis=0)
    return _wide(quantised) / scale


def _unpacked(layer: Any, name: str) -> Any:
    """The whole numbers that a layer keeps, one for each weight. The property unpacks them, and adds LoRA where it is on."""
    enabled = layer.lora_enabled
    layer.lora_enabled = False
    try:
        return _wide(getattr(layer, name))
    finally:
        layer.lora_enabled = enabled


def _is_grouped(layer: Any) -> bool:
    return getattr(layer, "_int4_block_size", None) not in (None, -1) and mode_of(layer) == "int4"


def _grouped(quantised: Any, scale: Any, zero: Any, groups: Any, *, axis: int) -> Any:
    """Values with a scale and a zero point for each group; here the scale multiplies."""
    places = _wide(groups).astype("int64")
    return (quantised - np.take(zero, places, axis)) * np.take(scale, places, axis)


def _base(layer: Any) -> Any:
    """The class of Keras that brings the quantize method of a layer."""
    known = (*_LAYERS, getattr(keras.layers, "ReversibleEmbedding", keras.layers.Embedding))
    return next((cls for cls in reversed(known) if isinstance(layer, cls)), None)


def _wide(value: Any) -> Any:
    return keras.ops.convert_to_numpy(value).astype("float64")
