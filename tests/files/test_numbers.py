"""Arrays are compared where they lie in the file; those that HDF5 must unpack go through the process that reads it."""

import io
import zipfile

import h5py
import ml_dtypes
import numpy as np
import pytest

from ramet._files import ArraySpec, read_archive
from ramet._files.compare import diff_files
from ramet._files.numbers import OnDisk
from ramet._files.store import ChildStore
from tests.files.build import archive

pytestmark = pytest.mark.no_backend

KERNEL, BIAS = "layers/dense/vars/0", "layers/dense/vars/1"
# More than two blocks, and no whole number of them.
LARGE = np.random.default_rng(0).normal(size=(700_000, 1)).astype("float32")


def stored(kernel=LARGE, *, user_block=0, dtype=None, **layout):
    """A weights file whose kernel is laid out in some way."""
    data = io.BytesIO()
    with h5py.File(data, "w", userblock_size=user_block) as file:
        file.create_dataset(KERNEL, data=kernel, **layout)
        if dtype is not None:
            file[KERNEL].attrs["dtype"] = dtype
        file[BIAS] = np.zeros(2, "float32")
    return data.getvalue()


def compared(folder, before, after, **options):
    paths = folder / "a.keras", folder / "b.keras"
    archive(paths[0], arrays=before)
    archive(paths[1], arrays=after, **options)
    with read_archive(paths[0]) as ours, read_archive(paths[1]) as theirs:
        return diff_files(ours, theirs)


LAYOUTS = {
    "contiguous": {},
    "chunked": {"chunks": (1000, 1)},
    "packed": {"chunks": (1000, 1), "compression": "gzip"},
    "after a user block": {"user_block": 512},
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_the_same_numbers_in_another_layout_are_no_difference_and_one_bit_is(layout, tmp_path):
    other = LARGE.copy()
    other.view("u4")[-1] ^= 1

    assert compared(tmp_path, stored(), stored(**layout)).empty
    (change,) = compared(tmp_path, stored(), stored(other, **layout)).changes
    assert (change.kind, change.path, change.what) == ("weights", "d/kernel", "values")
    assert change.measure.get("changed") == 1


def test_an_archive_that_is_packed_is_compared(tmp_path):
    diff = compared(tmp_path, stored(), stored(), compression=zipfile.ZIP_DEFLATED)

    assert diff.empty


def test_arrays_in_one_piece_are_not_sent_through_a_pipe(tmp_path, monkeypatch):
    asked = []
    monkeypatch.setattr(ChildStore, "read", lambda self, path: asked.append(path))

    assert compared(tmp_path, stored(), stored()).empty
    assert not compared(tmp_path, stored(), stored(LARGE * 2)).empty
    assert asked == []


def test_distances_are_those_of_numpy(tmp_path):
    other = LARGE * np.float32(1.25)
    (change,) = compared(tmp_path, stored(), stored(other)).changes

    far = other.astype("float64") - LARGE
    assert change.measure.get("difference") == pytest.approx(np.linalg.norm(far), rel=1e-12)
    assert change.measure.get("largest") == np.abs(far).max()
    assert change.measure.get("changed") == np.count_nonzero(far)
    assert change.old.get("norm") == pytest.approx(np.linalg.norm(LARGE.astype("float64")), rel=1e-12)


def test_bfloat16_is_compared_as_such(tmp_path):
    numbers = np.array([[1.0], [2.0]], ml_dtypes.bfloat16)
    raw = [array.view("V2") for array in (numbers, numbers * 2)]
    before, after = (stored(array, dtype="bfloat16") for array in raw)

    assert compared(tmp_path, before, before).empty
    (change,) = compared(tmp_path, before, after).changes
    assert change.measure.get("largest") == 2.0


@pytest.mark.parametrize("offset", [-8, 93, 10**30])
def test_an_array_that_would_lie_outside_of_its_file_is_not_read_there(offset):
    assert not OnDisk.fits(ArraySpec((2,), "float32", offset=offset), size=100)
    assert OnDisk.fits(ArraySpec((2,), "float32", offset=92), size=100)
