"""In which order the calls of a graph are told, and made again."""

from __future__ import annotations

import heapq
import itertools
from typing import Any

from ramet._keras import structure


def ordered(calls: list[Any]) -> list[Any]:
    """The calls, producers before consumers and the calls of one op in the order they were made, else as Keras runs them.

    Keras runs the calls of a shared op by depth, which need not be the order they were made in.
    """
    place = {id(call): number for number, call in enumerate(calls)}
    before: dict[int, set[int]] = {number: set() for number in range(len(calls))}
    for number, call in enumerate(calls):
        for parent in call.parent_nodes:
            if id(parent) in place and not call.is_input:
                before[number].add(place[id(parent)])
    for op in {id(call.operation): call.operation for call in calls}.values():
        own = [place[id(call)] for call in structure.calls_made(op) if id(call) in place]
        for earlier, later in itertools.pairwise(own):
            before[later].add(earlier)
    after: dict[int, list[int]] = {number: [] for number in before}
    for number, needed in before.items():
        for other in needed:
            after[other].append(number)
    missing = {number: len(needed) for number, needed in before.items()}
    ready = [number for number, count in missing.items() if count == 0]
    heapq.heapify(ready)
    order = []
    while ready:
        number = heapq.heappop(ready)
        order.append(calls[number])
        for other in after[number]:
            missing[other] -= 1
            if missing[other] == 0:
                heapq.heappush(ready, other)
    return order if len(order) == len(calls) else calls
