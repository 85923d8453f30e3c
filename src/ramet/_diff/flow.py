"""The calls of one graph and those of its partner: which is which, what moved, and which connections are the same.

A layer put between two others changes what the second one takes. That is no change of the second one: seen through the
new layer it takes what it took before.
"""

from __future__ import annotations

from collections.abc import Iterator

from ramet._diff.align import align, increasing
from ramet._diff.match import Match
from ramet._diff.place import Place
from ramet._graph import Call, Graph, Ref

__all__ = ["Flow"]

# How many sources are looked at behind a call that was added, removed or moved.
_SOURCES = 8


class Flow:
    """The inside of a place beside the inside of its partner.

    Args:
        match: which op is which.
        before: a place.
        after: its partner.

    Attributes:
        pairs: the ops directly inside that are on both sides.
        calls: the calls that are on both sides: the op before, the op after, and the two calls.
        to: the ids of the calls after, by those before.
        moved: the ops that moved: in the order, and where there are calls, in the flow.
        reordered: the ops that only stand elsewhere in the list.
    """

    def __init__(self, match: Match, before: Place, after: Place) -> None:
        self._match = match
        self.before, self.after = before, after
        self.pairs = [
            (place, partner)
            for place in before.inside
            if (partner := match.to.get(place)) is not None and partner.parent is after
        ]
        self._at = tuple({child.op.id: child for child in place.inside} for place in (before, after))
        self.calls: list[tuple[Place, Place, Call, Call]] = []
        for place, partner in self.pairs:
            self.calls += [(place, partner, *calls) for calls in self._pair_calls(place, partner)]
        self.to = {call.id: twin.id for _, _, call, twin in self.calls}
        self._reach = (_reach(before.graph, set(self.to)), _reach(after.graph, set(self.to.values())))
        numbers = [partner.number for _, partner in self.pairs]
        kept = set(increasing(numbers))
        self.reordered = [pair for number, pair in enumerate(self.pairs) if number not in kept]
        self.moved: list[tuple[Place, Place]] = []
        self._find_moved()

    def _pair_calls(self, place: Place, partner: Place) -> Iterator[tuple[Call, Call]]:
        before, after = place.calls, partner.calls
        if len(before) == len(after):
            return zip(before, after, strict=True)
        # Calls that take from the same ops are the same calls, whichever was left out.
        sources = [[self._match.to.get(maker) for maker in self._makers(0, call)] for call in before]
        others = [list(self._makers(1, call)) for call in after]
        found = align(list(map(tuple, sources)), list(map(tuple, others)))
        return ((before[i], after[j]) for i, j in found) if found else zip(before, after, strict=False)

    def _makers(self, side: int, call: Call) -> Iterator[Place]:
        """The ops that made what a call takes."""
        graph = (self.before, self.after)[side].graph
        for ref in call.refs():
            made = None if graph is None else graph._index.calls.get(ref.call)
            if made is not None and made.op in self._at[side]:
                yield self._at[side][made.op]

    def _find_moved(self) -> None:
        if self.before.graph is None or not self.before.graph.calls:
            self.moved, self.reordered = self.reordered, []
            return
        suspects = set(self.reordered)
        moved: dict[str, tuple[Place, Place]] = {}
        for place, partner, call, twin in self.calls:
            if (place, partner) not in suspects:
                continue
            taken, takes = list(call.refs()), list(twin.refs())
            same = len(taken) == len(takes) and all(map(self.corresponds, taken, takes))
            # What follows a layer that moved, and stands where it stands out of order, moved along with it.
            if not same or any(ref.call in moved for ref in taken):
                moved[call.id] = (place, partner)
        self.moved = list(dict.fromkeys(moved.values()))
        gone = set(self.moved)
        self.reordered = [pair for pair in self.reordered if pair not in gone]
        stayed = [(call.id, twin.id) for place, partner, call, twin in self.calls if (place, partner) not in gone]
        self._reach = (
            _reach(self.before.graph, {old for old, _ in stayed}),
            _reach(self.after.graph, {new for _, new in stayed}),
        )

    def corresponds(self, old: Ref, new: Ref) -> bool:
        """Whether both are the same value, seen through calls that were added, removed or moved."""
        sources, others = self._reach[0].get(old.call, (old,)), self._reach[1].get(new.call, (new,))
        images = {Ref(self.to[ref.call], ref.output) for ref in sources if ref.call in self.to}
        return not images.isdisjoint(others)


def _reach(graph: Graph | None, opaque: set[str]) -> dict[str, tuple[Ref, ...]]:
    """What stands behind each call that is looked through: the values it was made of, in order."""
    found: dict[str, tuple[Ref, ...]] = {}
    for call in graph.calls if graph is not None else ():
        if call.id in opaque:
            continue
        sources: dict[Ref, None] = {}
        for ref in call.refs():
            sources.update(dict.fromkeys(found.get(ref.call, (ref,))))
            if len(sources) >= _SOURCES:
                break
        found[call.id] = tuple(sources)[:_SOURCES]
    return found
