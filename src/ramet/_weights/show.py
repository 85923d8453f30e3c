"""The report of a transfer for a terminal and a notebook."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape as escape_html

from ramet._graph import escape
from ramet._weights.report import NOT_SELECTED, TransferredWeight, TransferReport

__all__ = ["html", "text"]

# Lines in each section; `to_json()` has all.
_SHOWN = 40
# A path wider than this is written out, and only its own line moves.
_WIDEST = 48


def text(report: TransferReport) -> str:
    """The report as text: a line that sums it up, then a section for each outcome."""
    lines = [headline(report)]
    for title, rows in sections(report):
        width = max((len(row[0]) for row in rows if len(row[0]) <= _WIDEST), default=0)
        lines += ["", title, *(f"  {path:<{width}}  {words}".rstrip() for path, words in rows[:_SHOWN])]
        if len(rows) > _SHOWN:
            lines.append(f"  and {len(rows) - _SHOWN:,} more; `to_json()` has all")
    return "\n".join(lines)


def html(report: TransferReport) -> str:
    """The report for a notebook."""
    parts = [f"<strong>{escape_html(headline(report))}</strong>"]
    for title, rows in sections(report):
        cells = "".join(
            f'<tr><td style="text-align:left">{escape_html(path)}</td>'
            f'<td style="text-align:left">{escape_html(words)}</td></tr>'
            for path, words in rows[:_SHOWN]
        )
        more = f"<small>and {len(rows) - _SHOWN:,} more</small>" if len(rows) > _SHOWN else ""
        parts.append(f"<p>{escape_html(title)}</p><table>{cells}</table>{more}")
    return f"<div>{''.join(parts)}</div>"


def headline(report: TransferReport) -> str:
    """One line that stands alone."""
    skipped = sum(one.reason == NOT_SELECTED for one in report.left)
    counts = {
        "copied": len(report.copied),
        "adapted": len(report.adapted),
        "left": len(report.left) - skipped,
        "not selected": skipped,
        "unused": len(report.unused),
    }
    told = ", ".join(f"{number:,} {name}" for name, number in counts.items() if number) or "no weights"
    verb = "" if report.written else "would be "
    return f"{escape(report.source)} -> {escape(report.target)}: {verb}{told}"


def sections(report: TransferReport) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """The title and the rows, path and words, of each section that has any; those to look at first come first."""
    left = [one for one in report.left if one.reason != NOT_SELECTED]
    yield from _section("left as they were", [(one.path, _left(one)) for one in left])
    yield from _section(f"adapted by '{report.policy}'", [(one.path, _adapted(one)) for one in report.adapted])
    unused = [(one.path, f"{one.shape}  {one.reason}") for one in report.unused]
    yield from _section("not used from the source", unused)
    yield from _section("copied", [(one.path, f"{one.shape}{_origin(one)}") for one in report.copied])


def _section(title: str, rows: list[tuple[str, str]]) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    if rows:
        yield title, [(escape(path), escape(words)) for path, words in rows]


def _left(one: TransferredWeight) -> str:
    return f"{'' if one.shape is None else one.shape}  {one.reason}".strip()


def _adapted(one: TransferredWeight) -> str:
    return f"{one.source_shape} -> {one.shape}{_origin(one)}"


def _origin(one: TransferredWeight) -> str:
    words = {
        "rename": f"renamed from {one.source}",
        "order": f"matched by its order, from {one.source}",
        "end": f"matched by its end, from {one.source}",
    }
    told = [words.get(one.how or "", ""), f"cast from {one.source_dtype} to {one.dtype}" if one.cast else ""]
    return "".join(f"  {part}" for part in told if part)
