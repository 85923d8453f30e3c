"""The inputs that models are run on: made from their specs, and tried on the original first."""

import keras
import numpy as np
import pytest
from keras import layers, ops

import ramet
from ramet._verify import verify
from ramet._verify.pair import Pair
from tests.support.versions import needs_keras


def cases_of(model, **options):
    pair = Pair(model, ramet.clone(model), **options)
    found = {case.name: case for case in pair.cases}
    pair.end()
    return found, pair.left_out


def test_same_seed_gives_the_same_inputs():
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2)])

    first, again, other = (cases_of(model, seed=seed)[0]["ordinary"].args[0] for seed in (0, 0, 1))

    np.testing.assert_array_equal(first, again)
    assert not np.array_equal(first, other)


def test_indices_stay_inside_their_table():
    ids = keras.Input((4,), dtype="int32")
    model = keras.Model(ids, layers.Embedding(3, 2, mask_zero=True)(ids))

    cases, left_out = cases_of(model)

    assert list(cases) == ["ordinary", "zeros", "extremes", "padded", "batch of one"]
    assert left_out == []
    assert {int(case.args[0].max()) for case in cases.values()} <= {0, 1, 2}
    np.testing.assert_array_equal(cases["padded"].args[0] == 0, [[0, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 1]])


def test_floating_point_indices_are_whole_numbers():
    ids = keras.Input((4,))
    model = keras.Model(ids, layers.Embedding(3, 2)(ids))

    cases, _ = cases_of(model)

    assert set(cases["ordinary"].args[0].ravel()) <= {0.0, 1.0, 2.0}


def test_extremes_contain_nan_and_infinity():
    model = keras.Sequential([keras.Input((9,)), layers.ReLU()])

    numbers = cases_of(model)[0]["extremes"].args[0]

    assert np.isnan(numbers).any()
    assert np.isposinf(numbers).any()
    assert np.isneginf(numbers).any()


@needs_keras(3, 15, "a convolution takes an input that is smaller than its kernel")
def test_free_dimensions_get_the_first_size_that_the_original_accepts():
    image = keras.Input((None, None, 3))
    x = image
    for _ in range(4):
        x = layers.Conv2D(2, 3)(x)
        x = layers.MaxPooling2D(1, strides=1)(x)
    model = keras.Model(image, layers.GlobalAveragePooling2D()(layers.Conv2D(1, 3)(x)))

    cases, _ = cases_of(model)

    assert cases["ordinary"].args[0].shape == (3, 16, 16, 3)


def test_fixed_batch_size_is_kept():
    model = keras.Sequential([keras.Input((3,), batch_size=2), layers.Dense(2)])

    cases, _ = cases_of(model)

    assert list(cases) == ["ordinary", "zeros", "extremes"]
    assert cases["ordinary"].args[0].shape == (2, 3)


def test_one_case_leaves_out_optional_inputs():
    x, extra = keras.Input((3,), name="x"), keras.Input((3,), optional=True, name="extra")

    class Maybe(layers.Layer):
        def call(self, x, extra=None):
            return x if extra is None else x + extra

        def compute_output_shape(self, x_shape, extra_shape=None):
            return x_shape

    model = keras.Model({"x": x, "extra": extra}, Maybe()(x, extra))

    cases, left_out = cases_of(model)

    assert cases["without optional inputs"].args[0]["extra"] is None
    assert left_out == []


def test_inputs_that_the_original_refuses_are_left_out_and_counted():
    class Picky(layers.Layer):
        def call(self, x):
            if not isinstance(x, keras.KerasTensor) and float(ops.sum(x)) == 0.0:
                raise ValueError("no zeros here")
            return x * 2

        def compute_output_spec(self, x):
            return keras.KerasTensor(x.shape, x.dtype)

    inputs = keras.Input((3,))
    model = keras.Model(inputs, Picky()(inputs))

    check = verify(model, ramet.clone(model), only="outputs")["outputs"]

    assert check.outcome == "passed"
    assert check.counts["left out"] == 1
    assert "zeros" in check.summary
    assert "no zeros here" in check.summary


def test_model_with_changing_outputs_is_not_compared():
    class Clock(layers.Layer):
        time = 0

        def call(self, x):
            Clock.time += 1  # on the class, where it cannot be restored
            return x + float(Clock.time)

    inputs = keras.Input((3,))
    model = keras.Model(inputs, Clock()(inputs))

    check = verify(model, ramet.clone(model), only="outputs")["outputs"]

    assert check.outcome == "passed"
    assert check.counts.get("not repeatable") == 5
    assert "does not give the same result twice" in check.summary


@pytest.mark.skipif(
    keras.backend.backend() == "torch", reason="torch has no sparse tensors in Keras; lifted when it has"
)
def test_sparse_inputs_are_made():
    x = keras.Input((6,), sparse=True)
    model = keras.Model(x, layers.Dense(2)(x))

    check = verify(model, ramet.clone(model), only="outputs")["outputs"]

    assert check.outcome == "passed"
    assert check.counts["runs"] >= 3


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="only TensorFlow has ragged tensors; the run on TensorFlow covers them",
)
def test_ragged_inputs_are_made():
    x = keras.Input((None,), dtype="int64", ragged=True)
    double = layers.Lambda(lambda rows: 2 * rows.to_tensor(), output_shape=(None,), dtype="int64")
    model = keras.Model(x, double(x))

    check = verify(model, ramet.clone(model), only="outputs")["outputs"]

    assert check.outcome == "passed"
    assert check.counts["runs"] >= 4


@pytest.mark.skipif(
    keras.backend.backend() != "tensorflow",
    reason="strings are tensors on TensorFlow only; the run on TensorFlow covers them",
)
def test_string_inputs_are_made():
    x = keras.Input((2,), dtype="string")
    model = keras.Model(x, layers.StringLookup(vocabulary=["red", "green"])(x))

    check = verify(model, ramet.clone(model), only="outputs")["outputs"]

    assert check.outcome == "passed"
    assert check.counts["runs"] == 5


def test_example_inputs_are_used():
    model = keras.Sequential([layers.Dense(2)])
    x = np.ones((2, 3), "float32")
    model(x)
    model._build_shapes_dict = None

    report = verify(model, ramet.clone(model), inputs=x, only=("outputs", "masks", "gradients"))

    assert [check.outcome for check in report] == ["passed"] * 3
    assert report["outputs"].summary == "2 runs are bit-equal: given"


def test_example_targets_are_used():
    class Choosy(keras.losses.Loss):
        def call(self, y_true, y_pred):
            if y_true.shape[-1] != 5:
                raise ValueError("five targets, please")
            return ops.mean(y_pred, axis=-1)

    model = keras.Sequential([keras.Input((3,)), layers.Dense(2)])
    model.compile("sgd", Choosy())
    twin = ramet.clone(model)

    without, given = (verify(model, twin, only="training", targets=y)["training"] for y in (None, np.ones((3, 5))))

    assert (without.outcome, given.outcome) == ("not run", "passed")
    assert "targets=" in without.reason
