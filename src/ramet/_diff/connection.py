"""What was changed between the ops: calls, their arguments and masks, inputs and outputs, the values in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from ramet._diff.align import increasing
from ramet._diff.change import Change, Kind
from ramet._diff.findings import Findings
from ramet._diff.flow import Flow
from ramet._diff.place import Place
from ramet._diff.value import Difference, by_key, differences, equal
from ramet._graph import Argument, Call, FrozenDict, Graph, Key, Ref, refs

__all__ = ["compare_connections"]


def compare_connections(found: Findings) -> None:
    """Nothing; changed calls and values are found, and which ops are given something else."""
    for flow in found.flows:
        _compare_order(found, flow)
        _Calls(found, flow).compare()
    for one, other in found.objects():
        if one.graph is not None and other.graph is not None and one.graph.kind != other.graph.kind:
            change = Change("setting", one.path, other.path, "kind", one.graph.kind, other.graph.kind)
            found.add(one, change, follows=one in found.touched)


def _compare_order(found: Findings, flow: Flow) -> None:
    """Nothing; ops and calls that stand elsewhere in their lists, with the connections they had, are told in one line."""
    one, other = flow.before, flow.after
    if flow.reordered:
        old, new = (tuple(pair[side].op.id for pair in flow.reordered) for side in (0, 1))
        found.add(one, Change("order", one.path, other.path, "ops", old, new), follows=_differ(found, one, other))
    if one.graph is None or other.graph is None:
        return
    places = {call.id: place for place, call in enumerate(other.graph.calls)}
    gone = set(flow.moved)
    moved = {call.id for place, partner, call, _ in flow.calls if (place, partner) in gone}
    calls = [call.id for call in one.graph.calls if call.id in flow.to and call.id not in moved]
    kept = set(increasing([places[flow.to[call]] for call in calls]))
    left = [call for place, call in enumerate(calls) if place not in kept]
    if left and not flow.reordered:
        new = tuple(flow.to[call] for call in left)
        change = Change("order", one.path, other.path, "calls", tuple(left), new)
        found.add(one, change, follows=_differ(found, one, other))


def _differ(found: Findings, one: Place, other: Place) -> bool:
    return found.match.digests.of[one].exact != found.match.digests.of[other].exact


class _Calls:
    """The calls of one graph beside those of its partner."""

    def __init__(self, found: Findings, flow: Flow) -> None:
        self._found = found
        self._flow = flow
        self._moved = set(flow.moved)
        self._changed: set[str] = set()

    def compare(self) -> None:
        """Nothing; calls are compared in the order they are made in, since what one gives the next ones take."""
        self._compare_counts()
        before, after = self._flow.before.graph, self._flow.after.graph
        if before is None or after is None:
            return
        pairs = {call.id: (place, partner, call, twin) for place, partner, call, twin in self._flow.calls}
        for call in before.calls:
            if call.id in pairs:
                self._compare_call(*pairs[call.id])
        self._compare_ends("input", before, after)
        self._compare_ends("output", before, after)

    def _same(self, old: Argument, new: Argument) -> bool:
        if isinstance(old, Ref) and isinstance(new, Ref):
            return self._flow.corresponds(old, new)
        # The same names may stand for other calls: what holds refs and cannot be taken apart differs in its form, too.
        return next(refs((old, new)), None) is None and equal(old, new)

    def _compare_counts(self) -> None:
        for place, partner in self._flow.pairs:
            old, new = len(place.calls), len(partner.calls)
            if old != new:
                self._found.add(place, Change("call", place.path, partner.path, "number of calls", old, new))

    def _compare_call(self, place: Place, partner: Place, call: Call, twin: Call) -> None:
        found, moved = self._found, (place, partner) in self._moved
        taken = [ref for ref in call.refs() if ref.call in self._changed]
        if taken:
            found.fed.add(place)
        masks = dict(call.mask_kinds) | dict(twin.mask_kinds)
        rewired = False
        for argument, what, old, new in self._arguments(call, twin):
            if moved and isinstance(old, Ref) and isinstance(new, Ref):
                continue
            kind: Kind = "mask" if argument in masks else "call"
            found.add(place, Change(kind, place.path, partner.path, _of(call, what), old, new))
            rewired = True
        for argument in masks:
            kinds = call.mask_kind(argument), twin.mask_kind(argument)
            if None not in kinds and kinds[0] != kinds[1]:
                what = _of(call, f"{argument} made by Keras or by hand")
                found.add(place, Change("mask", place.path, partner.path, what, *kinds))
        cause = bool(taken) or rewired or moved or place in found.fed or _differ(found, place.first, partner.first)
        self._compare_values(place, partner, call, twin, follows=cause)

    def _arguments(self, call: Call, twin: Call) -> Iterator[tuple[Key, str, Argument, Argument]]:
        """The differences of the arguments, each with the position or name of the argument."""
        if len(call.args) == len(twin.args):
            for number, (old, new) in enumerate(zip(call.args, twin.args, strict=True)):
                yield from ((number, *found) for found in differences(old, new, self._same, name=f"argument {number}"))
        else:
            yield None, "arguments", call.args, twin.args
        for key, old, new in by_key(call.kwargs, twin.kwargs):
            yield from ((key, *found) for found in differences(old, new, self._same, name=str(key)))

    def _compare_values(self, place: Place, partner: Place, call: Call, twin: Call, *, follows: bool) -> None:
        is_input = place.op.kind == "input"
        inner = place.parent is not None and (place.parent in self._found.fed)
        for what, old, new in self._values(call, twin):
            renamed = what == "name" and (old, new) == (place.op.name, partner.op.name)
            if renamed:
                continue
            if not what.endswith("mask"):
                self._changed.add(call.id)
            kind: Kind = "mask" if what.endswith("mask") else "input" if is_input else "value"
            caused = inner if is_input else follows
            self._found.add(place, Change(kind, place.path, partner.path, _of(call, what), old, new), follows=caused)

    def _values(self, call: Call, twin: Call) -> Iterator[Difference]:
        if len(call.outputs) != len(twin.outputs):
            yield "number of outputs", len(call.outputs), len(twin.outputs)
        several = len(call.outputs) > 1
        for number, (old, new) in enumerate(zip(call.outputs, twin.outputs, strict=False)):
            for field in ("shape", "dtype", "sparse", "ragged", "optional", "name"):
                was, now = getattr(old, field), getattr(new, field)
                if was != now and not (field == "name" and _is_counted(was) and _is_counted(now)):
                    yield f"{field} of output {number}" if several else field, was, now
            if not self._same(old.mask, new.mask):
                yield f"output {number}: mask" if several else "output mask", old.mask, new.mask
        if not equal(call.structure, twin.structure):
            yield "structure", call.structure, twin.structure

    def _compare_ends(self, kind: Literal["input", "output"], before: Graph, after: Graph) -> None:
        one, other = self._flow.before, self._flow.after
        old, new = (before.inputs, after.inputs) if kind == "input" else (before.outputs, after.outputs)
        if list(differences(old, new, self._same)) or not _same_keys(old, new):
            change = Change(kind, one.path, other.path, f"{kind}s", old, new)
            # Inputs that were added or removed are told as such.
            self._found.add(one, change, follows=kind == "input" and self._other_inputs(old, new))

    def _other_inputs(self, old: Argument, new: Argument) -> bool:
        kept = set(self._flow.to.values())
        return not all(ref.call in self._flow.to for ref in refs(old)) or not all(ref.call in kept for ref in refs(new))


def _same_keys(old: Argument, new: Argument) -> bool:
    """Whether dicts at the top name the same keys in the same order: they are read in that order."""
    return not isinstance(old, FrozenDict) or not isinstance(new, FrozenDict) or list(old) == list(new)


def _is_counted(name: str | None) -> bool:
    """Whether a tensor has no name but the number that Keras gives each: another one after every start or load."""
    return name is None or name.startswith("keras_tensor")


def _of(call: Call, what: str) -> str:
    """What it is, with the number of the call where the op has several."""
    number = call.id[len(call.op.replace("#", "##")) :]
    return f"{what} of call {number}" if number else what
