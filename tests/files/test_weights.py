"""Weights by path: contiguous arrays are read in place, all others through the process that reads HDF5."""

import io
import zipfile

import h5py
import ml_dtypes
import numpy as np
import pytest

from ramet._files import open_model_file
from ramet._files.comparison import diff_files
from ramet._files.listing import ArraySpec
from ramet._files.store import ChildStore
from ramet._files.weights import ArrayOnDisk
from tests.files.build import archive

pytestmark = pytest.mark.no_backend

KERNEL, BIAS = "layers/dense/vars/0", "layers/dense/vars/1"
# More than two blocks, and not a whole number of them.
LARGE = np.random.default_rng(0).normal(size=(700_000, 1)).astype("float32")


def stored(kernel=LARGE, *, user_block=0, dtype=None, **layout):
    """Return the bytes of a weights file whose kernel has a certain layout."""
    data = io.BytesIO()
    with h5py.File(data, "w", userblock_size=user_block) as file:
        file.create_dataset(KERNEL, data=kernel, **layout)
        if dtype is not None:
            file[KERNEL].attrs["dtype"] = dtype
        file[BIAS] = np.zeros(2, "float32")
    return data.getvalue()


def diff_of(folder, before, after, **options):
    paths = folder / "a.keras", folder / "b.keras"
    archive(paths[0], arrays=before)
    archive(paths[1], arrays=after, **options)
    with open_model_file(paths[0]) as ours, open_model_file(paths[1]) as theirs:
        return diff_files(ours, theirs)


LAYOUTS = {
    "contiguous": {},
    "chunked": {"chunks": (1000, 1)},
    "packed": {"chunks": (1000, 1), "compression": "gzip"},
    "after a user block": {"user_block": 512},
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_other_layout_is_no_difference_but_a_flipped_bit_is(layout, tmp_path):
    other = LARGE.copy()
    other.view("u4")[-1] ^= 1

    assert diff_of(tmp_path, stored(), stored(**layout)).empty
    (change,) = diff_of(tmp_path, stored(), stored(other, **layout)).changes
    assert (change.kind, change.path, change.what) == ("weights", "d/kernel", "values")
    assert change.measure.get("changed") == 1


def test_compressed_archive_is_compared(tmp_path):
    diff = diff_of(tmp_path, stored(), stored(), compression=zipfile.ZIP_DEFLATED)

    assert diff.empty


def test_contiguous_arrays_are_not_sent_through_the_pipe(tmp_path, monkeypatch):
    requested = []
    monkeypatch.setattr(ChildStore, "read", lambda self, path: requested.append(path))

    assert diff_of(tmp_path, stored(), stored()).empty
    assert not diff_of(tmp_path, stored(), stored(LARGE * 2)).empty
    assert requested == []


def test_distances_agree_with_numpy(tmp_path):
    other = LARGE * np.float32(1.25)
    (change,) = diff_of(tmp_path, stored(), stored(other)).changes

    far = other.astype("float64") - LARGE
    assert change.measure.get("difference") == pytest.approx(np.linalg.norm(far), rel=1e-12)
    assert change.measure.get("largest") == np.abs(far).max()
    assert change.measure.get("changed") == np.count_nonzero(far)
    assert change.old.get("norm") == pytest.approx(np.linalg.norm(LARGE.astype("float64")), rel=1e-12)


def test_bfloat16_is_compared(tmp_path):
    numbers = np.array([[1.0], [2.0]], ml_dtypes.bfloat16)
    raw = [array.view("V2") for array in (numbers, numbers * 2)]
    before, after = (stored(array, dtype="bfloat16") for array in raw)

    assert diff_of(tmp_path, before, before).empty
    (change,) = diff_of(tmp_path, before, after).changes
    assert change.measure.get("largest") == 2.0


@pytest.mark.parametrize("offset", [-8, 93, 10**30])
def test_array_outside_of_its_file_is_not_read_in_place(offset):
    assert not ArrayOnDisk.fits(ArraySpec((2,), "float32", offset=offset), size=100)
    assert ArrayOnDisk.fits(ArraySpec((2,), "float32", offset=92), size=100)
