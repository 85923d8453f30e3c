"""The walk itself: once for an ordinary model, again only where an early guess was wrong."""

import weakref

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet._copy import clone as door
from tests.support.twins import twin_of


@pytest.fixture
def walks(monkeypatch):
    """How many walks were begun."""
    begun = []

    class Counted(door.Copier):
        def __init__(self, plan_for):
            begun.append(self)
            super().__init__(plan_for)

    monkeypatch.setattr(door, "Copier", Counted)
    return begun


def trained_model():
    tokens = keras.Input((5,), dtype="int32")
    x = layers.LSTM(4, return_sequences=True)(layers.Embedding(10, 4, mask_zero=True)(tokens))
    x = layers.MultiHeadAttention(2, 4, dropout=0.1)(x, x)
    model = keras.Model(tokens, layers.Dense(2, activation="relu")(x))
    model.compile("adam", "mse", metrics=["mae"])
    model.fit(np.ones((2, 5)), np.ones((2, 5, 2)), verbose=0)
    return model


def test_an_ordinary_model_is_walked_once(walks):
    ramet.clone(trained_model())

    assert len(walks) == 1


def test_a_weak_reference_that_comes_before_its_target_is_walked_twice(walks):
    class Child(layers.Layer):
        pass

    class Parent(layers.Layer):
        def __init__(self):
            super().__init__()
            self.first = {"back": None}
            self.child = Child()
            self.first["back"] = weakref.ref(self.child)

    parent = Parent()
    twin = twin_of(parent)

    assert twin.first["back"]() is twin.child
    assert len(walks) <= 2


def test_two_functions_on_one_cell_stay_on_one_cell(walks):
    def counter():
        count = 0

        def read(x):
            return x * count

        def step(x):
            nonlocal count
            count += 1
            return x

        return read, step

    read, step = counter()
    model = keras.Sequential([keras.Input((1,)), layers.Lambda(read), layers.Lambda(step)])
    twin = ramet.clone(model)
    new_read, new_step = (layer.function for layer in twin.layers)
    before = read(1)
    new_step(0)

    assert read(1) == before
    assert new_read(1) == before + 1
