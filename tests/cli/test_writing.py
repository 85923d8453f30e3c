"""Outputs are there whole or not at all, whatever ends the program."""

import signal
import stat

import pytest

from ramet._cli.writing import check_target, written_beside
from ramet.errors import ArgumentError, ModelFileError
from tests.files.build import archive

pytestmark = pytest.mark.no_backend

# Stands in for the saving of a model that is interrupted half-way, by a signal that really comes.
INTERRUPTED = """\
import os, signal, time
import keras

def save(self, path, **options):
    with open(path, "wb") as file:
        file.write(b"half of a model")
        file.flush()
        os.kill(os.getpid(), signal.{signal})
        time.sleep(60)

keras.Model.save = save
"""


def test_a_file_appears_at_the_end(tmp_path):
    target = tmp_path / "out.keras"

    with written_beside(target) as beside:
        beside.write_text("new")
        seen = sorted(path.name for path in tmp_path.iterdir())

    assert seen == [beside.name]
    assert [path.name for path in tmp_path.iterdir()] == ["out.keras"]
    assert target.read_text() == "new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_whatever_fails_the_old_file_stays_and_nothing_else_does(tmp_path, error):
    target = tmp_path / "out.keras"
    target.write_text("old")

    with pytest.raises(error), written_beside(target) as beside:  # noqa: PT012  # what fails is a block
        beside.write_text("half")
        raise error

    assert [path.name for path in tmp_path.iterdir()] == ["out.keras"]
    assert target.read_text() == "old"


def test_rights_and_links_stay(tmp_path):
    real, link = tmp_path / "real.keras", tmp_path / "link.keras"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)

    with written_beside(link) as beside:
        beside.write_text("new")

    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_a_new_file_has_the_rights_of_any_other(tmp_path):
    (tmp_path / "plain").write_text("")

    with written_beside(tmp_path / "out.keras") as beside:
        beside.write_text("new")

    assert (tmp_path / "out.keras").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_what_could_not_be_written_is_refused_before_the_work(tmp_path):
    (tmp_path / "folder.keras").mkdir()

    for name, error in (("a.txt", ArgumentError), ("no/a.keras", ModelFileError), ("folder.keras", ModelFileError)):
        with pytest.raises(error, match="Cannot write "):
            check_target(tmp_path / name, ".keras")


@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGKILL", -9)])
def test_a_signal_in_the_middle_of_writing_leaves_the_old_file(spawn, tmp_path, name, code):
    assert hasattr(signal, name)
    archive(tmp_path / "m.keras")
    (tmp_path / "out.keras").write_text("old")
    (tmp_path / "halfway.py").write_text(INTERRUPTED.format(signal=name))
    before = {path.name for path in tmp_path.iterdir()}

    done = spawn("clone", "m.keras", "out.keras", "--import", "halfway")

    assert done.code == code, done.err
    assert done.out == ""
    assert "Traceback" not in done.err
    assert (tmp_path / "out.keras").read_text() == "old"
    left = {path.name for path in tmp_path.iterdir()} - before - {"__pycache__"}
    # Nothing can be done after SIGKILL: what was written beside stays, under a name that nobody uses.
    assert all(path.startswith(".out.") for path in left)
    assert len(left) == (1 if name == "SIGKILL" else 0)
