"""Files that are broken, truncated, or not models: each is refused with one clear sentence, and never with another error."""

import json
import ntpath
import os
import sys
import types
import zipfile
from pathlib import PureWindowsPath

import numpy as np
import pytest

from ramet._files import Limits, open_model_file, scan
from ramet._files.json_data import read_json
from ramet.errors import HostileFileError, ModelFileError, OutOfBudgetError, RametError
from tests.files.build import DENSE_WEIGHTS, TINY, archive, functional, given, weights
from tests.support.platforms import posix

pytestmark = [pytest.mark.no_backend, pytest.mark.isolated]


def _graph(path, **options):
    with open_model_file(path, isolated=False, **options) as file:
        return file.graph


# Containers.


def test_missing_file_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match="no such file"):
        open_model_file(tmp_path / "none.keras")


@pytest.mark.parametrize("content", [b"", b"text", b"\x89PNG\r\n", b"PK\x03\x04 and nothing else"])
def test_file_that_is_not_a_model_is_refused(tmp_path, content):
    for name in ("m.keras", "m.h5", "m"):
        path = tmp_path / name
        path.write_bytes(content)

        with pytest.raises(ModelFileError, match="Cannot read"):
            open_model_file(path)
        with pytest.raises(ModelFileError, match="Cannot read"):
            scan(path)


@posix
def test_named_pipe_is_refused_without_waiting(tmp_path):
    os.mkfifo(tmp_path / "m.keras")

    with pytest.raises(ModelFileError, match="neither a file nor a folder"):
        open_model_file(tmp_path / "m.keras")


def test_folder_without_a_config_is_refused(tmp_path):
    with pytest.raises(ModelFileError, match=r"no 'config\.json'"):
        open_model_file(tmp_path)


def test_junction_in_a_folder_is_not_followed(tmp_path, monkeypatch):
    """Windows has links to folders that Python calls folders."""
    folder = archive_folder(tmp_path / "folder")
    scandir = os.scandir

    class Junction:
        def __init__(self, item):
            self.name, self.path, self.is_dir, self.is_file = item.name, item.path, item.is_dir, item.is_file

        def stat(self, *, follow_symlinks):
            return types.SimpleNamespace(st_size=0, st_reparse_tag=0xA0000003)

    monkeypatch.setattr(
        os, "scandir", lambda path: [Junction(item) if item.name == "assets" else item for item in scandir(path)]
    )

    with pytest.raises(HostileFileError, match="'assets' in 'folder': it is a link"):
        open_model_file(folder)


def archive_folder(folder):
    (folder / "assets").mkdir(parents=True)
    (folder / "assets" / "words.txt").write_text("a")
    (folder / "config.json").write_text(json.dumps(TINY))
    return folder


# Windows' own opinion on names, from Python's library.
IS_RESERVED = getattr(ntpath, "isreserved", None) or (lambda name: PureWindowsPath(name).is_reserved())


@pytest.mark.parametrize("name", ["NUL", "con", "aux.txt", "Lpt1.tar.gz", "COM¹", "conin$", "nul/words.txt"])
def test_name_of_a_device_is_refused_on_every_system(tmp_path, name):
    assert IS_RESERVED(name.partition("/")[0])

    with pytest.raises(HostileFileError, match="Windows does not treat its name as that of a file"):
        open_model_file(archive(tmp_path / "m.keras", files={name: "x"}))


@pytest.mark.parametrize(
    "name", ["config.json:hidden", "more:words.txt", "C:evil", "c:\\evil", "C:/evil", "\\\\host\\share\\x"]
)
def test_name_with_a_drive_or_a_hidden_part_is_refused_on_every_system(tmp_path, name):
    path = PureWindowsPath("folder", name)
    assert ":" in path.name or path.parts[0] != "folder"

    assert scan(archive(tmp_path / "m.keras", files={name: "x"})).verdict == "unsafe"


@pytest.mark.parametrize(
    "name",
    [
        *("config.json.", "config.json ", "CONFIG.JSON", ".\\config.json", "./config.json"),
        *("assets\\wörds?.txt", "assets/wo\u0308rds_.txt", "ASSETS/wörds_.txt.", "assets//wörds_.txt"),
    ],
)
def test_names_that_are_one_file_on_windows_or_macos_are_refused_on_every_system(tmp_path, name):
    path = archive(tmp_path / "m.keras", files={"assets/wörds_.txt": "x", name: "y"})

    with pytest.raises(HostileFileError, match="the same name on Windows or macOS"):
        open_model_file(path)


