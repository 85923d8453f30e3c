"""The words of a selector that is written as text."""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["QUOTE", "SelectorTextError", "Token", "literal", "tokens_of"]

QUOTE = "write names and globs in quotes, e.g. of_class('Dense') & ~'head*'."
_TOKEN = re.compile(
    r"\s*(?:(?P<string>'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
    r"|(?P<number>[-+]?(?:\d[\d_]*\.?\d*(?:[eE][-+]?\d+)?|\.\d+))"
    r"|(?P<word>[^\W\d][\w.]*)"
    r"|(?P<sign>[&|~(){}\[\],=:])"
    r"|(?P<end>$)|(?P<other>.))",
    re.DOTALL,
)


class SelectorTextError(Exception):
    """A text is no selector. `place` is the position of the character that is wrong."""

    def __init__(self, reason: str, place: int, *, closest: Sequence[str] = (), fix: str | None = None) -> None:
        super().__init__(reason)
        self.reason, self.place, self.closest, self.fix = reason, place, tuple(closest), fix


@dataclass(frozen=True, slots=True)
class Token:
    """One word, value or sign, and where it stands."""

    kind: str
    text: str
    place: int


def tokens_of(text: str) -> list[Token]:
    """The words of an expression; the last one is the end."""
    found: list[Token] = []
    for match in _TOKEN.finditer(text):
        kind = str(match.lastgroup)
        token = Token(kind, match[kind], match.start(kind))
        if kind == "other":
            raise SelectorTextError(f"{token.text!r} means nothing in a selector", token.place, fix=QUOTE)
        found.append(token)
        if kind == "end":
            break
    return found


def literal(token: Token) -> Any:
    """The value of a text or a number."""
    try:
        return ast.literal_eval(token.text)
    except (SyntaxError, ValueError):
        raise SelectorTextError(f"{token.text} is no value", token.place) from None
