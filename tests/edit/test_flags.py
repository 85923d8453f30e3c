"""`freeze` and `unfreeze`: on all levels, in the optimizer, in a file."""

import keras
import numpy as np
from keras import layers

import ramet
from ramet import edits as e
from ramet import named, of_class
from tests.edit.expect import assert_edited, assert_saved, edited, scrambled, value, variables
from tests.support.graph_models import Backbone, Tree
from tests.support.state_models import floats


def attention():
    x = keras.Input((5, 4), name="x")
    y = layers.Dense(4, name="before")(x)
    y = layers.MultiHeadAttention(2, 2, name="mha")(y, y)
    return keras.Model(x, layers.Dense(2, name="head")(y), name="attn")


def nested():
    z = keras.Input((4,), name="z")
    inner = keras.Model(z, layers.Dense(3, name="d")(layers.Dense(4, name="c")(z)), name="inner")
    x = keras.Input((4,), name="x")
    return keras.Model(x, layers.Dense(2, name="head")(inner(x)), name="outer")


def trained(model):
    """The paths of the variables that training would change."""
    by_id = {id(variable): path for path, variable in variables(model).items()}
    return sorted(by_id[id(variable)] for variable in model.trainable_variables)


def test_a_layer():
    expected = nested()
    expected.get_layer("head").trainable = False
    new = assert_edited(nested(), [e.freeze("head")], expected)

    assert trained(new) == ["inner/c/bias", "inner/c/kernel", "inner/d/bias", "inner/d/kernel"]


def test_a_model_with_everything_inside():
    expected = nested()
    expected.get_layer("inner").trainable = False
    new = assert_edited(nested(), [e.freeze("inner")], expected)

    assert trained(new) == ["head/bias", "head/kernel"]


def test_everything():
    new = edited(nested(), e.freeze())

    assert trained(new) == []
    assert_saved(new)


def test_all_but_the_attention_projections():
    new = edited(attention(), e.freeze(), e.unfreeze(named("mha/query", "mha/key", "mha/value")))

    assert trained(new) == [f"mha/{part}/{name}" for part in ("key", "query", "value") for name in ("bias", "kernel")]
    before = {path: value(variable) for path, variable in variables(new).items()}
    new.compile("sgd", "mse", run_eagerly=True)
    new.fit(floats(4, 5, 4), floats(4, 5, 2), verbose=0)
    moved = {path for path, variable in variables(new).items() if not np.array_equal(value(variable), before[path])}
    assert "mha/query/kernel" in moved
    assert moved <= set(trained(new))


def test_inside_a_composite_layer():
    new = edited(attention(), e.freeze("mha/query"))

    assert "mha/query/kernel" not in trained(new)
    assert "mha/key/kernel" in trained(new)


def test_of_several_the_last_one_counts():
    frozen = edited(nested(), e.unfreeze("head"), e.freeze("head"))
    free = edited(nested(), e.freeze("head"), e.unfreeze("head"))

    assert "head/kernel" not in trained(frozen)
    assert "head/kernel" in trained(free)


def test_unfreeze_inside_a_frozen_model():
    model = nested()
    model.trainable = False

    new = edited(model, e.unfreeze("inner/d"))

    assert trained(new) == ["inner/d/bias", "inner/d/kernel"]


def test_freezing_a_subclassed_model_and_a_backbone():
    tree = Tree(name="tree")
    tree.build((None, 4))
    new = edited(tree, e.freeze("block/first"))
    assert trained(new) == ["block/second/bias", "block/second/kernel", "head/bias", "head/kernel"]

    backbone = edited(Backbone(name="backbone"), e.freeze("first"))
    assert type(backbone) is Backbone  # no call has changed: the class stays
    assert trained(backbone) == ["second/bias", "second/kernel"]


def test_inside_wrappers():
    x = keras.Input((5, 4), name="x")
    y = layers.TimeDistributed(layers.Dense(3, name="inner"), name="each")(x)
    y = layers.Bidirectional(layers.LSTM(2, name="rnn"), name="both")(y)
    model = keras.Model(x, y, name="m")

    new = edited(model, e.freeze("each/inner"), e.freeze(named("both/forward*")))

    assert all("backward" in path for path in trained(new))
    assert len(trained(new)) == 3


def test_batch_statistics_stay_untrained():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.BatchNormalization(name="bn")(layers.Dense(4, name="d")(x)), name="m")

    new = edited(edited(model, e.freeze()), e.unfreeze())

    assert trained(new) == ["bn/beta", "bn/gamma", "d/bias", "d/kernel"]


def test_weights_and_flags_of_the_others_come_along():
    model = scrambled(nested())
    model.get_layer("inner").get_layer("c").trainable = False

    new = edited(model, e.freeze("head"))

    assert trained(new) == ["inner/d/bias", "inner/d/kernel"]
    for path, variable in variables(model).items():
        np.testing.assert_array_equal(value(variable), value(variables(new)[path]))


def test_a_class_of_layers():
    x = keras.Input((4,), name="x")
    y = layers.BatchNormalization(name="bn")(layers.Dense(4, name="d")(x))
    new = edited(keras.Model(x, y, name="m"), e.freeze(of_class(layers.BatchNormalization)))

    assert trained(new) == ["d/bias", "d/kernel"]
    assert ramet.capture(new).op("bn").trainable is False


def test_a_frozen_variable_of_a_layer_that_is_trained_is_unfrozen_too():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="d")])
    model.get_layer("d").bias.trainable = False

    new = ramet.edit(model, e.unfreeze("d"))

    assert [variable.name for variable in new.trainable_variables] == ["kernel", "bias"]
