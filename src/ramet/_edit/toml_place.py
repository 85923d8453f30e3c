"""Where keys and values stand in a TOML text that was read before: `tomllib` does not say.

The text is known to be valid, so whatever follows from the grammar is not checked again.
"""

from __future__ import annotations

import bisect
import re
import tomllib
from dataclasses import dataclass, field
from typing import TypeAlias

__all__ = ["KeyPath", "Places", "find_places"]

# The keys and the positions in lists that lead to a value: ("edit", 0, "layer", "config").
KeyPath: TypeAlias = tuple[str | int, ...]

_BLANK = re.compile(r"(?:[ \t\n]|#[^\n]*)*")
_SPACE = re.compile(r"[ \t]*")
_STRING = re.compile(
    # A triple quote may be preceded by one or two quotes of the text itself.
    r'"""(?:[^"\\]|\\.|"{1,2}(?!"))*"{3,5}'
    r"|'''(?:[^']|'{1,2}(?!'))*'{3,5}"
    r'|"(?:[^"\\\n]|\\.)*"'
    r"|'[^'\n]*'",
    re.DOTALL,
)
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
# A date and its time may have a space between them.
_SCALAR = re.compile(r"\d{4}-\d\d-\d\d \d\d:[^,\]}#\s]*|[^,\]}#\s]+")
_ESCAPE = re.compile(r"\\(?:u[0-9A-Fa-f]{4}|U[0-9A-Fa-f]{8}|[ \t]*\n[ \t\n]*|.)", re.DOTALL)


@dataclass(frozen=True, slots=True)
class Places:
    """Positions in a text, by the path of keys.

    Attributes:
        text: The text.
        lines: Where each line begins.
        keys: Where the key stands; for `[[edit]]`, where the table begins.
        values: Where the value begins and ends. Tables with a header of their own have none.
    """

    text: str
    lines: list[int]
    keys: dict[KeyPath, int] = field(default_factory=dict)
    values: dict[KeyPath, tuple[int, int]] = field(default_factory=dict)

    def position(self, place: int) -> tuple[int, int]:
        """The line and the column of a character, both from 1."""
        line = bisect.bisect_right(self.lines, place)
        return line, place - self.lines[line - 1] + 1

    def key(self, path: KeyPath) -> int:
        """Where a key stands, or the nearest above it that is written out."""
        while path and path not in self.keys:
            path = path[:-1]
        return self.keys.get(path, 0)

    def value(self, path: KeyPath) -> int:
        """Where a value begins; where its key stands if it is a table with a header."""
        return self.values[path][0] if path in self.values else self.key(path)

    def inside(self, path: KeyPath, index: int) -> int:
        """Where a character of a string stands, escapes counted as they are written."""
        start, end = self.values[path]
        quotes = 3 if self.text[start : start + 3] in ('"""', "'''") and end - start >= 6 else 1
        place = start + quotes
        if quotes == 3 and self.text[place] == "\n":  # a line break right after the quotes is not part of the string
            place += 1
        if self.text[start] == "'":
            return place + index
        while True:
            escape = _ESCAPE.match(self.text, place)
            if escape is not None and escape[0][1] in " \t\n":  # a line folded: stands for nothing
                place = escape.end()
            elif index == 0:
                return place
            else:
                place = place + 1 if escape is None else escape.end()
                index -= 1


def find_places(text: str) -> Places:
    """The places of all keys and values of a text that `tomllib` reads, without carriage returns."""
    return _Scanner(text).scan()


class _Scanner:
    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._places = Places(text, [0, *(found.end() for found in re.finditer("\n", text))])
        self._lengths: dict[KeyPath, int] = {}  # of the lists that are made of [[tables]]

    def scan(self) -> Places:
        table: KeyPath = ()
        while self._skip(_BLANK) and self._at < len(self._text):
            if self._text[self._at] == "[":
                table = self._header()
            else:
                self._pair(table)
        return self._places

    def _header(self) -> KeyPath:
        start = self._at
        several = self._text.startswith("[[", start)
        self._at += 2 if several else 1
        names = self._names()
        path: KeyPath = ()
        for position, (name, _) in enumerate(names):
            path += (name,)
            last = position == len(names) - 1
            if several and last:
                self._lengths[path] = self._lengths.get(path, 0) + 1
            if path in self._lengths:  # a header means the last table of a list
                path += (self._lengths[path] - 1,)
        self._places.keys.setdefault(path, start)
        self._at += 2 if several else 1
        return path

    def _pair(self, table: KeyPath) -> None:
        """One `key = value`, however deep the value is nested."""
        # What is still open: a list with the number of its next item, or an inline table.
        open_: list[tuple[KeyPath, int, int | None]] = []
        path: KeyPath | None = self._key(table)
        while path is not None:
            start = self._at
            if self._text[start] == "[":
                open_.append((path, start, 0))
                self._at += 1
            elif self._text[start] == "{":
                open_.append((path, start, None))
                self._at += 1
            else:
                self._at = (_STRING.match(self._text, start) or _scalar(self._text, start)).end()
                self._places.values[path] = (start, self._at)
            path = self._next(open_)

    def _next(self, open_: list[tuple[KeyPath, int, int | None]]) -> KeyPath | None:
        """Close what ends here, and go to the next value inside what is still open; None when nothing is."""
        while open_:
            path, start, item = open_.pop()
            self._skip(_BLANK)
            if self._text[self._at] == ",":
                self._at += 1
                self._skip(_BLANK)
            if self._text[self._at] in "]}":
                self._at += 1
                self._places.values[path] = (start, self._at)
                continue
            if item is None:
                open_.append((path, start, None))
                return self._key(path)
            open_.append((path, start, item + 1))
            self._places.keys[(*path, item)] = self._at
            return (*path, item)
        return None

    def _key(self, table: KeyPath) -> KeyPath:
        """A key with dots or without, up to its value."""
        path = table
        for name, start in self._names():
            path += (name,)
            self._places.keys.setdefault(path, start)
        self._at += 1  # the sign =
        self._skip(_SPACE)
        return path

    def _names(self) -> list[tuple[str, int]]:
        names: list[tuple[str, int]] = []
        while True:
            self._skip(_SPACE)
            start = self._at
            quoted = _STRING.match(self._text, start)
            if quoted is not None:
                self._at = quoted.end()
                names.append((tomllib.loads(f"key = {quoted[0]}")["key"], start))
            else:
                self._skip(_BARE_KEY)
                names.append((self._text[start : self._at], start))
            self._skip(_SPACE)
            if self._text[self._at] != ".":
                return names
            self._at += 1

    def _skip(self, pattern: re.Pattern[str]) -> bool:
        found = pattern.match(self._text, self._at)
        self._at = found.end() if found else self._at
        return True


def _scalar(text: str, start: int) -> re.Match[str]:
    found = _SCALAR.match(text, start)
    assert found is not None, "a text that tomllib reads has a value after every key"
    return found
