"""File formats: each registered format is recognized, opened, read, scanned and shown."""

import zipfile

import numpy as np
import pytest

from ramet._files import list_file, open_model_file, scan
from ramet._files.formats import FORMATS, open_file
from ramet._files.limits import Limits
from ramet.errors import ModelFileError
from tests.files.build import DENSE_WEIGHTS, archive, sharded, weights

pytestmark = pytest.mark.no_backend


def folder(path):
    path.mkdir()
    with zipfile.ZipFile(archive(path.parent / "packed.keras")) as file:
        file.extractall(path)
    return path


def single_file(path):
    path.write_bytes(weights(DENSE_WEIGHTS))
    return path


# A function that writes a Dense layer with `DENSE_WEIGHTS` in each format.
EXAMPLES = {
    "archive": lambda path: archive(path / "m.keras"),
    "folder": lambda path: folder(path / "m"),
    "hdf5": lambda path: single_file(path / "m.weights.h5"),
    "shards": lambda path: sharded(path / "m.weights.json", {"m_00000.weights.h5": DENSE_WEIGHTS}),
}

every_format = pytest.mark.parametrize("file_format", FORMATS, ids=lambda one: one.name)


def example(file_format, path):
    assert file_format.name in EXAMPLES, (
        f"The format '{file_format.name}' has no example: add a function to EXAMPLES in tests/files/test_formats.py that "
        "writes a file of this format."
    )
    return EXAMPLES[file_format.name](path)


def test_names_of_formats_are_unique_and_have_examples():
    names = [one.name for one in FORMATS]

    assert len(set(names)) == len(names), "Two formats in FORMATS have the same name."
    assert not EXAMPLES.keys() - names, (
        "EXAMPLES has a format that is not in FORMATS of ramet/_files/formats/__init__.py."
    )


@every_format
def test_example_is_opened_by_its_own_format(file_format, tmp_path):
    found, container = open_file(example(file_format, tmp_path), Limits())
    try:
        assert found is file_format, (
            f"A file of the format '{file_format.name}' is opened as '{found.name}', which comes first in FORMATS: move "
            "the new format before it, or recognize files more narrowly."
        )
        assert container.entries, f"The container of '{file_format.name}' lists no entries."
        assert container.problems() == [], f"The container of '{file_format.name}' refuses a valid file."
    finally:
        container.close()


@every_format
def test_weights_of_every_format_are_read(file_format, tmp_path):
    with open_model_file(example(file_format, tmp_path), isolated=False) as file:
        kernel, bias = file.weights.paths()
        assert np.array_equal(file.weights.read(kernel), DENSE_WEIGHTS["layers/dense/vars/0"])
        assert np.array_equal(file.weights.read(bias), DENSE_WEIGHTS["layers/dense/vars/1"])
        assert (file.config is not None) == file_format.has_config, (
            f"'has_config' of the format '{file_format.name}' does not agree with its example."
        )


@every_format
@pytest.mark.isolated
def test_every_format_is_read_in_a_separate_process(file_format, tmp_path):
    with open_model_file(example(file_format, tmp_path)) as file:
        assert file.weights.read(file.weights.paths()[0]).shape == (4, 2)


@every_format
def test_every_format_is_scanned_and_shown(file_format, tmp_path):
    path = example(file_format, tmp_path)

    assert scan(path, isolated=False).verdict == "safe"
    with open_model_file(path, isolated=False) as file:
        assert "10 parameters" in str(list_file(file))


@every_format
def test_entries_can_be_read_and_larger_ones_are_refused(file_format, tmp_path):
    _, container = open_file(example(file_format, tmp_path), Limits())
    try:
        for entry in container.entries:
            data = container.read(entry.name, entry.size)
            assert len(data) == entry.size
            assert container.start_of(entry.name, 4) == data[:4]
            with container.open(entry.name) as file:
                assert file.read(4) == data[:4]
            with pytest.raises(ModelFileError, match="larger than"):
                container.read(entry.name, entry.size - 1)
        with pytest.raises(ModelFileError, match="Cannot find"):
            container.open("missing")
    finally:
        container.close()


def test_unsupported_file_names_the_supported_formats(tmp_path):
    (tmp_path / "m.onnx").write_bytes(b"something else")

    with pytest.raises(ModelFileError, match="unsupported file format") as caught:
        open_model_file(tmp_path / "m.onnx")

    for file_format in FORMATS:
        assert file_format.description in caught.value.expected


def test_pointer_of_git_lfs_is_named(tmp_path):
    pointer = b"version https://git-lfs.github.com/spec/v1\noid sha256:" + b"0" * 64 + b"\nsize 12345\n"
    for name in ("m.h5", "m.keras"):
        (tmp_path / name).write_bytes(pointer)
        with pytest.raises(ModelFileError, match="pointer of Git LFS") as caught:
            open_model_file(tmp_path / name)
        assert "git lfs pull" in caught.value.fix
