"""Reading nested levels row by row, without recursion."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

__all__ = ["level_by_level"]

Row = TypeVar("Row")


def level_by_level(first: Iterator[tuple[Row, Any]]) -> Iterator[Row]:
    """The rows of a level, each followed by those of the level inside it: a stack of half-read levels, no recursion.

    Args:
        first: The outermost level: rows, each with the level inside it or None.
    """
    levels = [first]
    while levels:
        for row, inner in levels[-1]:
            yield row
            if inner is not None:
                levels.append(inner)
                break
        else:
            levels.pop()
