"""The values of variables: how many numbers changed and by how much, for every dtype, NaN and odd layouts."""

import ml_dtypes
import numpy as np
import pytest

from ramet._diff import Change, Diff, InMemory, compare_arrays, diff_graphs
from ramet._graph import FrozenDict, freeze_dict
from tests.graph.sample import nested, small

pytestmark = pytest.mark.no_backend


class Stored:
    """Arrays by path, and a list of those that were read."""

    def __init__(self, **arrays):
        self.arrays = {path.replace("__", "/"): array for path, array in arrays.items()}
        self.read_paths = []

    def paths(self):
        return self.arrays

    def read(self, path):
        self.read_paths.append(path)
        return self.arrays[path]


def compared(before, after) -> Diff:
    return diff_graphs(small(), small(), weights=(Stored(d__kernel=before), Stored(d__kernel=after)))


def facts(diff: Diff) -> tuple[str, dict, dict, dict]:
    (change,) = diff.changes
    assert (change.kind, change.before, change.after) == ("weights", "d/kernel", "d/kernel")
    assert all(isinstance(part, FrozenDict) for part in (change.old, change.new))
    return change.what, dict(change.old.pairs), dict(change.new.pairs), dict(change.measure.pairs)


def test_equal_weights_are_counted_but_not_reported():
    diff = compared(np.ones((8, 8)), np.ones((8, 8)))

    assert diff == Diff("small", "small", compared=1)


def test_distance_of_changed_weights_is_reported():
    diff = compared(np.array([3.0, 4.0, 0.0]), np.array([3.0, 4.0, 2.5]))

    assert diff.changes == (
        Change(
            "weights",
            "d/kernel",
            "d/kernel",
            "values",
            freeze_dict({"dtype": "float64", "norm": 5.0}),
            freeze_dict({"dtype": "float64", "norm": float(np.sqrt(31.25))}),
            freeze_dict({"size": 3, "changed": 1, "difference": 2.5, "largest": 2.5}),
        ),
    )
    assert "kernel: moved by 50 % of the norm, largest change 2.5; 1 of 3 numbers changed" in str(diff)


@pytest.mark.parametrize(
    "dtype",
    ["float16", "float32", "float64", "int8", "uint8", "int32", "int64", "uint64", "complex64", "bool",
     ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.int4],
)  # fmt: skip
def test_every_dtype_is_compared(dtype):
    before = np.array([0, 1, 1, 0]).astype(dtype)
    after = np.array([0, 1, 0, 0]).astype(dtype)
    what, _, _, measure = facts(compared(before, after))

    assert compared(before, before.copy()).empty
    assert (what, measure) == ("values", {"size": 4, "changed": 1, "difference": 1.0, "largest": 1.0})


@pytest.mark.parametrize("dtype", [object, "U4", "S4"])
def test_texts_are_compared_without_a_distance(dtype):
    before, after = np.array(["a", "b"], dtype=dtype), np.array(["a", "c"], dtype=dtype)
    what, _, _, measure = facts(compared(before, after))

    assert compared(before, before.copy()).empty
    assert (what, measure["size"], measure["changed"]) == ("values", 2, 1)


def test_changed_bits_of_equal_numbers_are_reported():
    what, _, _, measure = facts(compared(np.array([0.0, 1.0]), np.array([-0.0, 1.0])))

    assert (what, measure["changed"]) == ("bits", 0)


def test_two_kinds_of_nan_differ_only_in_bits():
    before, after = np.array([0x7FC00000, 0], "uint32"), np.array([0x7FC00001, 0], "uint32")
    what, old, new, _ = facts(compared(before.view("float32"), after.view("float32")))

    assert (what, old["nan"], new["nan"]) == ("bits", 1, 1)


def test_nan_and_infinity_are_counted_and_left_out_of_norms():
    before, after = np.array([1.0, 2.0, np.inf, 5.0]), np.array([np.nan, 2.0, np.inf, 4.0])
    what, old, new, measure = facts(compared(before, after))

    assert what == "values"
    assert (old["inf"], new["inf"], new["nan"]) == (1, 1, 1)
    assert "nan" not in old
    assert measure == {"size": 4, "changed": 2, "difference": 1.0, "largest": 1.0}
    assert "1 NaN (was 0)" in str(compared(before, after))


def test_integers_beyond_double_precision_are_distinguished():
    what, _, _, measure = facts(compared(np.array([2**60]), np.array([2**60 + 1])))

    assert (what, measure["changed"]) == ("values", 1)


def test_changed_dtype_with_equal_values_is_reported():
    what, old, new, measure = facts(compared(np.ones(3, "float32"), np.ones(3, ml_dtypes.bfloat16)))

    assert (what, old["dtype"], new["dtype"], measure["changed"]) == ("dtype", "float32", "bfloat16", 0)


def test_stored_shape_other_than_described_is_reported():
    diff = compared(np.ones((2, 3)), np.ones((3, 2)))

    assert diff.changes == (Change("weights", "d/kernel", "d/kernel", "shape", (2, 3), (3, 2)),)


def test_variable_stored_on_one_side_only_is_reported():
    diff = diff_graphs(small(), small(), weights=(Stored(d__kernel=np.ones(1)), Stored()))

    assert diff.changes == (Change("weights", "d/kernel", "d/kernel", "presence", "stored", "not stored"),)


@pytest.mark.parametrize("array", [np.ones((0, 4)), np.ones(()), np.asfortranarray(np.arange(6.0).reshape(2, 3))])
def test_unusual_arrays_are_compared(array):
    assert compared(array, array.copy()).empty
    assert compared(array, array + 1).empty == (array.size == 0)


def test_array_larger_than_a_chunk_is_compared_completely():
    before = np.zeros(5_000_000, "float32")
    after = before.copy()
    after[[0, 2_500_000, 4_999_999]] = 1.0

    assert facts(compared(before, after))[3]["changed"] == 3


def test_tied_variable_is_read_once():
    arrays = {"encoder__d__kernel": np.ones((8, 8)), "scale": np.ones(())}
    before, after = Stored(**arrays), Stored(**arrays | {"scale": np.zeros(())})
    diff = diff_graphs(nested(), nested(), weights=(before, after))

    assert [(change.before, change.what) for change in diff.changes] == [("scale", "values")]
    assert sorted(before.read_paths) == ["encoder/d/kernel", "scale"]


def test_reverse_diff_of_weights_is_the_mirror_image():
    one, other = np.array([1.0, np.nan, -0.0, 3.0]), np.array([2.0, 1.0, 0.0, np.inf])

    assert compared(other, one) == compared(one, other).mirrored()
    assert compared(one, other) != compared(other, one)


def test_bytes_and_numbers_differ_everywhere():
    old = np.zeros(4, ml_dtypes.bfloat16)

    (change,) = compare_arrays("a", "a", InMemory(old), InMemory(old.view("V2")))

    assert change.measure.get("changed") == 4
