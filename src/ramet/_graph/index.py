"""Lookup tables of a graph, each computed on first use in linear time, and the order of its calls."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from functools import cached_property
from typing import TypeVar

from ramet._graph.argument import Argument, Ref, refs
from ramet._graph.nodes import Call, Op

Neighbors = Sequence[Sequence[int]]
_Key = TypeVar("_Key")
_Item = TypeVar("_Item")


class Index:
    """Tables that follow from the ops, calls and outputs of one graph.

    A graph is frozen and has slots, so it holds one of these, which is neither: its tables appear as they are needed. If
    ids are not unique, which `lint` reports, the first one counts.
    """

    def __init__(self, ops: tuple[Op, ...], calls: tuple[Call, ...], outputs: Argument) -> None:
        self._ops = ops
        self._calls = calls
        self._outputs = outputs
        self.fingerprint: str | None = None

    @cached_property
    def ops(self) -> dict[str, Op]:
        """Ops by id."""
        return {op.id: op for op in reversed(self._ops)}

    @cached_property
    def calls(self) -> dict[str, Call]:
        """Calls by id."""
        return {call.id: call for call in reversed(self._calls)}

    @cached_property
    def positions(self) -> dict[str, int]:
        """The position of each call in the order of calls, by id."""
        return {call.id: position for position, call in reversed(list(enumerate(self._calls)))}

    @cached_property
    def calls_of(self) -> dict[str, tuple[Call, ...]]:
        """The calls of each op, by the id of the op."""
        return group((call.op, call) for call in self._calls)

    @cached_property
    def reads(self) -> tuple[tuple[Ref, ...], ...]:
        """The refs that each call uses, each once, in the order of the calls."""
        return tuple(tuple(dict.fromkeys(call.refs())) for call in self._calls)

    @cached_property
    def consumers(self) -> dict[Ref, tuple[Call, ...]]:
        """The calls that use each ref, each once."""
        calls = zip(self._calls, self.reads, strict=True)
        return group((ref, call) for call, reads in calls for ref in reads)

    @cached_property
    def before(self) -> tuple[tuple[int, ...], ...]:
        """The positions of the calls that each call depends on, each once; dangling refs are left out."""
        at = self.positions
        return tuple(tuple(dict.fromkeys(at[ref.call] for ref in reads if ref.call in at)) for reads in self.reads)

    @cached_property
    def after(self) -> tuple[tuple[int, ...], ...]:
        """The positions of the calls that depend on each call, each once."""
        found: list[list[int]] = [[] for _ in self._calls]
        for position, producers in enumerate(self.before):
            for producer in producers:
                found[producer].append(position)
        return tuple(tuple(positions) for positions in found)

    @cached_property
    def output_refs(self) -> dict[Ref, tuple[int, ...]]:
        """The positions of each ref in the flat list of the graph's outputs."""
        return group((ref, position) for position, ref in enumerate(refs(self._outputs)))

    @cached_property
    def output_count(self) -> int:
        """Number of outputs of the graph, counted flat."""
        return sum(len(positions) for positions in self.output_refs.values())


def group(pairs: Iterable[tuple[_Key, _Item]]) -> dict[_Key, tuple[_Item, ...]]:
    """Return the items of each key, in order."""
    found: dict[_Key, list[_Item]] = {}
    for key, item in pairs:
        found.setdefault(key, []).append(item)
    return {key: tuple(items) for key, items in found.items()}


def sort(before: Neighbors, after: Neighbors) -> tuple[list[int], list[int]]:
    """Return all positions, producers first and otherwise in their current order, and those that form cycles.

    Args:
        before: The positions that each one depends on.
        after: The positions that depend on each one.
    """
    missing = [len(producers) for producers in before]
    ready = [position for position, count in enumerate(missing) if count == 0]
    # Of all calls that could come next, the first in the given order does, so a valid order is kept.
    heapq.heapify(ready)
    done: list[int] = []
    while ready:
        position = heapq.heappop(ready)
        done.append(position)
        for consumer in after[position]:
            missing[consumer] -= 1
            if missing[consumer] == 0:
                heapq.heappush(ready, consumer)
    return done, [position for position, count in enumerate(missing) if count > 0]


def reach(starts: Iterable[int], neighbors: Neighbors) -> list[int]:
    """Return the starts and everything reachable from them, in order of position."""
    waiting = list(starts)
    seen = set(waiting)
    while waiting:
        for position in neighbors[waiting.pop()]:
            if position not in seen:
                seen.add(position)
                waiting.append(position)
    return sorted(seen)
