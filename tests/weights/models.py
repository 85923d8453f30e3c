"""Models and values for the tests of `transfer` and `sync`."""

import keras
import numpy as np
from keras import layers

import ramet

X = np.random.default_rng(0).normal(size=(12, 4)).astype("float32")
Y = np.random.default_rng(1).normal(size=(12, 2)).astype("float32")


def small(name="net", units=3, seed=0, compiled=False):
    """Return a functional model with a nested model, batch statistics and a random state."""
    keras.utils.set_random_seed(seed)
    x = keras.Input((4,), name="x")
    hidden = layers.BatchNormalization(name="norm")(layers.Dense(units, name="dense")(x))
    body = keras.Model(x, hidden, name="body")
    inputs = keras.Input((4,), name="inputs")
    out = layers.Dense(2, name="head")(layers.Dropout(0.2, seed=3, name="drop")(body(inputs)))
    model = keras.Model(inputs, out, name=name)
    if compiled:
        model.compile(keras.optimizers.Adam(0.05), "mse")
    return model


def numbers(model):
    """Return the weights of a model as NumPy arrays, in order."""
    return [np.array(keras.ops.convert_to_numpy(variable)) for variable in model.weights]


def scatter(model, seed):
    """Assign other values to every weight and statistic."""
    random = np.random.default_rng(seed)
    for variable in model.weights:
        variable.assign(random.uniform(0.5, 2, size=tuple(variable.shape)).astype("float32"))
    return model


def models(*names, **options):
    """Return models of one architecture with different weights."""
    return [scatter(small(name, **options), seed) for seed, name in enumerate(names)]


def two(**options):
    """Return a model, and a clone of it with other weights."""
    model = scatter(small(**options), 1)
    return model, scatter(ramet.clone(model, name="target"), 2)


class Tied(layers.Layer):
    """A layer that multiplies by its own kernel, or by the kernel of another layer."""

    def __init__(self, kernel=None, **options):
        super().__init__(**options)
        self.w = kernel

    def build(self, shape):
        if self.w is None:
            self.w = self.add_weight(shape=(shape[-1], shape[-1]), name="w")

    def call(self, x):
        return keras.ops.matmul(x, self.w)


def tied():
    """Return a model of two layers that hold one variable."""
    x = keras.Input((4,))
    first = Tied(name="first")
    hidden = first(x)
    return keras.Model(x, Tied(first.w, name="second")(hidden))


class Held(keras.Model):
    """A subclassed model with layers in a list and in a dict."""

    def __init__(self, **options):
        super().__init__(**options)
        self.blocks = [layers.Dense(4, name="first"), layers.Dense(4, name="second")]
        self.heads = {"a": layers.Dense(2, name="a")}

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return self.heads["a"](x)


def held(seed=0, **options):
    """Return a built `Held` model."""
    keras.utils.set_random_seed(seed)
    model = Held(**options)
    model(X)
    return model
