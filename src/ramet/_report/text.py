"""Documents as text for a terminal, plain or in color."""

from __future__ import annotations

import codecs
import os
import sys
import textwrap
from collections.abc import Iterator, Mapping
from typing import TextIO, TypeAlias

from ramet._report.document import Cell, Document, Section, Style
from ramet._report.words import escape, more, width_of

_CODES: Mapping[Style, str] = {"": "", "title": "1", "dim": "2", "good": "32", "bad": "31", "warning": "33"}
# The error handler of streams for characters that they cannot show.
SUBSTITUTES = "ramet"
# The characters of our own in reports. Redirected output has the encoding of the system, on Windows often one without them.
_ASCII = {"✓": "+", "✗": "x", "→": "->"}
# ENABLE_VIRTUAL_TERMINAL_PROCESSING, a mode of consoles.
_ESCAPES = 0x4
# Parts of a line, each with the style it is written in.
_Line: TypeAlias = list[tuple[str, Style]]


def to_text(document: Document, *, width: int | None = None) -> str:
    """Return the document as plain text.

    Args:
        document: The document.
        width: The number of columns at which the last cells of rows are folded; None for no limit.
    """
    return "\n".join("".join(text for text, _ in line).rstrip() for line in _lines(document, width))


def to_ansi(document: Document, *, width: int | None = None) -> str:
    """Return the same text as `to_text`, with the escape sequences of a terminal for its styles."""
    lines = ["".join(paint(text, style) for text, style in line).rstrip() for line in _lines(document, width)]
    if document.style:
        lines[0] = paint(lines[0], "title")
    return "\n".join(lines)


def paint(text: str, style: Style) -> str:
    """Return the text in the color or weight of a style; the spaces around it are not styled."""
    bare = text.strip()
    if not style or not bare:
        return text
    start = text.index(bare)
    return f"{text[:start]}\x1b[{_CODES[style]}m{bare}\x1b[0m{text[start + len(bare) :]}"


def is_terminal(stream: TextIO) -> bool:
    """Return whether a person reads the stream on a terminal that can move its cursor."""
    return stream.isatty() and os.environ.get("TERM") != "dumb" and _obeys_escapes(stream)


def has_color(stream: TextIO, *, wanted: bool = True) -> bool:
    """Return whether to write colors: the stream is a terminal, and neither the user nor NO_COLOR disables them."""
    return wanted and not os.environ.get("NO_COLOR") and is_terminal(stream)


def _obeys_escapes(stream: TextIO) -> bool:
    """Return whether a terminal obeys escape sequences. A console of Windows 10 or later does so on request, older ones never."""
    obeys = True
    if sys.platform == "win32":
        import ctypes
        import msvcrt

        kernel, mode = ctypes.WinDLL("kernel32"), ctypes.c_ulong()
        try:
            console = ctypes.c_void_p(msvcrt.get_osfhandle(stream.fileno()))
        except (OSError, ValueError, AttributeError):  # a stream that only looks like a terminal
            return False
        is_console = kernel.GetConsoleMode(console, ctypes.byref(mode))
        obeys = bool(is_console and kernel.SetConsoleMode(console, mode.value | _ESCAPES))
    return obeys


def _substitutes(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    letters = error.object[error.start : error.end]
    shown = (_ASCII.get(letter) or letter.encode("ascii", "backslashreplace").decode() for letter in letters)
    return "".join(shown), error.end


codecs.register_error(SUBSTITUTES, _substitutes)


def encodable(text: str, stream: TextIO) -> str:
    """Return the text with substitutes for characters that the stream cannot show: no output fails because of a letter."""
    encoding = getattr(stream, "encoding", None) or "utf-8"
    return text.encode(encoding, SUBSTITUTES).decode(encoding)


def plain(cell: Cell) -> str:
    """Return a cell as one line of plain text."""
    return escape(cell if isinstance(cell, str) else "".join(cell))


def _lines(document: Document, width: int | None) -> Iterator[_Line]:
    yield [(plain(document.title), "" if document.style == "title" else document.style)]
    for line in document.about:
        yield [(f"  {plain(line)}", "dim")]
    above = bool(document.about)
    for section in document.sections:
        if section.level == 1 and (section.title or above):
            yield []
        above = False
        indent = "  " * section.level
        if section.title:
            yield [(indent[2:], ""), (plain(section.title), section.style)]
        yield from _rows(section, indent, width)
        if section.more:
            complete = f"; {document.complete} lists them all" if document.complete else ""
            yield [(f"{indent}{more(section.more)}{section.more_note}{complete}", "")]


def _rows(section: Section, indent: str, width: int | None) -> Iterator[_Line]:
    # A large graph has tens of thousands of rows: the usual cell, printable ASCII, costs no function call.
    rows = [
        [cell if type(cell) is str and cell.isprintable() else plain(cell) for cell in row.cells]
        for row in section.rows
    ]
    sizes = [[len(cell) if cell.isascii() else width_of(cell) for cell in cells] for cells in rows]
    columns = [
        max((size[i] for size in sizes if i < len(size) and size[i] <= section.widest), default=0)
        for i in range(max(map(len, rows), default=0))
    ]
    has_marks = any(row.mark for row in section.rows)
    last = None
    for row, cells, size in zip(section.rows, rows, sizes, strict=True):
        if section.grouped and cells[0] == last:
            cells[0], size[0] = "", 0
        else:
            last = cells[0]
        spaces = [" " * (column - own) for own, column in zip(size[:-1], columns, strict=False)]
        padded = [
            f"{space}{cell}  " if i in section.right else f"{cell}{space}  "
            for i, (cell, space) in enumerate(zip(cells, spaces, strict=False))
        ]
        mark = f"{row.mark or ' '} " if has_marks else ""
        head, middle = mark + "".join(padded[:1]), "".join(padded[1:])
        style = row.mark_style or row.style
        if width is None and not row.details:
            yield [(indent, ""), (head, style), (middle + cells[-1], row.style)]
            continue
        start = width_of(indent + head + middle)
        first, *folded = _fold(cells[-1], width, start)
        yield [(indent, ""), (head, style), (middle + first, row.style)]
        for text in folded:
            yield [(" " * start + text, row.style)]
        for detail in row.details:
            for text in _fold(plain(detail.cells[0]), width, start + 2):
                yield [(" " * (start + 2) + text, detail.style)]


def _fold(text: str, width: int | None, start: int) -> list[str]:
    # A terminal too narrow for a second column gets long lines, which it folds itself.
    if width is None or width - start < 20:
        return [text]
    return textwrap.wrap(text, width - start, break_on_hyphens=False) or [""]
