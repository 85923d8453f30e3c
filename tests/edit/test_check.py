"""`check=True`: edits that keep the function are checked by running both models."""

import keras
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet._edit import batchnorm


def network():
    x = keras.Input((6, 6, 3), name="x")
    y = layers.Conv2D(4, 3, use_bias=False, name="conv")(x)
    y = layers.ReLU(name="relu")(layers.BatchNormalization(name="bn")(y))
    y = layers.Dropout(0.5, name="drop")(layers.GlobalAveragePooling2D(name="pool")(y))
    return keras.Model(x, layers.Dense(2, activation="softmax", name="head")(y), name="m")


def test_edits_that_keep_the_function_pass():
    model = network()

    new = ramet.edit(
        model, e.fold_batchnorm(), e.drop_dropout(), e.split_activation(), e.rename("conv", "first"), check=True
    )

    assert [layer.name for layer in new.layers] == ["x", "first", "relu", "pool", "head", "head_activation"]


def test_an_edit_that_changes_the_function_is_not_checked():
    with pytest.raises(ramet.errors.ArgumentError, match=r"Cannot check remove\(named\('relu'\)\)"):
        ramet.edit(network(), e.flatten(), e.remove("relu"), check=True)


def test_a_wrong_rewrite_is_caught(monkeypatch):
    monkeypatch.setattr(batchnorm, "_scale_and_shift", lambda norm: (2.0, 1.0))
    model = network()

    with pytest.raises(ramet.errors.EditError, match="Cannot edit 'm': the edited model computes something else"):
        ramet.edit(model, e.fold_batchnorm(), check=True)
