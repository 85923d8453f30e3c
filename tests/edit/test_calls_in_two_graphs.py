"""Calls that stand in a nested model and in the graph around it: whichever changes, the other keeps its own."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet import named
from tests.edit.expect import assert_close, assert_saved, edited, scrambled
from tests.support.graph_models import data_for, nested_and_beside_itself, nested_on_its_own_input
from tests.support.twins import outputs

MODELS = {make.__name__: make for make in (nested_on_its_own_input, nested_and_beside_itself)}
# Each leaves the outputs as they are.
EDITS = {
    "drop_dropout": e.drop_dropout(),
    "split_activation": e.split_activation(),
    "flatten": e.flatten(),
    "insert inside": e.insert_after(named("inner/a"), lambda old: layers.Activation("linear")),
    "insert at the outer input": e.insert_after(named("x"), lambda old: layers.Activation("linear")),
    "insert at the inner input": e.insert_after(named("inner/x"), lambda old: layers.Activation("linear")),
    "remove": e.remove(named("inner/drop")),
    "rename": e.rename(named("inner/a"), "other_a"),
    "rename the input": e.rename(named("x"), "other_x"),
    "resize_input": e.resize_input((4,), input="x"),
    "freeze": e.freeze(named("inner/b")),
}


@pytest.mark.parametrize("edit", EDITS)
@pytest.mark.parametrize("make", MODELS)
def test_an_edit_leaves_the_outputs_as_they_were(make, edit):
    model = scrambled(MODELS[make]())
    new = edited(model, EDITS[edit])
    data = [np.asarray(one) for one in keras.tree.flatten(data_for(model))]
    data = data[0] if len(data) == 1 else data
    assert_close(outputs(new, data), outputs(model, data), 1e-6)
    if (make, edit) != ("nested_and_beside_itself", "resize_input"):  # built by hand, Keras cannot load it, either
        assert_saved(new)


@pytest.mark.parametrize("make", MODELS)
def test_the_inner_model_still_runs_by_itself(make):
    model = scrambled(MODELS[make]())
    count = len(keras.tree.flatten(model.input))
    given = [keras.Input((4,), name=f"new_{number}") for number in range(count)]
    twin = ramet.clone(model, inputs=given[0] if count == 1 else given)
    data = data_for(model.get_layer("inner"))
    assert_close(outputs(twin.get_layer("inner"), data), outputs(model.get_layer("inner"), data), 0)
    assert ramet.verify(twin, ramet.clone(twin)).ok


class Adversaries(keras.Model):
    """Two graphs in one model: the second was made on the output of the first."""

    def __init__(self):
        super().__init__(name="adversaries")
        z = keras.Input((4,), name="z")
        self.generator = keras.Model(z, layers.Dense(3, name="make", activation="relu")(z), name="generator")
        judged = layers.Dense(1, name="judge")(self.generator.output)
        self.both = keras.Model(self.generator.input, judged, name="both")

    def call(self, z):
        return self.generator(z), self.both(z)


def test_two_graphs_of_a_subclassed_model_stay_one_on_top_of_the_other():
    model = Adversaries()
    data = np.ones((2, 4), "float32")
    before = outputs(model, data)
    new = edited(model, e.split_activation(), unsaved=True)
    assert_close(outputs(new, data), before, 0)
    assert new.both.layers[1] is new.generator.layers[1]
    assert [layer.name for layer in new.both.layers] != [layer.name for layer in model.both.layers]


def test_a_model_with_a_rate_in_its_config_loses_its_dropout_layers():
    @keras.saving.register_keras_serializable("tests")
    class Rated(keras.Model):
        """As published backbones are: a graph that its own config makes."""

        def __init__(self, dropout=0.5, **options):
            x = keras.Input((4,), name="x")
            y = layers.Dropout(dropout, name="drop")(layers.Dense(4, name="a")(x))
            super().__init__(x, layers.Dense(3, name="b")(y), **options)
            self.dropout = dropout

        def get_config(self):
            return {"dropout": self.dropout, "name": self.name}

    rated = Rated(name="rated")
    model = scrambled(keras.Model(rated.input, layers.Dense(2, name="head")(rated(rated.input))))
    new = edited(model, e.drop_dropout())
    assert [layer.name for layer in new.get_layer("rated").layers] == ["x", "a", "b"]
    data = data_for(model)
    assert_close(outputs(new, data), outputs(model, data), 0)
    assert_saved(new)
