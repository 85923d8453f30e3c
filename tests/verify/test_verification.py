"""Twins made by `ramet.clone` pass every check, clones made by Keras do not, and graphs are compared as far as possible."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet._verify import verify
from ramet._verify.checks import CHECKS
from ramet.errors import NotAModelError
from tests.support.applications import each_architecture, smallest_network
from tests.support.graph_models import MODELS, Tree
from tests.support.strategies import STEPS, Sketch

# One model of each kind; on JAX each new shape is compiled, so the rest is left to `make zoo`.
GRAPHS = (
    "two_output_lambda", "shared_in_a_chain", "keyword_tensors", "nested_arguments", "raw_ops", "call_options",
    "two_inputs_in_a_dict", "flagged_inputs", "shared_across_levels", "composite", "backbone", "half_precision",
    "intermediate_inputs", "mask_list_with_a_gap", "mask_of_two_outputs",
)  # fmt: skip
STEPS_HERE = ("nested_functional", "recurrent_with_state", "per_step")

quiet = pytest.mark.filterwarnings("ignore:Layer '.*' .* was passed an input with a mask attached to it:UserWarning")


def assert_not_failed(model, *not_run):
    report = verify(model, ramet.clone(model), progress=False)

    assert not report.failed, report
    assert {check.name for check in report if check.outcome == "not run"} <= set(not_run), report
    return report


@quiet
@pytest.mark.parametrize("name", GRAPHS)
def test_twin_of_a_functional_model_passes(name):
    assert_not_failed(MODELS[name](), "training", "gradients", "file")


@quiet
@pytest.mark.zoo
@pytest.mark.parametrize("name", MODELS)
def test_twin_of_every_functional_model_passes(name):
    assert_not_failed(MODELS[name](), "training", "gradients", "file")


@quiet
@pytest.mark.parametrize("step", STEPS_HERE)
def test_twin_of_a_generated_model_passes(step):
    sample = Sketch(inputs=("vector", "sequence", "ids"), steps=((step, (1, 1, 0)),), outputs=(0, 1)).build()
    sample.model.compile("adam", keras.tree.map_structure(lambda _: "mse", sample.make_targets(0)))

    assert_not_failed(sample.model, "file")


@quiet
@pytest.mark.zoo
@pytest.mark.parametrize("step", STEPS)
def test_twin_of_every_generated_model_passes(step):
    sample = Sketch(inputs=("vector", "sequence", "ids"), steps=((step, (1, 1, 0)),), outputs=(0, 1)).build()
    sample.model.compile("adam", keras.tree.map_structure(lambda _: "mse", sample.make_targets(0)))

    assert_not_failed(sample.model, "file")


def test_twin_of_a_subclassed_model_passes():
    class Plain(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(2)

        def call(self, x):
            return self.dense(x)

    model = Plain()
    model(np.ones((2, 3), "float32"))

    assert assert_not_failed(model, "training", "file")["outputs"].counts["runs"] == 5


def test_twin_of_a_subclassed_model_with_nested_layers_passes():
    model = Tree(name="tree")
    model.build((None, 4))

    assert_not_failed(model, "training", "file")


def test_twin_of_a_model_that_was_never_built_passes():
    report = assert_not_failed(keras.Sequential([layers.Dense(2)]), "outputs", "masks", "gradients", "training", "file")

    assert "inputs=" in report["outputs"].reason


def test_twin_with_adapted_and_quantized_layers_passes():
    normal = layers.Normalization()
    normal.adapt(np.arange(12.0).reshape(3, 4).astype("float32"))
    model = keras.Sequential([keras.Input((4,)), normal, layers.Dense(8), layers.Dense(2)])
    model.quantize("int8")

    assert_not_failed(model, "training", "gradients")


def test_twin_of_a_twin_passes():
    model = ramet.clone(MODELS["nested_models"]())

    assert_not_failed(model, "training")


@pytest.mark.zoo
@each_architecture
def test_twin_of_every_application_passes(name):
    # Saving each of them would take longer than everything else.
    report = verify(model := smallest_network(name), ramet.clone(model), skip="file", progress=False)

    assert not report.failed, report
    assert {check.name for check in report if check.outcome == "not run"} == {"training"}


@pytest.fixture(scope="module")
def model():
    """A trained model, half frozen, with statistics, randomness and optimizer state."""
    inputs = keras.Input((8,), name="features")
    x = layers.Dense(8, activation="relu", name="frozen")(inputs)
    x = layers.BatchNormalization(name="norm")(x)
    x = layers.Dropout(0.5, seed=1, name="drop")(x)
    model = keras.Model(inputs, layers.Dense(3, activation="softmax", name="head")(x), name="classifier")
    model.get_layer("frozen").trainable = False
    model.trainable = True
    model.get_layer("frozen").trainable = False
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    rng = np.random.default_rng(0)
    model.fit(rng.normal(size=(8, 8)), rng.integers(0, 3, 8), verbose=0)
    return model


@pytest.mark.slow
def test_clone_by_keras_loses_state(model):
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())

    report = verify(model, clone)

    outcomes = {check.name: check.outcome for check in report}
    assert outcomes["state"] == "failed"
    assert outcomes["training"] == "failed"
    assert outcomes["file"] == "failed"
    assert outcomes["independence"] == "passed"
    lost = [difference.path for difference in report["state"].differences]
    assert lost == ["drop/seed_generator_state", "metrics/loss/total", "metrics/loss/count"]
    assert "'classifier' is not a twin of 'classifier'" in str(report)
    assert "✗ training" in str(report)


def test_twin_passes_every_check(model):
    report = verify(model, ramet.clone(model))

    assert report.ok
    assert {check.outcome for check in report} == {"passed"}
    assert f"'classifier' is a twin of 'classifier': {len(CHECKS)} passed" in str(report)


# Graphs: only what a graph can prove is checked.


@pytest.fixture(scope="module")
def saved(model, tmp_path_factory):
    """The path of the model's file."""
    path = tmp_path_factory.mktemp("saved") / "model.keras"
    model.save(path)
    return path


