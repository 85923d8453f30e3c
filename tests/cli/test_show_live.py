"""Listings and graphs of real models have the parameters that Keras counts and the arguments that were passed."""

import inspect
import math

import keras
import numpy as np
import pytest

import ramet
from ramet._files import list_file, open_model_file
from ramet._graph.text import TRAINING_DEFAULTS
from tests.support.corpus import samples

# Without LoRA, which is merged into the kernels on saving: the file has fewer variables than the model.
COUNTED = {
    sample.name: sample
    for sample in samples()
    if sample.name.startswith(("layers.", "dtype_policies.", "quantizers.", "models."))
    or sample.name == "optimizers.Adam"
}


def _count(variables):
    return sum(math.prod(variable.shape) for variable in variables)


def _counted(graph):
    specs = [spec for _, spec in graph.variables()]
    return graph.parameters, sum(spec.size for spec in specs if spec.trainable and spec.tied is None)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::UserWarning")  # of models that were never built
def test_parameters_are_counted_as_in_keras(tmp_path):
    different = {}
    for name, sample in COUNTED.items():
        model = sample.make()
        model.save(tmp_path / "m.keras")
        with open_model_file(tmp_path / "m.keras", isolated=False) as file:
            found = _counted(ramet.capture(model)), _counted(file.graph)
        expected = _count(model.weights), _count(model.trainable_weights)
        if found != (expected, expected):
            different[name] = (expected, *found)

    assert different == {}


class TwoOptimizers(keras.Model):
    """A model like adversarial networks, with optimizers, metrics and random generators as attributes."""

    def __init__(self, **options):
        super().__init__(**options)
        self.dense = keras.layers.Dense(2)
        self.drop = keras.layers.Dropout(0.1)
        self.other_optimizer = keras.optimizers.Adam(0.1)
        self.unused_optimizer = keras.optimizers.SGD(0.1)
        self.tracker = keras.metrics.Mean(name="tracker")
        self.generator = keras.random.SeedGenerator(3)

    def call(self, x):
        return self.drop(self.dense(x))


def test_optimizers_metrics_and_seeds_are_not_parameters(tmp_path):
    model = TwoOptimizers()
    model(np.ones((1, 4), "float32"))
    model.other_optimizer.build(model.trainable_variables)
    model.save_weights(tmp_path / "m.weights.h5")

    with open_model_file(tmp_path / "m.weights.h5", isolated=False) as file:
        head = str(list_file(file)).split("\n")[0]

    assert model.count_params() == 10
    assert ramet.capture(model).parameters == 10
    assert head == "m.weights.h5: weights, 10 parameters"


def test_defaults_of_the_training_argument_agree_with_keras():
    found = {}
    for name, cls in vars(keras.layers).items():
        parameter = inspect.signature(cls.call).parameters.get("training") if hasattr(cls, "call") else None
        if parameter is not None:
            found[name] = parameter.default

    assert {name: TRAINING_DEFAULTS.get(name, False) for name in found} == found


@pytest.fixture
def drawn(tmp_path):
    x = keras.Input((8, 8, 3), name="x")
    y = keras.layers.RandomFlip(name="flip")(x)
    y = keras.layers.Dropout(0.5, name="plain")(y)
    y = keras.layers.Dropout(0.5, name="always")(y, training=True)
    y = keras.layers.BatchNormalization(name="norm")(y)
    y = keras.layers.BatchNormalization(name="fixed")(y, training=False)
    y = keras.layers.Reshape((8, 24), name="rows")(y)
    y = keras.layers.LSTM(2, name="lstm")(y)
    model = keras.Model(x, y, name="m")
    model.save(tmp_path / "m.keras")
    with open_model_file(tmp_path / "m.keras", isolated=False) as file:
        return [str(ramet.capture(model)), str(list_file(file))]


def test_only_arguments_that_were_passed_are_printed(drawn):
    for text in drawn:
        rows = {line.split()[0]: line.partition("<- ")[2] for line in text.splitlines() if "<-" in line}

        assert {name: row.removesuffix("  -> output").rstrip() for name, row in rows.items()} == {
            "flip": "x",
            "plain": "flip",
            "always": "plain, training=True",
            "norm": "always",
            "fixed": "norm, training=False",
            "rows": "fixed",
            "lstm": "rows",
        }
