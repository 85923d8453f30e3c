"""Diffs of live models: exactly what training, cloning or building them differently changed."""

import pickle

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet._diff import Change, Diff
from ramet._keras import LiveWeights, frozen_compile_settings
from ramet._verify.live_diff import diff_models
from tests.support.graph_models import MODELS

# Some models have a layer that drops a mask, as models of users do.
pytestmark = pytest.mark.filterwarnings("ignore:.*was passed an input with a mask attached to it:UserWarning")

every_model = pytest.mark.parametrize("make", MODELS.values(), ids=MODELS.keys())


def reported(diff):
    return [(change.kind, change.before, change.after, change.what) for change in diff.changes]


def network(*, name="net", units=16, norm=True, dropout=0.1, head="head", optional=False):
    """Return a small network with names chosen by hand, and one that Keras generates."""
    x = keras.Input((8,), name="x", optional=optional)
    h = layers.Dense(units, name="first")(x)
    if norm:
        h = layers.BatchNormalization(name="norm")(h)
    h = layers.ReLU()(h)
    h = layers.Dropout(dropout, name="drop")(h)
    return keras.Model(x, layers.Dense(3, name=head)(h), name=name)


def pair(**changed):
    """Return the network, and the same with something changed, as if each had been built in its own process."""
    models = []
    for settings in ({}, changed):
        keras.utils.clear_session(free_memory=False)
        keras.utils.set_random_seed(0)
        models.append(network(**settings))
    one, other = models
    if [weight.shape for weight in one.weights] == [weight.shape for weight in other.weights]:
        other.set_weights(one.get_weights())
    return models


def structural(diff):
    return [change for change in reported(diff) if change[0] != "weights"]


@every_model
def test_clone_has_an_empty_diff(make):
    model = make()
    diff = diff_models(model, ramet.clone(model))

    assert diff == Diff(model.name, model.name, compared=diff.compared, not_compared=diff.not_compared)
    assert diff.compared == len({id(variable) for variable in _variables(model)})


def _variables(model):
    reader = LiveWeights(model)
    return [reader._variables[path] for path in reader.paths()]


@every_model
def test_the_reverse_diff_is_the_mirror_image(make):
    one, other = make(), MODELS["nested_models"]()

    assert diff_models(other, one) == diff_models(one, other).mirrored()


def test_diff_changes_neither_model_nor_name_counters():
    model = network()
    model.compile("adam", "mse", metrics=["mae"])
    before = [value.copy() for value in model.get_weights()]
    diff_models(model, ramet.clone(model))

    assert layers.Dense(1).name == "dense"
    assert all((now == then).all() for now, then in zip(model.get_weights(), before, strict=True))


def test_trained_model_differs_only_in_weights_and_state():
    model = network()
    model.compile("sgd", "mse")
    twin = ramet.clone(model)
    inputs = np.random.default_rng(0).normal(size=(8, 8)).astype("float32")
    twin.fit(inputs, np.ones((8, 3), "float32"), verbose=0)
    diff = diff_models(model, twin)

    changed = {change.after for change in diff.changes}
    assert {change.kind for change in diff.changes} == {"weights", "optimizer", "metric", "state"}
    assert [change.what for change in diff.changes if change.kind == "state"] == ["built"]
    assert {"head/kernel", "head/bias", "norm/moving_mean"} <= changed
    assert "Weights\n" in str(diff)


def test_one_changed_number_is_reported():
    model = network()
    twin = ramet.clone(model)
    kernel = twin.get_layer("head").kernel
    value = np.array(keras.ops.convert_to_numpy(kernel))
    value[0, 0] += 0.5
    kernel.assign(value)
    (change,) = diff_models(model, twin).changes

    assert (change.kind, change.before, change.what) == ("weights", "head/kernel", "values")
    assert dict(change.measure.pairs) == pytest.approx({"size": 48, "changed": 1, "difference": 0.5, "largest": 0.5})


