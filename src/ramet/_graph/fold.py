"""One bottom-up pass over anything nested, without recursion."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TypeVar

__all__ = ["TooDeepError", "fold"]

Item = TypeVar("Item")
Result = TypeVar("Result")


class TooDeepError(Exception):
    """The data is nested deeper than the limit."""


def fold(
    root: Item,
    parts: Callable[[Item], Iterable[Item] | None],
    join: Callable[[Item, list[Result]], Result],
    *,
    limit: int | None = None,
) -> Result:
    """What `join` makes of the root and of what it made of the root's parts, from the leaves up.

    Args:
        root: where to begin.
        parts: the parts of an item, or None for a leaf.
        join: takes an item and the results of its parts (none for a leaf).
        limit: how deep the data may be nested; deeper data raises `TooDeepError`.
    """
    inner = parts(root)
    if inner is None:
        return join(root, [])
    # The stack of a recursive function, on the heap: user data may be nested deeper than Python's limit.
    frames: list[tuple[Item, Iterator[Item], list[Result]]] = [(root, iter(inner), [])]
    while True:
        item, rest, done = frames[-1]
        for part in rest:
            inner = parts(part)
            if inner is not None:
                if len(frames) == limit:
                    raise TooDeepError
                frames.append((part, iter(inner), []))
                break
            done.append(join(part, []))
        else:
            frames.pop()
            result = join(item, done)
            if not frames:
                return result
            frames[-1][2].append(result)
