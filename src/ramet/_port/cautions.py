"""What a target does only under a condition: on some backends, or for some inputs."""

from __future__ import annotations

import re

from ramet._port.draft import Layer, Model
from ramet._port.notes import Notes
from ramet._port.variables import walk_layers

_POOLING = re.compile(r"AveragePooling[123]D")
_RESIZING = frozenset({"Resizing", "UpSampling2D"})


def add_cautions(model: Model, notes: Notes) -> None:
    """Note what a model of Keras 3 that was translated from Keras 2 does only under a condition."""
    for path, layer in walk_layers(model):
        for text in _cautions(layer):
            notes.add("caution", path, text)


def _cautions(layer: Layer) -> list[str]:
    name, config = layer.class_name, layer.config
    found = []
    if "." in layer.name and layer.module is not None and not layer.module.startswith("keras.src.ops"):
        found.append("its name contains '.', which Keras 3 on torch cannot load")
    if _POOLING.fullmatch(name) and config.get("padding") == "same":
        found.append("padding='same': on torch, Keras 3 computes other averages at the edges")
    if name in ("Conv2DTranspose", "ConvLSTM1D", "ConvLSTM2D") and config.get("data_format") == "channels_first":
        found.append("data_format='channels_first': on TensorFlow, Keras 3 needs a GPU for it")
    if name == "Conv2DTranspose" and config.get("dilation_rate", 1) not in (1, [1, 1]):
        found.append(f"dilation_rate={config['dilation_rate']}: on TensorFlow, Keras 3 needs a GPU for it")
    if name == "LayerNormalization" and config.get("axis", -1) not in (-1, [-1]):
        found.append("Keras 3 on torch normalizes along the last axes only")
    if name in _RESIZING and config.get("interpolation", "nearest") not in ("bilinear", "nearest"):
        mode = config["interpolation"]
        found.append(
            f"interpolation={mode!r}: Keras 3 computes the same on TensorFlow, and other values or nothing on JAX and torch"
        )
    if name == "MultiHeadAttention":
        value, key = config.get("value_dim"), config.get("key_dim")
        if value not in (None, key) and not config.get("dropout"):
            found.append(f"value_dim={value} is not key_dim={key}, which Keras 3 on JAX cannot compute")
        scores = any(call.kwargs.get("return_attention_scores") for call in layer.calls)
        masked = any(call.kwargs.get("attention_mask") is not None for call in layer.calls)
        if masked and (scores or config.get("dropout")):
            found.append(
                "where its attention_mask removes everything, Keras 2 attends to everything alike, and Keras 3 to nothing"
            )
    return found
