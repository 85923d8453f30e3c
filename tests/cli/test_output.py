"""Output: color and progress on a terminal only, and files that are written completely or not at all."""

import errno
import os
import signal
import stat
import subprocess
import sys

import pytest

from ramet._cli.output import check_target, is_broken_pipe, written_beside
from ramet.errors import ArgumentError, ModelFileError
from tests.files.build import archive
from tests.support.platforms import posix

pytestmark = pytest.mark.no_backend


def on_terminal(tiny, *arguments, columns=80, **environment):
    """Return what a command writes to a terminal: standard output and standard error together."""
    pty = pytest.importorskip("pty", reason="Windows has no pseudo-terminal; another system lifts this")
    import fcntl
    import struct
    import termios

    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
    settings = {key: value for key, value in os.environ.items() if key not in ("NO_COLOR", "COLUMNS")}
    command = [sys.executable, "-m", "ramet", *map(str, arguments)]
    process = subprocess.Popen(
        command,
        cwd=tiny.parent,
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**settings, "TERM": "xterm", **environment},
    )
    os.close(theirs)
    written = b""
    try:
        while chunk := os.read(ours, 65536):
            written += chunk
    except OSError:  # on Linux, the other side is closed
        pass
    os.close(ours)
    assert process.wait(60) in (0, 1)
    return written.decode()


@pytest.mark.parametrize(
    "command", [["show", "tiny.keras"], ["scan", "tiny.keras"], ["diff", "tiny.keras", "other.keras"]]
)
def test_color_is_for_terminals(tiny, other, spawn, command):
    assert "\x1b[1m" in on_terminal(tiny, *command) or "\x1b[32m" in on_terminal(tiny, *command)
    assert "\x1b[" not in spawn(*command).out


def test_color_can_be_turned_off(tiny):
    assert "m\x1b" not in on_terminal(tiny, "show", "tiny.keras", "--no-color")
    assert "\x1b[" not in on_terminal(tiny, "show", "tiny.keras", NO_COLOR="1")
    assert "\x1b[" not in on_terminal(tiny, "show", "tiny.keras", TERM="dumb")


def test_added_layers_are_green(tiny):
    from tests.files.build import archive, called, dense, one_layer, tensor

    archive(tiny.parent / "more.keras", one_layer(dense(), dense("more", called(tensor("d", shape=(None, 2))))))

    written = on_terminal(tiny, "diff", "tiny.keras", "more.keras")

    assert "  \x1b[32m+ more" in written


def test_progress_is_for_terminals_and_disappears(tiny, spawn):
    written = on_terminal(tiny, "show", "tiny.keras", "--weights")

    assert "reading d/kernel ..." in written
    assert written.rpartition("reading d/bias ...")[2].startswith("\r\x1b[K")
    assert spawn("show", "tiny.keras", "--weights").err == ""


def test_a_narrow_terminal_loses_nothing(tiny):
    narrow = on_terminal(tiny, "show", "tiny.keras", columns=20, NO_COLOR="1")
    wide = on_terminal(tiny, "show", "tiny.keras", columns=200, NO_COLOR="1")

    assert narrow == wide
    assert all(
        len(line) <= 40
        for line in on_terminal(tiny, "show", "--help", columns=40)
        .split("options:")[1]
        .split("examples")[0]
        .split("\r\n")
    )


def test_broken_pipe_has_another_name_on_windows(monkeypatch):
    broken, invalid = BrokenPipeError(errno.EPIPE, "Broken pipe"), OSError(errno.EINVAL, "Invalid argument")
    invalid_name = OSError(errno.EINVAL, "Invalid argument", "what?.keras")

    found = {}
    for system in ("linux", "win32"):
        monkeypatch.setattr(sys, "platform", system)
        found[system] = [is_broken_pipe(error) for error in (broken, invalid, invalid_name, OSError(errno.ENOSPC, ""))]

    assert found == {"linux": [True, False, False, False], "win32": [True, True, False, False]}


# A program whose standard output has the encoding and the line ends of a file on Windows.
ON_WINDOWS = """\
import sys
from ramet._cli import main

for stream in (sys.stdout, sys.stderr):
    stream.reconfigure(encoding={encoding!r}, newline="\\r\\n")
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("encoding", ["utf-8", "cp1252", "cp437", "ascii"])
def test_redirected_output_is_readable_in_every_encoding(tmp_path, encoding):
    archive(tmp_path / "m.keras")
    program = ON_WINDOWS.format(encoding=encoding)
    command = [sys.executable, "-c", program, "verify", "m.keras", "m.keras", "--only", "structure,state"]

    done = subprocess.run(command, cwd=tmp_path, capture_output=True, check=True, timeout=120)

    mark = "✓" if encoding == "utf-8" else "+"
    lines = done.stdout.decode(encoding).split("\n")
    assert [line.split()[:2] for line in lines[3:5]] == [[mark, "structure"], [mark, "state"]], lines
    assert b"\r" not in done.stdout


# Output files.


# Replaces the saving of a model by one that is interrupted half-way by a real signal.
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


def test_file_appears_at_the_end(tmp_path):
    target = tmp_path / "out.keras"

    with written_beside(target) as beside:
        beside.write_text("new")
        seen = sorted(path.name for path in tmp_path.iterdir())

    assert seen == [beside.name]
    assert [path.name for path in tmp_path.iterdir()] == ["out.keras"]
    assert target.read_text() == "new"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_old_file_stays_after_an_error(tmp_path, error):
    target = tmp_path / "out.keras"
    target.write_text("old")

    with pytest.raises(error), written_beside(target) as beside:  # noqa: PT012  # the error is raised in a block
        beside.write_text("half")
        raise error

    assert [path.name for path in tmp_path.iterdir()] == ["out.keras"]
    assert target.read_text() == "old"


@posix
def test_permissions_and_links_are_kept(tmp_path):
    real, link = tmp_path / "real.keras", tmp_path / "link.keras"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)

    with written_beside(link) as beside:
        beside.write_text("new")

    assert link.is_symlink()
    assert real.read_text() == "new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_new_file_has_default_permissions(tmp_path):
    (tmp_path / "plain").write_text("")

    with written_beside(tmp_path / "out.keras") as beside:
        beside.write_text("new")

    assert (tmp_path / "out.keras").stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_invalid_target_is_refused(tmp_path):
    (tmp_path / "folder.keras").mkdir()

    for name, error in (("a.txt", ArgumentError), ("no/a.keras", ModelFileError), ("folder.keras", ModelFileError)):
        with pytest.raises(error, match="Cannot write "):
            check_target(tmp_path / name, ".keras")


@posix
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143), ("SIGKILL", -9)])
def test_old_file_stays_after_a_signal(spawn, tmp_path, name, code):
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
    # Nothing can be done after SIGKILL: the temporary file stays, under an unused name.
    assert all(path.startswith(".out.") for path in left)
    assert len(left) == (1 if name == "SIGKILL" else 0)
