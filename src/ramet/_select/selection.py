"""What a selector found in a model: to print, to count, to go through."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from ramet._graph import Graph, Op, Shape, Shown
from ramet._select.candidate import Candidate, Catalog
from ramet._select.convert import as_selector
from ramet._select.find import Search
from ramet._select.parameter import Parameters
from ramet._select.selector import Selector
from ramet.errors import ArgumentError

__all__ = ["Match", "Selection", "select_in"]


@dataclass(frozen=True, slots=True, repr=False)
class Match(Shown):
    """One op that was found.

    Attributes:
        candidate: the op, with every place where it stands.
        shapes: of its outputs, call by call, alike calls told once; none for an op without calls.
        parameters: how many it has, with what is inside it.
    """

    candidate: Candidate
    shapes: tuple[tuple[Shape | None, ...], ...] = field(hash=False)
    parameters: int

    def _line(self) -> str:
        return f"'{self.path}': {self.op.class_name}, {_count(self.parameters, 'parameter')}"

    @property
    def path(self) -> str:
        """The path of its first place."""
        return self.candidate.path

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that leads to it, that of its first place first."""
        return self.candidate.paths

    @property
    def op(self) -> Op:
        """What is known of it."""
        return self.candidate.op

    @property
    def live(self) -> Any:
        """The live op, where there is a model."""
        return self.candidate.live

    @property
    def calls(self) -> int:
        """How many calls it has, at all places together."""
        return sum(len(place.calls) for place in self.candidate.places)


@dataclass(frozen=True, slots=True, repr=False)
class Selection(Shown, Sequence[Match]):
    """The ops that a selector found, in the model's order. Printed, it is a table.

    Attributes:
        selector: what was asked.
        matches: one for each op.
        total: how many ops the model has.
        parameters: of all matches together, what they share counted once.
    """

    selector: Selector
    matches: tuple[Match, ...]
    total: int
    parameters: int
    _catalog: Catalog = field(compare=False)

    @property
    def paths(self) -> tuple[str, ...]:
        """The path of each match."""
        return tuple(match.path for match in self.matches)

    @property
    def layers(self) -> tuple[Any, ...]:
        """The live layers and models that match, the very objects of the model, in its order; no raw operations.

        Raises:
            ArgumentError: The selection was made in a graph, which holds no live layers.
        """
        found = tuple(match.live for match in self.matches if match.op.kind != "operation")
        if any(layer is None for layer in found):
            raise ArgumentError(
                "Cannot give live layers: the selection was made in a graph.",
                fix="select in the model: ramet.select(model, selector).layers.",
            )
        return found

    def __len__(self) -> int:
        return len(self.matches)

    def __iter__(self) -> Iterator[Match]:
        return iter(self.matches)

    @overload
    def __getitem__(self, place: int) -> Match: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Match, ...]: ...
    def __getitem__(self, place: int | slice) -> Match | tuple[Match, ...]:
        return self.matches[place]

    def _line(self) -> str:
        from ramet._select.table import shortened

        found = f"{len(self):,} of {_count(self.total, 'op')}, {_count(self.parameters, 'parameter')}"
        return f"{shortened(self.selector)}: {found}"

    def __str__(self) -> str:
        return self.to_text()

    def to_text(self, limit: int | None = 40) -> str:
        """The selection as text, one line a match.

        Args:
            limit: how many matches are told one by one; None for all.
        """
        from ramet._select.table import text

        return text(self, limit)

    def to_json(self) -> str:
        """The selection as JSON, the same text for the same selection."""
        from ramet._select.table import to_json

        return to_json(self)

    def _html(self) -> str:
        from ramet._select.table import html

        return html(self)


def select_in(graph: Graph, selector: object, live: Mapping[str, Any] | None = None) -> Selection:
    """The ops of a model that a selector means.

    Args:
        graph: the graph of the model.
        selector: which ops are meant, as `as_selector` reads it.
        live: the live ops by their paths.
    """
    catalog = Catalog(graph, live)
    asked = as_selector(selector)
    numbers = Search(catalog).ask(asked)
    parameters = Parameters(catalog)
    matches = tuple(
        Match(catalog.candidates[number], _shapes(catalog.candidates[number]), parameters.of(number))
        for number in numbers
    )
    return Selection(asked, matches, len(catalog), parameters.together(numbers), catalog)


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"


def _shapes(candidate: Candidate) -> tuple[tuple[Shape | None, ...], ...]:
    found: dict[tuple[Shape | None, ...], None] = {}
    for place in candidate.places:
        if place.graph is not None:
            for call in place.graph.calls_of(place.op):
                found[tuple(value.shape for value in call.outputs)] = None
    return tuple(found)
