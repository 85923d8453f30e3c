"""The progress bar on standard error."""

import io
import sys
from types import SimpleNamespace

import pytest

from ramet._report import ProgressBar, progress_callback

pytestmark = pytest.mark.no_backend


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    stream = Terminal()
    # Not `sys.stderr` itself, which pytest replaces between the fixture and the test.
    monkeypatch.setattr("ramet._report.progress.sys", SimpleNamespace(stderr=stream))
    monkeypatch.setenv("TERM", "xterm")
    return stream


def test_bar_grows_and_disappears(terminal: Terminal) -> None:
    with ProgressBar(2) as bar:
        bar.step("one")
        bar.step("two\x1b[2J")

    assert terminal.getvalue().split("\r\x1b[K") == [
        "",
        "[....................] one ...",
        "[##########..........] two\\x1b[2J ...",
        "",
    ]


def test_bar_is_cut_at_the_width_of_the_terminal(terminal: Terminal) -> None:
    with ProgressBar(1) as bar:
        bar.step("x" * 200)

    assert max(len(line) for line in terminal.getvalue().split("\r\x1b[K")) == 79


def test_too_many_steps_keep_the_bar_full(terminal: Terminal) -> None:
    with ProgressBar(0) as bar:
        bar.step("a")
        bar.step("b")

    assert "[....................] a" in terminal.getvalue()
    assert "[....................] b" in terminal.getvalue()


def test_quick_work_shows_no_bar(terminal: Terminal) -> None:
    with ProgressBar(2, delay=60) as bar:
        bar.step("one")

    assert terminal.getvalue() == ""


@pytest.mark.parametrize("term", ["dumb", None])
def test_bar_is_shown_on_terminals_only(monkeypatch: pytest.MonkeyPatch, term: str | None) -> None:
    stream = Terminal() if term else io.StringIO()
    monkeypatch.setattr(sys, "stderr", stream)
    monkeypatch.setenv("TERM", term or "xterm")

    with ProgressBar(1) as bar:
        bar.step("one")

    assert stream.getvalue() == ""


def test_callback_shows_a_bar(terminal: Terminal) -> None:
    step = progress_callback(None, "verifying", delay=0)
    step("state", 0, 2)
    step("outputs", 1, 2)
    step("", 2, 2)

    assert terminal.getvalue().split("\r\x1b[K") == [
        "",
        "[....................] verifying state ...",
        "[##########..........] verifying outputs ...",
        "",
    ]


def test_callback_is_silent_if_disabled(terminal: Terminal) -> None:
    progress_callback(False, "verifying", delay=0)("state", 0, 1)

    assert terminal.getvalue() == ""


def test_callback_calls_the_function_of_the_user(terminal: Terminal) -> None:
    steps: list[tuple[str, int, int]] = []
    step = progress_callback(lambda *arguments: steps.append(arguments), "verifying", delay=0)
    step("state", 0, 1)
    step("", 1, 1)

    assert steps == [("state", 0, 1)]
    assert terminal.getvalue() == ""
