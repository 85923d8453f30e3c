"""The models of the demo: the one that started it all, and a real one that has been trained a little."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

FOUNDING_SOURCE = """\
inputs = keras.Input((4,))
a, b   = Lambda(lambda x: [x + 1, x])(inputs)   # two outputs, no mask support
c, d   = Swap()([a, b])
model  = keras.Model(inputs, Add()([c, d]))"""


class Swap(keras.layers.Layer):  # type: ignore[misc]  # Keras ships no types
    """Two inputs in, the same two out, the other way round."""

    def call(self, inputs: Any) -> Any:
        """The second, then the first."""
        first, second = inputs
        return [second, first]


def founding_model() -> Any:
    """The model of keras#12202: a layer with two outputs that does not know masks."""
    inputs = keras.Input((4,), name="inputs")
    a, b = keras.layers.Lambda(lambda x: [x + 1, x], name="two_outputs")(inputs)
    c, d = Swap(name="swap")([a, b])
    model = keras.Model(inputs, keras.layers.Add(name="sum")([c, d]), name="founding")
    model.compile(loss="mse")
    return model


def real_model() -> Any:
    """MobileNetV2 with random weights, its first half frozen, trained for two steps."""
    model = keras.applications.MobileNetV2(input_shape=(32, 32, 3), weights=None, classes=10)
    for layer in model.layers[:80]:
        layer.trainable = False
    model.compile(keras.optimizers.Adam(1e-3), "sparse_categorical_crossentropy", metrics=["accuracy"])
    images, labels = batch_for(model)
    model.fit(images, labels, batch_size=4, verbose=0)
    return model


def batch_for(model: Any, size: int = 8) -> tuple[Any, Any]:
    """A batch the model can be trained with."""
    random = np.random.default_rng(1)
    x = random.normal(size=(size, *model.input_shape[1:])).astype("float32")
    if len(model.input_shape) == 4:
        return x, random.integers(0, 10, size)
    return x, random.normal(size=(size, *model.output_shape[1:])).astype("float32")
