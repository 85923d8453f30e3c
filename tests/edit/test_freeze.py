"""`freeze` and `unfreeze`: flags at all levels, in the optimizer, in a file."""

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
    """Return the paths of the variables that training would change."""
    by_id = {id(variable): path for path, variable in variables(model).items()}
    return sorted(by_id[id(variable)] for variable in model.trainable_variables)


def test_layer_is_frozen():
    expected = nested()
    expected.get_layer("head").trainable = False
    new = assert_edited(nested(), [e.freeze("head")], expected)

    assert trained(new) == ["inner/c/bias", "inner/c/kernel", "inner/d/bias", "inner/d/kernel"]


def test_model_is_frozen_with_everything_inside():
    expected = nested()
    expected.get_layer("inner").trainable = False
    new = assert_edited(nested(), [e.freeze("inner")], expected)

    assert trained(new) == ["head/bias", "head/kernel"]


def test_everything_is_frozen_without_a_selector():
    new = edited(nested(), e.freeze())

    assert trained(new) == []
    assert_saved(new)


def test_everything_but_attention_projections_is_frozen():
    new = edited(attention(), e.freeze(), e.unfreeze(named("mha/query", "mha/key", "mha/value")))

    assert trained(new) == [f"mha/{part}/{name}" for part in ("key", "query", "value") for name in ("bias", "kernel")]
    before = {path: value(variable) for path, variable in variables(new).items()}
    new.compile("sgd", "mse", run_eagerly=True)
    new.fit(floats(4, 5, 4), floats(4, 5, 2), verbose=0)
    moved = {path for path, variable in variables(new).items() if not np.array_equal(value(variable), before[path])}
    assert "mha/query/kernel" in moved
    assert moved <= set(trained(new))


def test_layer_inside_a_composite_layer_is_frozen():
    new = edited(attention(), e.freeze("mha/query"))

    assert "mha/query/kernel" not in trained(new)
    assert "mha/key/kernel" in trained(new)


def test_last_of_several_edits_counts():
    frozen = edited(nested(), e.unfreeze("head"), e.freeze("head"))
    free = edited(nested(), e.freeze("head"), e.unfreeze("head"))

    assert "head/kernel" not in trained(frozen)
    assert "head/kernel" in trained(free)


def test_unfreeze_works_inside_a_frozen_model():
    model = nested()
    model.trainable = False

    new = edited(model, e.unfreeze("inner/d"))

    assert trained(new) == ["inner/d/bias", "inner/d/kernel"]


def test_subclassed_model_and_backbone_are_frozen():
    tree = Tree(name="tree")
    tree.build((None, 4))
    new = edited(tree, e.freeze("block/first"))
    assert trained(new) == ["block/second/bias", "block/second/kernel", "head/bias", "head/kernel"]

    backbone = edited(Backbone(name="backbone"), e.freeze("first"))
    assert type(backbone) is Backbone  # no call has changed: the class stays
    assert trained(backbone) == ["second/bias", "second/kernel"]


def test_layers_inside_wrappers_are_frozen():
    x = keras.Input((5, 4), name="x")
    y = layers.TimeDistributed(layers.Dense(3, name="inner"), name="each")(x)
    y = layers.Bidirectional(layers.LSTM(2, name="rnn"), name="both")(y)
    model = keras.Model(x, y, name="m")

    new = edited(model, e.freeze("each/inner"), e.freeze(named("both/forward*")))

    assert all("backward" in path for path in trained(new))
    assert len(trained(new)) == 3


def test_batch_statistics_stay_untrainable():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.BatchNormalization(name="bn")(layers.Dense(4, name="d")(x)), name="m")

    new = edited(edited(model, e.freeze()), e.unfreeze())

    assert trained(new) == ["bn/beta", "bn/gamma", "d/bias", "d/kernel"]


def test_weights_and_flags_of_other_layers_are_kept():
    model = scrambled(nested())
    model.get_layer("inner").get_layer("c").trainable = False

    new = edited(model, e.freeze("head"))

    assert trained(new) == ["inner/d/bias", "inner/d/kernel"]
    for path, variable in variables(model).items():
        np.testing.assert_array_equal(value(variable), value(variables(new)[path]))


def test_layers_are_frozen_by_class():
    x = keras.Input((4,), name="x")
    y = layers.BatchNormalization(name="bn")(layers.Dense(4, name="d")(x))
    new = edited(keras.Model(x, y, name="m"), e.freeze(of_class(layers.BatchNormalization)))

    assert trained(new) == ["d/bias", "d/kernel"]
    assert ramet.capture(new).op("bn").trainable is False


def test_single_frozen_variable_is_unfrozen():
    model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="d")])
    model.get_layer("d").bias.trainable = False

    new = ramet.edit(model, e.unfreeze("d"))

    assert [variable.name for variable in new.trainable_variables] == ["kernel", "bias"]


class Scaled(keras.Model):
    """A model with a weight that belongs to none of its layers."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = layers.Dense(3, name="dense")

    def build(self, shape):
        self.scale = self.add_weight(shape=(), name="scale")
        self.dense.build(shape)
        self.built = True

    def call(self, x):
        return self.scale * self.dense(x)


def test_plan_notes_that_nothing_is_left_to_train_in_a_model_with_its_own_weight():
    model = Scaled(name="scaled")
    model.build((None, 4))

    plan = ramet.plan(model, e.freeze())

    assert plan.steps[0].notes == ("the weights of 'scaled' itself: frozen",)
    assert any(note.startswith("nothing is left to train") for note in plan.notes)
    assert ramet.edit(model, e.freeze()).trainable_variables == []
