"""Sharded weights: they are read as one weights file, and nothing outside of their folder is opened."""

import json

import h5py
import numpy as np
import pytest

from ramet.__main__ import main
from ramet._files import Limits, list_file, open_model_file, scan
from ramet.errors import HostileFileError, ModelFileError
from tests.files.build import DENSE_WEIGHTS, TINY, sharded, weights
from tests.support.platforms import posix

pytestmark = pytest.mark.no_backend

FIRST, SECOND = "m_00000.weights.h5", "m_00001.weights.h5"
KERNEL = np.arange(8, dtype="float32").reshape(4, 2)
SHARDS = {
    FIRST: {"layers/dense/vars/0": KERNEL},
    SECOND: {
        "layers/dense/vars/1": np.asarray([5, 6], "float32"),
        "layers/dense_1/vars/0": np.ones((2, 3), "float32"),
        "layers/dense_1/vars/1": np.zeros(3, "float32"),
    },
}


@pytest.mark.isolated
@pytest.mark.parametrize("isolated", [True, False])
def test_shards_are_read_as_one_weights_file(tmp_path, isolated):
    with open_model_file(sharded(tmp_path / "m.weights.json", SHARDS), isolated=isolated) as file:
        assert file.kind == "weights"
        assert file.config is None
        assert file.shards == (FIRST, SECOND)
        assert file.weights.paths() == ("dense/kernel", "dense/bias", "dense_1/kernel", "dense_1/bias")
        # Back and forth between the shards.
        assert np.array_equal(file.weights.read("dense/kernel"), KERNEL)
        assert file.weights.read("dense/bias").tolist() == [5, 6]
        assert np.array_equal(file.weights.read("dense/kernel"), KERNEL)
        assert str(list_file(file)).split("\n") == [
            "m.weights.json: weights, 19 parameters",
            "  the weights are in 2 shards",
            "",
            "  dense    Dense    10",
            "  dense_1  Dense     9",
        ]


def test_shards_written_by_keras_are_read(tmp_path):
    import keras

    model = keras.Sequential([keras.Input((8,)), *(keras.layers.Dense(8, name=f"d{number}") for number in range(6))])
    model.compile("adam", "mse")
    model.save_weights(tmp_path / "whole.weights.h5")
    # Small enough that the kernel of a layer and its bias lie in different shards.
    model.save_weights(tmp_path / "m.weights.json", max_shard_size=560 / 2**30)

    held = json.loads((tmp_path / "m.weights.json").read_text())["weight_map"].values()
    assert max(len(holders) for holders in held) == 2
    with (
        open_model_file(tmp_path / "m.weights.json") as shards,
        open_model_file(tmp_path / "whole.weights.h5", isolated=False) as whole,
    ):
        assert len(shards.shards) > 2
        assert shards.graph == whole.graph
        assert shards.weights.paths() == whole.weights.paths()
        assert all(np.array_equal(shards.weights.read(path), whole.weights.read(path)) for path in whole.weights)
        assert len(shards.optimizer_weights) == len(whole.optimizer_weights) == 2
    assert scan(tmp_path / "m.weights.json").findings == ()


def test_shards_are_scanned(tmp_path):
    report = scan(sharded(tmp_path / "m.weights.json", SHARDS))

    assert (report.kind, report.verdict, report.findings) == ("weights", "safe", ())


