"""Bit-equality by default; within a tolerance where one is given."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet._verify.compare import differ
from ramet._verify.door import verify


def array(*numbers, dtype="float32"):
    return np.array(numbers, dtype)


def test_equal_bits_are_equal_whatever_they_mean():
    nan = array(np.nan, np.inf, -0.0)

    assert differ("x", nan, nan.copy()) is None


@pytest.mark.parametrize(
    ("ours", "theirs", "text"),
    [
        (array(0.0, 1.0), array(-0.0, 1.0), "1 of 2 numbers differ in bits alone (the sign of zero, the kind of NaN)"),
        (array(1.0, 2.0), array(1.0, np.nan), "1 of 2 numbers differ, some by NaN or infinity"),
        (array(1.0, 2.0, 4.0), array(1.0, 2.0, 3.0), "1 of 3 numbers differ, by up to 0.25 of the largest"),
        (array(1.0), array(2.0), "[1.0] became [2.0]"),
        (array(1, 2, dtype="int32"), array(1, 3, dtype="int32"), "[1, 2] became [1, 3]"),
        (array(1.0), array(1.0, 2.0), "shape (1,) became (2,)"),
        (array(1.0), array(1.0, dtype="float64"), "dtype float32 became float64"),
        (array(True, False, dtype=bool), array(True, True, dtype=bool), "1 of 2 truth values differ"),
        (np.array(["a", "b"], object), np.array(["a", "c"], object), "1 of 2 texts differ"),
    ],
)
def test_a_difference_is_described(ours, theirs, text):
    difference = differ("x", ours, theirs)

    assert (difference.path, difference.text) == ("x", text)


def test_a_tolerance_is_a_part_of_the_largest_number():
    ours, theirs = array(1.0, 100.0), array(1.5, 100.0)

    assert differ("x", ours, theirs, 0.01) is None
    assert differ("x", ours, theirs, 0.001).size == pytest.approx(0.005)


def test_a_tolerance_may_depend_on_the_dtype():
    ours, theirs = array(1.0, 2.0), array(1.0, 2.1)

    assert differ("x", ours, theirs, {"float32": 0.1}) is None
    assert differ("x", ours, theirs, {"float16": 0.1}) is not None


def test_whole_numbers_have_no_tolerance():
    assert differ("x", array(1, 2, dtype="int32"), array(1, 3, dtype="int32"), 10.0) is not None


def test_nan_in_both_is_within_any_tolerance():
    assert differ("x", array(np.nan, 1.0), array(np.nan, 1.0 + 1e-6), 1e-3) is None


@pytest.mark.parametrize("tolerance", [-1.0, float("inf"), "much", {"float32": None, "x": -2}])
def test_what_is_no_tolerance_is_refused(tolerance):
    with pytest.raises(ramet.errors.ArgumentError, match="tolerance"):
        verify(None, None, tolerance=tolerance)


def test_an_almost_equal_twin_passes_within_a_tolerance():
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2, name="d")])
    twin = ramet.clone(model)
    kernel = twin.layers[0].kernel
    kernel.assign(keras.ops.convert_to_numpy(kernel) * np.float32(1.0001))
    chosen = ("state", "outputs", "gradients")

    strict, loose = (verify(model, twin, only=chosen, tolerance=tolerance) for tolerance in (None, 1e-2))

    assert {check.name for check in strict.failed} == {"state", "outputs"}
    assert loose.ok
