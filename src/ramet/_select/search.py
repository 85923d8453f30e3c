"""Evaluation of selectors on a model, including the neighbors of ops across nested models."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, TypeAlias

from ramet._graph import Argument, Call, FrozenDict, FrozenList, Graph, Ref, refs
from ramet._select.catalog import Candidate, Catalog
from ramet._select.criteria import class_test, glob_test, has_settings
from ramet._select.selector import (
    And,
    Anything,
    Exactly,
    Feeds,
    Named,
    Not,
    Nth,
    OfClass,
    Or,
    Reads,
    Selector,
    Where,
    WithConfig,
    as_selector,
)

Numbers: TypeAlias = list[int]  # of ops, in the model's order


def find(graph: Graph, selector: object, live: Mapping[str, Any] | None = None) -> tuple[Candidate, ...]:
    """Return the ops that match a selector, in the model's order, each once.

    Args:
        graph: The graph of a model.
        selector: A selector, or anything that `as_selector` reads.
        live: The live ops by their paths.
    """
    return Search(Catalog(graph, live)).find(selector)


class Search:
    """Evaluates any number of selectors on one model, whose ops and neighbors are listed only once."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._all = list(range(len(catalog)))
        self._neighbors: Neighbors | None = None

    def find(self, selector: object) -> tuple[Candidate, ...]:
        """Return the ops that match a selector, in the model's order, each once."""
        return tuple(self._catalog.candidates[number] for number in self.numbers(as_selector(selector)))

    def numbers(self, selector: Selector) -> Numbers:
        """Return the numbers of the ops that match, in order."""
        return self._matches(selector, self._all)

    def _matches(self, selector: Selector, among: Numbers) -> Numbers:
        match selector:
            case And():
                for part in selector.several:
                    among = self._matches(part, among)
                return among
            case Or():
                found: set[int] = set()
                for part in _merged(selector.several):
                    found.update(self._matches(part, among))
                return [number for number in among if number in found]
            case Not():
                excluded = set(self._matches(selector.part, among))
                return [number for number in among if number not in excluded]
            case Reads() | Feeds():
                matches = self._matches(selector.part, self._all)
                if self._neighbors is None:
                    self._neighbors = Neighbors(self._catalog)
                look_up = self._neighbors.readers if isinstance(selector, Reads) else self._neighbors.feeders
                beside = look_up(matches)
                return [number for number in among if number in beside]
            case Nth():
                size = len(among)
                chosen = {number % size for number in selector.numbers if -size <= number < size}
                return [among[position] for position in sorted(chosen)]
        test = _test(selector)
        ops = self._catalog.candidates
        return [number for number in among if test(ops[number])]


def _merged(parts: Sequence[Selector]) -> list[Selector]:
    """Return the parts of an `|` with those of one kind merged: a thousand names are one search."""
    merged = [part for part in parts if not isinstance(part, Named | OfClass | Exactly)]
    if globs := [glob for part in parts if isinstance(part, Named) for glob in part.globs]:
        merged.append(Named(tuple(globs)))
    if classes := [item for part in parts if isinstance(part, OfClass) for item in part.classes]:
        merged.append(OfClass(tuple(classes)))
    if ops := [op for part in parts if isinstance(part, Exactly) for op in part.ops]:
        merged.append(Exactly(tuple(ops)))
    return merged


def _test(selector: Selector) -> Callable[[Candidate], bool]:
    """Return a function that tests one op, for selectors that look at one op only."""
    match selector:
        case Named():
            return glob_test(selector.globs)
        case OfClass():
            return class_test(selector.classes)
        case WithConfig():
            return lambda candidate: has_settings(candidate.op.config, selector.settings)
        case Where():
            return lambda candidate: _is_chosen(candidate, selector)
        case Exactly():
            own = set(map(id, selector.ops))
            return lambda candidate: candidate.live is not None and id(candidate.live) in own
    assert isinstance(selector, Anything), f"unknown selector {type(selector).__qualname__}"
    return lambda _: True


