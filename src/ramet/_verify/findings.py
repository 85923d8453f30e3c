"""Collecting differences: the first few in full, of the others the number."""

from __future__ import annotations

import re
from types import MappingProxyType
from typing import NoReturn

from ramet._verify.compare import is_other_float
from ramet._verify.report import Check, Difference

SHOWN = 3
_COLOURS = re.compile("\x1b\\[[0-9;]*m")  # Keras writes some of its messages in bold


class NotRun(Exception):  # noqa: N818  # not an error: the reason that a check gives
    """A check cannot be run, for the reason it carries."""


def not_run(reason: str) -> NoReturn:
    """End a check that cannot be run."""
    raise NotRun(reason)


class Findings:
    """What one check has found so far.

    Args:
        name: Of the check.
        within: Whether a tolerance was given, so that floating-point numbers may have other dtypes.
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
        """Take note of a difference; None is none. One path and text count once."""
        if difference is None or (difference.path, difference.text) in self._paths:
            return
        self._paths.add((difference.path, difference.text))
        self.total += 1
        if len(self.first) < SHOWN:
            self.first.append(difference)

    def say(self, path: str, text: str) -> None:
        """Take note of a difference that has no size."""
        self.add(Difference(path, text))

    def count(self, what: str, number: int = 1) -> None:
        """Take note of how much was looked at."""
        self.counts[what] = self.counts.get(what, 0) + number

    def allow(self, ours: object, theirs: object) -> bool:
        """Whether two values are different floating-point dtypes and a tolerance allows that; it is taken note of."""
        if not self.within or not is_other_float(ours, theirs):
            return False
        change = f"{ours} -> {theirs}"
        self.dtypes[change] = self.dtypes.get(change, 0) + 1
        return True

    def check(self, passed: str, failed: str | None = None) -> Check:
        """The check, with what to say of it when it has passed, and when it has failed."""
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
    """An error of any kind in one line."""
    text = " ".join(_COLOURS.sub("", str(error)).split())
    text = text if len(text) <= limit else text[: limit - 3] + "..."
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
