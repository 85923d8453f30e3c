"""Files that are replaced atomically."""

import signal
import stat
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from ramet._report import replaced_file

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


def test_new_file_has_the_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")

    with replaced_file(tmp_path / "out.txt") as beside:
        beside.write_text("new")

    assert (tmp_path / "out.txt").stat().st_mode == (tmp_path / "plain").stat().st_mode


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGTERM handlers")
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
