"""A selection as text, HTML and JSON."""

from __future__ import annotations

import json
from collections.abc import Sequence
from html import escape as quote

from ramet._graph import Shape, escape
from ramet._select.selection import Match, Selection
from ramet._select.selector import Selector

__all__ = ["html", "shortened", "text", "to_json"]

# A cell wider than this is written out, and only its own line moves: one long name must not widen every line.
_WIDEST = 60
_SHOWN = 3
_LONGEST_CODE = 160
_IN_NOTEBOOK = 40


def text(selection: Selection, limit: int | None) -> str:
    """A line that counts, then one line a match."""
    shown = selection.matches if limit is None else selection.matches[: max(limit, 0)]
    rows = [_cells(match) for match in shown]
    widths = [_width([row[column] for row in rows]) for column in range(len(rows[0]))] if rows else []
    lines = [_count_line(selection)]
    for row in rows:
        *words, parameters, calls = row
        cells = [f"{cell:<{width}}" for cell, width in zip(words, widths, strict=False)]
        cells += [f"{parameters:>{widths[len(words)]}}", calls]
        lines.append(f"  {'  '.join(cells)}".rstrip())
    if len(rows) < len(selection):
        lines.append(f"  and {len(selection) - len(rows):,} more")
    return "\n".join(lines)


def html(selection: Selection) -> str:
    """A table for notebooks, in their own colours. Notebooks align cells to the right; here only the numbers are."""
    sides = ("left", "left", "left", "right", "left")
    words = ("path", "class", "output", "parameters", "calls")
    heads = "".join(f'<th style="text-align:{side}">{word}</th>' for side, word in zip(sides, words, strict=True))
    rows = "".join(
        f"<tr>{''.join(_cell(cell, side) for cell, side in zip(_cells(match), sides, strict=True))}</tr>"
        for match in selection.matches[:_IN_NOTEBOOK]
    )
    more = len(selection) - _IN_NOTEBOOK
    rest = f"<p>and {more:,} more</p>" if more > 0 else ""
    table = f"<table><tr>{heads}</tr>{rows}</table>" if rows else ""
    return f"<div><p>{quote(_count_line(selection))}</p>{table}{rest}</div>"


def _cell(text: str, side: str) -> str:
    return f'<td style="text-align:{side}">{quote(text)}</td>'


def to_json(selection: Selection) -> str:
    """One line a match."""
    head = {
        "ramet_selection": 1,
        "selector": repr(selection.selector),
        "total": selection.total,
        "parameters": selection.parameters,
    }
    records = (
        {
            "path": match.path,
            "paths": match.paths,
            "class": match.op.class_name,
            "shapes": match.shapes,
            "parameters": match.parameters,
            "calls": match.calls,
        }
        for match in selection
    )
    lines = ",".join(f"\n  {json.dumps(record)}" for record in records)
    return f'{json.dumps(head)[:-1]},\n "matches": [{lines}]}}\n'


def shortened(selector: Selector) -> str:
    """The code of a selector, cut where it is too long for a line."""
    return escape(selector.to_text(_LONGEST_CODE))


def _count_line(selection: Selection) -> str:
    ops = f"{selection.total:,} op{'' if selection.total == 1 else 's'}"
    line = f"{len(selection):,} of {ops} match{'es' if len(selection) == 1 else ''} {shortened(selection.selector)}"
    return f"{line}, {_parameters(selection.parameters)}" if selection.matches else line


def _parameters(count: int) -> str:
    return f"{count:,} parameter{'' if count == 1 else 's'}"


def _cells(match: Match) -> tuple[str, str, str, str, str]:
    """Path, class, shapes, parameters, calls."""
    class_name = "Input" if match.op.kind == "input" else escape(match.op.class_name)
    notes = [f"{match.calls:,} calls"] if match.calls > 1 else []
    others = match.paths[1:]
    if others:
        more = f" and {len(others) - 1:,} more" if len(others) > 1 else ""
        notes.append(f"also {escape(others[0])}{more}")
    shapes = "; ".join(map(_outputs, match.shapes[:_SHOWN])) + ("; ..." if len(match.shapes) > _SHOWN else "")
    count = f"{match.parameters:,}" if match.parameters else ""
    return escape(match.path), class_name, shapes, count, ", ".join(notes)


def _outputs(shapes: tuple[Shape | None, ...]) -> str:
    """The outputs of one call: `(None, 8)`, `2 x (None, 8)`, `(None, 8), (None, 4)`."""
    told = ["?" if shape is None else str(shape) for shape in shapes]
    if len(told) > 1 and len(set(told)) == 1:
        return f"{len(told)} x {told[0]}"
    words = ", ".join(told[:_SHOWN])
    return f"{words} and {len(shapes) - _SHOWN} more" if len(shapes) > _SHOWN else words


def _width(cells: Sequence[str]) -> int:
    return max((len(cell) for cell in cells if len(cell) <= _WIDEST), default=0)
