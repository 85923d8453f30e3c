"""`ramet show` lists the content of a file."""

import json
import re

import pytest

from ramet._graph import Graph
from tests.files.build import DENSE_WEIGHTS, TINY, archive, dense, legacy, one_layer, weights

pytestmark = pytest.mark.no_backend

SHOWN = """\
tiny.keras: tiny (Functional), 10 parameters
  saved by Keras 3.15.1, 2026-01-02@03:04:05

  x  Input  (None, 4) float32
  d  Dense  (None, 2) float32  10  <- x  -> output
"""


def test_model_is_listed_as_a_tree(ramet, tiny):
    done = ramet("show", tiny)

    assert (done.code, done.out, done.err) == (0, SHOWN, "")


def test_weights_are_listed_with_range_and_digest(ramet, tiny, other):
    shown = [ramet("show", path, "--weights").out.partition("\nWeights\n")[2].split("\n") for path in (tiny, other)]

    assert shown[0][0].startswith("  d/kernel  (4, 2) float32  ")
    assert shown[0][0].endswith("  1 to 1, mean 1")
    assert shown[0][0] == shown[1][0]
    assert shown[0][1] != shown[1][1]


def test_json_has_the_documented_fields_and_a_graph(ramet, tiny):
    record = json.loads(ramet("show", tiny, "--json").out)

    graph = Graph.from_json(json.dumps(record.pop("graph")))
    assert [call.id for call in graph.calls] == ["x", "d"]
    assert record == {
        "ramet": "show",
        "version": 1,
        "file": "tiny.keras",
        "kind": "model",
        "name": "tiny",
        "class_name": "Functional",
        "parameters": 10,
        "trainable_parameters": 10,
        "metadata": {"keras_version": "3.15.1", "date_saved": "2026-01-02@03:04:05"},
        "compiled": False,
        "assets": [],
        "optimizer_variables": 0,
    }


def test_json_has_the_weights_on_request(ramet, tiny):
    record = json.loads(ramet("show", tiny, "--json", "--weights").out)

    bias = record["weights"][1]
    assert len(bias.pop("digest")) == 64
    assert bias == {
        "path": "d/bias",
        "shape": [2],
        "dtype": "float32",
        "count": 2,
        "zeros": 2,
        "nans": 0,
        "smallest": 0.0,
        "largest": 0.0,
        "mean": 0.0,
        "deviation": 0.0,
    }


def test_weights_files_and_files_of_keras_2_are_listed(ramet, tmp_path):
    (tmp_path / "m.weights.h5").write_bytes(weights(DENSE_WEIGHTS, {"layers/dense": "d"}))
    legacy(tmp_path / "old.h5", TINY, {"d": {"d/kernel:0": DENSE_WEIGHTS["layers/dense/vars/0"]}})

    alone, old = ramet("show", "m.weights.h5"), ramet("show", "old.h5")

    assert (alone.code, alone.out.split("\n")[0]) == (0, "m.weights.h5: weights, 10 parameters")
    assert (old.code, old.out.split("\n")[0]) == (0, "old.h5: tiny (Functional), 8 parameters")


def test_terminal_control_characters_are_escaped_everywhere(ramet, tmp_path):
    name = "d\x1b[31m\u202e\x9b\r"
    archive(tmp_path / "evil.keras", one_layer(dense(name)))
    archive(tmp_path / "tiny.keras")

    commands = [
        ("show", "evil.keras"),
        ("show", "evil.keras", "--weights"),
        ("show", "evil.keras", "--json", "--weights"),
        ("scan", "evil.keras"),
        ("diff", "tiny.keras", "evil.keras"),
        ("diff", "tiny.keras", "evil.keras", "--markdown"),
        ("diff", "tiny.keras", "evil.keras", "--json"),
        ("show", "no\x1b[31m.keras"),
        ("no\x1b[31mcommand",),
        ("show", "tiny.keras", "--no\x1b[31m"),
    ]
    for command in commands:
        done = ramet(*command)
        assert all(line.isprintable() for line in (done.out + done.err).split("\n")), command


def test_picture_is_written(ramet, tiny, tmp_path):
    done = ramet("show", tiny, "--html", "m.html")

    assert (done.code, done.out, done.err) == (0, "", "wrote m.html\n")
    assert "</html>" in (tmp_path / "m.html").read_text()


def test_picture_has_the_given_direction_and_columns(ramet, tiny, tmp_path):
    sizes = {}
    for name, options in {"down.svg": [], "right.svg": ["--rankdir", "LR"], "folded.svg": ["--columns", "2"]}.items():
        done = ramet("show", tiny, "--draw", name, *options)
        assert (done.code, done.out, done.err) == (0, "", f"wrote {name}\n")
        found = re.search(r'width="([\d.]+)" height="([\d.]+)"', (tmp_path / name).read_text())
        sizes[name] = tuple(map(float, found.groups()))

    assert sizes["down.svg"][0] < sizes["folded.svg"][0] < sizes["right.svg"][0]
    assert sizes["down.svg"][1] > sizes["right.svg"][1]
