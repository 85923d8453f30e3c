"""`ramet diff` prints the differences between files, and git uses it through `ramet git-diff`."""

import json
import ntpath
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from ramet._cli import diff
from ramet._diff import Diff
from tests.files.build import DENSE_WEIGHTS, TINY, archive, dense, one_layer, weights
from tests.support.platforms import posix

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
  d  bias: moved from zero to a norm of 3, largest change 3; 1 of 2 numbers changed

Not compared
  names written beside groups of weights (they follow those of the layers)
  the dates on which the files were saved
  how the bytes are packed (zip, JSON and HDF5 layout, compression, time stamps of entries)
"""


def test_equal_files_give_exit_code_0(ramet, tiny):
    done = ramet("diff", tiny, tiny)

    assert (done.code, done.out, done.err) == (0, f"tiny: no difference\n{NOT_COMPARED}", "")


def test_different_files_give_exit_code_1(ramet, tiny, other):
    done = ramet("diff", tiny, other)

    assert (done.code, done.out, done.err) == (1, TEXT, "")


def test_json_can_be_read_as_a_diff(ramet, tiny, other):
    done = ramet("diff", tiny, other, "--json")

    assert done.code == 1
    assert str(Diff.from_json(done.out)) == TEXT.rstrip("\n")


def test_diff_is_printed_as_markdown(ramet, tiny, other):
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


def test_picture_is_written_and_the_exit_code_is_the_same(ramet, tiny, other, tmp_path):
    done = ramet("diff", tiny, other, "--draw", "d.html")

    assert (done.code, done.out, done.err) == (1, "", "wrote d.html\n")
    assert "</html>" in (tmp_path / "d.html").read_text()


def test_only_one_output_format_is_allowed(ramet, tiny):
    done = ramet("diff", tiny, tiny, "--json", "--markdown")

    assert done.code == 2
    assert "not allowed with argument" in done.err


def test_long_diff_names_the_option_that_lists_everything(ramet, tmp_path):
    rows = [dense(f"d{number}") for number in range(60)]
    archive(tmp_path / "a.keras", one_layer(rows[-1]))
    archive(tmp_path / "b.keras", one_layer(*rows))

    done = ramet("diff", "a.keras", "b.keras")

    assert "  and 39 more; `ramet diff --json` lists them all\n" in done.out


def test_model_and_weights_file_are_compared_by_weights(ramet, tiny, tmp_path):
    changed = DENSE_WEIGHTS | {"layers/dense/vars/1": DENSE_WEIGHTS["layers/dense/vars/1"] + 3}
    for name, arrays in (("same", DENSE_WEIGHTS), ("other", changed)):
        (tmp_path / f"{name}.weights.h5").write_bytes(weights(arrays, {"layers/dense": "d"}))

    same, other = (ramet("diff", tiny, f"{name}.weights.h5") for name in ("same", "other"))

    assert same.code == 0
    assert same.out.startswith("tiny -> weights: no difference\n\nNot compared\n  layers, settings and compile")
    assert other.code == 1
    assert other.out.startswith("tiny -> weights: weights of 1 of 2 variables\n")


# Real git, set up as in docs/cli.md.


DOCS = Path(__file__).parents[2] / "docs" / "cli.md"
RAMET = f"{sys.executable} -m ramet"


@pytest.fixture
def git(tmp_path):
    """Return a function that runs git in a new repository, without the user's settings."""
    if shutil.which("git") is None:
        pytest.skip("git is not installed; installing it lifts this")
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "HOME": str(tmp_path)}
    identity = {f"GIT_{role}_{what}": "t@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def run(*arguments):
        environment = {**os.environ, **settings, **identity}
        return subprocess.run(
            ["git", *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=120
        ).stdout

    run("init", "-q", ".")
    (tmp_path / ".gitattributes").write_text("*.keras diff=keras\n")
    return run


def test_setup_is_documented():
    page = DOCS.read_text()

    assert "echo '*.keras diff=keras' >> .gitattributes\n" in page
    assert "git config diff.keras.command 'ramet git-diff'\n" in page
    assert "git config diff.keras.textconv 'ramet show --weights'\n" in page


def test_git_diff_shows_the_changes_of_a_model(git, tmp_path):
    git("config", "diff.keras.command", f"{RAMET} git-diff")
    archive(tmp_path / "m.keras")
    git("add", ".")
    git("commit", "-qm", "one")
    archive(tmp_path / "m.keras", one_layer(dense(activation="relu")))

    shown = git("diff")

    assert shown.startswith("model m.keras\ntiny: 1 setting changed\n\nSettings\n  d  activation: 'linear' -> 'relu'\n")


def test_git_diff_shows_added_removed_broken_and_renamed_files(git, tmp_path):
    git("config", "diff.keras.command", f"{RAMET} git-diff")
    archive(tmp_path / "gone.keras")
    (tmp_path / "broken.keras").write_text("a pointer to a file elsewhere")
    archive(tmp_path / "moved.keras", files={"assets/a": "1" * 5000})
    git("add", ".")
    git("commit", "-qm", "one")
    archive(tmp_path / "added.keras", one_layer(dense(units=3)), None)
    archive(tmp_path / "broken.keras")
    (tmp_path / "gone.keras").unlink()
    (tmp_path / "moved.keras").rename(tmp_path / "moved_2.keras")
    archive(tmp_path / "moved_2.keras", one_layer(dense(use_bias=False)), files={"assets/a": "1" * 5000})
    git("add", "-A")

    added, broken, gone, moved = git("diff", "--cached", "-M20%").split("model ")[1:]

    assert added.startswith("added.keras\nnew file mode 100644\n+ added.keras: tiny (Functional), 0 parameters\n")
    assert broken.startswith("broken.keras\nCannot read 'broken.keras'")
    assert gone.startswith("gone.keras\ndeleted file mode 100644\n- gone.keras: tiny (Functional), 10 parameters\n")
    assert moved.startswith("moved_2.keras\nrenamed moved.keras -> moved_2.keras\n")
    assert "use_bias: True -> False" in moved


def test_rename_and_copy_show_both_names(git, tmp_path):
    git("config", "diff.keras.command", f"{RAMET} git-diff")
    archive(tmp_path / "a.keras")
    git("add", ".")
    git("commit", "-qm", "one")
    git("mv", "a.keras", "b.keras")
    renamed = git("diff", "--cached", "-M")
    git("reset", "-q", "--hard")
    (tmp_path / "c.keras").write_bytes((tmp_path / "a.keras").read_bytes())
    git("add", ".")
    copied = git("diff", "--cached", "-C", "--find-copies-harder")

    assert renamed == "model b.keras\nrenamed a.keras -> b.keras\n  the content is the same\n"
    assert copied == "model c.keras\ncopied a.keras -> c.keras\n  the content is the same\n"


@pytest.mark.parametrize("nothing", ["/dev/null", "nul"])
def test_missing_file_has_either_name_on_windows(ramet, tmp_path, monkeypatch, nothing):
    """git calls it /dev/null on every system, and the shell of git for Windows may translate that."""
    path = str(archive(tmp_path / "m.keras"))
    monkeypatch.setattr(diff, "_NOTHING", frozenset({"/dev/null", ntpath.devnull}))

    added = ramet("git-diff", "m.keras", nothing, ".", "0", path, "a1", "100644")
    deleted = ramet("git-diff", "m.keras", path, "a1", "100644", nothing, ".", "0")

    assert added.out.startswith("model m.keras\nnew file mode 100644\n+ m.keras: tiny")
    assert deleted.out.startswith("model m.keras\ndeleted file mode 100644\n- m.keras: tiny")


@posix
def test_changed_file_mode_is_shown(git, tmp_path):
    git("config", "diff.keras.command", f"{RAMET} git-diff")
    archive(tmp_path / "m.keras")
    git("add", ".")
    git("commit", "-qm", "one")
    (tmp_path / "m.keras").chmod(0o755)

    assert git("diff").startswith("model m.keras\nmode 100644 -> 100755\ntiny: no difference\n")


@posix
def test_git_diff_ends_without_error_if_the_reader_stops(git, tmp_path):
    git("config", "diff.keras.command", f"{RAMET} git-diff")
    for number in range(3):
        archive(tmp_path / f"m{number}.keras")
    git("add", ".")
    git("commit", "-qm", "one")
    for number in range(3):
        # More than a pipe holds, so that the output is written after the reader stops.
        rows = [dense(f"d{index}" * 40) for index in range(200)]
        archive(tmp_path / f"m{number}.keras", one_layer(*rows), None)

    for reader in ("head -n 1", "true"):
        done = subprocess.run(
            f"git diff | {reader}", shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )

        assert done.stderr == ""


def test_git_log_shows_changed_weights(git, tmp_path):
    git("config", "diff.keras.textconv", f"{RAMET} show --weights")
    archive(tmp_path / "m.keras")
    git("add", ".")
    git("commit", "-qm", "one")
    archive(tmp_path / "m.keras", arrays={path: array * 2 for path, array in DENSE_WEIGHTS.items()})
    git("commit", "-qam", "two")

    lines = git("log", "-p", "-1").split("\n")

    changed = [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert [line.split()[:2] for line in changed if line] == [["-", "d/kernel"], ["+", "d/kernel"]]
