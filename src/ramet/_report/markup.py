"""Documents as Markdown and HTML, in which a name from a model can only ever be text."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from html import escape as quote

from ramet._report.document import Cell, Code, Document, Row, Section, Style
from ramet._report.text import to_text
from ramet._report.words import abbreviate, count, escape, escape_lines, more, split_off

# Words that Markdown leaves alone: no markup, no links, no mentions, no references to issues.
_HARMLESS = re.compile(r"(?:[^\W_]|[ ,;:()'\"=+%✓✗→-]|\.(?![^\W\d]))*")
# The sign of a verdict: color alone must not carry a meaning. The last one has a mark that prevents a colored emoji.
_SIGNS: Mapping[Style, str] = {"good": "✓", "bad": "✗", "warning": "⚠\ufe0e"}
# A notebook shows at most this many lines, rows and titles of a result, and this many characters of a cell. Printing it, or
# its page, shows everything.
_MOST_LINES = 400
_MOST_CHARACTERS = 400
_MOST_PIECES = 50
_PRINT_IT = "; print it to see them all"
# A section with more rows is closed at first, and so are those after the first few dozen rows.
_LONG = 12
_MOST_OPEN = 60

# Colors follow the theme of the notebook: JupyterLab, VS Code and Colab mark it in their own ways, and other pages declare their
# `color-scheme`, which is inherited. A page that declares nothing has a white background, even if the system is dark, so
# `prefers-color-scheme` would be wrong there. Frames inherit the scheme, too. The first of two colors, for browsers without
# `light-dark`, is readable on both. Every rule is about elements inside a block of ours.
_STYLE_SHEET = (
    "[data-jp-theme-light=false] .ramet,[data-vscode-theme-kind]:not([data-vscode-theme-kind$=light]) .ramet,"
    "html[theme=dark] .ramet{color-scheme:dark}"
    ".ramet{overflow-x:auto}"
    ".ramet-good{color:#1f8a43;color:light-dark(#17722f,#3fb950)}"
    ".ramet-bad{color:#dc4040;color:light-dark(#b92534,#ff7b72)}"
    ".ramet-warning{color:#98751f;color:light-dark(#845400,#e3a02c)}"
    ".ramet-dim,.ramet small{opacity:.8}"
    ".ramet>p{margin:.2em 0 .5em}"
    ".ramet>details,.ramet>table,.ramet>pre{margin:.2em 0 .6em}"
    ".ramet summary{cursor:pointer;padding:.15em 0}"
    ".ramet.ramet details>:not(summary){margin:.2em 0 .4em 1.1em}"
    ".ramet table{border-collapse:collapse;table-layout:auto}"
    ".ramet th,.ramet td{padding:.25em 1.2em .25em .5em;vertical-align:top}"
    ".ramet td:first-child,.ramet td:last-child{overflow-wrap:anywhere}"
    ".ramet td[class]{white-space:nowrap;font-weight:600}"
    ".ramet tr{border-bottom:1px solid rgba(128,128,128,.25)}"
    ".ramet.ramet code{background:none;color:inherit;padding:0}"
    ".ramet pre{max-height:36em}"
    ".ramet iframe+img{display:none}"
)


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
    """Return the document as a fragment for a notebook. A long document is cut, with a count of what is left out."""
    return _fragment(*_cut(document))


def html_page(document: Document) -> str:
    """Return the whole document as a page, which works from disk and in light and dark mode."""
    title = quote(to_text(Document(document.title)))
    style = "body{font:15px/1.5 system-ui,sans-serif;margin:2em;max-width:75em}"
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8"><meta name="color-scheme" content="light dark">'
        f"<title>{title}</title><style>{style}</style></head><body>{_fragment(document)}</body></html>\n"
    )


def html_block(body: str) -> str:
    """Return HTML in a block that brings the style sheet of all results.

    A notebook that is not trusted removes style sheets, scripts and frames, so the body must be readable without them.
    """
    return f'<div class="ramet"><style>{_STYLE_SHEET}</style>{body}</div>'


def preformatted(text: str) -> str:
    """Return text as an HTML fragment that looks as if it were printed, cut after a few hundred lines."""
    return _pre(cut_lines(text))


def cut_lines(text: str) -> str:
    """Return the text, cut after a few hundred lines."""
    lines = text.split("\n")
    if len(lines) <= _MOST_LINES:
        return text
    return "\n".join([*lines[:_MOST_LINES], f"... {more(len(lines) - _MOST_LINES)} lines{_PRINT_IT}"])


def _cut(document: Document) -> tuple[Document, int]:
    """Return the part of a document that a notebook shows, and the number of sections left out."""
    left, sections = _MOST_LINES, []
    for section in document.sections:
        if left <= 0:
            break
        rows, rest = split_off(section.rows, left)
        left -= len(rows) + bool(section.title)
        note = section.more_note or (_PRINT_IT if rest and not document.complete else "")
        title = _cut_cell(section.title)
        sections.append(replace(section, title=title, rows=_cut_rows(rows), more=section.more + rest, more_note=note))
    title, about = _cut_cell(document.title), tuple(map(_cut_cell, document.about))
    left_out = len(document.sections) - len(sections)
    return replace(document, title=title, about=about, sections=tuple(sections)), left_out


def _cut_rows(rows: Sequence[Row]) -> tuple[Row, ...]:
    return tuple(
        replace(row, cells=tuple(map(_cut_cell, row.cells)), details=_cut_rows(row.details) if row.details else ())
        for row in rows
    )


def _cut_cell(cell: Cell) -> Cell:
    if isinstance(cell, str):
        return cell if len(cell) <= _MOST_CHARACTERS else type(cell)(abbreviate(cell, _MOST_CHARACTERS))
    pieces = cell if len(cell) <= _MOST_PIECES else (*cell[:_MOST_PIECES], " ...")
    return tuple(type(piece)(abbreviate(piece, _MOST_CHARACTERS)) for piece in pieces)


def _fragment(document: Document, left_out: int = 0) -> str:
    about = "".join(f"<br><small>{_html(line)}</small>" for line in document.about)
    parts = [f"<p><strong{_class(document.style)}>{_sign(document.style)}{_html(document.title)}</strong>{about}</p>"]
    # A section without a title, and one of level 2, belong to the section before.
    groups: list[list[Section]] = []
    for section in document.sections:
        if not groups or (section.title and section.level == 1):
            groups.append([])
        groups[-1].append(section)
    above = 0
    for group in groups:
        rows = sum(len(section.rows) + section.more for section in group)
        is_open = not group[0].title or (rows <= _LONG and above + rows <= _MOST_OPEN and not group[0].folded)
        above += rows if is_open else 1
        number = "" if is_open else f" <small>({count(rows, 'row')})</small>"
        parts.append(_html_group(group, document.complete, " open" if is_open else "", number))
    if left_out:
        parts.append(f"<p><small>and {count(left_out, 'more section')}{_PRINT_IT}</small></p>")
    return html_block("".join(parts))


def _html_group(group: list[Section], complete: str, state: str, number: str) -> str:
    """Return a section with those that belong to it, which the reader can open and close if it has a title."""
    first, *others = group
    bodies = [_html_section(first, complete)]
    for section in others:
        bodies.append(f"<p>{_html(section.title)}</p>" if section.title else "")
        bodies.append(_html_section(section, complete))
    body, title = "".join(bodies), _sign(first.style) + _html(first.title)
    if not first.title:
        return body
    if not body:
        return f"<p{_class(first.style)}>{title}</p>"
    return f"<details{state}><summary{_class(first.style)}>{title}{number}</summary>{body}</details>"


def _html_section(section: Section, complete: str) -> str:
    rest = ""
    if section.more:
        where = f"; <code>{quote(complete.strip('`'))}</code> lists them all" if complete else ""
        rest = f"<p><small>{more(section.more)}{quote(section.more_note)}{where}</small></p>"
    if not section.rows:
        return rest
    if section.tree:
        return _pre(to_text(Document("", (replace(section, title="", more=0),))).lstrip("\n")) + rest
    width = max([len(section.columns), *(len(row.cells) for row in section.rows)])
    # A column with a heading and nothing below it is left out.
    shown = [
        i
        for i in range(width)
        if i >= len(section.columns) or any(i < len(row.cells) and row.cells[i] for row in section.rows)
    ]
    # In each cell: notebooks align cells to the right, and remove the style sheet if they are not trusted.
    sides = ["text-align:right;white-space:nowrap" if i in section.right else "text-align:left" for i in range(width)]
    heads = "".join(
        f'<th style="{sides[i]}">{quote(section.columns[i])}</th>' for i in shown if i < len(section.columns)
    )
    head = f"<thead><tr>{heads}</tr></thead>" if heads else ""
    rows = "".join(_html_row(row, sides, shown) for row in section.rows)
    return f"<table>{head}<tbody>{rows}</tbody></table>{rest}"


def _html_row(row: Row, sides: list[str], shown: list[int]) -> str:
    cells = [_html(cell) for cell in row.cells]
    if row.mark:
        cells[0] = f"{quote(row.mark)} {cells[0]}"
    cells[-1] += "".join(f"<br><small>{_html(detail.cells[0])}</small>" for detail in row.details)
    first = _class(row.mark_style)
    fields = [f'<td{first if i == 0 else ""} style="{sides[i]}">{cells[i]}</td>' for i in shown if i < len(cells)]
    return f"<tr{_class(row.style)}>{''.join(fields)}</tr>"


def _pre(text: str) -> str:
    body = quote(escape_lines(text), quote=False)
    return f'<pre style="font-family:monospace;white-space:pre;overflow:auto;line-height:1.3">{body}</pre>'


def _sign(style: Style) -> str:
    return f"{_SIGNS[style]} " if style in _SIGNS else ""


def _class(style: Style) -> str:
    return f' class="ramet-{style}"' if style in _SIGNS or style == "dim" else ""


def _html(cell: Cell) -> str:
    pieces = (cell,) if isinstance(cell, str) else cell
    return "".join(
        f"<code>{quote(escape(piece))}</code>"
        if isinstance(piece, Code)
        else quote(escape(piece)).replace("-&gt;", "→")
        for piece in pieces
    )
