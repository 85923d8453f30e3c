"""Which calls come before which, by positions in a table of neighbours."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence

__all__ = ["reach", "sort"]

Neighbours = Sequence[Sequence[int]]


def sort(before: Neighbours, after: Neighbours) -> tuple[list[int], list[int]]:
    """All positions, producers first and otherwise as they stood; and those that wait for each other in a circle.

    Args:
        before: the positions each one reads from.
        after: the positions that read from each one.
    """
    missing = [len(producers) for producers in before]
    ready = [place for place, count in enumerate(missing) if count == 0]
    # Of all that could come next, the first in the given order does: what is in order already is left alone.
    heapq.heapify(ready)
    done: list[int] = []
    while ready:
        place = heapq.heappop(ready)
        done.append(place)
        for consumer in after[place]:
            missing[consumer] -= 1
            if missing[consumer] == 0:
                heapq.heappush(ready, consumer)
    return done, [place for place, count in enumerate(missing) if count > 0]


def reach(starts: Iterable[int], neighbours: Neighbours) -> list[int]:
    """The starts and all that can be reached from them, in order of position."""
    waiting = list(starts)
    seen = set(waiting)
    while waiting:
        for place in neighbours[waiting.pop()]:
            if place not in seen:
                seen.add(place)
                waiting.append(place)
    return sorted(seen)