def test_removed_layer_is_one_change():
    assert structural(diff_models(*pair(norm=False))) == [("removed", "norm", None, "BatchNormalization")]


def test_changed_setting_is_one_change():
    assert reported(diff_models(*pair(dropout=0.5))) == [("setting", "drop", "drop", "rate")]


def test_changed_size_is_one_change_and_shapes_are_consequences():
    diff = diff_models(*pair(units=32))

    assert structural(diff) == [("setting", "first", "first", "units")]
    assert {(change.kind, change.what) for change in diff.consequences} == {("value", "shape"), ("variable", "shape")}


def test_renamed_layer_is_one_change():
    assert reported(diff_models(*pair(head="classes"))) == [("renamed", "head", "classes", "name")]


def test_changed_input_flag_is_one_change():
    assert reported(diff_models(*pair(optional=True))) == [("input", "x", "x", "optional")]


def test_renumbered_automatic_names_are_only_renamed():
    one = network()
    other = network()
    other.set_weights(one.get_weights())

    assert structural(diff_models(one, other)) == [("renamed", "re_lu", "re_lu_1", "name")]


def test_unshared_layer_is_reported():
    def siamese(*, shared):
        keras.utils.clear_session(free_memory=False)
        a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
        dense = layers.Dense(4, name="dense_a", kernel_initializer="ones")
        second = dense if shared else layers.Dense(4, name="dense_b", kernel_initializer="ones")
        return keras.Model([a, b], layers.Add(name="sum")([dense(a), second(b)]), name="siamese")

    assert reported(diff_models(siamese(shared=True), siamese(shared=False))) == [
        ("call", "dense_a", "dense_a", "number of calls"),
        ("added", None, "dense_b", "Dense"),
    ]


def test_renamed_nested_model_is_one_change():
    def outer(name):
        keras.utils.clear_session(free_memory=False)
        x = keras.Input((4,), name="x")
        inner_x = keras.Input((4,), name=f"{name}_x")
        h = layers.Dense(4, kernel_initializer="ones", name=f"{name}_dense")(inner_x)
        inner = keras.Model(inner_x, layers.ReLU(name=f"{name}_relu")(h), name=name)
        return keras.Model(x, layers.Dense(2, kernel_initializer="ones", name="head")(inner(x)), name="outer")

    diff = diff_models(outer("encoder"), outer("backbone"))

    assert diff.changes == (Change("renamed", "encoder", "backbone", "name", "encoder", "backbone"),)
    assert {change.kind for change in diff.consequences} == {"renamed"}


def test_facts_lost_by_clone_model_are_reported():
    def flagged():
        x = keras.Input((4,), name="x", optional=True)
        h = layers.Dense(4, name="frozen")(x)
        h = layers.Dense(4, name="free")(h)
        model = keras.Model(x, h, name="flagged")
        model.get_layer("frozen").trainable = False
        model.get_layer("free").kernel.trainable = False
        return model

    model = flagged()
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    lost = set(reported(diff_models(model, clone)))

    assert ("input", "x", "x", "optional") in lost
    assert ("variable", "free/kernel", "free/kernel", "trainable") in lost
    assert reported(diff_models(model, ramet.clone(model))) == []


def test_changed_model_class_is_reported():
    class Mine(keras.Model):
        pass

    def made(cls):
        keras.utils.clear_session(free_memory=False)
        x = keras.Input((4,), name="x")
        return cls(x, layers.Dense(2, name="d", kernel_initializer="ones")(x), name="model")

    assert reported(diff_models(made(keras.Model), made(Mine))) == [("replaced", "", "", "class")]


class Stack(keras.Model):
    """A model without a call graph."""

    def __init__(self, sizes, **kwargs):
        super().__init__(**kwargs)
        self.blocks = [layers.Dense(size, name=f"block_{size}", kernel_initializer="ones") for size in sizes]

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def stack(*sizes):
    model = Stack(sizes, name="stack")
    model(np.ones((1, 4), "float32"))
    return model


