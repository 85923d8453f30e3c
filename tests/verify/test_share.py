"""What a twin is meant to share with its original is no fault, and nothing else is excused by it."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet.errors import ArgumentError
from ramet.testing import assert_twin


def _perceptual():
    """A model with a judge inside that its twin shares."""
    judge = keras.Sequential([keras.Input((3,)), layers.Dense(2, name="eye")], name="judge")
    inputs = keras.Input((4,))
    model = keras.Model(inputs, judge(layers.Dense(3, name="own")(inputs)))
    model.compile("adam", "mse")
    model.fit(np.ones((2, 4)), np.ones((2, 2)), verbose=0)
    return model, judge


def test_a_twin_with_a_shared_part_is_faultless_when_the_part_is_named():
    model, judge = _perceptual()
    twin = ramet.clone(model, share=[judge])

    assert_twin(model, twin, share=[judge])
    assert not ramet.verify(model, twin).ok


def test_what_else_is_shared_is_still_found():
    model, judge = _perceptual()
    twin = ramet.clone(model, share=[judge])
    twin.get_layer("own").note = model.get_layer("own").note = np.ones(2)

    report = ramet.verify(model, twin, share=[judge])

    assert [check.name for check in report if check.outcome == "failed"] == ["identity"]
    assert report["identity"].differences[0].path.startswith("own")


def test_a_twin_on_the_very_same_variables():
    model, _ = _perceptual()
    twin = ramet.clone(model, weights="share")

    report = ramet.verify(model, twin, share=model.variables, only=("identity", "independence", "outputs"))

    assert report.ok, str(report)
    assert not ramet.verify(model, twin, only="independence").ok


def test_the_objects_come_in_a_list():
    model, judge = _perceptual()

    with pytest.raises(ArgumentError, match="Cannot verify with share=: it is a list of objects"):
        ramet.verify(model, model, share=judge)
