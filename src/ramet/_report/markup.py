"""Documents as Markdown and HTML, in which a name from a model can only ever be text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from html import escape as quote

from ramet._report.document import Cell, Code, Document, Row, Section, Style
from ramet._report.text import to_text
from ramet._report.words import escape, escape_lines, more

# Words that Markdown leaves alone: no markup, no links, no mentions, no references to issues.
_HARMLESS = re.compile(r"(?:[^\W_]|[ ,;:()'\"=+%✓✗→-]|\.(?![^\W\d]))*")
# Readable on light and dark pages, with about the same contrast on both.
_COLORS: Mapping[Style, str] = {"good": "#1f8a43", "bad": "#dc4040", "warning": "#98751f"}
_LEFT = "text-align:left;overflow-wrap:anywhere"
# Longer text is cut in a notebook, but not when printed.
_MOST_LINES = 400


# Markdown.


def to_markdown(document: Document) -> str:
    """Return the document as Markdown: sections of bullets, or of a table where the columns have headings."""
    parts = [f"**{_markdown(document.title)}**"]
    parts += [_markdown(line) for line in document.about]
    for section in document.sections:
        if section.title:
            parts.append(f"{'#' * (section.level + 2)} {_markdown(section.title)}")
        lines = list(_markdown_rows(section))
        if section.more:
            rest = f"{more(section.more)}{section.more_note}"
            lines += ["", rest] if section.columns or section.tree else [f"- {rest}"]
        parts.append("\n".join(lines))
    return "\n\n".join(filter(None, parts)) + "\n"


def _markdown_rows(section: Section) -> Iterator[str]:
    if section.tree:
        text = to_text(Document("", (section,))).lstrip("\n")
        fence = "`" * max(3, _longest_run(text) + 1)
        yield from (fence, text, fence)
        return
    if section.columns:
        yield f"| {' | '.join(section.columns)} |"
        yield f"|{'|'.join(' ---: ' if i in section.right else ' --- ' for i in range(len(section.columns)))}|"
    for row in section.rows:
        if section.columns:
            # Inside a table, a pipe ends a cell even within a code span, unless it is escaped.
            cells = [_markdown(cell).replace("|", "\\|") for cell in row.cells]
            yield f"| {' | '.join(cells)} |"
        else:
            mark = f"{row.mark} " if row.mark in ("✓", "✗") else ""
            yield f"- {mark}{' '.join(filter(None, map(_markdown, row.cells)))}"
        yield from (f"  - {_markdown(detail.cells[0])}" for detail in row.details)


def _markdown(cell: Cell) -> str:
    pieces = (cell,) if isinstance(cell, str) else cell
    return "".join(_span(piece) if isinstance(piece, Code) else _words(piece) for piece in pieces)


def _words(text: str) -> str:
    text = text.replace("->", "→")
    return text if _HARMLESS.fullmatch(text) else _span(text)


def _span(text: str) -> str:
    """Return a code span with this text, which may contain backticks."""
    text = escape(text)
    if not text:
        return "` `"
    fence = "`" * (_longest_run(text) + 1)
    # A space at the edge keeps a backtick from joining the fence; if both edges are spaces, Markdown removes one from each.
    pad = " " if "`" in (text[0], text[-1]) or (text[0] == text[-1] == " ") else ""
    return f"{fence}{pad}{text}{pad}{fence}"


def _longest_run(text: str) -> int:
    return max((len(run) for run in re.findall("`+", text)), default=0)


# HTML.


def to_html(document: Document) -> str:
    """Return the document as a fragment for a notebook, in the notebook's own font and colors."""
    about = "".join(f"<br><small>{_html(line)}</small>" for line in document.about)
    head = f"<p><strong{_color(document.style)}>{_html(document.title)}</strong>{about}</p>"
    return f"<div>{head}{''.join(map(_html_section, document.sections))}</div>"


def html_page(document: Document) -> str:
    """Return the document as a complete page, which works from disk and in light and dark mode."""
    title = quote(to_text(Document(document.title)))
    style = "body{font:15px/1.5 system-ui,sans-serif;margin:2em;max-width:75em}td,th{padding:.1em 1em .1em 0;vertical-align:top}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        f"<title>{title}</title><style>{style}</style></head><body>{to_html(document)}</body></html>\n"
    )


def preformatted(text: str) -> str:
    """Return text as an HTML fragment that looks as if it were printed, cut after a few hundred lines."""
    body = quote(escape_lines(cut_lines(text)))
    return f'<pre style="font-family:monospace;white-space:pre;overflow-x:auto;line-height:1.3">{body}</pre>'


def cut_lines(text: str) -> str:
    """Return the text, cut after a few hundred lines."""
    lines = text.split("\n")
    if len(lines) <= _MOST_LINES:
        return text
    return "\n".join([*lines[:_MOST_LINES], f"... {more(len(lines) - _MOST_LINES)} lines; print it to see them all"])


def _html_section(section: Section) -> str:
    title = f"<p{_color(section.style)}>{_html(section.title)}</p>" if section.title else ""
    rest = f"<p><small>{more(section.more)}{quote(section.more_note)}</small></p>" if section.more else ""
    if section.tree:
        return f"{title}{preformatted(to_text(Document('', (section,))).lstrip(chr(10)))}{rest}"
    # Notebooks align cells to the right by default.
    width = max([len(section.columns), *(len(row.cells) for row in section.rows)])
    sides = ["text-align:right" if i in section.right else _LEFT for i in range(width)]
    heads = "".join(
        f'<th style="{side}">{quote(name)}</th>' for name, side in zip(section.columns, sides, strict=False)
    )
    rows = "".join(_html_row(row, sides) for row in section.rows)
    table = f"<table>{f'<tr>{heads}</tr>' if heads else ''}{rows}</table>" if rows else ""
    return f"{title}{table}{rest}"


def _html_row(row: Row, sides: list[str]) -> str:
    cells = [_html(cell) for cell in row.cells]
    if row.mark:
        cells[0] = f"{quote(row.mark)} {cells[0]}"
    cells[-1] += "".join(f"<br><small>{_html(detail.cells[0])}</small>" for detail in row.details)
    styles = [row.mark_style or row.style, *[row.style] * (len(cells) - 1)]
    if row.mark_style:  # a short name, such as that of a check
        sides = ["text-align:left;white-space:nowrap", *sides[1:]]
    return (
        f"<tr>{''.join(_td(cell, side, style) for cell, side, style in zip(cells, sides, styles, strict=False))}</tr>"
    )


def _td(cell: str, side: str, style: Style) -> str:
    color = f";color:{_COLORS[style]}" if style in _COLORS else ";opacity:.7" if style == "dim" else ""
    return f'<td style="{side}{color}">{cell}</td>'


def _color(style: Style) -> str:
    return f' style="color:{_COLORS[style]}"' if style in _COLORS else ""


def _html(cell: Cell) -> str:
    pieces = (cell,) if isinstance(cell, str) else cell
    return "".join(
        f"<code>{quote(escape(piece))}</code>"
        if isinstance(piece, Code)
        else quote(escape(piece)).replace("-&gt;", "→")
        for piece in pieces
    )
