"""The state of a comparison: the levels of both models side by side, and the changes found so far."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from operator import itemgetter
from typing import TypeVar

from ramet._diff.alignment import align, longest_increasing
from ramet._diff.change import Change
from ramet._diff.matching import Pairing
from ramet._diff.tree import Node
from ramet._graph import Call, Graph, Ref

# How many sources of a call that was added, removed or moved are followed.
_SOURCES = 8

_Position = tuple[int, int]
_Item = TypeVar("_Item")


class Comparison:
    """Two models under comparison.

    Attributes:
        pairing: Which op is which.
        touched: The nodes before whose op itself was changed.
        fed: The nodes before whose op receives values of other shapes or dtypes.
        levels: The children of every node beside those of its partner, the outermost first.
    """

    def __init__(self, pairing: Pairing) -> None:
        self.pairing = pairing
        self.touched: set[Node] = set()
        self.fed: set[Node] = set()
        self.levels = [
            LevelPair(pairing, one, other) for one, other in pairing.objects() if one.children and other.children
        ]
        self._changes: list[tuple[_Position, Change]] = []
        self._consequences: list[tuple[_Position, Change]] = []
        self._positions = _positions(pairing)

    def add(self, node: Node, change: Change, *, consequence: bool = False) -> None:
        """Record a change at a node of either model.

        Args:
            node: The node it is about, which decides its position in the result.
            change: The change.
            consequence: Whether it only follows from another change.
        """
        (self._consequences if consequence else self._changes).append((self._positions[node], change))

    def differ(self, one: Node, other: Node) -> bool:
        """Return whether two partners differ in more than names."""
        return not self.pairing.signatures.alike(one, other, "exact")

    def has_changed_around(self, node: Node) -> bool:
        """Return whether the op, or a layer that holds it, was changed or receives something else."""
        above: Node | None = node
        while above is not None:
            if above in self.touched or above in self.fed:
                return True
            # In a graph with calls, its own level shows what each op receives.
            above = above.parent if above.around is None else None
        return False

    def changes(self, *, consequences: bool = False) -> tuple[Change, ...]:
        """Return the changes, or those that only follow from others, in the order of the models."""
        found = self._consequences if consequences else self._changes
        return tuple(change for _, change in sorted(found, key=itemgetter(0)))


def _positions(pairing: Pairing) -> dict[Node, _Position]:
    """Return the position of each node in both models read together: added nodes follow the node before them."""
    positions = {node: (number, 0) for number, node in enumerate(pairing.before.nodes)}
    last = (0, 0)
    for node in pairing.after.nodes:
        partner = pairing.before_of.get(node)
        last = (last[0], last[1] + 1) if partner is None else positions[partner]
        positions[node] = last
    return positions


class LevelPair:
    """The children of a node beside those of its partner: paired calls, moved ops, and which connections are the same.

    A layer inserted between two others changes the input of the second one, but that is no change of the second one. So
    connections are compared through calls that were added, removed or moved: through the new layer, the second one still
    receives what it received before, and the insertion is one change.

    Attributes:
        before: The node of the model before.
        after: Its partner.
        pairs: The ops on this level of both models.
        calls: The calls on both sides: the op before, the op after, and the two calls.
        call_after: The ids of the calls after, by those before.
        moved: The ops that moved: in the order, or if there are calls, in the flow of values.
        reordered: The ops that changed their position in the list and nothing else.
    """

    def __init__(self, pairing: Pairing, before: Node, after: Node) -> None:
        self._pairing = pairing
        self.before, self.after = before, after
        self.pairs = pairing.children(before, after)
        self.calls: list[tuple[Node, Node, Call, Call]] = []
        for node, partner in self.pairs:
            self.calls += [(node, partner, *calls) for calls in self._pair_calls(node, partner)]
        self.call_after = {call.id: twin.id for _, _, call, twin in self.calls}
        self._follow_sources(set(self.call_after), set(self.call_after.values()))
        kept = set(longest_increasing([partner.number for _, partner in self.pairs]))
        self.reordered = [pair for number, pair in enumerate(self.pairs) if number not in kept]
        self.moved: set[tuple[Node, Node]] = set()
        self._find_moved()

    def corresponds(self, old: Ref, new: Ref) -> bool:
        """Return whether two refs are the same value, looking through calls that were added, removed or moved."""
        sources, others = self._sources[0].get(old.call, (old,)), self._sources[1].get(new.call, (new,))
        images = {Ref(self.call_after[ref.call], ref.output) for ref in sources if ref.call in self.call_after}
        return not images.isdisjoint(others)

    def _pair_calls(self, node: Node, partner: Node) -> Iterator[tuple[Call, Call]]:
        before, after = node.calls, partner.calls
        if len(before) == len(after):
            return zip(before, after, strict=True)
        # Calls with inputs from the same ops are the same calls, whichever one was added or left out.
        makers = (filter(None, map(self.before.producer, call.refs())) for call in before)
        sources = [tuple(map(self._pairing.after_of.get, found)) for found in makers]
        others = [tuple(filter(None, map(self.after.producer, call.refs()))) for call in after]
        found = align(sources, others)
        return ((before[i], after[j]) for i, j in found) if found else zip(before, after, strict=False)

    def _find_moved(self) -> None:
        if self.before.graph is None or not self.before.graph.calls:
            self.moved, self.reordered = set(self.reordered), []
            return
        suspects = set(self.reordered)
        moved: dict[str, tuple[Node, Node]] = {}
        for node, partner, call, twin in self.calls:
            if (node, partner) not in suspects:
                continue
            old, new = list(call.refs()), list(twin.refs())
            same = len(old) == len(new) and all(map(self.corresponds, old, new))
            # An op that is out of order and follows a moved layer moved along with it.
            if not same or any(ref.call in moved for ref in old):
                moved[call.id] = (node, partner)
        self.moved = set(moved.values())
        self.reordered = [pair for pair in self.reordered if pair not in self.moved]
        stayed = [(call.id, twin.id) for node, partner, call, twin in self.calls if (node, partner) not in self.moved]
        self._follow_sources({old for old, _ in stayed}, {new for _, new in stayed})

    def _follow_sources(self, before: set[str], after: set[str]) -> None:
        """Compute the values behind each call that is looked through: all calls but the given ones."""
        self._sources = (_sources(self.before.graph, before), _sources(self.after.graph, after))


def _sources(graph: Graph | None, opaque: set[str]) -> dict[str, tuple[Ref, ...]]:
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


def find_regrouped(
    before: Mapping[_Item, object],
    after: Mapping[_Item, object],
    after_of: Mapping[_Item, _Item],
    before_of: Mapping[_Item, _Item],
) -> dict[_Item, tuple[_Item | None, _Item | None]]:
    """Return the items that share an object with an earlier one in one model only, and that one before and after.

    Args:
        before: The items of the first model, in order, each with its object.
        after: Those of the second model.
        after_of: The partners of items of the first model.
        before_of: The partners of items of the second model.
    """
    lost = _separated(before, after, after_of)
    made = {before_of[item]: earlier for item, earlier in _separated(after, before, before_of).items()}
    return {item: (lost.get(item), made.get(item)) for item in lost | made}


def _separated(
    objects: Mapping[_Item, object], others: Mapping[_Item, object], partners: Mapping[_Item, _Item]
) -> dict[_Item, _Item]:
    """Return the items that share an object with an earlier one while their partners do not, with the earlier one."""
    first: dict[object, _Item] = {}
    found: dict[_Item, _Item] = {}
    for item, shared in objects.items():
        if item in partners:
            earlier = first.setdefault(shared, item)
            if earlier != item and others[partners[earlier]] != others[partners[item]]:
                found[item] = earlier
    return found
