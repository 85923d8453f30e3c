"""Arrays compared by their bits, copies that a twin and its original share, and views of variables."""

import keras
import numpy as np
import pytest

from ramet._keras import structure
from ramet._keras.tensors import is_live, views_of
from ramet._verify.compare import Copies, same_bits


@pytest.mark.parametrize("dtype", ["bool", "int8", "float16", "float32", "float64", "complex128"])
@pytest.mark.parametrize("place", [0, 100_000, -1])
def test_one_number_among_many_is_seen(dtype, place):
    ours = np.zeros((3, 70_000), dtype)
    theirs = ours.copy()

    assert same_bits(ours, theirs)
    theirs.reshape(-1)[place] = 1
    assert not same_bits(ours, theirs)


def test_every_bit_counts():
    one = np.array([0.0, np.nan], "float32")
    other_zero, other_nan = one.copy(), one.copy()
    other_zero[0] = -0.0
    other_nan.view("uint32")[1] ^= 1

    assert same_bits(one, one.copy())
    assert not same_bits(one, other_zero)
    assert not same_bits(one, other_nan)


def test_arrays_in_other_orders_of_memory_are_compared_by_place():
    array = np.arange(12.0).reshape(3, 4)

    assert same_bits(array, np.asfortranarray(array))
    assert not same_bits(array[:, ::-1], array)


def test_equal_arrays_are_copied_once_and_others_are_not_mixed_up():
    copies = Copies()
    array = np.zeros(1000, "float32")
    first, again = copies.of(array), copies.of(array.copy())
    array[500] = 1  # neither among the first numbers nor among the last
    changed = copies.of(array)

    assert first is again
    assert first[500] == 0
    assert changed[500] == 1


def test_view_changes_with_a_variable_only_where_it_is_said_to_be_live():
    variable = keras.Variable(np.zeros(1000, "float32"))
    (view,) = views_of(variable)
    live = is_live(structure.value_of(variable))

    variable.assign_add(np.ones(1000, "float32"))

    assert live == (keras.backend.backend() == "torch")
    assert view[0] == (1 if live else 0)
    assert views_of(variable)[0][0] == 1
