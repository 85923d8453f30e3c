"""The result of a selection: its matches, printed as a table, counted, or iterated over."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, overload

from ramet._graph import Graph, Op, Shape
from ramet._report import (
    Code,
    Document,
    Result,
    Row,
    Section,
    Summarized,
    count,
    escape,
    joined,
    joined_values,
    json_lines,
    split_off,
    to_text,
)
from ramet._select.catalog import Candidate, Catalog, Parameters
from ramet._select.search import Search
from ramet._select.selector import Selector, as_selector
from ramet.errors import ArgumentError

# Matches that are listed one by one.
_MOST_ROWS = 40
_MOST_CALLS = 3
_LONGEST_CODE = 160


@dataclass(frozen=True, slots=True, repr=False)
class Match(Summarized):
    """One op that was found.

    Attributes:
        candidate: The op, with all its occurrences.
        shapes: The shapes of its outputs, call by call, without repetition; () for an op without calls.
        parameters: The number of its parameters, including everything inside it.
    """

    candidate: Candidate
    shapes: tuple[tuple[Shape | None, ...], ...] = field(hash=False)
    parameters: int

    def _summary(self) -> str:
        return f"'{self.path}': {self.op.class_name}, {count(self.parameters, 'parameter')}"

    @property
    def path(self) -> str:
        """The path of its first occurrence."""
        return self.candidate.path

    @property
    def paths(self) -> tuple[str, ...]:
        """Every path that leads to it, that of its first occurrence first."""
        return self.candidate.paths

    @property
    def op(self) -> Op:
        """The op as data."""
        return self.candidate.op

    @property
    def live(self) -> Any:
        """The live op, if the selection was made in a model; else None."""
        return self.candidate.live

    @property
    def calls(self) -> int:
        """The number of its calls, at all occurrences together."""
        return sum(len(one.calls) for one in self.candidate.occurrences)


@dataclass(frozen=True, slots=True, repr=False)
class Selection(Result, Sequence[Match]):
    """The ops of a model that match a selector, in the model's order: the result of `ramet.select`.

    It is a sequence of matches, each with `path`, `op`, `live`, `shapes`, `parameters` and `calls`. Print it for a
    table, show it in a notebook, or write it with `to_json`, `to_markdown` or `to_html`.

    Attributes:
        selector: The selector.
        matches: One match for each op.
        total: The number of ops in the model.
        parameters: The number of parameters of all matches together, shared ones counted once.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dense(2, name="b")])
    >>> found = ramet.select(model, keras.layers.Dense)
    >>> print(found)
    2 of 3 ops match of_class(Dense), 23 parameters
      a  Dense  (None, 3)  15
      b  Dense  (None, 2)   8
    >>> found.layers[0] is model.get_layer("a")
    True
    >>> [(match.path, match.parameters) for match in found]
    [('a', 15), ('b', 8)]
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
        """The live layers and models that match, the objects of the model itself, in its order; no raw operations.

        Raises:
            ArgumentError: The selection was made in a graph, which contains no live layers.
        """
        found = tuple(match.live for match in self.matches if match.op.kind != "operation")
        if any(layer is None for layer in found):
            raise ArgumentError(
                "Cannot return live layers: the selection was made in a graph.",
                fix="select in the model: ramet.select(model, selector).layers.",
            )
        return found

    def __len__(self) -> int:
        return len(self.matches)

    @overload
    def __getitem__(self, index: int) -> Match: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Match, ...]: ...
    def __getitem__(self, index: int | slice) -> Match | tuple[Match, ...]:
        return self.matches[index]

    def _summary(self) -> str:
        found = f"{len(self):,} of {count(self.total, 'op')}, {count(self.parameters, 'parameter')}"
        return f"{code_of(self.selector)}: {found}"

    def __report__(self) -> Document:
        return self._document(_MOST_ROWS)

    def to_text(self, limit: int | None = _MOST_ROWS) -> str:
        """Return the selection as text, one line per match.

        Args:
            limit: The number of matches that are listed; None for all.
        """
        return to_text(self._document(limit))

    def to_json(self) -> str:
        """Return the selection as JSON: the same text for the same selection, one line per match."""
        fields = {"selector": repr(self.selector), "total": self.total, "parameters": self.parameters}
        return json_lines("selection", fields, matches=map(_record, self.matches))

    def _document(self, limit: int | None) -> Document:
        verb = "matches" if len(self) == 1 else "match"
        title = f"{len(self):,} of {count(self.total, 'op')} {verb} "
        parameters = f", {count(self.parameters, 'parameter')}" if self.matches else ""
        matches, left_out = split_off(self.matches, limit)
        section = Section(
            rows=tuple(map(_row, matches)),
            more=left_out,
            columns=("path", "class", "output", "parameters", "calls"),
            right=frozenset({3}),
            widest=60,
        )
        sections = (section,) if section.rows or left_out else ()
        return Document((title, Code(code_of(self.selector)), parameters), sections, style="")


def select_in(graph: Graph, selector: object, live: Mapping[str, Any] | None = None) -> Selection:
    """Return the ops of a model that match a selector.

    Args:
        graph: The graph of the model.
        selector: A selector, or anything that `as_selector` reads.
        live: The live ops by their paths.
    """
    catalog = Catalog(graph, live)
    wanted = as_selector(selector)
    numbers = Search(catalog).numbers(wanted)
    parameters = Parameters(catalog)
    found = [(catalog.candidates[number], parameters.of(number)) for number in numbers]
    matches = tuple(Match(candidate, candidate.shapes, size) for candidate, size in found)
    return Selection(wanted, matches, len(catalog), parameters.together(numbers), catalog)


def code_of(selector: Selector) -> str:
    """Return the code of a selector on one line, cut if it is long."""
    code = repr(selector)
    return escape(code if len(code) <= _LONGEST_CODE else f"{code[: _LONGEST_CODE - 3]}...")


def _row(match: Match) -> Row:
    class_name = "Input" if match.op.kind == "input" else match.op.class_name
    shapes = "; ".join(map(_outputs, match.shapes[:_MOST_CALLS])) + ("; ..." if len(match.shapes) > _MOST_CALLS else "")
    notes = [f"{match.calls:,} calls"] if match.calls > 1 else []
    if match.paths[1:]:
        notes.append(f"also {joined(match.paths[1:], 1)}")
    size = f"{match.parameters:,}" if match.parameters else ""
    return Row((Code(match.path), Code(class_name), shapes, size, ", ".join(notes)))


def _outputs(shapes: tuple[Shape | None, ...]) -> str:
    """Return the outputs of one call: `(None, 8)`, `2 x (None, 8)`, `(None, 8), (None, 4)`."""
    return joined_values(["?" if shape is None else str(shape) for shape in shapes])


def _record(match: Match) -> dict[str, Any]:
    return {
        "path": match.path,
        "paths": match.paths,
        "class": match.op.class_name,
        "shapes": match.shapes,
        "parameters": match.parameters,
        "calls": match.calls,
    }
