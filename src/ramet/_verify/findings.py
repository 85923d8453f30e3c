"""Collect differences: the first few in full, the others as a number."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from typing import NoReturn

from ramet._verify.compare import is_other_float
from ramet._verify.report import Check, Difference

_SHOWN = 3
_COLORS = re.compile("\x1b\\[[0-9;]*m")  # Keras writes some of its messages in bold


class NotRun(Exception):  # noqa: N818  # not an error, but the reason of a check
    """Raised by a check that cannot be run, with the reason."""


def not_run(reason: str) -> NoReturn:
    """End a check that cannot be run, with the reason."""
    raise NotRun(reason)


class Findings:
    """The differences that a check has found so far. `within`: a tolerance was given, so floating-point dtypes may differ."""

    def __init__(self, name: str, *, within: bool = False) -> None:
        self.name, self.within = name, within
        self.first: list[Difference] = []
        self.counts: Counter[str] = Counter()
        self.began: str | None = None
        self._dtypes: Counter[str] = Counter()
        self._seen: set[tuple[str, str]] = set()

    @property
    def total(self) -> int:
        """The number of differences."""
        return len(self._seen)

    def add(self, differences: Iterable[Difference]) -> None:
        """Add differences. The same path and text count once."""
        for difference in differences:
            if (difference.path, difference.text) not in self._seen:
                self._seen.add((difference.path, difference.text))
                if len(self.first) < _SHOWN:
                    self.first.append(difference)

    def add_text(self, path: str, text: str) -> None:
        """Add a difference in words."""
        self.add([Difference(path, text)])

    def count(self, what: str, number: int = 1) -> None:
        """Count things that were compared."""
        self.counts[what] += number

    def allow(self, ours: object, theirs: object) -> bool:
        """Return whether two values are different floating-point dtypes and a tolerance allows that, and count them."""
        if not self.within or not is_other_float(ours, theirs):
            return False
        self._dtypes[f"{ours} -> {theirs}"] += 1
        return True

    def check(self, passed: str, failed: str | None = None) -> Check:
        """Return the finished check, with the summary for each outcome."""
        summary = passed
        if self.total:
            summary = failed or ("1 difference" if self.total == 1 else f"{self.total} differences")
        if self._dtypes:
            changes = ", ".join(f"{change} {number} times" for change, number in self._dtypes.items())
            summary += f"; dtypes that the tolerance allows: {changes}"
            self.count("other dtypes", self._dtypes.total())
        return Check(
            self.name,
            "failed" if self.total else "passed",
            summary=summary,
            differences=tuple(self.first),
            total=self.total,
            began=self.began,
            counts=dict(self.counts),
        )


def clip(text: str, limit: int = 70) -> str:
    """Return the text, with three dots in place of its end if it is longer than `limit`."""
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def short(error: BaseException, limit: int = 160) -> str:
    """Return an error of any class on one line."""
    text = clip(" ".join(_COLORS.sub("", str(error)).split()), limit)
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
