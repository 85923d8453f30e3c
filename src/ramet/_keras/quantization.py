"""Quantized layers: Keras' modes, what a layer supports, and the float values that quantized weights represent."""

from __future__ import annotations

import warnings
from typing import Any

import keras
import numpy as np

from ramet._keras import policies
from ramet._keras.global_state import bound_collections
from ramet._keras.tensors import wide

# These need calibration data and a list of blocks; a single layer cannot be quantized with them.
CALIBRATED = ("gptq", "awq")
_LAYERS = (keras.layers.Dense, keras.layers.EinsumDense, keras.layers.Embedding)


def modes() -> tuple[str, ...]:
    """Return the modes that the running Keras knows."""
    # The tuple has no public name; a method of every layer reads it.
    found = keras.Layer._check_quantize_args.__globals__["dtype_policies"].QUANTIZATION_MODES
    return tuple(found)


def mode_of(layer: Any) -> str | None:
    """Return the mode that a layer is quantized with, or None."""
    mode = getattr(layer, "quantization_mode", None)
    return None if mode is None else str(mode)


def objection(layer: Any, mode: str) -> str | None:
    """Return why a layer cannot be quantized, or None. The caller tries layers of other libraries on a copy."""
    name = type(layer).__name__
    if mode_of(layer) is not None:
        return f"already quantized to {mode_of(layer)}"
    if not layer.weights and layer.built:
        return "it has no weights"
    if type(layer).quantize is keras.Layer.quantize:
        return f"{name} has no quantize method"
    if not layer.built:
        return "it is not built yet"
    base = _base(layer)
    if base is not None and type(layer).quantize is base.quantize and type(layer) is not base:
        return f"{name} is a subclass of {base.__name__} without its own quantize method"
    spec = getattr(layer, "variable_serialization_spec", None)
    if isinstance(spec, dict) and mode not in spec:
        return f"Keras cannot quantize {name} layers to {mode}"
    if mode == "int8" and layer.compute_dtype == "float16":
        return "Keras refuses int8 for layers that compute in float16"
    if mode == "float8" and getattr(layer, "lora_enabled", False):
        return "LoRA is enabled, and Keras has no float8 call with LoRA"
    return None


def is_foreign(layer: Any) -> bool:
    """Return whether the quantize method of a layer is not one of Keras'."""
    return not str(type(layer).quantize.__module__).startswith("keras.")


def quantize(layer: Any, mode: str, config: Any = None) -> None:
    """Call Keras' `quantize` of one layer, without its warnings."""
    with warnings.catch_warnings(action="ignore"), bound_collections():
        layer.quantize(mode, config=config) if config is not None else layer.quantize(mode)


def source_policy(layer: Any) -> str:
    """Return the name of the float policy that a layer was quantized from."""
    policy = policies.effective_policy(layer)
    return str(getattr(policy, "_source_name", None) or policy.name.partition("_from_")[2])


def can_dequantize(layer: Any) -> bool:
    """Return whether the layout of a layer's quantized weights is known."""
    base = _base(layer)
    known = base is not None and type(layer).quantize is base.quantize
    return known and mode_of(layer) in ("int8", "int4", "float8")


def dequantized(layer: Any) -> dict[str, Any]:
    """Return the float values that the quantized weights of a layer represent, by name, in double precision."""
    if mode_of(layer) == "float8":
        return {}  # the kernel is still a float
    if isinstance(layer, keras.layers.Embedding):
        values = {"embeddings": _embeddings(layer)}
        if not getattr(layer, "tie_weights", True):
            values["reverse_embeddings"] = _reverse_embeddings(layer)
        return values
    return {"kernel": _kernel(layer)}


def _kernel(layer: Any) -> Any:
    quantized, scale = _unpacked(layer, "kernel"), wide(layer.kernel_scale)
    if _is_grouped(layer):
        flat = quantized.reshape(-1, scale.shape[-1])
        return _grouped(flat, scale, wide(layer.kernel_zero), layer.g_idx, axis=0).reshape(quantized.shape)
    if isinstance(layer, keras.layers.EinsumDense):
        if mode_of(layer) == "int4" and hasattr(layer, "_int4_unpacked_column_size"):  # from Keras 3.13 on
            return (quantized.reshape(-1, scale.shape[-1]) / scale).reshape(quantized.shape)
        scale = wide(layer._adjust_scale_for_dequant(keras.ops.convert_to_tensor(layer.kernel_scale)))
    return quantized / scale


def _embeddings(layer: Any) -> Any:
    quantized, scale = _unpacked(layer, "embeddings"), wide(layer.embeddings_scale)
    if _is_grouped(layer):
        return _grouped(quantized, scale, wide(layer.embeddings_zero), layer.g_idx, axis=-1)
    return quantized / scale[:, None]


def _reverse_embeddings(layer: Any) -> Any:
    quantized, scale = layer.reverse_embeddings, wide(layer.reverse_embeddings_scale)
    if mode_of(layer) == "int4":
        quantized = keras.quantizers.unpack_int4(quantized, layer.output_dim, axis=0)
    if _is_grouped(layer):
        return _grouped(wide(quantized), scale, wide(layer.reverse_embeddings_zero), layer.g_idx, axis=0)
    return wide(quantized) / scale


def _unpacked(layer: Any, name: str) -> Any:
    """Return the integers that a layer keeps, one for each weight.

    The property unpacks them, and adds LoRA if it is enabled.
    """
    enabled = layer.lora_enabled
    layer.lora_enabled = False
    try:
        return wide(getattr(layer, name))
    finally:
        layer.lora_enabled = enabled


def _is_grouped(layer: Any) -> bool:
    return getattr(layer, "_int4_block_size", None) not in (None, -1) and mode_of(layer) == "int4"


def _grouped(quantized: Any, scale: Any, zero: Any, groups: Any, *, axis: int) -> Any:
    """Return values with a scale and a zero point for each group; here the scale multiplies."""
    indices = wide(groups).astype("int64")
    return (quantized - np.take(zero, indices, axis)) * np.take(scale, indices, axis)


def _base(layer: Any) -> Any:
    """Return the class of Keras that defines the quantize method of a layer."""
    known = (*_LAYERS, getattr(keras.layers, "ReversibleEmbedding", keras.layers.Embedding))
    return next((cls for cls in reversed(known) if isinstance(layer, cls)), None)
