"""Deciding which op of one model is which op of the other.

Level by level from the root (a level is what one node directly holds), the surest evidence first: names that a user chose,
then neighbors in the call graph, then the order, then what remains at the same position. Ops that are still without a
partner at the end may have moved to another level. `docs/design.md` explains why.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable, Iterator

from ramet._diff.alignment import align, gaps
from ramet._diff.tree import Node, OpTree, Signatures, View, has_automatic_name
from ramet._graph import Call, Graph, Ref, group, refs

# Views of signatures by which nodes are paired, the strictest first; "rough" alone is too little.
_VIEWS: tuple[View, ...] = ("exact", "loose")


class Pairing:
    """The nodes of two models in pairs, found on construction.

    Attributes:
        before: The first model.
        after: The second model.
        signatures: The signatures of the nodes of both.
        after_of: The partner of each node of the first model that has one.
        before_of: The partner of each node of the second model that has one.
    """

    def __init__(self, before: OpTree, after: OpTree) -> None:
        self.before = before
        self.after = after
        self.signatures = Signatures(before, after)
        self.after_of: dict[Node, Node] = {}
        self.before_of: dict[Node, Node] = {}
        self._waiting: deque[tuple[Node, Node]] = deque()
        self._later: deque[tuple[Node, Node]] = deque()
        self._levels: list[_LevelMatcher] = []
        self._entered: set[tuple[Node, Node]] = set()
        self.pair(before.root, after.root)
        self._enter()
        self._find_moved()
        # Only now: a layer that was put into a new model has been found there, so that the model is not taken for its
        # replacement. The list grows while it is read.
        for level in self._levels:
            level.pair_remaining()
            self._enter()

    def pair(self, one: Node, other: Node) -> None:
        """Make two nodes partners, and schedule their children."""
        self.after_of[one] = other
        self.before_of[other] = one
        # The children of a shared op belong to its first node, so other nodes of the op come later.
        waiting = self._waiting if one.first is one and other.first is other else self._later
        waiting.append((one.first, other.first))

    def free(self, nodes: Iterable[Node]) -> list[Node]:
        """Return the nodes without a partner."""
        return [node for node in nodes if node not in self.after_of and node not in self.before_of]

    def are_free(self, one: Node, other: Node) -> bool:
        """Return whether a node before and a node after have no partners yet."""
        return one not in self.after_of and other not in self.before_of

    def share_parent(self, one: Node, other: Node) -> bool:
        """Return whether two nodes are held by the same op, which may itself have several nodes."""
        if one.parent is None or other.parent is None:
            return one.parent is other.parent
        parent = self.after_of.get(one.parent)
        return parent is not None and parent.first is other.parent.first

    def children(self, before: Node, after: Node) -> list[tuple[Node, Node]]:
        """Return the children of two nodes that are partners of each other."""
        pairs = ((node, self.after_of.get(node)) for node in before.children)
        return [(node, partner) for node, partner in pairs if partner is not None and partner.parent is after]

    def objects(self) -> Iterator[tuple[Node, Node]]:
        """Yield every pair of objects once: a shared op has several nodes."""
        pairs = ((one, self.after_of.get(one)) for one in self.before.nodes)
        return iter(dict.fromkeys((one.first, other.first) for one, other in pairs if other is not None))

    def _enter(self) -> None:
        while self._waiting or self._later:
            pair = (self._waiting or self._later).popleft()
            one, other = pair
            if pair in self._entered or not (one.children and other.children):
                continue
            self._entered.add(pair)
            if self.signatures.alike(one, other, "identical"):
                for child, partner in zip(one.children, other.children, strict=True):
                    if self.are_free(child, partner):
                        self.pair(child, partner)
            else:
                level = _LevelMatcher(self, one, other)
                level.match()
                self._levels.append(level)

    def _find_moved(self) -> None:
        """Pair ops that left their level, if their name and signature identify them."""
        signatures = self.signatures
        self._pair_unique(lambda node: (node.op.id, signatures[node].exact))
        self._pair_unique(lambda node: signatures[node].exact if _is_distinctive(node) else None, apart=True)
        self._pair_unique(lambda node: None if has_automatic_name(node.op) else (node.op.id, signatures[node].loose))

    def _pair_unique(self, key: Callable[[Node], Hashable], *, apart: bool = False) -> None:
        one, other = (
            group((key(node), node) for node in self.free(tree.nodes) if node.op.same_as is None)
            for tree in (self.before, self.after)
        )
        for name, nodes in one.items():
            partners = other.get(name, ())
            if name is None or len(nodes) != 1 or len(partners) != 1:
                continue
            node, partner = nodes[0], partners[0]
            # An earlier pair may have brought these along with what holds them.
            if self.are_free(node, partner) and not (apart and self.share_parent(node, partner)):
                self.pair(node, partner)
                self._enter()


def _is_distinctive(node: Node) -> bool:
    """Return whether the content of an op identifies it under another name: it has content, and its name is automatic."""
    return has_automatic_name(node.op) and bool(node.op.variables or node.children)


class _LevelMatcher:
    """Pairs the children of a node with those of its partner."""

    def __init__(self, pairing: Pairing, before: Node, after: Node) -> None:
        self._pairing = pairing
        self._before, self._after = before, after
        self._pairs: list[tuple[Node, Node]] = []

    def match(self) -> None:
        """Pair as many nodes as possible, the surest pairs first.

        Every pair is final and is evidence for the next ones, so the order of the steps decides: equal names chosen by a user,
        then inputs, then automatic names whose neighbors agree (Keras renumbers them after an insertion), then nodes that are
        alike and connected to known pairs, then those that are alike in the same order. Only after that do equal names alone
        count, and at last guesses within a gap. Each step tries exact equality before looser views.
        """
        alike = self._pairing.signatures.alike
        self._pair_names(lambda one, other: alike(one, other, "rough") and not has_automatic_name(one.op))
        self._pair_inputs()
        self._pair_names(lambda one, other: alike(one, other, "exact") and self._are_neighbors_paired(one, other))
        for view in _VIEWS:
            self._follow_calls(view)
            self._align(view, guess=False)
        self._pair_names(lambda one, other: alike(one, other, "rough"))
        self._pair_names(_are_both_inputs_or_neither)
        self._follow_calls("rough")
        for view in _VIEWS:
            self._align(view, guess=True)

    def pair_remaining(self) -> None:
        """Pair unmatched nodes between the same neighbors, if there are as many on both sides: changed, or replaced."""
        for one, other in self._gaps():
            if len(one) == len(other):
                for node, partner in zip(one, other, strict=True):
                    if _are_both_inputs_or_neither(node, partner):
                        self._pairing.pair(node, partner)

    # By name.

    def _pair_names(self, agree: Callable[[Node, Node], bool]) -> None:
        for one in self._before.children:
            other = self._after.by_id.get(one.op.id)
            if other is not None and self._pairing.are_free(one, other) and agree(one, other):
                self._pairing.pair(one, other)

    def _are_neighbors_paired(self, one: Node, other: Node) -> bool:
        """Return whether a neighbor of one is paired with a neighbor of the other; without calls, always.

        Keras numbers the names it generates: after an insertion, `relu_3` is what `relu_2` was.
        """
        if one.around is None or other.around is None:
            return True
        for direction in (Graph.producers, Graph.consumers):
            partners = {self._pairing.after_of.get(node) for node in _neighbors(self._before, one, direction)}
            if any(node in partners for node in _neighbors(self._after, other, direction)):
                return True
        return False

    def _pair_inputs(self) -> None:
        """Pair inputs under other names in their order, if their values have the same shapes and dtypes."""
        before, after = (self._pairing.free(_inputs(level)) for level in (self._before, self._after))
        keys = [
            [tuple(value.with_changes(name=None) for value in node.calls[0].outputs) for node in nodes]
            for nodes in (before, after)
        ]
        for i, j in align(*keys):
            self._pairing.pair(before[i], after[j])

    # By the calls around.

    def _follow_calls(self, view: View) -> None:
        """Pair nodes that are alike and are connected to paired nodes in the same way, starting from the known pairs."""
        self._pairs = self._pairing.children(self._before, self._after)
        # The list grows while it is read.
        for pair in self._pairs:
            self._pair_consumers(*pair, view)
        for pair in self._pairs:
            self._pair_producers(*pair, view)

    def _pair(self, one: Node, other: Node) -> None:
        self._pairing.pair(one, other)
        self._pairs.append((one, other))

    def _pair_consumers(self, node: Node, partner: Node, view: View) -> None:
        for call, twin in zip(node.calls, partner.calls, strict=False):
            for output in range(min(len(call.outputs), len(twin.outputs))):
                consumers = self._consumers(self._before, Ref(call.id, output))
                if consumers:
                    self._pair_alike(consumers, self._consumers(self._after, Ref(twin.id, output)), view)

    def _consumers(self, level: Node, ref: Ref) -> list[Node]:
        ids = dict.fromkeys(call.op for call in level.graph.consumers(ref)) if level.graph is not None else ()
        return self._pairing.free(level.by_id[op] for op in ids if op in level.by_id)

    def _pair_alike(self, before: list[Node], after: list[Node], view: View) -> None:
        signatures = self._pairing.signatures
        by_id = {node.op.id: node for node in after}
        for one in before:
            other = by_id.get(one.op.id)
            if other is not None and signatures.alike(one, other, view):
                self._pair(one, other)
        alike: dict[int, deque[Node]] = {}
        for other in self._pairing.free(after):
            alike.setdefault(getattr(signatures[other], view), deque()).append(other)
        for one in self._pairing.free(before):
            candidates = alike.get(getattr(signatures[one], view))
            if candidates:
                self._pair(one, candidates.popleft())

    def _pair_producers(self, node: Node, partner: Node, view: View) -> None:
        for call, twin in zip(node.calls, partner.calls, strict=False):
            for ref, other_ref in zip(call.refs(), twin.refs(), strict=False):
                one, other = self._before.producer(ref), self._after.producer(other_ref)
                if one is None or other is None or not self._pairing.are_free(one, other):
                    continue
                if ref.output == other_ref.output and self._pairing.signatures.alike(one, other, view):
                    self._pair(one, other)

    # By the order.

    def _gaps(self) -> Iterator[tuple[list[Node], list[Node]]]:
        """Yield the unmatched nodes between two pairs, of both sides."""
        before, after = self._before.children, self._after.children
        pairs = [(one.number, other.number) for one, other in self._pairing.children(self._before, self._after)]
        for low, high, start, end in list(gaps(pairs, len(before), len(after))):
            one, other = self._pairing.free(before[low:high]), self._pairing.free(after[start:end])
            if one and other:
                yield one, other

    def _align(self, view: View, *, guess: bool) -> None:
        signatures = self._pairing.signatures
        for one, other in self._gaps():
            before, after = ([getattr(signatures[node], view) for node in nodes] for nodes in (one, other))
            for i, j in align(before, after, guess=guess):
                self._pairing.pair(one[i], other[j])


def _neighbors(level: Node, node: Node, direction: Callable[[Graph, str], tuple[Call, ...]]) -> Iterator[Node]:
    """Yield the nodes of a level whose calls are before or after those of a node."""
    for call in node.calls if level.graph is not None else ():
        for near in direction(level.graph, call.id):  # type: ignore[arg-type]  # it is not None in this loop
            if near.op in level.by_id:
                yield level.by_id[near.op]


def _inputs(level: Node) -> list[Node]:
    found = map(level.producer, refs(level.graph.inputs)) if level.graph is not None else ()
    return [node for node in dict.fromkeys(found) if node is not None and node.calls]


def _are_both_inputs_or_neither(one: Node, other: Node) -> bool:
    return (one.op.kind == "input") == (other.op.kind == "input")
