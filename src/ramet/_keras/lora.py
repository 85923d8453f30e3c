"""Layers with LoRA: a low-rank update of their weights."""

from __future__ import annotations

import inspect
import warnings
from typing import Any

import keras
import numpy as np
from keras import layers

from ramet._keras import structure
from ramet._keras.tensors import wide

# `lora_kernel_a` and `lora_kernel_b` update `_kernel`, `lora_embeddings_a` and its partner `_embeddings`.
_PREFIX, _SIDES = "lora_", ("_a", "_b")
# How a file that does not describe LoRA differs from the model: Keras merges the update into the weights when it saves.
LOST = "has merged weights and no LoRA"
_CLASSES = (layers.Dense, layers.EinsumDense, layers.Embedding, layers.Conv1D, layers.Conv2D, layers.Conv3D)


def is_enabled(layer: Any) -> bool:
    return bool(getattr(layer, "lora_enabled", False))


def targets(layer: Any) -> list[Any]:
    """Return the variables that LoRA updates. They stay frozen while it is enabled."""
    return [variable for _, variable in _updated(layer)]


def matrices(layer: Any) -> list[Any]:
    """Return the low-rank matrices that a layer owns itself."""
    held = {id(variable) for variable, _ in structure.variables_of(layer)}
    found = [value for name, value in layer.__dict__.items() if name.startswith(_PREFIX)]
    return [variable for variable in found if isinstance(variable, keras.Variable) and id(variable) in held]


def merged_values(layer: Any) -> dict[str, Any]:
    """Return the values of these variables with their updates added, by name, in double precision."""
    scale = layer.lora_alpha / layer.lora_rank
    found = {}
    for name, variable in _updated(layer):
        a, b = (wide(getattr(layer, f"{_PREFIX}{name}{side}")) for side in _SIDES)
        found[variable.name] = wide(variable) + scale * np.matmul(a, b)
    return found


def objection(layer: Any) -> str | None:
    """Return why LoRA cannot be enabled on a layer, or None."""
    if not callable(getattr(layer, "enable_lora", None)):
        return f"{type(layer).__name__} has no enable_lora method"
    if is_enabled(layer):
        return f"LoRA is already enabled, with rank {getattr(layer, 'lora_rank', None)}"
    if not layer.built:
        return "it is not built yet"
    for name in ("kernel_constraint", "embeddings_constraint"):
        if getattr(layer, name, None) is not None:
            return f"Keras has no LoRA for a layer with a {name}"
    mode = getattr(layer, "quantization_mode", None)
    if mode in ("float8", "gptq"):
        return f"quantized to {mode}, and Keras has no LoRA for that"
    return None


def takes_alpha(layer: Any) -> bool:
    """Return whether the `enable_lora` of a layer takes an alpha."""
    return "lora_alpha" in inspect.signature(layer.enable_lora).parameters


def enable(layer: Any, rank: int, alpha: float | None) -> None:
    """Call Keras' `enable_lora` of one layer, without its warnings."""
    with warnings.catch_warnings(action="ignore"):
        layer.enable_lora(rank) if alpha is None else layer.enable_lora(rank, lora_alpha=alpha)


def count_added_parameters(layer: Any, rank: int) -> int | None:
    """Return how many parameters LoRA would add to a layer of Keras; None for others, and for packed weights."""
    if type(layer) not in _CLASSES or getattr(layer, "quantization_mode", None) == "int4":
        return None
    shape = tuple(layer.__dict__["_embeddings" if isinstance(layer, layers.Embedding) else "_kernel"].shape)
    return rank * (int(np.prod(shape[:-1])) + int(shape[-1]))


def _updated(layer: Any) -> list[tuple[str, Any]]:
    """Return the names that low-rank matrices update, each with the variable of that name."""
    attributes = layer.__dict__
    found = []
    for attribute in attributes:
        name = attribute.removeprefix(_PREFIX).removesuffix(_SIDES[0])
        if attribute != f"{_PREFIX}{name}{_SIDES[0]}":
            continue
        base = attributes.get(f"_{name}", attributes.get(name))
        if isinstance(base, keras.Variable):
            found.append((name, base))
    return found
