"""Real git with ramet as its diff driver, set up as docs/cli.md tells."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.files.build import DENSE_WEIGHTS, archive, dense, one_layer

pytestmark = [
    pytest.mark.no_backend,
    pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed; installing it lifts this"),
]

DOCS = Path(__file__).parents[2] / "docs" / "cli.md"
RAMET = f"{sys.executable} -m ramet"


@pytest.fixture
def git(tmp_path):
    """Runs git in a new repository of a user without settings."""
    settings = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull, "HOME": str(tmp_path)}
    who = {f"GIT_{role}_{what}": "t@example.org" for role in ("AUTHOR", "COMMITTER") for what in ("NAME", "EMAIL")}

    def run(*arguments):
        environment = {**os.environ, **settings, **who}
        return subprocess.run(
            ["git", *arguments], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True, timeout=120
        ).stdout

    run("init", "-q", ".")
    (tmp_path / ".gitattributes").write_text("*.keras diff=keras\n")
    return run


def test_the_set_up_is_the_one_in_the_docs():
    page = DOCS.read_text()

    assert "echo '*.keras diff=keras' >> .gitattributes\n" in page
    assert "git config diff.keras.command 'ramet git-diff'\n" in page
    assert "git config diff.keras.textconv 'ramet show --weights'\n" in page


def test_git_diff_shows_what_changed_in_a_model(git, tmp_path):
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


def test_a_pure_rename_and_a_copy_show_both_names(git, tmp_path):
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


def test_another_mode_of_a_file_is_shown(git, tmp_path):
    git("config", "diff.keras.command", f"{RAMET} git-diff")
    archive(tmp_path / "m.keras")
    git("add", ".")
    git("commit", "-qm", "one")
    (tmp_path / "m.keras").chmod(0o755)

    assert git("diff").startswith("model m.keras\nmode 100644 -> 100755\ntiny: no difference\n")


def test_git_diff_ends_in_peace_when_nobody_reads_on(git, tmp_path):
    git("config", "diff.keras.command", f"{RAMET} git-diff")
    for number in range(3):
        archive(tmp_path / f"m{number}.keras")
    git("add", ".")
    git("commit", "-qm", "one")
    for number in range(3):
        # More than a pipe holds, so that it is written while nobody reads.
        rows = [dense(f"d{place}" * 40) for place in range(200)]
        archive(tmp_path / f"m{number}.keras", one_layer(*rows), None)

    for reader in ("head -n 1", "true"):
        done = subprocess.run(
            f"git diff | {reader}", shell=True, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False
        )

        assert done.stderr == ""


def test_git_log_shows_models_as_text_in_which_a_changed_weight_is_seen(git, tmp_path):
    git("config", "diff.keras.textconv", f"{RAMET} show --weights")
    archive(tmp_path / "m.keras")
    git("add", ".")
    git("commit", "-qm", "one")
    archive(tmp_path / "m.keras", arrays={path: array * 2 for path, array in DENSE_WEIGHTS.items()})
    git("commit", "-qam", "two")

    lines = git("log", "-p", "-1").split("\n")

    changed = [line for line in lines if line[:1] in "+-" and line[:3] not in ("+++", "---")]
    assert [line.split()[:2] for line in changed if line] == [["-", "d/kernel"], ["+", "d/kernel"]]
