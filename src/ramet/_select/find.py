"""A selector asked of a model."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Mapping
from typing import Any, TypeAlias

from ramet._graph import Graph
from ramet._select.candidate import Candidate, Catalog
from ramet._select.class_name import class_test
from ramet._select.convert import as_selector
from ramet._select.glob import glob_test
from ramet._select.kind import Anything, Exactly, Feeds, Named, Nth, OfClass, Reads, Where, WithConfig
from ramet._select.neighbour import Neighbours
from ramet._select.selector import And, Not, Or, Selector
from ramet._select.setting import has_settings

__all__ = ["Search", "find"]

# Numbers of ops, in the model's order.
Numbers: TypeAlias = list[int]
_Steps: TypeAlias = Generator[tuple[Selector, Numbers], Numbers, Numbers]


def find(graph: Graph, selector: object, live: Mapping[str, Any] | None = None) -> tuple[Candidate, ...]:
    """The ops that a selector means, in the model's order, each once.

    Args:
        graph: the graph of a model.
        selector: which ops are meant, as `as_selector` reads it.
        live: the live ops by their paths.
    """
    return Search(Catalog(graph, live)).find(selector)


class Search:
    """The ops of one model, for any number of selectors: they are listed once, and so are their neighbours."""

    def __init__(self, catalog: Catalog) -> None:
        self._catalog = catalog
        self._all = list(range(len(catalog)))
        self._neighbours: Neighbours | None = None

    def find(self, selector: object) -> tuple[Candidate, ...]:
        """The ops that a selector means, in the model's order, each once."""
        return tuple(self._catalog.candidates[number] for number in self.ask(as_selector(selector)))

    def ask(self, selector: Selector) -> Numbers:
        """The numbers of the ops that match, in order."""
        # A stack of half-done steps stands in for recursion: selectors are grown in loops. Of a part that stands at several
        # places, what it was asked of which ops is known; the ops are kept with it, so that no other list has their id.
        repeated = _repeated(selector)
        known: dict[tuple[int, int], tuple[Numbers, Numbers]] = {}
        stack: list[tuple[Selector, Numbers, _Steps]] = [(selector, self._all, self._steps(selector, self._all))]
        answer: Numbers | None = None
        while stack:
            asked, among, steps = stack[-1]
            try:
                part, of = next(steps) if answer is None else steps.send(answer)
            except StopIteration as end:
                stack.pop()
                answer = end.value
                if id(asked) in repeated:
                    known[id(asked), id(among)] = (end.value, among)
                continue
            before = known.get((id(part), id(of)))
            answer = None if before is None else before[0]
            if answer is None:
                stack.append((part, of, self._steps(part, of)))
        return answer or []

    def _steps(self, selector: Selector, among: Numbers) -> _Steps:
        """Yield a part and the ops to ask it of, receive those that match; return those that match the whole."""
        if isinstance(selector, And):
            for part in selector.several:
                among = yield part, among
            return among
        if isinstance(selector, Or):
            found: set[int] = set()
            for part in _merged(selector.several):
                found.update((yield part, among))
            return [number for number in among if number in found]
        if isinstance(selector, Not):
            without = set((yield selector.part, among))
            return [number for number in among if number not in without]
        if isinstance(selector, Reads | Feeds):
            matches = yield selector.of, self._all
            if self._neighbours is None:
                self._neighbours = Neighbours(self._catalog)
            ask = self._neighbours.readers if isinstance(selector, Reads) else self._neighbours.feeders
            beside = ask(matches)
            return [number for number in among if number in beside]
        if isinstance(selector, Nth):
            size = len(among)
            chosen = {number % size for number in selector.numbers if -size <= number < size}
            return [among[place] for place in sorted(chosen)]
        test = _test(selector)
        ops = self._catalog.candidates
        return [number for number in among if test(ops[number])]


def _repeated(selector: Selector) -> set[int]:
    """The ids of the parts that stand at more than one place."""
    seen: set[int] = set()
    repeated: set[int] = set()
    waiting = [selector]
    while waiting:
        item = waiting.pop()
        if id(item) in seen:
            repeated.add(id(item))
        else:
            seen.add(id(item))
            waiting += item.parts
    return repeated


def _merged(parts: Iterable[Selector]) -> list[Selector]:
    """The parts of an `|`, with those of a kind that is itself a list of choices made one: a thousand names are one search."""
    globs: list[str] = []
    classes: list[type | str] = []
    ops: list[Any] = []
    rest: list[Selector] = []
    for part in parts:
        if isinstance(part, Named):
            globs += part.globs
        elif isinstance(part, OfClass):
            classes += part.classes
        elif isinstance(part, Exactly):
            ops += part.ops
        else:
            rest.append(part)
    if globs:
        rest.append(Named(tuple(globs)))
    if classes:
        rest.append(OfClass(tuple(classes)))
    if ops:
        rest.append(Exactly(tuple(ops)))
    return rest


def _test(selector: Selector) -> Callable[[Candidate], bool]:
    """A function that tells whether an op matches, for selectors that look at one op only."""
    if isinstance(selector, Named):
        return glob_test(selector.globs)
    if isinstance(selector, OfClass):
        return class_test(selector.classes)
    if isinstance(selector, WithConfig):
        settings = selector.settings
        return lambda candidate: has_settings(candidate.op.config, settings)
    if isinstance(selector, Where):
        return _predicate_test(selector)
    if isinstance(selector, Exactly):
        own = {id(op) for op in selector.ops}
        return lambda candidate: candidate.live is not None and id(candidate.live) in own
    assert isinstance(selector, Anything), f"a selector of class {type(selector).__qualname__}"
    return lambda _: True


def _predicate_test(selector: Where) -> Callable[[Candidate], bool]:
    def test(candidate: Candidate) -> bool:
        try:
            return bool(selector.predicate(candidate.op if candidate.live is None else candidate.live))
        except Exception as error:
            error.add_note(f"ramet: while {selector!r} was asked about '{candidate.path}'")
            raise

    return test
