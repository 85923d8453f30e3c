"""Comparing arrays: bit by bit by default, within a tolerance if there is one."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet._keras import is_live, structure, views_of
from ramet._verify import verify
from ramet._verify.compare import Copies, Measure, differ, same_bits


def array(*numbers, dtype="float32"):
    return np.array(numbers, dtype)


def test_equal_bits_are_equal_even_for_nan():
    nan = array(np.nan, np.inf, -0.0)

    assert differ("x", nan, nan.copy()) is None


@pytest.mark.parametrize(
    ("ours", "theirs", "text"),
    [
        (
            array(0.0, 1.0),
            array(-0.0, 1.0),
            "1 of 2 numbers differ in their bits only (the sign of zero, the kind of NaN)",
        ),
        (array(1.0, 2.0), array(1.0, np.nan), "1 of 2 numbers differ, some by NaN or infinity"),
        (array(1.0, 2.0, 4.0), array(1.0, 2.0, 3.0), "1 of 3 numbers differ; largest relative difference: 0.25"),
        (array(1.0), array(2.0), "[1.0] became [2.0]"),
        (array(1, 2, dtype="int32"), array(1, 3, dtype="int32"), "[1, 2] became [1, 3]"),
        (array(1.0), array(1.0, 2.0), "shape (1,) became (2,)"),
        (array(1.0), array(1.0, dtype="float64"), "dtype float32 became float64"),
        (array(True, False, dtype=bool), array(True, True, dtype=bool), "1 of 2 booleans differ"),
        (np.array(["a", "b"], object), np.array(["a", "c"], object), "1 of 2 strings differ"),
    ],
)
def test_difference_is_described(ours, theirs, text):
    difference = differ("x", ours, theirs)

    assert (difference.path, difference.text) == ("x", text)


def test_tolerance_is_relative_to_the_largest_number():
    ours, theirs = array(1.0, 100.0), array(1.5, 100.0)

    assert differ("x", ours, theirs, Measure(0.01)) is None
    assert differ("x", ours, theirs, Measure(0.001)).size == pytest.approx(0.005)


def test_tolerance_may_depend_on_the_dtype():
    ours, theirs = array(1.0, 2.0), array(1.0, 2.1)

    assert differ("x", ours, theirs, Measure({"float32": 0.1})) is None
    assert differ("x", ours, theirs, Measure({"float16": 0.1})) is not None


def test_whole_numbers_have_no_tolerance():
    assert differ("x", array(1, 2, dtype="int32"), array(1, 3, dtype="int32"), Measure(10.0)) is not None


def test_nan_in_both_is_within_any_tolerance():
    assert differ("x", array(np.nan, 1.0), array(np.nan, 1.0 + 1e-6), Measure(1e-3)) is None


@pytest.mark.parametrize("tolerance", [-1.0, float("inf"), "much", {"float32": None, "x": -2}])
def test_invalid_tolerance_is_refused(tolerance):
    with pytest.raises(ramet.errors.ArgumentError, match="tolerance"):
        verify(None, None, tolerance=tolerance)


def test_almost_equal_twin_passes_within_a_tolerance():
    model = keras.Sequential([keras.Input((3,)), layers.Dense(2, name="d")])
    twin = ramet.clone(model)
    kernel = twin.layers[0].kernel
    kernel.assign(keras.ops.convert_to_numpy(kernel) * np.float32(1.0001))
    chosen = ("state", "outputs", "gradients")

    strict, loose = (verify(model, twin, only=chosen, tolerance=tolerance) for tolerance in (None, 1e-2))

    assert {check.name for check in strict.failed} == {"state", "outputs"}
    assert loose.ok


def net(policy="float32"):
    seeded = {"dtype": policy, "kernel_initializer": keras.initializers.GlorotUniform(seed=1)}
    x = keras.Input((6,), name="x")
    y = layers.Dense(8, activation="relu", name="hidden", **seeded)(x)
    y = layers.BatchNormalization(dtype=policy, name="norm")(y)
    model = keras.Model(x, layers.Dense(3, name="out", **seeded)(y), name="net")
    model.compile(keras.optimizers.SGD(name="sgd"), "mse")
    return model


def cast_by_hand(model, policy):
    """Return the same model in another dtype, made by Keras alone."""
    other = net(policy)
    other.set_weights(model.get_weights())
    return other


@pytest.mark.parametrize("policy", ["bfloat16", "mixed_bfloat16", "float16"])
def test_another_dtype_is_compared_by_distance_within_a_tolerance(policy):
    model = net()
    other = cast_by_hand(model, policy)
    x = np.random.default_rng(0).normal(size=(3, 6)).astype("float32")
    far = np.abs(_numbers(model(x)) - _numbers(other(x))).max() / np.abs(_numbers(model(x))).max()

    report = verify(model, other, tolerance=0.1, progress=False, inputs=x)

    assert report.ok, str(report)
    assert far <= report["outputs"].largest <= 0.1
    assert report["state"].largest == pytest.approx(max(map(_rounding, model.weights, other.weights)))
    assert report["structure"].counts["other dtypes"] > 0
    assert f"float32 -> {policy}" in report["settings"].summary
    assert "largest relative difference: " in str(report)


def _rounding(ours, theirs):
    a, b = _numbers(ours), _numbers(theirs)
    return np.abs(a - b).max() / (np.abs(a).max() or 1.0)


def _numbers(tensor):
    return keras.ops.convert_to_numpy(keras.ops.cast(tensor, "float32")).astype("float64")


def test_another_dtype_fails_without_a_tolerance():
    model = net()

    report = verify(model, cast_by_hand(model, "bfloat16"), progress=False)

    assert {"structure", "settings", "state", "outputs"} <= {check.name for check in report.failed}
    assert report["state"].differences[0].text == "dtype float32 became bfloat16"


def test_another_dtype_fails_outside_the_tolerance():
    model = net()

    report = verify(model, cast_by_hand(model, "bfloat16"), tolerance=1e-6, progress=False)

    assert "outputs" in {check.name for check in report.failed}
    assert report["outputs"].largest > 1e-4


def test_integer_dtype_fails_within_any_tolerance():
    model = net()
    other = ramet.clone(model)
    other.quantize("int8")

    report = verify(model, other, tolerance=0.5, progress=False)

    assert report["outputs"].outcome == "passed", report
    assert 0 < report["outputs"].largest < 0.5
    assert "dtype float32 became int8" in str(report["state"])


def test_other_settings_fail_within_a_tolerance():
    model = net()
    other = cast_by_hand(model, "bfloat16")
    other.get_layer("norm").momentum = 0.5

    report = verify(model, other, tolerance=0.1, progress=False)

    assert "norm.momentum" in [one.path for one in report["settings"].differences]


# Bits and copies.


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("index", [0, 100_000, -1])
def test_one_changed_number_is_found(dtype, index):
    ours = np.zeros((3, 70_000), dtype)
    theirs = ours.copy()

    assert same_bits(ours, theirs)
    theirs.reshape(-1)[index] = 1
    assert not same_bits(ours, theirs)


def test_every_bit_counts():
    one = np.array([0.0, np.nan], "float32")
    other_zero, other_nan = one.copy(), one.copy()
    other_zero[0] = -0.0
    other_nan.view("uint32")[1] ^= 1

    assert same_bits(one, one.copy())
    assert not same_bits(one, other_zero)
    assert not same_bits(one, other_nan)


def test_arrays_with_other_memory_order_are_compared_by_position():
    array = np.arange(12.0).reshape(3, 4)

    assert same_bits(array, np.asfortranarray(array))
    assert not same_bits(array[:, ::-1], array)


def test_equal_arrays_are_copied_once():
    copies = Copies()
    array = np.zeros(1000, "float32")
    first, again = copies.of(array), copies.of(array.copy())
    array[500] = 1  # neither among the first numbers nor among the last
    changed = copies.of(array)

    assert first is again
    assert first[500] == 0
    assert changed[500] == 1


def test_view_changes_with_its_variable_only_if_it_is_live():
    variable = keras.Variable(np.zeros(1000, "float32"))
    (view,) = views_of(variable)
    live = is_live(structure.value_of(variable))

    variable.assign_add(np.ones(1000, "float32"))

    assert live == (keras.backend.backend() == "torch")
    assert view[0] == (1 if live else 0)
    assert views_of(variable)[0][0] == 1
