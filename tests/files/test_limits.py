"""Limits of the readers: tests of what they count, without any clock."""

import contextlib
import json
import struct
import zipfile
import zlib

import h5py
import pytest

from ramet._files import Limits, scan
from ramet._files.formats.archive import Archive
from ramet._files.json_data import read_json
from ramet.errors import HostileFileError, ModelFileError
from tests.files.build import DENSE_WEIGHTS, TINY, archive, dense, one_layer, weights

pytestmark = pytest.mark.no_backend

MIB = 2**20


def test_limits_grow_with_the_file():
    small, large = Limits().within(1000), Limits().within(2**34)

    for name in ("text_size", "parts", "names", "written", "memory", "seconds"):
        assert getattr(small, name) < getattr(large, name) <= getattr(Limits(), name)
    ten = Limits().within(10 * MIB)
    assert ten.memory < 2**30
    # For the reader, and again for the process that reads weights.
    assert 2 * ten.seconds <= 12


@pytest.mark.parametrize(
    ("text", "limits", "sentence"),
    [
        ("[{},{},{},{}]", {"parts": 3}, "more than 3 objects and lists"),
        ("[[],[],[],[]]", {"parts": 3}, "more than 3 objects and lists"),
        ('{"aaaaa": 1}', {"name": 4}, "a name in it has 5 characters"),
        ('{"name": "aaaaa"}', {"name": 4}, "a name in it has 5 characters"),
        ('{"a": {"b": {"c": {"d": 1}}}}', {"names": 5}, "more than 5 characters"),
        ('"aaaaaaaa"', {"text_size": 5}, "longer than a config may be"),
    ],
)
def test_parts_and_names_of_a_text_are_counted(text, limits, sentence):
    with pytest.raises(ModelFileError, match=sentence):
        read_json(text, "config.json", Limits(**limits))

    assert read_json(text, "config.json", Limits()) == json.loads(text)


def test_findings_beyond_the_limit_are_counted_but_not_listed(tmp_path):
    notes = [f"/etc/{number}" for number in range(30)]
    path = archive(tmp_path / "m.keras", one_layer(dense(notes=notes)))

    short = scan(path, Limits(listed=10), isolated=False)
    stopped = scan(path, Limits(findings=20), isolated=False)

    assert [one.kind for one in short.findings].count("file") == 10
    assert [one.what for one in short.findings if one.kind == "more"] == [
        "20 more findings of this severity are not listed."
    ]
    assert stopped.verdict == "unsafe"
    assert "more than 20 findings" in stopped.findings[0].what


def test_unlisted_finding_still_counts_for_the_verdict(tmp_path):
    config = one_layer(dense(notes=[f"/etc/{number}" for number in range(30)]))
    config["config"]["layers"][-1]["config"]["last"] = {"class_name": "__lambda__", "config": {}}
    path = archive(tmp_path / "m.keras", config)

    assert scan(path, Limits(listed=1), isolated=False).verdict == "unsafe"


def test_reading_the_start_of_an_asset_unpacks_nothing(tmp_path):
    path = archive(
        tmp_path / "m.keras", files={"assets/x": b"\x7fELF" + bytes(100 * MIB)}, compression=zipfile.ZIP_DEFLATED
    )
    with contextlib.closing(Archive(path, Limits())) as opened:
        assert opened.start_of("assets/x", 4) == b"\x7fELF"
        assert opened.written == 0
        opened.open("model.weights.h5").close()
        assert opened.written == len(weights(DENSE_WEIGHTS))


def test_entry_with_an_unusual_compression_is_not_unpacked(tmp_path, monkeypatch):
    path = archive(tmp_path / "m.keras")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_BZIP2) as file:
        file.writestr("assets/x", bytes(MIB))
    requested = []
    start_of = Archive.start_of
    monkeypatch.setattr(
        Archive, "start_of", lambda self, name, count: requested.append(name) or start_of(self, name, count)
    )

    assert scan(path, isolated=False).verdict == "unsafe"
    assert "assets/x" not in requested


def test_entries_are_counted_before_the_directory_is_read(tmp_path, monkeypatch):
    path = archive(tmp_path / "m.keras", files={f"assets/{number}": b"" for number in range(50)})
    monkeypatch.setattr(zipfile, "ZipFile", None)

    with pytest.raises(HostileFileError, match="about 53 files"):
        Archive(path, Limits(entries=40))


def add_entry_with_alias(path, name, other):
    """Add an entry with a second name, which some readers use."""
    extra = struct.pack("<HHBL", 0x7075, 5 + len(other), 1, zlib.crc32(name)) + other
    info = zipfile.ZipInfo(name.decode())
    info.extra = extra
    with zipfile.ZipFile(path, "a") as file:
        file.writestr(info, b"{}")


def test_entry_with_a_second_name_is_unsafe(tmp_path):
    path = archive(tmp_path / "m.keras")
    add_entry_with_alias(path, b"notes.txt", b"config.json")

    assert any(finding.kind == "alias" for finding in scan(path, isolated=False).findings)


def test_size_of_a_whole_chunk_is_counted(tmp_path):
    def edit(file):
        file.create_dataset("layers/dense/vars/2", (1,), "float32", chunks=(2**26,), maxshape=(None,))

    path = archive(tmp_path / "m.keras", TINY, weights(DENSE_WEIGHTS, edit=edit))

    assert [finding.kind for finding in scan(path, isolated=False).findings] == ["bomb"]


def test_compressed_model_of_zeros_is_not_a_bomb(tmp_path):
    def edit(file):
        file.create_dataset("layers/zeros/vars/0", data=[0.0] * MIB, dtype="float32")

    path = archive(tmp_path / "m.keras", TINY, weights(DENSE_WEIGHTS, edit=edit), compression=zipfile.ZIP_DEFLATED)

    assert path.stat().st_size < 4 * MIB / 200
    assert scan(path, isolated=False).verdict == "safe"


def test_hdf5_after_a_user_block_is_read(tmp_path):
    path = tmp_path / "m.weights.h5"
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in DENSE_WEIGHTS.items():
            file[name] = array

    assert scan(path, isolated=False).verdict == "safe"
