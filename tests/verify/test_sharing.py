"""How much is shared inside a model: counted by hand for each of them."""

import keras
import numpy as np
import pytest
from keras import layers, ops

import ramet
from ramet._verify.door import verify
from tests.verify import models


def called_twice():
    x = keras.Input((4,))
    dense = layers.Dense(4)
    return keras.Model(x, dense(dense(x)))


def siamese():
    """A model called twice, with a layer inside that is called twice."""
    left, right = keras.Input((4,)), keras.Input((4,))
    tower = called_twice()
    return keras.Model([left, right], layers.Add()([tower(left), tower(right)]))


def across_levels():
    """A layer called once in the outer and once in an inner model, and one that two inner models call."""
    outer, inner = layers.Dense(4, name="outer"), layers.Dense(4, name="inner")
    a, b, x = keras.Input((4,)), keras.Input((4,)), keras.Input((4,))
    first = keras.Model(a, inner(outer(a)), name="first")
    second = keras.Model(b, inner(b), name="second")
    return keras.Model(x, outer(second(first(x))))


class Albert(keras.Model):
    """One block, several times over."""

    def __init__(self):
        super().__init__()
        self.blocks = [layers.Dense(4)] * 3
        self.first = self.second = layers.Dense(4)

    def build(self, shape):
        self.blocks[0].build(shape)
        self.first.build(shape)

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return self.second(self.first(x))


def albert():
    model = Albert()
    model(np.ones((1, 4), "float32"))
    return model


def nothing_shared():
    x = keras.Input((4,))
    return keras.Model(x, layers.Dense(2)(layers.Bidirectional(layers.LSTM(2))(ops.expand_dims(x, 1))))


@pytest.mark.parametrize(
    ("make", "shared", "tied"),
    [
        (called_twice, 1, 0),
        (siamese, 2, 0),
        (across_levels, 2, 0),
        (albert, 2, 0),
        (models.tied, 0, 1),
        (models.net, 1, 0),
        (nothing_shared, 0, 0),
    ],
)
def test_shared_layers_and_tied_variables_are_counted(make, shared, tied):
    model = make()

    check = verify(model, ramet.clone(model), only="identity", progress=False)["identity"]

    assert check.outcome == "passed", check
    assert (check.counts["shared layers"], check.counts["tied variables"]) == (shared, tied)
    assert f"{shared} layers and {tied} variables shared inside" in check.summary
