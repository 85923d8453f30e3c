"""A diff as text: a line that sums it up, then sections of aligned lines."""

from __future__ import annotations

from collections.abc import Iterator

from ramet._diff.change import Diff
from ramet._diff.page import Section, sections, summarise
from ramet._graph import escape

__all__ = ["summarise", "text"]

# A label wider than this is written out, and only its own line moves.
_WIDEST = 40


def text(diff: Diff) -> str:
    """The diff as text."""
    lines = [f"{_title(diff)}: {summarise(diff)}"]
    for section in sections(diff):
        lines += ["", section.title, *_lines(section)]
    return "\n".join(lines)


def _title(diff: Diff) -> str:
    before, after = escape(diff.before), escape(diff.after)
    return before if before == after else f"{before} -> {after}"


def _lines(section: Section) -> Iterator[str]:
    width = max((len(row.label) for row in section.rows if len(row.label) <= _WIDEST), default=0)
    signs = any(row.sign for row in section.rows)
    last = ""
    for row in section.rows:
        sign = f"{row.sign or ' '} " if signs else ""
        # Several lines about one op name it once.
        name = "" if row.label == last else row.label
        last = row.label
        yield f"  {sign}{name:<{width}}  {''.join(row.words)}".rstrip()
    if section.more:
        yield f"  and {section.more:,} more{section.note}; `to_json()` has all"
