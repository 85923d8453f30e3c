"""Colour and progress: on a terminal only, and as the user wants them."""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.no_backend

pty = pytest.importorskip("pty", reason="Windows has no pseudo-terminal; another system lifts this")


def on_terminal(tiny, *arguments, columns=80, **environment):
    """What a command writes to a terminal: standard output and standard error together."""
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
    except OSError:  # Linux says so when the other side is closed
        pass
    os.close(ours)
    assert process.wait(60) in (0, 1)
    return written.decode()


@pytest.mark.parametrize(
    "command", [["show", "tiny.keras"], ["scan", "tiny.keras"], ["diff", "tiny.keras", "other.keras"]]
)
def test_colour_is_for_terminals(tiny, other, spawn, command):
    assert "\x1b[1m" in on_terminal(tiny, *command) or "\x1b[32m" in on_terminal(tiny, *command)
    assert "\x1b[" not in spawn(*command).out


def test_colour_can_be_refused(tiny):
    assert "m\x1b" not in on_terminal(tiny, "show", "tiny.keras", "--no-color")
    assert "\x1b[" not in on_terminal(tiny, "show", "tiny.keras", NO_COLOR="1")
    assert "\x1b[" not in on_terminal(tiny, "show", "tiny.keras", TERM="dumb")


def test_added_and_removed_are_green_and_red(tiny):
    from tests.files.build import archive, called, dense, one_layer, tensor

    archive(tiny.parent / "more.keras", one_layer(dense(), dense("more", called(tensor("d", shape=(None, 2))))))

    written = on_terminal(tiny, "diff", "tiny.keras", "more.keras")

    assert "\x1b[32m  + more" in written


def test_progress_is_for_terminals_and_goes_away(tiny, spawn):
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
