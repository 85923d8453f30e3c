"""Globs over paths."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterable

from ramet._select.candidate import Candidate

__all__ = ["glob_test"]


def glob_test(globs: Iterable[str], *, ignore_case: bool = False) -> Callable[[Candidate], bool]:
    """A function that tells whether one of the globs matches one of an op's paths."""
    # A path that is written out is found as it is: names may hold characters that mean something in a glob.
    literal = frozenset(globs)
    whole = _pattern((glob for glob in literal if "/" in glob), ignore_case=ignore_case)
    last = _pattern((glob for glob in literal if "/" not in glob), ignore_case=ignore_case)

    def test(candidate: Candidate) -> bool:
        for path in candidate.paths:
            name = path.rpartition("/")[2]
            if path in literal or name in literal:
                return True
            if (whole is not None and whole.match(path)) or (last is not None and last.match(name)):
                return True
        return False

    return test


def _pattern(globs: Iterable[str], *, ignore_case: bool) -> re.Pattern[str] | None:
    """One pattern for all globs; those without a wildcard need none, unless upper and lower case are alike."""
    needed = [glob for glob in globs if ignore_case or any(char in glob for char in "*?[")]
    if not needed:
        return None
    return re.compile("|".join(map(fnmatch.translate, needed)), re.IGNORECASE if ignore_case else 0)
