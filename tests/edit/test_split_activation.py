"""`split_activation`: turn a layer's activation into a layer of its own."""

import keras
import pytest
from keras import layers

import ramet
from ramet import edits as e
from tests.edit.expect import assert_close, assert_edited, assert_saved, edited, scrambled
from tests.support.graph_models import data_for
from tests.support.twins import outputs


def on(shape, *stack):
    x = keras.Input(shape, name="x")
    y = x
    for layer in stack:
        y = layer(y)
    return keras.Model(x, y, name="m")


CASES = {
    "dense": ((4,), lambda **s: layers.Dense(3, name="w", **s)),
    "einsum": ((5, 4), lambda **s: layers.EinsumDense("abc,cd->abd", (None, 3), name="w", **s)),
    "conv1d": ((6, 4), lambda **s: layers.Conv1D(3, 2, name="w", **s)),
    "conv2d": ((6, 6, 4), lambda **s: layers.Conv2D(3, 2, name="w", **s)),
    "conv2d_transposed": ((4, 4, 4), lambda **s: layers.Conv2DTranspose(3, 2, name="w", **s)),
    "depthwise": ((6, 6, 4), lambda **s: layers.DepthwiseConv2D(2, name="w", **s)),
    "separable": ((6, 6, 4), lambda **s: layers.SeparableConv2D(3, 2, name="w", **s)),
}


@pytest.mark.parametrize("case", CASES)
def test_activation_of_each_kind_of_layer_is_split(case):
    shape, make = CASES[case]
    assert_edited(
        on(shape, make(activation="relu")),
        [e.split_activation()],
        on(shape, make(), layers.Activation("relu", name="w_activation")),
    )


def test_shared_layer_gets_a_shared_activation():
    def make(dense, after):
        x, y = keras.Input((4,), name="x"), keras.Input((4,), name="y")
        return keras.Model([x, y], layers.Add(name="sum")([after(dense(x)), after(dense(y))]), name="m")

    assert_edited(
        make(layers.Dense(3, activation="tanh", name="w"), lambda y: y),
        [e.split_activation()],
        make(layers.Dense(3, name="w"), layers.Activation("tanh", name="w_activation")),
    )


def test_activations_are_split_at_every_level_and_in_a_sequential():
    inner = keras.Sequential([keras.Input((3,), name="z"), layers.Dense(3, activation="relu", name="d")], name="inner")
    x = keras.Input((3,), name="x")
    model = scrambled(keras.Model(x, inner(x), name="outer"))

    new = edited(model, e.split_activation())

    assert [layer.name for layer in new.get_layer("inner").layers] == ["d", "d_activation"]
    x = data_for(model)
    assert_close(outputs(new, x), outputs(model, x), 0.0)
    assert_saved(new)


def test_activation_may_be_a_layer_or_an_object():
    new = edited(on((4,), layers.Dense(3, activation=layers.LeakyReLU(0.3), name="w")), e.split_activation())

    assert [layer.name for layer in new.layers] == ["x", "w", "w_activation"]
    assert_saved(new)


def test_inserted_layer_comes_after_the_activation():
    assert_edited(
        on((4,), layers.Dense(3, activation="relu", name="w")),
        [e.insert_after("w", lambda old: layers.LayerNormalization(name="norm")), e.split_activation()],
        on(
            (4,),
            layers.Dense(3, name="w"),
            layers.Activation("relu", name="w_activation"),
            layers.LayerNormalization(name="norm"),
        ),
    )


def test_taken_name_gets_a_number():
    model = on((4,), layers.Dense(3, activation="relu", name="w"), layers.ELU(name="w_activation"))

    new = edited(model, e.split_activation())

    assert [layer.name for layer in new.layers] == ["x", "w", "w_activation_1", "w_activation"]


def test_recurrent_layers_and_parts_of_layers_are_skipped_with_a_reason():
    x = keras.Input((5, 3), name="x")
    y = layers.LSTM(4, return_sequences=True, name="rnn")(x)
    y = layers.TimeDistributed(layers.Dense(2, activation="relu", name="inner"), name="each")(y)
    model = keras.Model(x, y, name="m")

    skipped = ramet.plan(model, e.split_activation()).steps[0].skipped

    reasons = {skip.path: skip.reason for skip in skipped}
    assert reasons["rnn"] == "an LSTM uses its activation inside"
    assert reasons["each/inner"] == "it is called by the code of the layer around it"
    assert ramet.capture(edited(model, e.split_activation())) == ramet.capture(model)


def test_outputs_are_the_same_in_mixed_precision():
    x = keras.Input((4,), name="x")
    model = scrambled(
        keras.Model(x, layers.Dense(3, activation="softmax", dtype="mixed_float16", name="w")(x), name="m")
    )

    new = edited(model, e.split_activation())

    assert new.output.dtype == "float16"
    x = data_for(model)
    assert_close(outputs(new, x), outputs(model, x), 0.0)
