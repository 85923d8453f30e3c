"""Who takes whose values, across nested models: an index that is made once, in linear time, and asked in linear time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ramet._graph import Argument, Call, FrozenDict, FrozenList, Graph, Ref, refs
from ramet._select.candidate import Catalog

__all__ = ["Neighbours"]


class Neighbours:
    """The values of a model by number: who makes each, who takes it, and which values it becomes at other levels.

    A value given to a nested model becomes the value of its input; a value that a nested model returns becomes the value
    of the model's call. What passes straight through a nested model that is called several times is followed into all
    of its calls.
    """

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._numbers: dict[tuple[int, Ref], int] = {}
        self._made: dict[int, list[int]] = {}
        self._taken: dict[int, list[int]] = {}
        self._makers: dict[int, list[int]] = {}
        self._takers: dict[int, list[int]] = {}
        self._becomes: dict[int, list[int]] = {}
        self._was: dict[int, list[int]] = {}
        for owner in (-1, *range(len(catalog))):
            graph = catalog.graph_of(owner)
            for call in () if graph is None else graph.calls:
                self._add(owner, call)

    def readers(self, ops: Iterable[int]) -> set[int]:
        """The ops that take a value of one of these."""
        return _reach(ops, self._made, self._becomes, self._takers)

    def feeders(self, ops: Iterable[int]) -> set[int]:
        """The ops whose value one of these takes."""
        return _reach(ops, self._taken, self._was, self._makers)

    def _add(self, owner: int, call: Call) -> None:
        op = self._catalog.inside[owner].get(call.op)
        if op is None:  # a call of an op that is not there, in a graph that lint would refuse
            return
        for output in range(len(call.outputs)):
            self._note_made(op, self._value(owner, Ref(call.id, output)))
        for ref in _values_taken(call):
            self._note_taken(op, self._value(owner, ref))
        inner = self._catalog.graph_of(op)
        if inner is not None and inner.has_calls:
            self._cross(owner, call, op, inner)

    def _cross(self, owner: int, call: Call, op: int, inner: Graph) -> None:
        """Tie what a nested model is called with to its inputs, and what it returns to the call."""
        first = call.args[0] if call.args else next(iter(call.kwargs.values()), None)
        for inside, given in _aligned(inner.inputs, first):
            if isinstance(given, Ref):
                outer, own = self._value(owner, given), self._value(op, inside)
                self._note_becomes(outer, own)
                source = self._input_op(op, inner, inside)
                if source is not None:
                    self._note_taken(source, outer)
        for inside, output in _aligned(inner.outputs, call.structure):
            if isinstance(output, int):
                self._note_becomes(self._value(op, inside), self._value(owner, Ref(call.id, output)))

    def _input_op(self, owner: int, graph: Graph, ref: Ref) -> int | None:
        made = graph._index.calls.get(ref.call)
        return None if made is None else self._catalog.inside[owner].get(made.op)

    def _value(self, owner: int, ref: Ref) -> int:
        return self._numbers.setdefault((owner, ref), len(self._numbers))

    def _note_made(self, op: int, value: int) -> None:
        self._made.setdefault(op, []).append(value)
        self._makers.setdefault(value, []).append(op)

    def _note_taken(self, op: int, value: int) -> None:
        self._taken.setdefault(op, []).append(value)
        self._takers.setdefault(value, []).append(op)

    def _note_becomes(self, value: int, other: int) -> None:
        self._becomes.setdefault(value, []).append(other)
        self._was.setdefault(other, []).append(value)


def _reach(
    ops: Iterable[int], first: dict[int, list[int]], further: dict[int, list[int]], last: dict[int, list[int]]
) -> set[int]:
    """From ops to their values, on to what these are at other levels, and from all of them to ops."""
    waiting = [value for op in ops for value in first.get(op, ())]
    seen = set(waiting)
    found: set[int] = set()
    while waiting:
        value = waiting.pop()
        found.update(last.get(value, ()))
        for other in further.get(value, ()):
            if other not in seen:
                seen.add(other)
                waiting.append(other)
    return found


def _values_taken(call: Call) -> Iterator[Ref]:
    """The refs among a call's arguments, but for masks that Keras found by itself."""
    implicit = {place for place, kind in call.mask_kinds if kind == "implicit"}
    for place, value in (*enumerate(call.args), *call.kwargs.pairs):
        if place not in implicit:
            yield from refs(value)


def _aligned(wanted: Argument, given: Argument) -> Iterator[tuple[Ref, Argument]]:
    """Each ref of one nesting with what stands at its place in another: by key, by position, or by the name of an input."""
    waiting = [(wanted, given)]
    while waiting:
        ours, theirs = waiting.pop()
        if isinstance(ours, Ref):
            several = _items(theirs)
            if several is None:
                yield ours, theirs
            elif len(several) == 1:
                waiting.append((ours, several[0]))
        elif isinstance(ours, FrozenDict) and isinstance(theirs, FrozenDict):
            waiting.extend((ours[key], theirs[key]) for key in ours if key in theirs)
        elif isinstance(theirs, FrozenDict) and isinstance(ours, FrozenList | tuple):
            # Keras lets a dict stand for a list of inputs: by their names, which are those of the input ops.
            waiting.extend((item, theirs[item.call]) for item in ours if isinstance(item, Ref) and item.call in theirs)
        elif (items := _items(ours)) is not None:
            several = _items(theirs)
            # A single value may stand for a list of one. Optional inputs at the end may be left out.
            waiting.extend(zip(items, (theirs,) if several is None else several, strict=False))


def _items(value: Argument) -> tuple[Argument, ...] | None:
    if isinstance(value, FrozenDict):
        return value.values()
    if isinstance(value, FrozenList):
        return value.items
    return value if isinstance(value, tuple) else None
