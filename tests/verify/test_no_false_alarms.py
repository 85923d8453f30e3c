"""Twins made by `ramet.clone` pass every check that can be run, whatever the model."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet._verify.door import verify
from tests.support.applications import each_architecture, made
from tests.support.graph_models import MODELS, Tree
from tests.support.strategies import STEPS, Sketch

# Every model of a kind of its own is run; on JAX each new shape is compiled, so the rest is left to `make zoo`.
GRAPHS = (
    "two_output_lambda", "shared_in_a_chain", "keyword_tensors", "nested_arguments", "raw_ops", "call_options",
    "two_inputs_in_a_dict", "flagged_inputs", "shared_across_levels", "composite", "backbone", "half_precision",
    "intermediate_inputs", "mask_list_with_a_gap", "mask_of_two_outputs",
)  # fmt: skip
STEPS_HERE = ("nested_functional", "recurrent_with_state", "per_step")

quiet = pytest.mark.filterwarnings("ignore:Layer '.*' .* was passed an input with a mask attached to it:UserWarning")


def assert_no_alarm(model, *not_run):
    report = verify(model, ramet.clone(model), progress=False)

    assert not report.failed, report
    assert {check.name for check in report if check.outcome == "not run"} <= set(not_run), report
    return report


@quiet
@pytest.mark.parametrize("name", GRAPHS)
def test_a_graph_of_any_kind(name):
    assert_no_alarm(MODELS[name](), "training", "gradients", "file")


@quiet
@pytest.mark.zoo
@pytest.mark.parametrize("name", MODELS)
def test_every_graph(name):
    assert_no_alarm(MODELS[name](), "training", "gradients", "file")


@quiet
@pytest.mark.parametrize("step", STEPS_HERE)
def test_a_model_grown_by_a_step(step):
    sample = Sketch(inputs=("vector", "sequence", "ids"), steps=((step, (1, 1, 0)),), outputs=(0, 1)).build()
    sample.model.compile("adam", keras.tree.map_structure(lambda _: "mse", sample.make_targets(0)))

    assert_no_alarm(sample.model, "file")


@quiet
@pytest.mark.zoo
@pytest.mark.parametrize("step", STEPS)
def test_a_model_grown_by_any_step(step):
    sample = Sketch(inputs=("vector", "sequence", "ids"), steps=((step, (1, 1, 0)),), outputs=(0, 1)).build()
    sample.model.compile("adam", keras.tree.map_structure(lambda _: "mse", sample.make_targets(0)))

    assert_no_alarm(sample.model, "file")


def test_a_subclassed_model_that_was_only_called():
    class Plain(keras.Model):
        def __init__(self):
            super().__init__()
            self.dense = layers.Dense(2)

        def call(self, x):
            return self.dense(x)

    model = Plain()
    model(np.ones((2, 3), "float32"))

    assert assert_no_alarm(model, "training", "file")["outputs"].counts["runs"] == 5


def test_a_subclassed_model_with_a_tree_of_layers():
    model = Tree(name="tree")
    model.build((None, 4))

    assert_no_alarm(model, "training", "file")


def test_a_model_that_was_never_built():
    report = assert_no_alarm(keras.Sequential([layers.Dense(2)]), "outputs", "masks", "gradients", "training", "file")

    assert "inputs=" in report["outputs"].reason


def test_adapted_and_quantised_layers():
    normal = layers.Normalization()
    normal.adapt(np.arange(12.0).reshape(3, 4).astype("float32"))
    model = keras.Sequential([keras.Input((4,)), normal, layers.Dense(8), layers.Dense(2)])
    model.quantize("int8")

    assert_no_alarm(model, "training", "gradients")


def test_a_clone_of_a_clone():
    model = ramet.clone(MODELS["nested_models"]())

    assert_no_alarm(model, "training")


@pytest.mark.zoo
@each_architecture
def test_every_application(name):
    # A file of every one of them would take longer than everything else.
    report = verify(model := made(name), ramet.clone(model), skip="file", progress=False)

    assert not report.failed, report
    assert {check.name for check in report if check.outcome == "not run"} == {"training"}
