"""Layers of a user, for tf_keras and for Keras 3, and the files that tf_keras writes of them.

    python -m tests.port.own_classes FOLDER

`Block` holds layers in its attributes. `Softmax` has the name of a class of Keras, and does something else.
"""

import sys
from pathlib import Path

import numpy as np

X = np.linspace(-1, 1, 40).reshape(2, 5, 4).astype("float32")


def own_classes(keras):
    """Return the classes of the user by name, for one of the two packages."""
    layers = keras.layers

    class Block(layers.Layer):
        def __init__(self, units=4, **settings):
            super().__init__(**settings)
            self.units = units
            self._first = layers.Dense(units)
            self.norm = layers.BatchNormalization()
            self.drop = layers.Dropout(0.5)
            self.attention = layers.MultiHeadAttention(2, 3)
            self.inner = keras.Sequential([layers.Dense(units), layers.Dropout(0.1), layers.Dense(units)])
            self.several = [layers.Dense(units), layers.Dense(units)]
            self.reader = layers.Bidirectional(layers.LSTM(2, return_sequences=True))

        def build(self, shape):
            self.scale = self.add_weight(name="scale", shape=(self.units,), initializer="ones")
            for layer in (self._first, self.norm, self.inner, *self.several, self.reader):
                layer.build(shape)
            if keras.__name__ == "keras":
                self.attention.build(shape, shape)
            else:
                self.attention(keras.Input(shape[1:]), keras.Input(shape[1:]))
            super().build(shape)

        def call(self, x):
            x = self.drop(self.norm(self._first(x)))
            x = self.inner(self.attention(x, x))
            for layer in self.several:
                x = layer(x)
            return self.reader(x) * self.scale

        def get_config(self):
            return {**super().get_config(), "units": self.units}

    class Softmax(layers.Layer):
        def call(self, x):
            return 3 * x

    return {"Block": Block, "Softmax": Softmax}


def write(folder):
    """Let tf_keras write a model of each class, with random weights, and its outputs."""
    import tf_keras

    for name, own in own_classes(tf_keras).items():
        model = tf_keras.Sequential([tf_keras.Input((5, 4)), own(name="mine"), tf_keras.layers.Dense(2, name="head")])
        random = np.random.RandomState(0)
        model.set_weights([random.rand(*array.shape) for array in model.get_weights()])
        model.save(folder / f"{name}.keras")
        np.save(folder / f"{name}.npy", model(X))
    registered = tf_keras.saving.register_keras_serializable()(own)
    model = tf_keras.Sequential([tf_keras.Input((4,)), registered(name="mine")])
    for file in ("registered.keras", "registered.h5"):
        model.save(folder / file)


if __name__ == "__main__":
    write(Path(sys.argv[1]))
