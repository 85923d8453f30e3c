"""`drop_dropout`: without what only acts in training."""

import keras
import pytest
from keras import layers

import ramet
from ramet import edits as e
from tests.support.graph_models import data_for
from tests.support.twins import outputs
from tests.surgery.expect import assert_close, assert_edited, assert_saved, edited, scrambled

FLAT = {
    "Dropout": lambda: layers.Dropout(0.5, seed=1, name="drop"),
    "GaussianDropout": lambda: layers.GaussianDropout(0.5, seed=1, name="drop"),
    "GaussianNoise": lambda: layers.GaussianNoise(0.5, seed=1, name="drop"),
    "AlphaDropout": lambda: layers.AlphaDropout(0.5, seed=1, name="drop"),
}


def chain(*between):
    x = keras.Input((4,), name="x")
    y = layers.Dense(3, name="a")(x)
    for layer in between:
        y = layer(y)
    return keras.Model(x, layers.Dense(2, name="b")(y), name="chain")


@pytest.mark.parametrize("case", FLAT)
def test_each_kind_is_left_out(case):
    assert_edited(chain(FLAT[case]()), [e.drop_dropout()], chain())


def test_spatial_dropout():
    def make(*between):
        x = keras.Input((6, 6, 3), name="x")
        y = x
        for layer in between:
            y = layer(y)
        return keras.Model(x, layers.Conv2D(2, 3, name="c")(y), name="m")

    assert_edited(make(layers.SpatialDropout2D(0.5, seed=1, name="drop")), [e.drop_dropout()], make())


def test_at_every_level_and_in_a_sequential():
    def make(*between):
        inner = keras.Sequential(
            [keras.Input((3,), name="z"), layers.Dense(3, name="d"), *(b("i") for b in between)], name="inner"
        )
        x = keras.Input((3,), name="x")
        y = inner(x)
        for b in between:
            y = b("o")(y)
        return keras.Model(x, y, name="outer")

    assert_edited(make(lambda name: layers.Dropout(0.5, seed=1, name=name)), [e.drop_dropout()], make())


def test_one_that_always_drops_is_left_alone():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.Dropout(0.5, seed=1, name="mc")(x, training=True), name="m")

    plan = ramet.plan(model, e.drop_dropout())

    assert not plan.steps[0].touched
    assert [skip.path for skip in plan.steps[0].skipped] == ["mc"]
    assert "training=True" in plan.steps[0].skipped[0].reason
    assert ramet.capture(edited(model, e.drop_dropout())) == ramet.capture(model)


def test_rates_inside_recurrent_layers_are_zero():
    def make(rate):
        x = keras.Input((5, 3), name="x")
        y = layers.LSTM(4, dropout=rate, recurrent_dropout=rate, return_sequences=True, seed=1, name="lstm")(x)
        return keras.Model(x, layers.GRU(2, dropout=rate, seed=2, name="gru")(y), name="m")

    assert_edited(make(0.3), [e.drop_dropout()], make(0.0))


def test_rates_inside_attention_are_zero():
    def make(rate):
        x = keras.Input((5, 4), name="x")
        return keras.Model(x, layers.MultiHeadAttention(2, 2, dropout=rate, seed=1, name="mha")(x, x), name="m")

    model = make(0.3)
    keras.utils.clear_session(free_memory=False)  # its parts are named by number
    new = assert_edited(model, [e.drop_dropout()], make(0.0))
    x = data_for(new)
    assert_close(outputs(new, x, training=True), outputs(new, x, training=False), 0.0)


def test_inside_wrappers():
    x = keras.Input((5, 3), name="x")
    y = layers.Bidirectional(layers.LSTM(2, dropout=0.5, return_sequences=True, seed=1, name="rnn"), name="both")(x)
    y = layers.TimeDistributed(layers.Dropout(0.5, seed=2, name="inner"), name="each")(y)
    model = scrambled(keras.Model(x, y, name="m"))

    new = edited(model, e.drop_dropout())

    x = data_for(model)
    assert_close(outputs(new, x), outputs(model, x), 0.0)
    assert_close(outputs(new, x, training=True), outputs(model, x), 1e-6)
    assert_saved(new)


def test_masks_go_on_through_what_is_left_out():
    def make(*between):
        ids = keras.Input((5,), dtype="int32", name="ids")
        y = layers.Embedding(6, 3, mask_zero=True, name="embed")(ids)
        for layer in between:
            y = layer(y)
        return keras.Model(ids, layers.LSTM(2, name="rnn")(y), name="m")

    assert_edited(make(layers.Dropout(0.5, seed=1, name="drop")), [e.drop_dropout()], make())


def test_a_model_without_dropout_is_as_it_was():
    model = chain()
    assert ramet.capture(edited(model, e.drop_dropout())) == ramet.capture(model)


def test_one_inside_a_block_that_makes_it_is_skipped_with_a_reason():
    class Block(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.drop = layers.Dropout(0.5, seed=1, name="drop")

        def call(self, x, training=False):
            return self.drop(x, training=training)

    x = keras.Input((4,), name="x")
    model = keras.Model(x, Block(name="block")(x), name="m")

    skipped = ramet.plan(model, e.drop_dropout()).steps[0].skipped

    assert [(skip.path, skip.reason) for skip in skipped] == [
        ("block/drop", "it is made and called by the code of a Block")
    ]
