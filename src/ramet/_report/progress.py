"""A progress bar on standard error."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable
from typing import Literal, TypeAlias

from ramet._report.text import is_terminal
from ramet._report.words import escape

# The `progress` argument of a public function. None: a bar on a terminal if it takes long. False: none. A function is called
# with the name of each step, its number and the number of steps.
Progress: TypeAlias = "Callable[[str, int, int], None] | Literal[False] | None"

_WIDTH = 20


class ProgressBar:
    """A bar on standard error, if that is a terminal; it disappears at the end of the `with` block.

    Args:
        steps: The number of calls of `step`; it may be set later.
        delay: The seconds after which the bar appears: quick work shows none.
    """

    def __init__(self, steps: int, delay: float = 0.0) -> None:
        self.steps, self._done = steps, 0
        self._start = time.monotonic() + delay
        self._is_shown = is_terminal(sys.stderr)
        self._is_written = False

    def __enter__(self) -> ProgressBar:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def step(self, name: str) -> None:
        """Show the step that begins now."""
        if self._is_shown and time.monotonic() >= self._start:
            full = _WIDTH * min(self._done, self.steps) // max(self.steps, 1)
            self._write(f"[{'#' * full}{'.' * (_WIDTH - full)}] {escape(name)} ...")
        self._done += 1

    def close(self) -> None:
        """Remove the bar."""
        if self._is_written:
            self._write("")

    def _write(self, text: str) -> None:
        try:
            columns = os.get_terminal_size(sys.stderr.fileno()).columns or 80
        except (OSError, ValueError, AttributeError):  # a stream that only looks like a terminal
            columns = 80
        sys.stderr.write(f"\r\x1b[K{text[: columns - 1]}")
        sys.stderr.flush()
        self._is_written = True


def progress_callback(progress: Progress, verb: str, *, delay: float) -> Callable[[str, int, int], None]:
    """Return the function to call before each step with its name, its number and the number of steps.

    After the last step it is called with an empty name.

    Args:
        progress: The argument as the user passed it.
        verb: The word in front of the names of steps on the bar: "verifying".
        delay: The seconds after which the bar appears.
    """
    if callable(progress):
        user = progress
        return lambda name, number, total: user(name, number, total) if name else None
    if progress is False:
        return lambda name, number, total: None
    bar = ProgressBar(0, delay)

    def step(name: str, number: int, total: int) -> None:
        bar.steps = total
        if name:
            bar.step(f"{verb} {name}")
        else:
            bar.close()

    return step