def _is_chosen(candidate: Candidate, selector: Where) -> bool:
    try:
        return bool(selector.predicate(candidate.op if candidate.live is None else candidate.live))
    except Exception as error:
        error.add_note(f"ramet: while evaluating {selector!r} on '{candidate.path}'")
        raise


class Neighbors:
    """Producers and consumers of every op, across nested models; built once and queried in linear time.

    A value passed to a nested model becomes the value of its input; a value that a nested model returns becomes the value of
    the model's call. A value that passes straight through a nested model that is called several times is followed into all of
    its calls.
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
        """Return the ops that use a value of one of these."""
        return _reach(ops, self._made, self._becomes, self._takers)

    def feeders(self, ops: Iterable[int]) -> set[int]:
        """Return the ops whose value one of these uses."""
        return _reach(ops, self._taken, self._was, self._makers)

    def _add(self, owner: int, call: Call) -> None:
        op = self._catalog.inside[owner].get(call.op)
        if op is None:  # a call of a missing op, in a graph with lint problems
            return
        for output in range(len(call.outputs)):
            _connect(self._made, self._makers, op, self._value(owner, Ref(call.id, output)))
        for ref in _values_used(call):
            _connect(self._taken, self._takers, op, self._value(owner, ref))
        inner = self._catalog.graph_of(op)
        if inner is not None and inner.has_calls:
            self._cross(owner, call, op, inner)

    def _cross(self, owner: int, call: Call, op: int, inner: Graph) -> None:
        """Connect the arguments of a call of a nested model to its inputs, and its outputs to the call."""
        first = call.args[0] if call.args else next(iter(call.kwargs.values()), None)
        for inside, given in _aligned(inner.inputs, first):
            if isinstance(given, Ref):
                outer = self._value(owner, given)
                _connect(self._becomes, self._was, outer, self._value(op, inside))
                made = inner._index.calls.get(inside.call)
                source = None if made is None else self._catalog.inside[op].get(made.op)
                if source is not None:
                    _connect(self._taken, self._takers, source, outer)
        for inside, output in _aligned(inner.outputs, call.structure):
            if isinstance(output, int):
                _connect(self._becomes, self._was, self._value(op, inside), self._value(owner, Ref(call.id, output)))

    def _value(self, owner: int, ref: Ref) -> int:
        return self._numbers.setdefault((owner, ref), len(self._numbers))


def _connect(forward: dict[int, list[int]], backward: dict[int, list[int]], start: int, end: int) -> None:
    forward.setdefault(start, []).append(end)
    backward.setdefault(end, []).append(start)


def _reach(
    ops: Iterable[int], first: dict[int, list[int]], further: dict[int, list[int]], last: dict[int, list[int]]
) -> set[int]:
    """Go from ops to their values, from these to the same values at other levels, and from all of them to ops."""
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


def _values_used(call: Call) -> Iterator[Ref]:
    """Yield the refs among a call's arguments, except masks that Keras found by itself."""
    implicit = {key for key, kind in call.mask_kinds if kind == "implicit"}
    for key, value in (*enumerate(call.args), *call.kwargs.pairs):
        if key not in implicit:
            yield from refs(value)


def _aligned(wanted: Argument, given: Argument) -> Iterator[tuple[Ref, Argument]]:
    """Yield each ref of one nesting with its counterpart in another: by key, by position, or by the name of an input."""
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
            # Keras accepts a dict for a list of inputs: by their names, which are those of the input ops.
            waiting.extend((item, theirs[item.call]) for item in ours if isinstance(item, Ref) and item.call in theirs)
        elif (items := _items(ours)) is not None:
            several = _items(theirs)
            # A single value may be passed for a list of one. Optional inputs at the end may be left out.
            waiting.extend(zip(items, (theirs,) if several is None else several, strict=False))


def _items(value: Argument) -> tuple[Argument, ...] | None:
    if isinstance(value, FrozenDict):
        return value.values()
    if isinstance(value, FrozenList):
        return value.items
    return value if isinstance(value, tuple) else None