def test_layer_added_to_a_list_of_a_subclassed_model_is_reported():
    diff = diff_models(stack(4, 5, 6), stack(4, 5, 7, 6))

    assert reported(diff) == [
        ("added", None, "block_7", "Dense"),
        ("variable", "block_6/kernel", "block_6/kernel", "shape"),
    ]


def test_layers_inside_wrappers_are_reported_by_path():
    def wrapped(units, heads):
        keras.utils.clear_session(free_memory=False)
        x = keras.Input((5, 4), name="x")
        h = layers.Bidirectional(layers.GRU(units, name="gru"), name="both_ways", merge_mode="sum")(x)
        h = layers.Reshape((1, units), name="turned")(h)
        return keras.Model(x, layers.MultiHeadAttention(heads, 4, name="attention")(h, h), name="wrapped")

    diff = diff_models(wrapped(4, 2), wrapped(6, 2))
    changed = {(change.path, change.what) for change in diff.changes if change.kind == "setting"}

    assert ("both_ways/forward_gru", "units") in changed
    assert ("both_ways/backward_gru", "units") in changed
    assert not any(path == "both_ways" and what.startswith("layer.") for path, what in changed)


def test_compile_settings_are_compared():
    model = network()
    twin = ramet.clone(model)
    assert diff_models(model, twin).empty

    twin.compile(keras.optimizers.Adam(0.01, name="adam"), "mse", metrics=["mae"])
    assert reported(diff_models(model, twin)) == [("compile", "", "", "compiled")]

    model.compile(keras.optimizers.Adam(0.02, name="adam"), "mse", metrics=["mae"])
    assert reported(diff_models(model, twin)) == [("compile", "", "", "optimizer.config.learning_rate")]

    model.compile("sgd", "mae")
    assert {what for *_, what in reported(diff_models(model, twin))} == {"optimizer", "loss", "metrics"}
    assert "SGD(learning_rate=0.01" in str(diff_models(model, twin))


def test_loss_without_a_config_is_accepted():
    class Odd(keras.losses.Loss):
        def __init__(self, matrix):
            super().__init__(name="odd")
            self.matrix = matrix

        def call(self, y_true, y_pred):
            return keras.ops.mean(y_pred * self.matrix)

        def get_config(self):
            raise NotImplementedError("no config")

    model = network()
    model.compile("sgd", Odd(np.ones((3,))))

    assert frozen_compile_settings(model) is not None
    assert diff_models(model, ramet.clone(model)).empty


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
def test_variables_of_every_dtype_are_compared(dtype):
    def made(dtype):
        keras.utils.clear_session(free_memory=False)
        x = keras.Input((4,), name="x")
        return keras.Model(x, layers.Dense(2, name="d", kernel_initializer="ones", dtype=dtype)(x), name="model")

    assert diff_models(made(dtype), made(dtype)).empty
    diff = diff_models(made("float32"), made(dtype))
    assert ("setting", "d", "d", "dtype_policy") in reported(diff)


def test_quantized_layers_are_reported():
    model = keras.Sequential([keras.Input((8,)), layers.Dense(4, name="d")], name="seq")
    quantized = ramet.clone(model)
    quantized.quantize("int8")
    diff = diff_models(model, quantized)

    assert ("setting", "d", "d", "quantization_mode") in reported(diff)
    assert diff_models(quantized, model) == diff.mirrored()


def test_lora_inside_a_composite_layer_is_reported_without_internal_notes():
    x = keras.Input((5, 4), name="x")
    model = keras.Model(x, layers.MultiHeadAttention(2, 3, name="mha")(x, x), name="m")
    tuned = ramet.edit(model, e.lora("mha/query", rank=2, freeze_rest=False))

    diff = diff_models(model, tuned)

    assert reported(diff) == [
        ("setting", "mha/query", "mha/query", "lora_alpha"),
        ("setting", "mha/query", "mha/query", "lora_rank"),
        ("variable", "mha/query/kernel", "mha/query/kernel", "trainable"),
    ]
    assert diff_models(tuned, model) == diff.mirrored()
    settings = ramet.verify(model, tuned, only=["settings"])["settings"]
    assert not any("get_config" in difference.path for difference in settings.differences)
    assert [one.path for one in settings.differences].count("mha/query.lora_rank") == 1


