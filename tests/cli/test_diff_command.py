"""`ramet diff`."""

import json

import pytest

from ramet._diff import Diff
from tests.files.build import DENSE_WEIGHTS, TINY, archive, dense, one_layer, weights

pytestmark = pytest.mark.no_backend

NOT_COMPARED = """
Not compared
  the dates on which the files were saved
  how the bytes are packed (zip, JSON and HDF5 layout, compression, time stamps of entries)
"""
TEXT = """\
tiny: 1 setting changed, weights of 1 of 2 variables

Settings
  d  activation: 'linear' -> 'relu'

Weights
  d  bias: from zero to a norm of 3, 3 at most; 1 of 2 numbers

Not compared
  names written beside groups of weights (they follow those of the layers)
  the dates on which the files were saved
  how the bytes are packed (zip, JSON and HDF5 layout, compression, time stamps of entries)
"""


def test_equal_files_give_exit_code_0(ramet, tiny):
    done = ramet("diff", tiny, tiny)

    assert (done.code, done.out, done.err) == (0, f"tiny: no difference\n{NOT_COMPARED}", "")


def test_different_files_give_exit_code_1_and_what_changed(ramet, tiny, other):
    done = ramet("diff", tiny, other)

    assert (done.code, done.out, done.err) == (1, TEXT, "")


def test_the_json_reads_as_a_diff(ramet, tiny, other):
    done = ramet("diff", tiny, other, "--json")

    assert done.code == 1
    assert str(Diff.from_json(done.out)) == TEXT.rstrip("\n")


def test_the_markdown_is_for_a_pull_request(ramet, tiny, other):
    done = ramet("diff", tiny, other, "--markdown")

    assert done.code == 1
    assert done.out.startswith("**`tiny`: 1 setting changed, weights of 1 of 2 variables**\n\n### Settings\n")


def test_compile_settings_are_compared(ramet, tiny, tmp_path):
    archive(tmp_path / "compiled.keras", TINY | {"compile_config": {"loss": "mse"}})

    done = ramet("diff", tiny, "compiled.keras", "--json")

    changes = json.loads(done.out)["changes"]
    assert [(change["kind"], change["old"], change["new"]) for change in changes] == [("compile", False, True)]


def test_weights_files_are_compared(ramet, tmp_path):
    for name, scale in (("a", 1), ("b", 2)):
        arrays = {path: array * scale for path, array in DENSE_WEIGHTS.items()}
        (tmp_path / f"{name}.weights.h5").write_bytes(weights(arrays, {"layers/dense": "d"}))

    done = ramet("diff", "a.weights.h5", "b.weights.h5")

    assert done.code == 1
    assert done.out.startswith("weights: weights of 1 of 2 variables\n")


def test_a_picture_is_written_and_the_exit_code_still_tells(ramet, tiny, other, tmp_path):
    done = ramet("diff", tiny, other, "--draw", "d.html")

    assert (done.code, done.out, done.err) == (1, "", "wrote d.html\n")
    assert "</html>" in (tmp_path / "d.html").read_text()


def test_one_way_of_writing_at_a_time(ramet, tiny):
    done = ramet("diff", tiny, tiny, "--json", "--markdown")

    assert done.code == 2
    assert "not allowed with argument" in done.err


def test_a_long_diff_says_how_to_see_all_of_it(ramet, tmp_path):
    rows = [dense(f"d{number}") for number in range(60)]
    archive(tmp_path / "a.keras", one_layer(rows[-1]))
    archive(tmp_path / "b.keras", one_layer(*rows))

    done = ramet("diff", "a.keras", "b.keras")

    assert "  and 39 more; `ramet diff --json` has all\n" in done.out


def test_a_model_and_weights_alone_are_compared_by_their_weights(ramet, tiny, tmp_path):
    changed = DENSE_WEIGHTS | {"layers/dense/vars/1": DENSE_WEIGHTS["layers/dense/vars/1"] + 3}
    for name, arrays in (("same", DENSE_WEIGHTS), ("other", changed)):
        (tmp_path / f"{name}.weights.h5").write_bytes(weights(arrays, {"layers/dense": "d"}))

    same, other = (ramet("diff", tiny, f"{name}.weights.h5") for name in ("same", "other"))

    assert same.code == 0
    assert same.out.startswith("tiny -> weights: no difference\n\nNot compared\n  layers, settings and compile")
    assert other.code == 1
    assert other.out.startswith("tiny -> weights: weights of 1 of 2 variables\n")