def outcomes(report):
    return {check.name: check.outcome for check in report if check.outcome != "not run"}


def test_graph_is_compared_with_a_live_model(model):
    report = verify(ramet.capture(model), model)

    assert report.ok
    assert outcomes(report) == {"structure": "passed", "settings": "passed"}
    assert {check.reason for check in report if check.outcome == "not run"} == {
        "a graph holds neither values nor code; pass two models or two files"
    }


def test_graph_of_a_file_is_compared_with_a_path_and_a_live_model(model, saved):
    graph = ramet.capture(saved)

    assert verify(graph, saved).ok
    assert verify(str(saved), graph).ok
    assert verify(graph, model).ok


def test_graph_of_a_live_model_is_compared_with_a_path(model, saved):
    assert verify(ramet.capture(model), saved).ok


def test_two_graphs_are_compared(model):
    changed = ramet.clone(model)
    changed.get_layer("drop").rate = 0.25

    report = verify(ramet.capture(model), ramet.capture(changed), only=("structure", "settings"))

    assert outcomes(report) == {"structure": "passed", "settings": "failed"}
    assert [one.path for one in report["settings"].differences] == ["drop.rate"]


def test_graph_is_not_compared_with_other_objects(model):
    with pytest.raises(NotAModelError, match="class int"):
        verify(ramet.capture(model), 3)


class Moody(keras.Model):
    """A model that may refuse to run in training mode."""

    refuses = True

    def call(self, x, training=False):
        if training and self.refuses:
            raise ValueError("not in training mode")
        return x * 2.0


def test_error_of_the_original_alone_is_a_difference():
    model, twin = Moody(), Moody()
    twin.refuses = False

    found = verify(model, twin, only="outputs", inputs=np.ones((2, 3), "float32"))["outputs"]

    assert found.outcome == "failed"
    assert "only the original raises ValueError" in found.differences[0].text


def test_error_of_both_models_is_not_counted_as_an_equal_run():
    found = verify(Moody(), Moody(), only="outputs", inputs=np.ones((2, 3), "float32"))["outputs"]

    assert found.outcome == "passed"
    assert found.summary.startswith("1 runs are bit-equal")
    assert found.summary.endswith("training mode not compared: both models refuse it")


class Table(layers.Layer):
    """A layer that holds a tensor which is not a variable."""

    def __init__(self, table, **kwargs):
        super().__init__(**kwargs)
        self.table = table

    def call(self, x):
        return x


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow", reason="only TensorFlow has ragged tensors; the run there covers them"
)
def test_ragged_and_sparse_tensors_in_attributes_are_compared():
    import tensorflow as tf

    ragged, sparse = tf.ragged.constant, tf.sparse.from_dense
    for old, new in [
        (ragged([[1, 2], [3, 4]]), ragged([[1, 2], [3, 5]])),
        (ragged([[1, 2], [3, 4]]), ragged([[1], [2, 3, 4]])),
        (sparse([[0.0, 1.0]]), sparse([[0.0, 2.0]])),
    ]:
        model = keras.Sequential([keras.Input((2,)), Table(old, name="held")])
        other = ramet.clone(model)
        assert verify(model, other, only=["state", "identity"]).ok
        other.get_layer("held").table = new

        assert [check.name for check in verify(model, other, only=["state", "identity"]).failed] == ["state"]
        assert [change.path for change in ramet.diff(model, other).changes] == ["held.table"]
