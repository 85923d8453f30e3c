"""The ops directly inside one place, matched with those inside its partner."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING

from ramet._diff.align import align, gaps
from ramet._diff.digest import Digest, is_automatic
from ramet._diff.place import Place
from ramet._graph import Call, Graph, Ref, refs

if TYPE_CHECKING:
    from ramet._diff.match import Match

__all__ = ["Level"]

View = Callable[[Digest], int]


class Level:
    """One level of both models.

    Args:
        match: where pairs are kept.
        before: the place whose inside is matched.
        after: its partner.
    """

    def __init__(self, match: Match, before: Place, after: Place) -> None:
        self._match = match
        self._digest = match.digests.of
        self._one = before.inside
        self._other = after.inside
        self._graphs = (before.graph, after.graph)
        self._at = (_by_id(before.inside), _by_id(after.inside))

    def match(self) -> None:
        """Nothing; partners are paired, the surest first."""
        self._pair_names(lambda one, other: self._rough(one, other) and not is_automatic(one.op))
        self._pair_inputs()
        self._pair_names(
            lambda one, other: self._view(one, _exact) == self._view(other, _exact) and self._near(one, other)
        )
        for view in (_exact, _loose):
            self._follow_calls(view)
            self._align(view, guess=False)
        self._pair_names(self._rough)
        self._pair_names(lambda one, other: (one.op.kind == "input") == (other.op.kind == "input"))
        self._follow_calls(_rough)
        for view in (_exact, _loose):
            self._align(view, guess=True)

    def _view(self, place: Place, view: View) -> int:
        return view(self._digest[place])

    def _rough(self, one: Place, other: Place) -> bool:
        return self._view(one, _rough) == self._view(other, _rough)

    def _free(self, one: Place, other: Place) -> bool:
        return one not in self._match.to and other not in self._match.back

    # By name.

    def _pair_names(self, agree: Callable[[Place, Place], bool]) -> None:
        for one in self._one:
            other = self._at[1].get(one.op.id)
            if other is not None and self._free(one, other) and agree(one, other):
                self._match.pair(one, other)

    def _near(self, one: Place, other: Place) -> bool:
        """Whether a neighbour of the one is paired with a neighbour of the other; where there are no calls, always.

        Names that Keras gives are counted up: after an insertion `relu_3` is what `relu_2` was.
        """
        if one.around is None or other.around is None:
            return True
        for direction in (Graph.producers, Graph.consumers):
            partners = {self._match.to.get(place) for place in self._neighbours(one, 0, direction)}
            if any(place in partners for place in self._neighbours(other, 1, direction)):
                return True
        return False

    def _neighbours(
        self, place: Place, side: int, direction: Callable[[Graph, str], tuple[Call, ...]]
    ) -> Iterator[Place]:
        graph, at = self._graphs[side], self._at[side]
        for call in place.calls if graph is not None else ():
            for near in direction(graph, call.id):  # type: ignore[arg-type]  # there is one
                if near.op in at:
                    yield at[near.op]

    def _pair_inputs(self) -> None:
        """Nothing; inputs with other names are paired in their order, where they take the same."""
        before, after = (_input_places(graph, at) for graph, at in zip(self._graphs, self._at, strict=True))
        left = self._match.free(before), self._match.free(after)
        keys = [[place.calls[0].outputs for place in places] for places in left]
        nameless = [[tuple(value.with_changes(name=None) for value in values) for values in side] for side in keys]
        for i, j in align(*nameless):
            self._match.pair(left[0][i], left[1][j])

    # By the calls around.

    def _follow_calls(self, view: View) -> None:
        """Nothing; ops that look alike are paired where they take from, or give to, the same ops."""
        one, other = self._graphs
        if one is None or other is None or not one.calls or not other.calls:
            return
        pairs = [(place, self._match.to[place]) for place in self._one if place in self._match.to]
        pairs = [(place, partner) for place, partner in pairs if partner.parent is self._other[0].parent]
        # The lists grow while they are read.
        for pair in pairs:
            pairs += self._downstream(*pair, one, other, view)
        for pair in pairs:
            pairs += self._upstream(*pair, view)

    def _downstream(
        self, place: Place, partner: Place, one: Graph, other: Graph, view: View
    ) -> list[tuple[Place, Place]]:
        found: list[tuple[Place, Place]] = []
        for call, twin in zip(place.calls, partner.calls, strict=False):
            for output in range(min(len(call.outputs), len(twin.outputs))):
                takers = self._takers(one, Ref(call.id, output), 0)
                if takers:
                    found += self._pair_alike(takers, self._takers(other, Ref(twin.id, output), 1), view)
        return found

    def _takers(self, graph: Graph, ref: Ref, side: int) -> list[Place]:
        at = self._at[side]
        ids = dict.fromkeys(call.op for call in graph.consumers(ref))
        return self._match.free(at[op] for op in ids if op in at)

    def _pair_alike(self, before: list[Place], after: list[Place], view: View) -> list[tuple[Place, Place]]:
        named = {place.op.id: place for place in after}
        found = []
        for one in before:
            other = named.get(one.op.id)
            if other is not None and self._view(one, view) == self._view(other, view):
                self._match.pair(one, other)
                found.append((one, other))
        alike: dict[int, deque[Place]] = {}
        for other in self._match.free(after):
            alike.setdefault(self._view(other, view), deque()).append(other)
        for one in self._match.free(before):
            candidates = alike.get(self._view(one, view))
            if candidates:
                other = candidates.popleft()
                self._match.pair(one, other)
                found.append((one, other))
        return found

    def _upstream(self, place: Place, partner: Place, view: View) -> list[tuple[Place, Place]]:
        found = []
        for call, twin in zip(place.calls, partner.calls, strict=False):
            for ref, other_ref in zip(call.refs(), twin.refs(), strict=False):
                one, other = (
                    _maker(graph, at, taken)
                    for graph, at, taken in zip(self._graphs, self._at, (ref, other_ref), strict=True)
                )
                if one is None or other is None or not self._free(one, other):
                    continue
                if ref.output == other_ref.output and self._view(one, view) == self._view(other, view):
                    self._match.pair(one, other)
                    found.append((one, other))
        return found

    # By the order.

    def _gaps(self) -> Iterator[tuple[list[Place], list[Place]]]:
        pairs = [
            (place.number, partner.number)
            for place in self._one
            if (partner := self._match.to.get(place)) is not None and partner.parent is self._other[0].parent
        ]
        for low, high, start, end in list(gaps(pairs, len(self._one), len(self._other))):
            one = self._match.free(self._one[low:high])
            other = self._match.free(self._other[start:end])
            if one and other:
                yield one, other

    def _align(self, view: View, *, guess: bool) -> None:
        for one, other in self._gaps():
            before = [self._view(place, view) for place in one]
            after = [self._view(place, view) for place in other]
            for i, j in align(before, after, guess=guess):
                self._match.pair(one[i], other[j])

    def pair_what_is_left(self) -> None:
        """Nothing; as many ops between the same neighbours as before stand for those: changed, or replaced."""
        for one, other in self._gaps():
            if len(one) == len(other):
                for place, partner in zip(one, other, strict=True):
                    if (place.op.kind == "input") == (partner.op.kind == "input"):
                        self._match.pair(place, partner)


def _exact(digest: Digest) -> int:
    return digest.exact


def _loose(digest: Digest) -> int:
    return digest.loose


def _rough(digest: Digest) -> int:
    return digest.rough


def _by_id(places: Iterable[Place]) -> dict[str, Place]:
    return {place.op.id: place for place in reversed(list(places))}


def _input_places(graph: Graph | None, at: dict[str, Place]) -> list[Place]:
    if graph is None:
        return []
    calls: list[Call] = [graph.call(ref.call) for ref in refs(graph.inputs) if ref.call in graph._index.calls]
    found = (at.get(call.op) for call in calls)
    return [place for place in dict.fromkeys(found) if place is not None and place.calls]


def _maker(graph: Graph | None, at: dict[str, Place], ref: Ref) -> Place | None:
    call = None if graph is None else graph._index.calls.get(ref.call)
    return None if call is None else at.get(call.op)