def test_shards_in_the_folder_of_a_model_are_read(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    sharded(tmp_path / "model.weights.json", {"model_00000.weights.h5": SHARDS[FIRST]})

    with open_model_file(tmp_path) as file:
        assert file.kind == "model"
        assert np.array_equal(file.weights.read("d/0"), KERNEL)
    assert scan(tmp_path).findings == ()


def test_map_in_a_folder_that_leads_elsewhere_is_refused(tmp_path):
    (tmp_path / "config.json").write_text(json.dumps(TINY))
    sharded(tmp_path / "model.weights.json", SHARDS, {"/layers/dense/vars": "../../m.h5"})

    with pytest.raises(HostileFileError, match="is not a file in the same folder"), open_model_file(tmp_path) as file:
        _ = file.graph
    assert scan(tmp_path).verdict == "unsafe"


@posix
def test_links_into_one_cache_folder_are_read(tmp_path):
    blobs, snapshot = tmp_path / "blobs", tmp_path / "snapshot"
    blobs.mkdir()
    snapshot.mkdir()
    sharded(blobs / "m.weights.json", SHARDS)
    for name in ("m.weights.json", FIRST, SECOND):
        (blobs / name).rename(blobs / f"{name}.blob")
        (snapshot / name).symlink_to(blobs / f"{name}.blob")

    with open_model_file(snapshot / "m.weights.json") as file:
        assert len(file.weights) == 4


@posix
def test_link_out_of_the_folder_is_refused(tmp_path):
    folder = tmp_path / "folder"
    folder.mkdir()
    (tmp_path / "other.h5").write_bytes(weights(SHARDS[SECOND]))
    path = sharded(folder / "m.weights.json", SHARDS)
    (folder / SECOND).unlink()
    (folder / SECOND).symlink_to(tmp_path / "other.h5")

    with pytest.raises(HostileFileError, match="a link out of its folder"):
        open_model_file(path)
    assert scan(path).verdict == "unsafe"


def test_shards_are_shown_and_compared_like_one_weights_file(tmp_path, capsys):
    shards = sharded(tmp_path / "m.weights.json", SHARDS)
    whole = tmp_path / "whole.weights.h5"
    whole.write_bytes(weights({**SHARDS[FIRST], **SHARDS[SECOND]}))
    changed = tmp_path / "changed.weights.h5"
    changed.write_bytes(weights({**SHARDS[FIRST], **SHARDS[SECOND], "layers/dense/vars/1": np.zeros(2, "float32")}))

    codes = [main(["diff", str(shards), str(other)]) for other in (shards, whole, changed)]
    codes += [main(["show", str(shards), "--weights"]), main(["scan", str(shards)])]

    assert codes == [0, 0, 1, 0, 0]
    out = capsys.readouterr().out
    assert "weights: weights of 1 of 4 variables\n" in out
    assert "  dense/bias      (2,) float32" in out
    assert out.endswith("m.weights.json: safe\n")


# Maps.


@pytest.mark.parametrize(
    "shard",
    ["../m.h5", "/etc/passwd", "sub/m.h5", "..", ".", "", "C:m.h5", "a\\b", "a\0b"],
)
def test_shard_that_leads_elsewhere_is_refused(tmp_path, shard):
    (tmp_path / "m.h5").write_bytes(weights(SHARDS[FIRST]))
    folder = tmp_path / "sub"
    folder.mkdir()
    path = sharded(folder / "m.weights.json", SHARDS, {"/layers/dense/vars": [FIRST, shard]})

    with pytest.raises(HostileFileError, match="is not a file in the same folder"):
        open_model_file(path)
    report = scan(path)
    assert (report.kind, report.verdict) == ("weights", "unsafe")


@pytest.mark.parametrize(
    ("weight_map", "sentence"),
    [
        ({"/layers/dense/vars": [FIRST, "m_00002.weights.h5"]}, r"'m_00002\.weights\.h5' is missing"),
        ({"/layers/dense/vars": "m" * 5_000}, r"its shard 'm{80}'\.\.\. is missing"),
        ({"/layers/dense/vars": "\ud800"}, r"its shard '.ud800' is missing"),
        ({"/layers/dense/vars": [FIRST, FIRST]}, "lists a shard of '/layers/dense/vars' twice"),
        ({"/layers/dense/vars": FIRST, "layers/dense/vars": SECOND}, "lists a group twice"),
        ({"/layers/dense/vars": FIRST, "/layers/other/vars": FIRST}, "'layers/other/vars' in .* does not contain it"),
        ({"/layers/dense/vars": 3}, "does not name the shard"),
        ({"/layers/dense/vars": None}, "does not name the shard"),
        ({"/layers/dense/vars": []}, "does not name the shard"),
        ({"/layers/dense/vars": [FIRST, 3]}, "does not name the shard"),
        ({"/layers/dense/vars": {"a": FIRST}}, "does not name the shard"),
        ([FIRST], "not a map of shards"),
        (7, "not a map of shards"),
    ],
)
def test_invalid_map_is_refused_with_a_reason(tmp_path, weight_map, sentence):
    path = sharded(tmp_path / "m.weights.json", SHARDS, weight_map)

    with pytest.raises(ModelFileError, match=sentence):
        open_model_file(path)


@pytest.mark.parametrize("text", ["", "[]", "3", "null", "{}", '{"weight_map": {}, "metadata": 3}', "{", "\xff"])
def test_json_that_is_not_a_map_is_refused(tmp_path, text):
    path = tmp_path / "m.weights.json"
    path.write_text(text, encoding="latin-1")

    with pytest.raises(ModelFileError, match="Cannot read"):
        open_model_file(path)
    with pytest.raises(ModelFileError, match="Cannot read"):
        scan(path)


def test_oversized_map_is_refused(tmp_path):
    path = sharded(tmp_path / "m.weights.json", SHARDS, {f"/{number}/vars": FIRST for number in range(100)})

    for limits, sentence in ((Limits(objects=50), "lists 100 groups"), (Limits(text_size=100), "larger than 100")):
        with pytest.raises(HostileFileError, match=sentence):
            open_model_file(path, limits)
    many = sharded(tmp_path / "n.weights.json", SHARDS, {f"/{number}/vars": f"n_{number}" for number in range(20)})
    with pytest.raises(HostileFileError, match="lists 20 shards, and 10 are allowed"):
        open_model_file(many, Limits(shards=10))


def test_budget_grows_with_the_shards_and_not_with_the_map(tmp_path):
    path = sharded(tmp_path / "m.weights.json", SHARDS)
    with (tmp_path / FIRST).open("r+b") as shard:
        shard.truncate(2**30)  # a sparse file

    with open_model_file(path, isolated=False) as file:
        assert file._container.limits.memory > 3 * 2**30


def test_objects_of_all_shards_together_are_limited(tmp_path):
    path = sharded(tmp_path / "m.weights.json", SHARDS)

    with pytest.raises(HostileFileError, match="more than 9 groups and arrays"):
        open_model_file(path, Limits(objects=9))


# Shards.


def test_arrays_missing_from_the_map_are_left_out_and_reported(tmp_path):
    path = sharded(tmp_path / "m.weights.json", SHARDS, {"/layers/dense/vars": [FIRST, SECOND]})

    with open_model_file(path) as file:
        assert file.weights.paths() == ("dense/kernel", "dense/bias")
    report = scan(path)
    assert report.verdict == "unsafe"
    assert {(finding.kind, finding.place) for finding in report.findings} == {
        ("shard", f"m.weights.json: {SECOND}: layers/dense_1/vars/{number}") for number in (0, 1)
    }


def test_array_in_two_shards_is_reported(tmp_path):
    path = sharded(tmp_path / "m.weights.json", {**SHARDS, SECOND: {**SHARDS[SECOND], **SHARDS[FIRST]}})

    (finding,) = scan(path).findings

    assert finding.what == f"'{SECOND}: layers/dense/vars/0' in the weights: it is also in '{FIRST}'."


def test_shard_that_is_not_hdf5_is_refused(tmp_path):
    path = sharded(tmp_path / "m.weights.json", SHARDS)
    (tmp_path / SECOND).write_bytes(b"not HDF5")

    with pytest.raises(ModelFileError, match="broken, or it is not HDF5"):
        open_model_file(path)


def test_config_in_the_attributes_of_a_shard_is_ignored(tmp_path):
    config = json.dumps({"class_name": "Sequential", "config": []})
    first = weights(SHARDS[FIRST], edit=lambda file: file.attrs.update(model_config=config))
    path = sharded(tmp_path / "m.weights.json", {FIRST: first}, {"/layers/dense/vars": FIRST})

    with open_model_file(path) as file:
        assert (file.kind, file.config) == ("weights", None)


def test_first_shard_missing_from_the_map_is_unsafe(tmp_path):
    """Keras opens it before the map, and reads from it what the map does not list."""
    hostile = weights({}, edit=lambda file: file.__setitem__("layers", h5py.ExternalLink("/etc/passwd", "/")))
    path = sharded(tmp_path / "m.weights.json", {"m_00001.weights.h5": DENSE_WEIGHTS})
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(TINY))
    sharded(folder / "model.weights.json", {"model_00001.weights.h5": DENSE_WEIGHTS})
    assert scan(path).verdict == scan(folder).verdict == "safe"

    (tmp_path / "m_00000.weights.h5").write_bytes(hostile)
    (folder / "model_00000.weights.h5").write_bytes(hostile)

    for file in (path, folder):
        assert [finding.kind for finding in scan(file).findings if finding.severity == "unsafe"] == ["shard"]
    with pytest.raises(HostileFileError, match="Keras opens it first"):
        open_model_file(path)
