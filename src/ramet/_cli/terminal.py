"""Results on standard output, talk on standard error; colour and progress on a terminal only."""

from __future__ import annotations

import os
import sys
from typing import TextIO

__all__ = ["Progress", "has_colour", "is_terminal", "one_line", "paint", "printable", "say", "tell"]

_CODES = {"bold": "1", "dim": "2", "red": "31", "green": "32", "yellow": "33"}
_WIDTH = 20


def say(text: str) -> None:
    """Write a result."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def tell(text: str) -> None:
    """Write what is no result: what is being done, what went wrong."""
    sys.stderr.write(f"{printable(text)}\n")


def printable(text: str) -> str:
    """The text with whatever a terminal would act on written as an escape; its lines stay lines."""
    # Not at the top: `ramet --help` needs none of the rooms, and starts without them.
    from ramet._graph import escape

    return "\n".join(map(escape, text.split("\n")))


def one_line(text: str) -> str:
    """Escape a text into one line: names of files and layers may contain line breaks."""
    from ramet._graph import escape

    return escape(text)


def is_terminal(stream: TextIO) -> bool:
    """Whether somebody is looking at it."""
    return stream.isatty() and os.environ.get("TERM") != "dumb"


def has_colour(stream: TextIO, *, wanted: bool) -> bool:
    """Whether colours may be written to it: a terminal, and neither `--no-color` nor NO_COLOR says no."""
    return wanted and not os.environ.get("NO_COLOR") and is_terminal(stream)


def paint(text: str, style: str) -> str:
    """The text in a style: "bold", "dim", "red", "green" or "yellow"."""
    return f"\x1b[{_CODES[style]}m{text}\x1b[0m"


class Progress:
    """A bar on standard error, if that is a terminal; it goes away at the end.

    Used in a `with` block; `step` says what is done next.
    """

    def __init__(self, steps: int) -> None:
        self._steps, self._done = steps, 0
        self._shown = is_terminal(sys.stderr)

    def __enter__(self) -> Progress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._shown:
            self._write("")

    def step(self, what: str) -> None:
        """Say what is done now."""
        if self._shown:
            full = _WIDTH * min(self._done, self._steps) // max(self._steps, 1)
            self._write(f"[{'#' * full}{'.' * (_WIDTH - full)}] {one_line(what)} ...")
        self._done += 1

    def _write(self, text: str) -> None:
        columns = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        sys.stderr.write(f"\r\x1b[K{text[: columns - 1]}")
        sys.stderr.flush()
