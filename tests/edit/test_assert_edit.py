"""`assert_edit`: what passes, and the messages of failures."""

import keras
import numpy as np
import pytest

import ramet
from ramet import edits as e
from ramet.errors import ArgumentError
from ramet.testing import assert_edit

layers = keras.layers


def chain(*middle, name="net"):
    return keras.Sequential([keras.Input((4,), name="x"), *middle, layers.Dense(2, name="logits")], name=name)


def test_assert_edit_passes_if_the_edits_produce_the_expected_model():
    before = chain(layers.ReLU(name="act"), layers.Dropout(0.5, name="drop"))
    after = chain(layers.Activation("gelu", name="smooth"), name="by_hand")

    edits = [e.replace("act", lambda old: layers.Activation("gelu", name="smooth")), e.remove("drop")]
    assert_edit(before, edits, after)


def test_weights_of_the_expected_model_may_differ_and_are_not_changed():
    before, after = chain(layers.Dense(4, name="d")), chain(layers.Dense(4, name="d"), layers.ReLU(name="r"))
    kept = [weight.numpy().copy() for weight in after.weights]
    assert not np.array_equal(before.layers[0].kernel.numpy(), kept[0])

    assert_edit(before, e.insert_after("d", lambda old: layers.ReLU(name="r")), after)

    for weight, value in zip(after.weights, kept, strict=True):
        np.testing.assert_array_equal(weight.numpy(), value)


def test_different_graph_is_shown_line_by_line():
    before, after = chain(layers.ReLU(name="act")), chain(layers.Softmax(name="act"))

    with pytest.raises(AssertionError) as caught:
        assert_edit(before, e.rename("act", "relu"), after)

    lines = [line.split() for line in str(caught.value).splitlines()]
    assert str(caught.value).startswith("The graph of the edited model differs (- expected, + edited):")
    assert ["-", "act", "Softmax"] in [line[:3] for line in lines]
    assert ["+", "relu", "ReLU"] in [line[:3] for line in lines]


def test_different_setting_is_shown_even_if_graphs_print_the_same():
    before, after = chain(layers.Dropout(0.5, name="drop")), chain(layers.Dropout(0.2, name="drop"))

    assert_edit(before, e.update("drop", rate=0.2), after)
    with pytest.raises(AssertionError, match=r"The settings of layers[\s\S]*-.*0\.2[\s\S]*\+.*0\.3"):
        assert_edit(before, e.update("drop", rate=0.3), after)


def test_first_differing_number_is_reported():
    class Halved(layers.Layer):
        factor = 1.0

        def call(self, x):
            return x * self.factor

    before, after = chain(Halved(name="half")), chain(Halved(name="half"))
    after.layers[0].factor = 0.5

    with pytest.raises(AssertionError, match=r"output 0 at \(0, 0\), .* expected, .* found; 4 of 4 numbers"):
        assert_edit(before, e.freeze("nothing", required=False), after)
    assert_edit(before, e.freeze("nothing", required=False), after, tolerance=2.0)


def test_inputs_must_be_passed_if_the_model_has_no_call_graph():
    class Own(keras.Model):
        def __init__(self):
            super().__init__(name="own")
            self.dense = layers.Dense(2, name="dense")

        def call(self, x):
            return self.dense(x)

    before, after = Own(), Own()
    x = np.ones((3, 4), "float32")
    before(x), after(x)
    after.dense.trainable = False

    with pytest.raises(ArgumentError, match="inputs="):
        assert_edit(before, e.freeze("dense"), after)
    assert_edit(before, e.freeze("dense"), after, inputs=x)


def test_integer_inputs_and_several_inputs_are_made_up():
    def model(rate):
        words, number = keras.Input((None,), dtype="int32", name="words"), keras.Input((3,), name="number")
        x = layers.GlobalAveragePooling1D(name="pool")(layers.Embedding(7, 3, name="embed")(words))
        x = layers.Dropout(rate, name="drop")(layers.Add(name="add")([x, number]))
        return keras.Model({"words": words, "number": number}, x, name="two")

    assert_edit(model(0.1), e.update("drop", rate=0.4), model(0.4))


def test_original_is_not_changed():
    before, after = chain(layers.ReLU(name="act")), chain()
    graph = ramet.capture(before)
    weights = [weight.numpy().copy() for weight in before.weights]

    assert_edit(before, e.remove("act"), after)

    assert ramet.capture(before) == graph
    for weight, value in zip(before.weights, weights, strict=True):
        np.testing.assert_array_equal(weight.numpy(), value)