def trained(first="a"):
    keras.utils.set_random_seed(0)
    model = keras.Sequential([keras.Input((4,)), layers.Dense(8, name=first), layers.Dense(2, name="b")], name="net")
    model.compile("adam", "mse")
    inputs = np.random.default_rng(0).normal(size=(8, 4)).astype("float32")
    model.fit(inputs, inputs[:, :2], verbose=0)
    return model


def test_slots_of_a_pickled_model_are_matched_although_their_paths_differ():
    model = trained()
    again = pickle.loads(pickle.dumps(model))  # Keras writes and loads a file
    assert [one.path for one in again.weights] != [one.path for one in model.weights]

    diff = diff_models(model, again)

    assert [change for change in diff.changes if change.kind == "optimizer"] == []
    assert [(one.path, one.what, one.old, one.new) for one in diff.changes if one.kind == "state"] == [
        ("net", "paths of layers", "net/...", "...")
    ]
    assert diff_models(again, model) == diff.mirrored()


def test_changed_slot_of_a_pickled_model_is_reported():
    model = trained()
    again = pickle.loads(pickle.dumps(model))
    momentum = next(one for one in again.optimizer.variables if one.name == "a_kernel_velocity")
    momentum.assign(momentum + 1)

    changes = [change for change in diff_models(model, again).changes if change.kind == "optimizer"]

    assert [(one.before, one.after, one.what) for one in changes] == [
        ("optimizer/net_a_kernel_velocity", "optimizer/a_kernel_velocity", "values")
    ]


def test_slots_of_a_renamed_layer_are_matched():
    diff = diff_models(trained(), trained(first="other"))

    assert ("renamed", "a", "other", "name") in reported(diff)
    assert [change for change in diff.changes if change.kind == "optimizer"] == []


def test_slots_of_other_layers_are_present_on_one_side_only():
    model = trained()
    frozen = ramet.edit(model, e.freeze("a"))

    diff = diff_models(model, frozen)

    missing = [change for change in diff.changes if change.kind == "optimizer"]
    assert {change.what for change in missing} == {"presence"}
    assert len(missing) == 4
    assert diff_models(frozen, model) == diff.mirrored()


def test_model_in_training_is_compared_with_its_current_weights():
    model = network()
    model.compile("sgd", "mse")
    start = ramet.clone(model)
    found = []

    class Look(keras.callbacks.Callback):
        def on_train_batch_end(self, batch, logs=None):
            found.append(diff_models(start, self.model))

    inputs = np.random.default_rng(0).normal(size=(8, 8)).astype("float32")
    model.fit(inputs, np.ones((8, 3), "float32"), batch_size=4, callbacks=[Look()], verbose=0)

    assert len(found) == 2
    assert all({"head/kernel", "head/bias"} <= {change.after for change in diff.changes} for diff in found)
    assert found[0] != found[1]


def test_two_models_built_alike_differ_only_in_automatic_names():
    def made():
        keras.utils.set_random_seed(0)
        return keras.Sequential([keras.Input((4,)), layers.Dense(2)])

    diff = diff_models(made(), made())

    assert {(change.kind, change.what) for change in diff.changes} == {("renamed", "name")}
    assert diff.consequences == ()


def test_random_state_is_reported_as_weights():
    # Not Dropout: on torch, torch itself generates its numbers.
    model = keras.Sequential([keras.Input((4,)), layers.GaussianNoise(0.5, name="noise")], name="seq")
    twin = ramet.clone(model)
    twin(np.ones((1, 4), "float32"), training=True)

    path = "noise/seed_generator_state"
    assert reported(diff_models(model, twin)) == [("weights", path, path, "values")]
