"""The tables that answer questions about a graph: each made once, at the first question, in linear time."""

from __future__ import annotations

from functools import cached_property

from ramet._graph.argument import Argument, Ref, refs
from ramet._graph.call import Call
from ramet._graph.op import Op

__all__ = ["Index"]


class Index:
    """What follows from the ops, calls and outputs of one graph.

    A graph is frozen and has slots, so it keeps one of these, which is neither: tables appear in it as they are asked
    for. Where ids are not unique (`lint` says so) the first one counts.
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
        """Where in the order of calls each one stands, by id."""
        return {call.id: place for place, call in reversed(list(enumerate(self._calls)))}

    @cached_property
    def calls_of(self) -> dict[str, tuple[Call, ...]]:
        """The calls of each op, by the id of the op."""
        found: dict[str, list[Call]] = {}
        for call in self._calls:
            found.setdefault(call.op, []).append(call)
        return {op: tuple(calls) for op, calls in found.items()}

    @cached_property
    def reads(self) -> tuple[tuple[Ref, ...], ...]:
        """The refs that each call takes, each once, in the order of the calls."""
        return tuple(tuple(dict.fromkeys(call.refs())) for call in self._calls)

    @cached_property
    def consumers(self) -> dict[Ref, tuple[Call, ...]]:
        """The calls that take each ref, each once."""
        found: dict[Ref, list[Call]] = {}
        for call, reads in zip(self._calls, self.reads, strict=True):
            for ref in reads:
                found.setdefault(ref, []).append(call)
        return {ref: tuple(calls) for ref, calls in found.items()}

    @cached_property
    def before(self) -> tuple[tuple[int, ...], ...]:
        """The positions of the calls that each call reads from, each once; refs to nowhere are left out."""
        at = self.positions
        return tuple(tuple(dict.fromkeys(at[ref.call] for ref in reads if ref.call in at)) for reads in self.reads)

    @cached_property
    def after(self) -> tuple[tuple[int, ...], ...]:
        """The positions of the calls that read from each call, each once."""
        found: list[list[int]] = [[] for _ in self._calls]
        for place, producers in enumerate(self.before):
            for producer in producers:
                found[producer].append(place)
        return tuple(tuple(places) for places in found)

    @cached_property
    def output_refs(self) -> dict[Ref, tuple[int, ...]]:
        """Which of the graph's outputs, counted flat, each ref is."""
        found: dict[Ref, list[int]] = {}
        for place, ref in enumerate(refs(self._outputs)):
            found.setdefault(ref, []).append(place)
        return {ref: tuple(places) for ref, places in found.items()}

    @cached_property
    def output_count(self) -> int:
        """How many outputs the graph has, counted flat."""
        return sum(len(places) for places in self.output_refs.values())
