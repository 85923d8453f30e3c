"""Files and graphs as sources of `transfer`, compared with what Keras itself loads from the same file."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet.errors import ArgumentError, ModelFileError, NotAModelError, WeightsDoNotFitError
from tests.weights.models import Held, X, held, numbers, scatter, small

FILES = {"model": "model.keras", "legacy model": "model.h5", "weights": "model.weights.h5"}


def saved(model, path):
    """Save a model, or only its weights, and return the path."""
    if path.name.endswith(".weights.h5"):
        model.save_weights(path)
    else:
        model.save(path)
    return path


def assert_equal_weights(target, expected):
    for ours, theirs in zip(numbers(target), expected, strict=True):
        assert (ours.dtype, ours.shape, ours.tobytes()) == (theirs.dtype, theirs.shape, theirs.tobytes())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", FILES)
def test_file_gives_the_weights_that_keras_loads(kind, tmp_path):
    model = scatter(small(compiled=True), 1)
    path = saved(model, tmp_path / FILES[kind])
    target, expected = scatter(small(), 2), scatter(small(), 3)

    report = ramet.transfer(path, target)
    expected.load_weights(path)

    assert report.ok
    assert not report.unused
    assert report.source == FILES[kind]
    assert_equal_weights(target, numbers(expected))
    assert_equal_weights(target, numbers(model))


@pytest.mark.parametrize("as_path", [str, lambda path: path])
def test_path_may_be_a_string_or_a_path(as_path, tmp_path):
    model = scatter(small(), 1)
    target = scatter(small(), 2)

    ramet.transfer(as_path(saved(model, tmp_path / "model.keras")), target)

    assert_equal_weights(target, numbers(model))


@pytest.mark.parametrize("kind", ["model", "weights"])
def test_generated_names_in_a_file_are_matched_by_order(kind, tmp_path):
    def build():
        return keras.Sequential([keras.Input((4,)), layers.Dense(4), layers.Dense(4), layers.BatchNormalization()])

    model, target = scatter(build(), 1), scatter(build(), 2)

    report = ramet.transfer(saved(model, tmp_path / FILES[kind]), target)

    assert {one.how for one in report} == {"order"}
    assert_equal_weights(target, numbers(model))


@pytest.mark.parametrize("kind", ["model", "weights"])
def test_weights_that_a_file_numbers_get_the_names_of_the_target(kind, tmp_path):
    model, target = scatter(held(), 1), scatter(held(), 2)

    report = ramet.transfer(saved(model, tmp_path / FILES[kind]), target)

    assert report.ok
    assert_equal_weights(target, numbers(model))


class Reversed(layers.Layer):
    """A layer that saves its variables in another order than it creates them."""

    def build(self, shape):
        self.first = self.add_weight(shape=(4,), name="first")
        self.second = self.add_weight(shape=(4,), name="second")

    def call(self, x):
        return x * self.first + self.second

    def save_own_variables(self, store):
        store["0"], store["1"] = self.second, self.first

    def load_own_variables(self, store):
        self.second.assign(store["0"])
        self.first.assign(store["1"])


def test_numbered_weights_follow_the_order_in_which_a_layer_saves_them(tmp_path):
    def build():
        return keras.Sequential([keras.Input((4,)), Reversed(name="layer")])

    model, target = scatter(build(), 1), scatter(build(), 2)

    ramet.transfer(saved(model, tmp_path / "model.weights.h5"), target)

    assert_equal_weights(target, numbers(model))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["model", "weights"])
def test_quantized_weights_are_read_from_a_file(kind, tmp_path):
    def build():
        model = keras.Sequential([keras.Input((4,)), layers.Dense(3, name="d")])
        model.quantize("int8")
        return model

    model, target = build(), build()
    path = saved(model, tmp_path / FILES[kind])

    ramet.transfer(path, target)

    assert_equal_weights(target, numbers(model))
    with pytest.raises(WeightsDoNotFitError, match="not quantized in the same way"):
        ramet.transfer(path, keras.Sequential([keras.Input((4,)), layers.Dense(3, name="d")]))


@pytest.mark.usefixtures("double")
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_file_weights_keep_their_dtype(dtype, tmp_path):
    def build():
        return keras.Sequential([keras.Input((4,)), layers.Dense(3, name="d", dtype=dtype)])

    model, target = build(), build()

    ramet.transfer(saved(model, tmp_path / "model.keras"), target)

    assert_equal_weights(target, numbers(model))


def test_options_apply_to_files(tmp_path):
    model = scatter(small(units=3), 1)
    path = saved(model, tmp_path / "model.keras")
    target = scatter(small(units=5), 2)
    before = numbers(target)

    with pytest.raises(WeightsDoNotFitError, match=r"'model\.keras'"):
        ramet.transfer(path, target)
    assert_equal_weights(target, before)
    ramet.transfer(path, target, policy="pad", dry_run=True)
    assert_equal_weights(target, before)
    report = ramet.transfer(path, target, policy="pad", select="body/*")

    assert {one.path for one in report.adapted} == {one.path for one in report if one.path.startswith("body/")}
    kernel = target.get_layer("body").get_layer("dense").kernel.numpy()
    np.testing.assert_array_equal(kernel[:, :3], model.get_layer("body").get_layer("dense").kernel.numpy())
    np.testing.assert_array_equal(kernel[:, 3:], 0)
    np.testing.assert_array_equal(target.get_layer("head").bias.numpy(), before[-1])


def test_nothing_in_a_file_is_imported_or_run(tmp_path, monkeypatch):
    model = scatter(held(), 1)
    path = saved(model, tmp_path / "model.keras")
    target = scatter(held(), 2)
    monkeypatch.setattr(Held, "from_config", classmethod(lambda cls, config: pytest.fail("the class was created")))

    ramet.transfer(path, target)

    assert_equal_weights(target, numbers(model))
    assert target(X).shape == (12, 2)


def test_graph_is_refused_because_it_has_no_values():
    model = small()

    with pytest.raises(ArgumentError, match="a graph describes a model and holds no values"):
        ramet.transfer(ramet.capture(model), ramet.clone(model))


def test_other_sources_are_refused(tmp_path):
    target = small()
    with pytest.raises(ModelFileError, match=r"missing\.keras"):
        ramet.transfer(tmp_path / "missing.keras", target)
    with pytest.raises(NotAModelError, match="class int"):
        ramet.transfer(3, target)
