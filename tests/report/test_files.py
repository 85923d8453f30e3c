"""Files that are replaced atomically."""

import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ramet._report import files, replaced_file
from ramet.errors import ModelFileError
from tests.support.platforms import posix

pytestmark = pytest.mark.no_backend


def test_file_appears_at_the_end(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"

    with replaced_file(target) as beside:
        beside.write_text("new")
        during = [path.name for path in tmp_path.iterdir()]

    assert during == [beside.name]
    assert beside.suffix == ".txt"
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    assert target.read_text() == "new"


@pytest.mark.parametrize("error", [ValueError, OSError, KeyboardInterrupt, SystemExit])
def test_failure_keeps_the_old_file(tmp_path: Path, error: type[BaseException]) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")

    with pytest.raises(error), replaced_file(target) as beside:  # noqa: PT012  # the block is what fails
        beside.write_text("half")
        raise error

    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    assert target.read_text() == "old"


@posix
def test_permissions_and_links_are_kept(tmp_path: Path) -> None:
    real, link = tmp_path / "real.txt", tmp_path / "link.txt"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)

    with replaced_file(link) as beside:
        beside.write_text("new")

    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


@posix
def test_read_only_file_is_replaced(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("old")
    target.chmod(0o444)

    with replaced_file(target) as beside:
        beside.write_text("new")

    assert target.read_text() == "new"
    assert stat.S_IMODE(target.stat().st_mode) == 0o444


@pytest.fixture
def open_elsewhere(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Refuse to rename files as often as the first number of this list, as Windows does while another program has them open."""
    left = [1]
    rename = Path.replace

    def replace(self: Path, target: Path) -> Path:
        if left[0] > 0:
            left[0] -= 1
            raise PermissionError(13, "Access is denied", str(self), 5, str(target))
        return rename(self, target)

    monkeypatch.setattr(Path, "replace", replace)
    monkeypatch.setattr(files, "_PAUSES", (0.001, 0.001, 0.001))
    return left


def test_file_that_is_open_for_a_moment_is_replaced(tmp_path: Path, open_elsewhere: list[int]) -> None:
    open_elsewhere[0] = 3
    target = tmp_path / "out.txt"
    target.write_text("old")

    with replaced_file(target) as beside:
        beside.write_text("new")

    assert target.read_text() == "new"


def test_file_that_stays_open_is_reported_with_a_fix(tmp_path: Path, open_elsewhere: list[int]) -> None:
    open_elsewhere[0] = 100
    target = tmp_path / "out.txt"
    target.write_text("old")

    with pytest.raises(ModelFileError) as caught, replaced_file(target) as beside:
        beside.write_text("new")

    assert str(caught.value) == (
        f"Cannot write '{target}': Access is denied.\n"
        "  fix: close the program that has the file open, or write to another name."
    )
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    assert target.read_text() == "old"


def test_error_is_raised_even_if_the_file_cannot_be_deleted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows deletes no file that is open, as it may be after an error."""

    def unlink(self: Path, *, missing_ok: bool = False) -> None:
        raise PermissionError(13, "The process cannot access the file", str(self), 32)

    monkeypatch.setattr(Path, "unlink", unlink)

    with pytest.raises(ValueError, match="the reason"), replaced_file(tmp_path / "out.txt"):
        raise ValueError("the reason")


def test_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")

    with replaced_file(tmp_path / "out.txt") as beside:
        beside.write_text("new")

    assert (tmp_path / "out.txt").stat().st_mode == (tmp_path / "plain").stat().st_mode


@posix
def test_termination_keeps_the_old_file(tmp_path: Path) -> None:
    (tmp_path / "out.txt").write_text("old")
    program = """
        import os, signal, sys, time
        from pathlib import Path
        from ramet._report import replaced_file

        with replaced_file(Path(sys.argv[1])) as beside:
            beside.write_text("half")
            os.kill(os.getpid(), signal.SIGTERM)
            time.sleep(60)
    """
    command = [sys.executable, "-c", textwrap.dedent(program), str(tmp_path / "out.txt")]

    done = subprocess.run(command, check=False, timeout=60)

    assert done.returncode == 128 + signal.SIGTERM
    assert [path.name for path in tmp_path.iterdir()] == ["out.txt"]
    assert (tmp_path / "out.txt").read_text() == "old"
