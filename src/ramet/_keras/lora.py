"""Layers with a low-rank update of their weights."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

_UPDATED = ("kernel", "embeddings")


def targets(layer: Any) -> list[Any]:
    """The variables that LoRA updates."""
    return [layer.__dict__[f"_{name}"] for name in _UPDATED if f"_{name}" in layer.__dict__]


def merged(layer: Any) -> dict[str, Any]:
    """By name, the values of these variables with their updates added, in double precision."""
    scale = layer.lora_alpha / layer.lora_rank
    found = {}
    for name in _UPDATED:
        variable = layer.__dict__.get(f"_{name}")
        if variable is not None and hasattr(layer, f"lora_{name}_a"):
            a, b = (_wide(getattr(layer, f"lora_{name}_{side}")) for side in "ab")
            found[variable.name] = _wide(variable) + scale * np.matmul(a, b)
    return found


def _wide(variable: Any) -> Any:
    return keras.ops.convert_to_numpy(variable).astype("float64")
