"""The content of a report as frozen data: a document of sections of rows.

Rows hold text exactly as it is in the model; the writers escape it. A row carries its meaning (`mark`, `style`), from which each
writer derives a color; no writer inspects the text for that.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

Style: TypeAlias = Literal["", "title", "dim", "good", "bad", "warning"]


class Code(str):
    """Text that comes from a model: a name, a path, a value. Markdown and HTML show it as code."""

    __slots__ = ()


# A cell is plain text, or pieces of plain text and of code that follow each other.
Cell: TypeAlias = str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Row:
    """One line of a section.

    Attributes:
        cells: Its columns. All but the last are aligned with those of the other rows.
        mark: One character in front of it, such as `+` or `✓`.
        style: The meaning of the row.
        mark_style: The meaning of the mark and the first cell, if it differs.
        details: Rows with one cell each, shown below this one.
    """

    cells: tuple[Cell, ...]
    mark: str = ""
    style: Style = ""
    mark_style: Style = ""
    details: tuple[Row, ...] = ()


@dataclass(frozen=True, slots=True)
class Section:
    """Rows with a title.

    Attributes:
        title: The heading. A section without one continues the section before it.
        rows: The rows to show.
        more: The number of rows left out. `split_off` gives both.
        more_note: Words after "and 5 more".
        style: The meaning of the title.
        level: 2 for a section inside the section before it.
        columns: Headings of the columns, for Markdown and HTML.
        right: The numbers of the columns that are aligned to the right.
        widest: A longer cell moves only its own line: one long name must not widen every line.
        grouped: Whether a first cell that equals the one above is left out.
        tree: Whether the rows are one drawing, which keeps its fixed width in Markdown and HTML.
        folded: Whether HTML shows only the title at first, whatever the number of rows.
    """

    title: Cell = ""
    rows: tuple[Row, ...] = ()
    more: int = 0
    more_note: str = ""
    style: Style = "title"
    level: int = 1
    columns: tuple[str, ...] = ()
    right: frozenset[int] = frozenset()
    widest: int = 40
    grouped: bool = False
    tree: bool = False
    folded: bool = False


@dataclass(frozen=True, slots=True)
class Document:
    """A whole report.

    Attributes:
        title: The first line, which makes sense on its own.
        sections: What follows it.
        style: The meaning of the title.
        about: Lines below the title.
        complete: The way to get the rows that were left out, as code: `to_json()`.
    """

    title: Cell
    sections: tuple[Section, ...] = ()
    style: Style = "title"
    about: tuple[Cell, ...] = ()
    complete: str = ""
