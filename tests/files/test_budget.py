"""The budget of readers: tested on what they count, not on the clock."""

import json
import struct
import zipfile
import zlib

import h5py
import pytest

from ramet._files import Limits, read_archive, scan
from ramet._files.archive import Archive
from ramet._files.store import ChildStore
from ramet._files.text import read_json
from ramet.errors import HostileFileError, ModelFileError, OutOfBudgetError
from tests.files.build import DENSE_WEIGHTS, TINY, archive, dense, one_layer, sharded, weights

pytestmark = pytest.mark.no_backend

MIB = 2**20


def test_limits_grow_with_the_file():
    small, large = Limits().within(1000), Limits().within(2**34)

    for name in ("text_size", "parts", "names", "written", "memory", "seconds"):
        assert getattr(small, name) < getattr(large, name) <= getattr(Limits(), name)
    ten = Limits().within(10 * MIB)
    assert ten.memory < 2**30
    # The reader, and the process that reads weights.
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
def test_what_is_made_of_a_text_is_counted(text, limits, sentence):
    with pytest.raises(ModelFileError, match=sentence):
        read_json(text, "config.json", Limits(**limits))

    assert read_json(text, "config.json", Limits()) == json.loads(text)


def test_findings_are_counted_and_not_all_listed(tmp_path):
    notes = [f"/etc/{number}" for number in range(30)]
    path = archive(tmp_path / "m.keras", one_layer(dense(notes=notes)))

    few = scan(path, Limits(listed=10), isolated=False)
    given_up = scan(path, Limits(findings=20), isolated=False)

    assert [one.kind for one in few.findings].count("file") == 10
    assert [one.what for one in few.findings if one.kind == "more"] == [
        "There are 20 more findings of this severity than are listed."
    ]
    assert given_up.verdict == "unsafe"
    assert "more than 20 findings" in given_up.findings[0].what


def test_a_hidden_finding_counts_for_the_verdict(tmp_path):
    config = one_layer(dense(notes=[f"/etc/{number}" for number in range(30)]))
    config["config"]["layers"][-1]["config"]["last"] = {"class_name": "__lambda__", "config": {}}
    path = archive(tmp_path / "m.keras", config)

    assert scan(path, Limits(listed=1), isolated=False).verdict == "unsafe"


def test_nothing_is_unpacked_to_see_how_an_asset_begins(tmp_path):
    path = archive(
        tmp_path / "m.keras", files={"assets/x": b"\x7fELF" + bytes(100 * MIB)}, compression=zipfile.ZIP_DEFLATED
    )
    with Archive(path, Limits()) as opened:
        assert opened.start_of("assets/x", 4) == b"\x7fELF"
        assert opened.written == 0
        opened.open("model.weights.h5").close()
        assert opened.written == len(weights(DENSE_WEIGHTS))


def test_files_that_are_packed_in_odd_ways_are_not_unpacked_at_all(tmp_path, monkeypatch):
    path = archive(tmp_path / "m.keras")
    with zipfile.ZipFile(path, "a", zipfile.ZIP_BZIP2) as file:
        file.writestr("assets/x", bytes(MIB))
    asked = []
    start_of = Archive.start_of
    monkeypatch.setattr(
        Archive, "start_of", lambda self, name, count: asked.append(name) or start_of(self, name, count)
    )

    assert scan(path, isolated=False).verdict == "unsafe"
    assert "assets/x" not in asked


def test_entries_are_counted_before_they_are_read(tmp_path, monkeypatch):
    path = archive(tmp_path / "m.keras", files={f"assets/{number}": b"" for number in range(50)})
    monkeypatch.setattr(zipfile, "ZipFile", None)

    with pytest.raises(HostileFileError, match="about 53 files"):
        Archive(path, Limits(entries=40))


def _entry_with_another_name(path, name, other):
    """An archive in which an entry has a second name, for readers that know of such."""
    extra = struct.pack("<HHBL", 0x7075, 5 + len(other), 1, zlib.crc32(name)) + other
    info = zipfile.ZipInfo(name.decode())
    info.extra = extra
    with zipfile.ZipFile(path, "a") as file:
        file.writestr(info, b"{}")


def test_an_entry_with_a_second_name_is_unsafe(tmp_path):
    path = archive(tmp_path / "m.keras")
    _entry_with_another_name(path, b"notes.txt", b"config.json")

    assert any(finding.kind == "alias" for finding in scan(path, isolated=False).findings)


@pytest.mark.isolated
def test_one_process_reads_all_shards(tmp_path, monkeypatch):
    shards = {f"m_{number:05}.weights.h5": {f"layers/d{number}/vars/0": [1.0]} for number in range(5)}
    path = sharded(tmp_path / "m.weights.json", shards)
    started = []
    start = ChildStore.__init__
    monkeypatch.setattr(ChildStore, "__init__", lambda self, *args: started.append(args) or start(self, *args))

    with read_archive(path) as file:
        assert [float(file.weights.read(name)[0]) for name in file.weights] == [1.0] * 5

    assert len(started) == 1


@pytest.mark.isolated
def test_the_time_of_all_answers_counts_together(tmp_path):
    store = ChildStore(archive(tmp_path / "m.keras"), "model.weights.h5", Limits())
    store.listing()
    before = store._seconds
    store.listing()

    assert store._seconds < before
    store._seconds = 0
    with pytest.raises(OutOfBudgetError, match="takes longer than"):
        store.listing()


def test_a_chunk_counts_as_a_whole(tmp_path):
    def edit(file):
        file.create_dataset("layers/dense/vars/2", (1,), "float32", chunks=(2**26,), maxshape=(None,))

    path = archive(tmp_path / "m.keras", TINY, weights(DENSE_WEIGHTS, edit=edit))

    assert [finding.kind for finding in scan(path, isolated=False).findings] == ["bomb"]


def test_a_model_of_zeros_that_was_packed_again_is_no_bomb(tmp_path):
    def edit(file):
        file.create_dataset("layers/zeros/vars/0", data=[0.0] * MIB, dtype="float32")

    path = archive(tmp_path / "m.keras", TINY, weights(DENSE_WEIGHTS, edit=edit), compression=zipfile.ZIP_DEFLATED)

    assert path.stat().st_size < 4 * MIB / 200
    assert scan(path, isolated=False).verdict == "safe"


def test_hdf5_behind_a_user_block_is_read_as_keras_reads_it(tmp_path):
    path = tmp_path / "m.weights.h5"
    with h5py.File(path, "w", userblock_size=512) as file:
        for name, array in DENSE_WEIGHTS.items():
            file[name] = array

    assert scan(path, isolated=False).verdict == "safe"
