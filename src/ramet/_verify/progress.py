"""Saying what is being done, when it takes long."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any, Literal, TypeAlias

# None: a bar in a terminal when it takes long. False: never. A function is told the check, its number, and of how many.
Progress: TypeAlias = "Callable[[str, int, int], None] | Literal[False] | None"
_LONG = 1.0


def teller(progress: Progress, *, big: bool) -> Callable[[str, int, int], None]:
    """What to call before each check, and with an empty name after the last.

    Args:
        progress: As the user gave it.
        big: Whether the model is so big that it will take long.
    """
    if callable(progress):
        told = progress

        def tell(name: str, number: int, of: int) -> None:
            if name:
                told(name, number, of)

        return tell
    if progress is False or not sys.stderr.isatty():
        return lambda name, number, of: None
    return _Bar(big=big)


class _Bar:
    """A bar that appears after the first second, or at once for a big model, and goes away at the end."""

    def __init__(self, *, big: bool) -> None:
        self._start = time.monotonic() - (_LONG if big else 0.0)
        self._bar: Any = None
        self._task: Any = None

    def __call__(self, name: str, number: int, of: int) -> None:
        if not name:
            if self._bar is not None:
                self._bar.stop()
            return
        if self._bar is None and time.monotonic() - self._start >= _LONG:
            from rich.console import Console
            from rich.progress import Progress as RichProgress

            self._bar = RichProgress(console=Console(stderr=True), transient=True)
            self._task = self._bar.add_task(name, total=of)
            self._bar.start()
        if self._bar is not None:
            self._bar.update(self._task, description=f"verifying {name}", completed=number)
