"""`drop_dropout`: remove layers that act only in training."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from tests.edit.expect import assert_close, assert_edited, assert_saved, edited, scrambled
from tests.support.graph_models import data_for
from tests.support.twins import outputs

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
def test_each_kind_of_dropout_is_removed(case):
    assert_edited(chain(FLAT[case]()), [e.drop_dropout()], chain())


def test_spatial_dropout_is_removed():
    def make(*between):
        x = keras.Input((6, 6, 3), name="x")
        y = x
        for layer in between:
            y = layer(y)
        return keras.Model(x, layers.Conv2D(2, 3, name="c")(y), name="m")

    assert_edited(make(layers.SpatialDropout2D(0.5, seed=1, name="drop")), [e.drop_dropout()], make())


def test_dropout_is_removed_at_every_level_and_in_a_sequential():
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


def test_dropout_called_with_training_true_is_skipped():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.Dropout(0.5, seed=1, name="mc")(x, training=True), name="m")

    plan = ramet.plan(model, e.drop_dropout())

    assert not plan.steps[0].touched
    assert [skip.path for skip in plan.steps[0].skipped] == ["mc"]
    assert "training=True" in plan.steps[0].skipped[0].reason
    assert ramet.capture(edited(model, e.drop_dropout())) == ramet.capture(model)


def test_rates_of_recurrent_layers_become_zero():
    def make(rate):
        x = keras.Input((5, 3), name="x")
        y = layers.LSTM(4, dropout=rate, recurrent_dropout=rate, return_sequences=True, seed=1, name="lstm")(x)
        return keras.Model(x, layers.GRU(2, dropout=rate, seed=2, name="gru")(y), name="m")

    assert_edited(make(0.3), [e.drop_dropout()], make(0.0))


def test_rates_of_attention_become_zero():
    def make(rate):
        x = keras.Input((5, 4), name="x")
        return keras.Model(x, layers.MultiHeadAttention(2, 2, dropout=rate, seed=1, name="mha")(x, x), name="m")

    model = make(0.3)
    keras.utils.clear_session(free_memory=False)  # its parts are named by number
    new = assert_edited(model, [e.drop_dropout()], make(0.0))
    x = data_for(new)
    assert_close(outputs(new, x, training=True), outputs(new, x, training=False), 0.0)


def test_dropout_inside_wrappers_becomes_zero():
    x = keras.Input((5, 3), name="x")
    y = layers.Bidirectional(layers.LSTM(2, dropout=0.5, return_sequences=True, seed=1, name="rnn"), name="both")(x)
    y = layers.TimeDistributed(layers.Dropout(0.5, seed=2, name="inner"), name="each")(y)
    model = scrambled(keras.Model(x, y, name="m"))

    new = edited(model, e.drop_dropout())

    x = data_for(model)
    assert_close(outputs(new, x), outputs(model, x), 0.0)
    assert_close(outputs(new, x, training=True), outputs(model, x), 1e-6)
    assert_saved(new)


def test_masks_pass_where_dropout_was_removed():
    def make(*between):
        ids = keras.Input((5,), dtype="int32", name="ids")
        y = layers.Embedding(6, 3, mask_zero=True, name="embed")(ids)
        for layer in between:
            y = layer(y)
        return keras.Model(ids, layers.LSTM(2, name="rnn")(y), name="m")

    assert_edited(make(layers.Dropout(0.5, seed=1, name="drop")), [e.drop_dropout()], make())


def test_model_without_dropout_is_not_changed():
    model = chain()
    assert ramet.capture(edited(model, e.drop_dropout())) == ramet.capture(model)


def test_dropout_created_by_a_block_is_skipped_with_a_reason():
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
        ("block/drop", "it is created and called by the code of a Block")
    ]


@keras.saving.register_keras_serializable(package="dropping")
class Holder(keras.Layer):
    """A layer with a rate of its own that holds a model with a call graph."""

    def __init__(self, kind="sequential", dropout=0.5, **kwargs):
        super().__init__(**kwargs)
        self.kind, self.dropout = kind, dropout
        if kind == "sequential":
            self.net = keras.Sequential([layers.Dense(4, name="a"), layers.Dense(4, name="b")], name="net")
        elif kind == "deep" and dropout:
            x = keras.Input((4,), name="inner_x")
            self.net = keras.Model(x, layers.Dropout(dropout, name="inner")(layers.Dense(4, name="a")(x)), name="net")
        else:
            x = keras.Input((4,), name="inner_x")
            self.net = keras.Model(x, layers.Dense(4, name="a")(x), name="net")
        self.drop = layers.Dropout(dropout, name="drop")

    def build(self, shape):
        self.net.build(shape)

    def call(self, x, training=None):
        return self.drop(self.net(x), training=training)

    def get_config(self):
        return {**super().get_config(), "kind": self.kind, "dropout": self.dropout}


@pytest.mark.parametrize("kind", ["sequential", "functional"])
def test_rate_of_a_layer_that_holds_a_model_becomes_zero(kind):
    x = keras.Input((4,))
    model = keras.Model(x, layers.Dense(2)(Holder(kind, name="holder")(x)))
    new = ramet.edit(model, e.drop_dropout())

    data = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    expected = keras.ops.convert_to_numpy(model(data))
    np.testing.assert_array_equal(keras.ops.convert_to_numpy(new(data, training=True)), expected)
    assert (new.get_layer("holder").dropout, new.get_layer("holder").drop.rate) == (0, 0)
    assert ramet.verify(new, ramet.clone(new)).ok


def test_rate_that_changes_the_calls_inside_a_layer_is_refused():
    x = keras.Input((4,))
    model = keras.Model(x, Holder("deep", name="holder")(x))
    with pytest.raises(ramet.errors.EditError, match=r"'holder/net'.* changes the calls inside it"):
        ramet.edit(model, e.update("holder", dropout=0.0))


@pytest.mark.parametrize(
    "edit", [e.drop_dropout(), e.remove("f/drop"), e.rename("f/a", "z"), e.update("f/drop", rate=0.0)]
)
def test_keras_function_is_edited_like_a_model(edit):
    inner = keras.Input((4,), name="inner")
    function = keras.Function(inner, layers.Dense(4, name="a")(layers.Dropout(0.5, name="drop")(inner)), name="f")
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.Dense(2)(function(x)))
    new = ramet.edit(model, edit)

    data = np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    outputs = [keras.ops.convert_to_numpy(one(data)) for one in (new, model)]
    np.testing.assert_array_equal(*outputs)
    found = next(op for op in new.operations if op.name == "f")
    assert type(found) is keras.Function
    names = [op.name for op in found.operations]
    assert (
        names
        == {
            "drop_dropout": ["inner", "a"],
            "remove": ["inner", "a"],
            "rename": ["inner", "drop", "z"],
            "update": ["inner", "drop", "a"],
        }[edit.kind]
    )


def test_class_may_store_output_names_elsewhere():
    class Renaming(keras.Model):
        @property
        def output_names(self):
            return [f"my_{name}" for name in self.names]

        @output_names.setter
        def output_names(self, names):
            self.names = names

        def __init__(self, *args, **kwargs):
            super().__init__(*args, **kwargs)

    x = keras.Input((4,))
    model = Renaming(x, layers.Dropout(0.5, name="drop")(layers.Dense(2, name="a")(x)))
    assert model.output_names == ["my_drop"]
    assert ramet.edit(model, e.drop_dropout()).output_names == ["my_a"]
