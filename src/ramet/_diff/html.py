"""A diff as a small HTML table, for notebooks."""

from __future__ import annotations

from html import escape as quote

from ramet._diff.change import Diff
from ramet._diff.line import Code, Words
from ramet._diff.page import Section, sections, summarise
from ramet._graph import escape

__all__ = ["html"]

# Notebooks align cells to the right.
_LEFT = 'style="text-align:left;overflow-wrap:anywhere"'


def html(diff: Diff) -> str:
    """The diff as a table. It has no style of its own but for the line above each section."""
    before, after = _code(escape(diff.before)), _code(escape(diff.after))
    title = before if before == after else f"{before} → {after}"
    body = "".join(map(_section, sections(diff)))
    return f"<div><p>{title}: {quote(summarise(diff))}</p><table>{body}</table></div>"


def _section(section: Section) -> str:
    lines = [f'<tr><th colspan="2" style="text-align:left">{quote(section.title)}</th></tr>']
    lines += [
        f"<tr><td {_LEFT}>{_words([row.label])}</td><td {_LEFT}>{_words(row.words)}</td></tr>" for row in section.rows
    ]
    if section.more:
        lines.append(f'<tr><td colspan="2" {_LEFT}>and {section.more:,} more{quote(section.note)}</td></tr>')
    return "".join(lines)


def _words(words: Words) -> str:
    return "".join(_code(word) if isinstance(word, Code) else quote(word).replace("-&gt; ", "→ ") for word in words)


def _code(text: str) -> str:
    return f"<code>{quote(text)}</code>"
