"""Collect differences: the first few in full, the others as a number."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import NoReturn

from ramet._verify.compare import is_other_float
from ramet._verify.report import Check, Difference

SHOWN = 3
_COLORS = re.compile("\x1b\\[[0-9;]*m")  # Keras writes some of its messages in bold


class NotRun(Exception):  # noqa: N818  # not an error, but the reason of a check
    """Raised by a check that cannot be run, with the reason."""


def not_run(reason: str) -> NoReturn:
    """End a check that cannot be run, with the reason."""
    raise NotRun(reason)


class Findings:
    """The differences that one check has found so far.

    Args:
        name: The name of the check.
        within: Whether a tolerance was given, so that floating-point dtypes may differ.
    """

    def __init__(self, name: str, *, within: bool = False) -> None:
        self.name, self.within = name, within
        self.first: list[Difference] = []
        self.total = 0
        self.counts: dict[str, int] = {}
        self.began: str | None = None
        self.dtypes: dict[str, int] = {}
        self._paths: set[tuple[str, str]] = set()

    def add(self, difference: Difference | None) -> None:
        """Add a difference, or nothing for None. The same path and text count once."""
        if difference is None or (difference.path, difference.text) in self._paths:
            return
        self._paths.add((difference.path, difference.text))
        self.total += 1
        if len(self.first) < SHOWN:
            self.first.append(difference)

    def add_text(self, path: str, text: str) -> None:
        """Add a difference in words."""
        self.add(Difference(path, text))

    def count(self, what: str, number: int = 1) -> None:
        """Count things that were compared."""
        self.counts[what] = self.counts.get(what, 0) + number

    def allow(self, ours: object, theirs: object) -> bool:
        """Return whether two values are different floating-point dtypes and a tolerance allows that, and count them."""
        if not self.within or not is_other_float(ours, theirs):
            return False
        change = f"{ours} -> {theirs}"
        self.dtypes[change] = self.dtypes.get(change, 0) + 1
        return True

    def check(self, passed: str, failed: str | None = None) -> Check:
        """Return the finished check, with the summary for each outcome."""
        outcome = "failed" if self.total else "passed"
        plural = "difference" if self.total == 1 else "differences"
        summary = (failed or f"{self.total} {plural}") if self.total else passed
        if self.dtypes:
            changes = ", ".join(f"{change} {number} times" for change, number in self.dtypes.items())
            summary += f"; dtypes that the tolerance allows: {changes}"
            self.count("other dtypes", sum(self.dtypes.values()))
        return Check(
            self.name,
            outcome,  # type: ignore[arg-type]  # one of its words
            summary=summary,
            differences=tuple(self.first),
            total=self.total,
            began=self.began,
            counts=MappingProxyType(dict(self.counts)),
        )


def short(error: BaseException, limit: int = 160) -> str:
    """Return an error of any class on one line."""
    text = " ".join(_COLORS.sub("", str(error)).split())
    text = text if len(text) <= limit else text[: limit - 3] + "..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
