"""Changes between ops: calls, their arguments and masks, the values they return, inputs and outputs."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ramet._diff.alignment import longest_increasing
from ramet._diff.change import Change, Kind
from ramet._diff.comparison import Comparison, LevelPair
from ramet._diff.tree import Node
from ramet._diff.values import Difference, differences, equal, pair_by_key
from ramet._graph import Argument, Call, FrozenDict, Graph, Key, Ref, refs


def compare_connections(comparison: Comparison) -> None:
    """Find changed calls and values, and the ops that receive something else."""
    for level in comparison.levels:
        _compare_order(comparison, level)
        _CallComparison(comparison, level).run()
    for one, other in comparison.pairing.objects():
        if one.graph is not None and other.graph is not None and one.graph.kind != other.graph.kind:
            change = Change("setting", one.path, other.path, "kind", one.graph.kind, other.graph.kind)
            comparison.add(one, change, consequence=one in comparison.touched)


def _compare_order(comparison: Comparison, level: LevelPair) -> None:
    """Report ops and calls that changed their position in a list, but not their connections, as one change."""
    one, other = level.before, level.after
    consequence = comparison.differ(one, other)
    if level.reordered:
        old, new = (tuple(pair[side].op.id for pair in level.reordered) for side in (0, 1))
        comparison.add(one, Change("order", one.path, other.path, "ops", old, new), consequence=consequence)
    if one.graph is None or other.graph is None or level.reordered:
        return
    numbers = {call.id: number for number, call in enumerate(other.graph.calls)}
    moved = {call.id for node, partner, call, _ in level.calls if (node, partner) in level.moved}
    calls = [call.id for call in one.graph.calls if call.id in level.call_after and call.id not in moved]
    kept = set(longest_increasing([numbers[level.call_after[call]] for call in calls]))
    old = tuple(call for number, call in enumerate(calls) if number not in kept)
    if old:
        new = tuple(level.call_after[call] for call in old)
        comparison.add(one, Change("order", one.path, other.path, "calls", old, new), consequence=consequence)


class _CallComparison:
    """Compares the calls of one level. Calls whose values changed are remembered: changed values downstream follow."""

    def __init__(self, comparison: Comparison, level: LevelPair) -> None:
        self._comparison = comparison
        self._level = level
        self._changed: set[str] = set()

    def run(self) -> None:
        """Compare all calls in the order they are made, then the inputs and outputs."""
        for node, partner in self._level.pairs:
            old, new = len(node.calls), len(partner.calls)
            if old != new:
                self._comparison.add(node, Change("call", node.path, partner.path, "number of calls", old, new))
        before, after = self._level.before.graph, self._level.after.graph
        if before is None or after is None:
            return
        pairs = {call.id: (node, partner, call, twin) for node, partner, call, twin in self._level.calls}
        for call in before.calls:
            if call.id in pairs:
                self._compare_call(*pairs[call.id])
        self._compare_ends("input", before, after)
        self._compare_ends("output", before, after)

    def _same(self, old: Argument, new: Argument) -> bool:
        if isinstance(old, Ref) and isinstance(new, Ref):
            return self._level.corresponds(old, new)
        # Equal names may belong to different calls, so values that hold refs but were not taken apart count as different.
        return next(refs((old, new)), None) is None and equal(old, new)

    def _compare_call(self, node: Node, partner: Node, call: Call, twin: Call) -> None:
        comparison, moved = self._comparison, (node, partner) in self._level.moved
        is_fed = any(ref.call in self._changed for ref in call.refs())
        if is_fed:
            comparison.fed.add(node)
        masks = dict(call.mask_kinds) | dict(twin.mask_kinds)
        rewired = False
        for argument, what, old, new in self._arguments(call, twin):
            if moved and isinstance(old, Ref) and isinstance(new, Ref):
                continue
            kind: Kind = "mask" if argument in masks else "call"
            comparison.add(node, Change(kind, node.path, partner.path, _of_call(call, what), old, new))
            rewired = True
        for argument in masks:
            kinds = call.mask_kind(argument), twin.mask_kind(argument)
            if None not in kinds and kinds[0] != kinds[1]:
                what = _of_call(call, f"{argument} made by Keras or by hand")
                comparison.add(node, Change("mask", node.path, partner.path, what, *kinds))
        has_cause = is_fed or rewired or moved or node in comparison.fed or comparison.differ(node.first, partner.first)
        self._compare_values(node, partner, call, twin, has_cause=has_cause)

    def _arguments(self, call: Call, twin: Call) -> Iterator[tuple[Key, str, Argument, Argument]]:
        """Yield the differences of the arguments, each with the position or name of the argument."""
        if len(call.args) == len(twin.args):
            for number, (old, new) in enumerate(zip(call.args, twin.args, strict=True)):
                yield from ((number, *found) for found in differences(old, new, self._same, name=f"argument {number}"))
        else:
            yield None, "arguments", call.args, twin.args
        for key, old, new in pair_by_key(call.kwargs, twin.kwargs):
            yield from ((key, *found) for found in differences(old, new, self._same, name=str(key)))

    def _compare_values(self, node: Node, partner: Node, call: Call, twin: Call, *, has_cause: bool) -> None:
        is_input = node.op.kind == "input"
        if is_input:
            has_cause = node.parent is not None and node.parent in self._comparison.fed
        for what, old, new in self._values(call, twin):
            if what == "name" and (old, new) == (node.op.name, partner.op.name):
                continue
            is_mask = what.endswith("mask")
            if not is_mask:
                self._changed.add(call.id)
            kind: Kind = "mask" if is_mask else "input" if is_input else "value"
            change = Change(kind, node.path, partner.path, _of_call(call, what), old, new)
            self._comparison.add(node, change, consequence=has_cause)

    def _values(self, call: Call, twin: Call) -> Iterator[Difference]:
        if len(call.outputs) != len(twin.outputs):
            yield "number of outputs", len(call.outputs), len(twin.outputs)
        several = len(call.outputs) > 1
        for number, (old, new) in enumerate(zip(call.outputs, twin.outputs, strict=False)):
            for field in ("shape", "dtype", "sparse", "ragged", "optional", "name"):
                was, now = getattr(old, field), getattr(new, field)
                if was != now and not (field == "name" and _is_automatic(was) and _is_automatic(now)):
                    yield f"{field} of output {number}" if several else field, was, now
            if not self._same(old.mask, new.mask):
                yield f"output {number}: mask" if several else "output mask", old.mask, new.mask
        if not equal(call.structure, twin.structure):
            yield "structure", call.structure, twin.structure

    def _compare_ends(self, kind: Literal["input", "output"], before: Graph, after: Graph) -> None:
        one, other = self._level.before, self._level.after
        old, new = (before.inputs, after.inputs) if kind == "input" else (before.outputs, after.outputs)
        if list(differences(old, new, self._same)) or not _have_same_keys(old, new):
            change = Change(kind, one.path, other.path, f"{kind}s", old, new)
            # Inputs that were added or removed are reported as added or removed.
            self._comparison.add(one, change, consequence=kind == "input" and self._has_other_inputs(old, new))

    def _has_other_inputs(self, old: Argument, new: Argument) -> bool:
        to, kept = self._level.call_after, set(self._level.call_after.values())
        return not all(ref.call in to for ref in refs(old)) or not all(ref.call in kept for ref in refs(new))


def _have_same_keys(old: Argument, new: Argument) -> bool:
    """Return whether dicts have the same keys in the same order, in which Keras reads inputs and outputs."""
    return not isinstance(old, FrozenDict) or not isinstance(new, FrozenDict) or list(old) == list(new)


def _is_automatic(name: str | None) -> bool:
    """Return whether a tensor has no name but the one that Keras numbers anew in every process."""
    return name is None or name.startswith("keras_tensor")


def _of_call(call: Call, what: str) -> str:
    """Return the part of the op that changed, with the number of the call if the op has several."""
    number = call.id[len(call.op.replace("#", "##")) :]
    return f"{what} of call {number}" if number else what
