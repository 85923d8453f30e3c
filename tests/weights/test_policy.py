"""Policies that adapt an array to another shape, compared with arrays written by hand."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ramet._weights.policy import adapt
from ramet.errors import ArgumentError, WeightsDoNotFitError


@pytest.mark.parametrize(
    ("policy", "shape", "expected"),
    [
        ("slice", (1, 2), [[1, 2]]),
        ("pad", (3, 3), [[1, 2, 0], [3, 4, 0], [0, 0, 0]]),
        ("mean", (3, 2), [[1, 2], [3, 4], [2, 3]]),
        ("mean", (1, 2), [[2, 3]]),
        ("mean", (3, 1), [[1.5], [3.5], [2.5]]),
        ("repeat", (5, 1), [[1], [3], [1], [3], [1]]),
        ("fresh", (1, 1), [[9]]),
    ],
)
def test_policy_adapts_to_another_shape(policy, shape, expected):
    value = np.array([[1.0, 2.0], [3.0, 4.0]])

    result = adapt(value, shape, policy, fresh=np.full(shape, 9.0))

    np.testing.assert_array_equal(result, expected)
    np.testing.assert_array_equal(value, [[1.0, 2.0], [3.0, 4.0]])


@pytest.mark.parametrize(
    ("policy", "shape", "dtype", "reason"),
    [
        ("refuse", (2, 3), "float32", "the shapes differ"),
        ("slice", (2, 3), "float32", "'slice' can only shrink, but axis 1 must grow from 2 to 3"),
        ("pad", (2, 1), "float32", "'pad' can only grow, but axis 1 must shrink from 2 to 1"),
        ("mean", (2, 3), "int32", "'mean' needs floats, but these are int32"),
        ("mean", (2, 3), "bool", "'mean' needs floats, but these are bool"),
        ("repeat", (4,), "float32", "'repeat' works axis by axis, but there are 2 and 1 axes"),
        ("fresh", (4,), "float32", "there are no fresh values"),
    ],
)
def test_policy_that_cannot_adapt_gives_the_reason(policy, shape, dtype, reason):
    with pytest.raises(WeightsDoNotFitError) as caught:
        adapt(np.ones((2, 2), dtype), shape, policy, path="a/kernel")

    assert caught.value.summary == f"Cannot adapt weights of shape (2, 2) to 'a/kernel' of shape {shape}: {reason}."
    assert caught.value.path == "a/kernel"
    assert "'repeat'" in caught.value.fix or policy == "repeat"


def test_empty_axis_cannot_be_repeated():
    for policy in ("mean", "repeat"):
        with pytest.raises(WeightsDoNotFitError, match="is empty"):
            adapt(np.ones((0, 2)), (3, 2), policy)


def test_an_unknown_policy_is_refused():
    with pytest.raises(ArgumentError, match="unknown policy"):
        adapt(np.ones(2), (3,), "stretch")


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, "float16", "int8", "bool", "complex64"])
@pytest.mark.parametrize("policy", ["slice", "pad", "repeat", "mean"])
def test_policies_keep_the_dtype_and_every_bit(policy, dtype):
    value = np.arange(4).astype(dtype)
    shape = (2,) if policy == "slice" else (6,)
    if policy == "mean" and np.dtype(dtype).kind in "ib":
        pytest.skip("integers have no mean; test_policy_that_cannot_adapt_gives_the_reason covers it")

    result = adapt(value, shape, policy)

    kept = min(4, shape[0])
    assert result.dtype == value.dtype
    assert result[:kept].tobytes() == value[:kept].tobytes()


def test_the_mean_of_half_floats_does_not_overflow():
    value = np.full((100_000,), 60_000, "float16")

    assert adapt(value, (100_001,), "mean")[-1] == np.float16(60_000)


SHAPES = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 4)), min_size=0, max_size=3)


# Drawing examples may be slow on a busy machine.
@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(SHAPES, st.sampled_from(["mean", "repeat"]))
def test_mean_and_repeat_adapt_to_any_shape_of_the_same_rank(lengths, policy):
    old, new = tuple(a for a, _ in lengths), tuple(b for _, b in lengths)
    value = np.arange(1.0, 1 + np.prod(old)).reshape(old)

    result = adapt(value, new, policy)

    assert result.shape == new
    assert result.min() >= value.min()
    assert result.max() <= value.max()
    if all(a <= b for a, b in lengths):
        np.testing.assert_array_equal(result[tuple(map(slice, old))], value)


@settings(suppress_health_check=[HealthCheck.too_slow], deadline=None)
@given(SHAPES)
def test_slicing_after_padding_restores_the_array(lengths):
    old = tuple(min(pair) for pair in lengths)
    new = tuple(max(pair) for pair in lengths)
    value = np.random.default_rng(0).normal(size=old)

    padded = adapt(value, new, "pad")

    np.testing.assert_array_equal(adapt(padded, old, "slice"), value)
    np.testing.assert_allclose(padded.sum(), value.sum())
