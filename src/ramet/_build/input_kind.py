"""Texts where numbers are expected, and the other way round: Keras itself notices only when the model runs."""

from __future__ import annotations

from typing import Any

import keras

from ramet._keras import structure
from ramet.errors import RebuildError

_TAKES_TEXT = (
    keras.layers.StringLookup,
    keras.layers.TextVectorization,
    keras.layers.Hashing,
    keras.layers.HashedCrossing,
    keras.layers.Identity,
)
_TAKES_ONLY_TEXT = (keras.layers.StringLookup, keras.layers.TextVectorization)


def check_kind(model: Any, old: Any, dtype: str) -> None:
    """Refuse an input of texts for a layer that computes, and one of numbers for a layer that looks texts up.

    Asked are Keras' own layers; what a user's layer takes, only the layer knows.
    """
    if (dtype == "string") == (old.dtype == "string"):
        return
    for call in structure.calls_of(structure.function_of(model)):
        layer = call.operation
        if not any(tensor is old for tensor in call.input_tensors) or not _is_of_keras(layer):
            continue
        refuses = not isinstance(layer, _TAKES_TEXT) if dtype == "string" else isinstance(layer, _TAKES_ONLY_TEXT)
        if refuses:
            raise RebuildError(
                f"Cannot rebuild '{model.name}' on the input '{old.name}' of dtype {dtype}: the layer '{layer.name}' "
                f"takes {'numbers' if dtype == 'string' else 'texts'}.",
                expected=f"dtype {old.dtype} or the like",
                found=f"dtype {dtype} at '{layer.name}', a {type(layer).__name__}",
                fix="choose a dtype that this layer accepts, or replace the layer.",
                path=layer.name,
            )


def _is_of_keras(op: Any) -> bool:
    made_by_keras = type(op).__module__.partition(".")[0] == "keras"
    return made_by_keras and not isinstance(op, keras.layers.Lambda | keras.layers.Wrapper | keras.Model)