@pytest.mark.parametrize("name", ["... ", ".. ", "....", "assets/.. /.. /evil"])
def test_parent_folder_in_disguise_is_refused_on_every_system(tmp_path, name):
    with pytest.raises(HostileFileError, match="leads out of"):
        open_model_file(archive(tmp_path / "m.keras", files={name: "x"}))


def test_names_that_keras_writes_on_linux_are_accepted(tmp_path):
    """Assets have the names of layers, which may be called `aux` or `a:b`."""
    names = [f"assets/layers/{layer}/vocabulary.txt" for layer in ("aux", "a:b", "text_1", "Text_2", "mot.", "com")]
    path = archive(tmp_path / "m.keras", files=dict.fromkeys(names, "a"))

    assert scan(path).verdict == "safe"


@posix
def test_link_in_a_folder_is_not_followed(tmp_path):
    (tmp_path / "secret").write_text(json.dumps(TINY))
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "config.json").symlink_to(tmp_path / "secret")

    with pytest.raises(HostileFileError, match="link"):
        open_model_file(folder)


def test_archive_truncated_anywhere_is_refused(tmp_path):
    whole = archive(tmp_path / "whole.keras").read_bytes()
    path = tmp_path / "cut.keras"
    for size in range(0, len(whole), 97):
        path.write_bytes(whole[:size])

        with pytest.raises(ModelFileError):
            _graph(path)


@pytest.mark.parametrize("isolated", [True, False])
def test_download_that_was_cut_off_is_named_with_a_way_out(tmp_path, isolated):
    path = tmp_path / "best.h5"
    path.write_bytes(weights(DENSE_WEIGHTS)[:2000])

    with (
        pytest.raises(ModelFileError, match=r"'best\.h5': the end of the file is missing") as caught,
        open_model_file(path, isolated=isolated) as file,
    ):
        _ = file.graph

    assert "download it again" in caught.value.fix


def test_flipped_byte_in_the_config_is_detected(tmp_path):
    path = archive(tmp_path / "m.keras")
    data = bytearray(path.read_bytes())
    data[data.index(b"Functional") + 3] ^= 0xFF
    path.write_bytes(data)

    with pytest.raises(ModelFileError, match="broken"):
        _graph(path)


def test_compressed_weights_are_read(tmp_path):
    path = archive(tmp_path / "m.keras", compression=zipfile.ZIP_DEFLATED)

    with open_model_file(path, isolated=False) as file:
        assert np.array_equal(file.weights.read("d/kernel"), np.ones((4, 2)))


def test_archive_after_other_bytes_is_read(tmp_path):
    path = archive(tmp_path / "m.keras")
    path.write_bytes(b"#!/bin/sh\n" + path.read_bytes())

    assert _graph(path).name == "tiny"


# Texts.


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("", "not valid JSON"),
        ("{", "not valid JSON"),
        ('{"a": 1, "a": 2}', "twice"),
        ("9" * 500, "digits"),
        ('{"abcdefghi": {"abcdefghi": {"abcdefghi": [[0]]}}}', "more than 50 characters"),
    ],
)
def test_invalid_or_oversized_json_is_refused(text, sentence):
    with pytest.raises(ModelFileError, match=sentence):
        read_json(text.encode(), "config.json", Limits(names=50))


@pytest.mark.parametrize("text", ["[" * 902 + "]" * 902, '{"a":' * 901 + "0" + "}" * 901, "[" * 100_000])
def test_json_nested_too_deeply_is_refused(text):
    with pytest.raises(HostileFileError, match="nested"):
        read_json(text, "config.json", Limits())


def test_json_at_the_depth_limit_is_read_with_the_default_recursion_limit():
    assert sys.getrecursionlimit() <= 1_000

    found = read_json(b"[" * 900 + b"]" * 900, "config.json", Limits())

    assert found != []


def test_nan_and_infinity_are_read():
    found = read_json(b'{"a": NaN, "b": -Infinity, "c": 1e999}', "config.json", Limits())

    assert np.isnan(found["a"])
    assert (found["b"], found["c"]) == (float("-inf"), float("inf"))


