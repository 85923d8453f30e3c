"""The models to copy, with an input for each."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import layers


@dataclass(frozen=True)
class Case:
    """A model to copy.

    Args:
        name: The name in the tables.
        make: Returns the model, built.
        inputs: Returns one batch for it.
    """

    name: str
    make: Callable[[], Any]
    inputs: Callable[[], Any]


def chain(depth: int, width: int = 16) -> Any:
    """Return a functional model of Dense layers in a chain."""
    x = inputs = keras.Input((width,))
    for _ in range(depth):
        x = layers.Dense(width, activation="relu")(x)
    return keras.Model(inputs, x)


def transformer(depth: int, width: int, heads: int, vocabulary: int = 500, length: int = 32) -> Any:
    """Return an encoder of Keras layers: embeddings with a mask, attention, norms, dropout, two dense layers per block."""
    tokens = keras.Input((length,), dtype="int32")
    x = layers.Embedding(vocabulary, width, mask_zero=True)(tokens)
    x = layers.Dropout(0.1)(x)
    for _ in range(depth):
        attended = layers.MultiHeadAttention(heads, width // heads, dropout=0.1)(x, x)
        x = layers.LayerNormalization()(layers.Add()([x, layers.Dropout(0.1)(attended)]))
        hidden = layers.Dense(4 * width, activation="gelu")(x)
        projected = layers.Dropout(0.1)(layers.Dense(width)(hidden))
        x = layers.LayerNormalization()(layers.Add()([x, projected]))
    pooled = layers.GlobalAveragePooling1D()(x)
    return keras.Model(tokens, layers.Dense(10)(pooled))


@keras.saving.register_keras_serializable("bench")
class Perceptron(keras.Model):
    """A subclassed model with layers in a list, and residual connections that no graph records."""

    def __init__(self, depth: int = 32, width: int = 64, **options: Any) -> None:
        super().__init__(**options)
        self.depth, self.width = depth, width
        self.blocks = [layers.Dense(width, activation="relu") for _ in range(depth)]
        self.norm = layers.LayerNormalization()
        self.head = layers.Dense(10)

    def call(self, inputs: Any) -> Any:
        """Apply residual blocks, a norm and a head."""
        x = inputs
        for block in self.blocks:
            x = x + block(x)
        return self.head(self.norm(x))

    def get_config(self) -> dict[str, Any]:
        """Return the arguments of the constructor."""
        return {**super().get_config(), "depth": self.depth, "width": self.width}


def subclassed() -> Any:
    """Return the subclassed model, built by a call."""
    model = Perceptron()
    model(np.zeros((1, 64), "float32"))
    return model


def trained() -> Any:
    """Return a compiled model with the state of Adam after one step."""
    model = chain(32, 64)
    model.compile(optimizer="adam", loss="mse", metrics=["mae"])
    batch = _vectors(64)()
    model.train_on_batch(batch, batch)
    return model


def gigabyte() -> Any:
    """Return 1 GB of float32 in 15 layers, filled with a constant: random numbers would take longer than any copy."""
    width = 4096
    x = inputs = keras.Input((width,))
    for _ in range(15):
        x = layers.Dense(width, kernel_initializer=keras.initializers.Constant(0.01))(x)
    return keras.Model(inputs, x)


def _vectors(width: int) -> Callable[[], Any]:
    return lambda: np.random.default_rng(0).normal(size=(4, width)).astype("float32")


def _images() -> Any:
    return np.random.default_rng(0).uniform(0, 255, size=(1, 224, 224, 3)).astype("float32")


def _tokens() -> Any:
    tokens = np.random.default_rng(0).integers(1, 500, size=(2, 32)).astype("int32")
    tokens[1, 20:] = 0  # padding, so that the mask matters
    return tokens


CASES: tuple[Case, ...] = (
    Case("64 Dense", lambda: chain(64), _vectors(16)),
    Case("900 Dense", lambda: chain(900), _vectors(16)),
    Case("6-layer transformer", lambda: transformer(6, 64, 4), _tokens),
    Case("12-layer transformer", lambda: transformer(12, 256, 8), _tokens),
    Case("ResNet50", lambda: keras.applications.ResNet50(weights=None), _images),
    Case("EfficientNetB0", lambda: keras.applications.EfficientNetB0(weights=None), _images),
    Case("subclassed", subclassed, _vectors(64)),
    Case("compiled, Adam", trained, _vectors(64)),
    Case("1 GB in 15 layers", gigabyte, _vectors(4096)),
)


def variables_of(model: Any) -> list[Any]:
    """Return all variables of a model: weights, random states, metrics, optimizer."""
    optimizer = getattr(model, "optimizer", None)
    return [*model.variables, *model.metrics_variables, *(optimizer.variables if optimizer else ())]
