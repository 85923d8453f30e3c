"""A diff as Markdown, for a pull request.

Everything that comes from a model stands in code spans, where no name can be a link, a mention, a heading or HTML.
"""

from __future__ import annotations

import re

from ramet._diff.change import Diff
from ramet._diff.line import Code, Words
from ramet._diff.page import Section, sections, summarise
from ramet._graph import escape

__all__ = ["markdown"]


def markdown(diff: Diff) -> str:
    """The diff as Markdown."""
    before, after = _span(escape(diff.before)), _span(escape(diff.after))
    title = before if before == after else f"{before} → {after}"
    parts = [f"**{title}: {summarise(diff)}**"]
    parts += [_section(section) for section in sections(diff)]
    return "\n\n".join(parts) + "\n"


def _section(section: Section) -> str:
    lines = [f"### {section.title}", ""]
    lines += [f"- {_words([row.label, ' ', *row.words])}".rstrip() for row in section.rows]
    if section.more:
        lines.append(f"- and {section.more:,} more{section.note}")
    return "\n".join(lines)


def _words(words: Words) -> str:
    return "".join(_span(word) if isinstance(word, Code) else word.replace("-> ", "→ ") for word in words)


def _span(text: str) -> str:
    """A code span with this text in it, whatever backticks it holds."""
    if not text:
        return "` `"
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * (longest + 1)
    # A space at the edge keeps a backtick from joining the fence; where both edges are spaces, Markdown takes one off.
    pad = " " if "`" in (text[0], text[-1]) or (text[0] == text[-1] == " ") else ""
    return f"{fence}{pad}{text}{pad}{fence}"
