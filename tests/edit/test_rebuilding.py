"""Rebuilding the graphs of an edited model: calls that two graphs share, and the names of compiled outputs."""

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

# Calls shared by a nested model and the graph around it: a change of one graph does not affect the other.


MODELS = {make.__name__: make for make in (nested_on_its_own_input, nested_and_beside_itself)}
# None of these changes the outputs.
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
def test_edit_does_not_change_the_outputs(make, edit):
    model = scrambled(MODELS[make]())
    new = edited(model, EDITS[edit])
    data = [np.asarray(one) for one in keras.tree.flatten(data_for(model))]
    data = data[0] if len(data) == 1 else data
    assert_close(outputs(new, data), outputs(model, data), 1e-6)
    if (make, edit) != ("nested_and_beside_itself", "resize_input"):  # Keras cannot load it even if built by hand
        assert_saved(new)


@pytest.mark.parametrize("make", MODELS)
def test_inner_model_still_runs_on_its_own(make):
    model = scrambled(MODELS[make]())
    count = len(keras.tree.flatten(model.input))
    given = [keras.Input((4,), name=f"new_{number}") for number in range(count)]
    twin = ramet.clone(model, inputs=given[0] if count == 1 else given)
    data = data_for(model.get_layer("inner"))
    assert_close(outputs(twin.get_layer("inner"), data), outputs(model.get_layer("inner"), data), 0)
    assert ramet.verify(twin, ramet.clone(twin)).ok


class Adversaries(keras.Model):
    """Two graphs in one model, the second built on the output of the first."""

    def __init__(self):
        super().__init__(name="adversaries")
        z = keras.Input((4,), name="z")
        self.generator = keras.Model(z, layers.Dense(3, name="make", activation="relu")(z), name="generator")
        judged = layers.Dense(1, name="judge")(self.generator.output)
        self.both = keras.Model(self.generator.input, judged, name="both")

    def call(self, z):
        return self.generator(z), self.both(z)


def test_two_graphs_of_a_subclassed_model_stay_connected():
    model = Adversaries()
    data = np.ones((2, 4), "float32")
    before = outputs(model, data)
    new = edited(model, e.split_activation(), unsaved=True)
    assert_close(outputs(new, data), before, 0)
    assert new.both.layers[1] is new.generator.layers[1]
    assert [layer.name for layer in new.both.layers] != [layer.name for layer in model.both.layers]


def test_dropout_layers_are_removed_from_a_model_with_a_rate_in_its_config():
    @keras.saving.register_keras_serializable("tests")
    class Rated(keras.Model):
        """A graph that is created from its own config, like published backbones."""

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


# Losses and metrics keyed by output names follow a renamed output.


X = np.ones((4, 4), "float32")
Y = [np.ones((4, 2), "float32"), np.ones((4, 3), "float32")]


def two_outputs(first="a", *, as_dict=False):
    x = keras.Input((4,), name="x")
    a = layers.Dense(2, name=first, kernel_initializer="ones")(x)
    b = layers.Dense(3, name="b", kernel_initializer="ones")(x)
    model = keras.Model(x, {"left": a, "right": b} if as_dict else [a, b])
    keys = ("left", "right") if as_dict else (first, "b")
    model.compile(
        keras.optimizers.SGD(0.1),
        loss=dict(zip(keys, ("mse", "mae"), strict=True)),
        loss_weights=dict(zip(keys, (0.5, 2.0), strict=True)),
        metrics={keys[0]: ["mae"]},
        run_eagerly=True,
    )
    return model


@pytest.mark.parametrize("was_trained", [False, True])
def test_renamed_output_is_trained_as_if_it_always_had_the_name(was_trained):
    model, by_hand = two_outputs(), two_outputs("first")
    if was_trained:
        model.fit(X, Y, verbose=0)
        by_hand.fit(X, Y, verbose=0)
    edited = ramet.edit(model, e.rename(named("a"), "first"))
    history = edited.fit(X, {"first": Y[0], "b": Y[1]}, verbose=0).history
    expected = by_hand.fit(X, {"first": Y[0], "b": Y[1]}, verbose=0).history
    assert list(history) == list(expected)
    np.testing.assert_allclose([history[key] for key in expected], list(expected.values()), rtol=1e-6)
    assert model.output_names == ["a", "b"]
    assert set(model.loss) == {"a", "b"}


def test_loaded_model_with_a_renamed_output_can_be_trained(tmp_path):
    edited = ramet.edit(two_outputs(), e.rename(named("a"), "first"))
    edited.save(tmp_path / "edited.keras")
    loaded = keras.saving.load_model(tmp_path / "edited.keras")
    history = loaded.fit(X, Y, verbose=0).history
    assert {"first_loss", "b_loss", "first_mae"} <= set(history)


def test_replaced_output_with_another_name_keeps_its_loss():
    edited = ramet.edit(two_outputs(), e.replace(named("a"), lambda old: layers.Dense(2, name="new")))
    assert edited.output_names == ["new", "b"]
    assert {"new_loss", "b_loss", "new_mae"} <= set(edited.fit(X, Y, verbose=0).history)


def test_outputs_in_a_dict_keep_their_keys():
    edited = ramet.edit(two_outputs(as_dict=True), e.rename(named("a"), "first"))
    history = edited.fit(X, {"left": Y[0], "right": Y[1]}, verbose=0).history
    assert {"left_loss", "right_loss", "left_mae"} <= set(history)


def test_custom_metric_is_copied():
    metric = keras.metrics.MeanSquaredError(name="counted")
    model = two_outputs()
    model.compile("sgd", loss={"a": "mse", "b": "mse"}, metrics={"a": [metric]}, run_eagerly=True)
    model.fit(X, Y, verbose=0)
    counted = float(metric.result())
    edited = ramet.edit(model, e.rename(named("a"), "first"))
    assert list(edited.get_compile_config()["metrics"]) == ["first"]
    assert "first_counted" in edited.fit(2 * X, Y, verbose=0).history
    assert float(metric.result()) == counted