def test_brackets_inside_strings_do_not_count_as_nesting():
    text = json.dumps(["[" * 2_000, '\\"[', "\\"])

    assert read_json(text.encode(), "config.json", Limits()) == json.loads(text)


# Weights.


def test_weights_that_are_not_hdf5_are_refused(tmp_path):
    path = archive(tmp_path / "m.keras", TINY, b"not HDF5")

    for isolated in (True, False):
        with (
            pytest.raises(ModelFileError, match="broken, or it is not HDF5"),
            open_model_file(path, isolated=isolated) as file,
        ):
            _ = file.graph


def test_weights_with_changed_bytes_are_read_or_refused(tmp_path):
    whole = weights(DENSE_WEIGHTS, {"layers/dense": "d"}, lambda file: file.attrs.update(keras_version="3"))
    random = np.random.default_rng(0)
    path = tmp_path / "m.weights.h5"
    for _ in range(12):
        data = bytearray(whole)
        for place in random.integers(8, len(data), 8):
            data[place] = random.integers(0, 256)
        path.write_bytes(data)

        try:
            with open_model_file(path, Limits(seconds=5)) as file:
                found = [file.weights.read(name).shape for name in file.weights.paths()]
        except RametError as error:
            found = str(error).startswith("Cannot ")
        assert found or found == []


def test_compressed_model_of_zeros_is_read(tmp_path):
    zeros = {"layers/dense/vars/0": np.zeros((2**10, 2**16), "uint8"), "layers/dense/vars/1": np.zeros(2, "float32")}
    path = archive(tmp_path / "m.keras", TINY, zeros, compression=zipfile.ZIP_DEFLATED)

    assert path.stat().st_size < 2**18
    assert scan(path).verdict == "safe"
    with open_model_file(path) as file:
        assert file.weights.statistics("d/kernel")["zeros"] == 2**26


def test_unpacked_bytes_are_counted(tmp_path):
    path = archive(
        tmp_path / "m.keras", TINY, {"layers/dense/vars/0": np.zeros(2**20)}, compression=zipfile.ZIP_DEFLATED
    )

    with pytest.raises(OutOfBudgetError, match="would unpack to more than"):
        open_model_file(path, Limits(written=2**20), isolated=False).listing  # noqa: B018  # read on first use


def test_names_consisting_of_backslashes_are_kept(tmp_path):
    path = archive(tmp_path / "m.keras", TINY, {"\\": np.ones(2), "more/\\/vars/0": np.ones(2), **DENSE_WEIGHTS})

    with open_model_file(path, isolated=False) as file:
        assert file.weights.paths() == ("d/kernel", "d/bias", "\\/0")


def test_control_characters_in_array_names_are_escaped(tmp_path):
    path = tmp_path / "m.weights.h5"
    path.write_bytes(weights({}, edit=lambda file: file.create_dataset("vars/\x1b[2J", data=b"text")))

    for isolated in (True, False):
        with open_model_file(path, isolated=isolated) as file:
            for name in (*file.weights.paths(), "\x1b[2J/none"):
                with pytest.raises(RametError) as caught:
                    file.weights.read(name)
                assert all(line.isprintable() for line in str(caught.value).split("\n"))


def test_control_characters_in_layer_names_are_escaped(tmp_path):
    config = functional("f", [given("x"), given("\u202e")], ["x", 0, 0], ["\u202e", 0, 0])

    with pytest.raises(RametError, match=r"the call '\\u202e' of an input is not one of the inputs"):
        _graph(archive(tmp_path / "m.keras", config))


def test_json_is_read_near_the_recursion_limit(tmp_path):
    def deep(levels):
        return read_json(b"[" * 90 + b"]" * 90, "config.json", Limits()) if levels == 0 else deep(levels - 1)

    assert deep(sys.getrecursionlimit() - 150) != []


def test_array_beyond_the_limit_is_listed_but_not_read(tmp_path):
    path = archive(tmp_path / "m.keras", TINY, weights(DENSE_WEIGHTS))

    with open_model_file(path, Limits(array_size=16), isolated=False) as file:
        assert file.weights.spec("d/kernel").shape == (4, 2)
        with pytest.raises(HostileFileError, match="more than the 16 allowed"):
            file.weights.read("d/kernel")
