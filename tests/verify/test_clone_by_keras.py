"""What the project exists to fix: a clone by `keras.models.clone_model` and `set_weights`, verified."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet._verify.door import verify


@pytest.fixture(scope="module")
def model():
    """Half frozen, with statistics, randomness and an optimizer that has been somewhere."""
    inputs = keras.Input((8,), name="features")
    x = layers.Dense(8, activation="relu", name="frozen")(inputs)
    x = layers.BatchNormalization(name="norm")(x)
    x = layers.Dropout(0.5, seed=1, name="drop")(x)
    model = keras.Model(inputs, layers.Dense(3, activation="softmax", name="head")(x), name="classifier")
    model.get_layer("frozen").trainable = False
    model.trainable = True
    model.get_layer("frozen").trainable = False
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    rng = np.random.default_rng(0)
    model.fit(rng.normal(size=(8, 8)), rng.integers(0, 3, 8), verbose=0)
    return model


@pytest.mark.slow
def test_the_report_shows_what_was_lost(model):
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())

    report = verify(model, clone)

    outcomes = {check.name: check.outcome for check in report}
    assert outcomes["state"] == "failed"
    assert outcomes["training"] == "failed"
    assert outcomes["file"] == "failed"
    assert outcomes["independence"] == "passed"
    lost = [difference.path for difference in report["state"].differences]
    assert lost == ["drop/seed_generator_state", "metrics/loss/total", "metrics/loss/count"]
    assert "'classifier' is not a twin of 'classifier'" in str(report)
    assert "✗ training" in str(report)


def test_the_twin_passes_everything(model):
    report = verify(model, ramet.clone(model))

    assert report.ok
    assert {check.outcome for check in report} == {"passed"}
    assert "'classifier' is a twin of 'classifier': 10 passed" in str(report)
