"""Numbers, lists and names in words, and text that is safe to print."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")

# Words that start with a vowel and sound like "you" or "one": Unit, UNet, Euclidean, OneHot.
_CONSONANT_SOUND = re.compile(r"(?i:u[^aeiou][aeiou]|eu)|[Oo]ne(?![a-z])")
# Capitals without a vowel are spelled out: LSTM, RNNCell (but PReLU is a word), and so is the "nd" of ndarray. These start with a
# vowel, such as "el".
_SPELLED_WITH_VOWEL = re.compile(r"[FHLMNRSX][B-DF-HJ-NP-TV-Z]+(?![a-z])|ndarray")


def escape(text: str) -> str:
    """Return the text on one line, with control characters and invisible characters written as escapes.

    Names in a model file may contain control sequences for terminals, line breaks, or marks that reverse the reading order.
    """
    if text.isprintable():
        return text
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode("ascii") for char in text)


def escape_lines(text: str) -> str:
    """Return the text escaped as by `escape`, but with its line breaks."""
    return "\n".join(map(escape, text.split("\n")))


def abbreviate(text: str, limit: int = 80) -> str:
    """Return the text, with its middle replaced by three dots if it is longer than `limit`."""
    if len(text) <= limit:
        return text
    tail = (limit - 3) // 2
    return f"{text[: limit - 3 - tail]}...{text[len(text) - tail :]}"


def count(number: int, word: str, words: str | None = None) -> str:
    """Return a number with its noun: `1 layer`, `1,200 layers`, `2 boxes`.

    Args:
        number: How many.
        word: The singular.
        words: The plural, if it is not the singular and an "s".
    """
    return f"{number:,} {word if number == 1 else words or f'{word}s'}"


def with_article(noun: str) -> str:
    """Return a noun, such as the name of a class, with its article: `a Dense`, `an Activation`, `an LSTM`, `a UNet`."""
    word = noun.lstrip("_")
    starts_with_vowel = word[:1].lower() in tuple("aeiou") and not _CONSONANT_SOUND.match(word)
    return f"{'an' if starts_with_vowel or _SPELLED_WITH_VOWEL.match(word) else 'a'} {noun}"


def more(number: int) -> str:
    """Return the words for `number` items that are not listed: `and 5 more`."""
    return f"and {number:,} more"


def split_off(items: Sequence[T], limit: int | None) -> tuple[Sequence[T], int]:
    """Return the first `limit` items (None for all), and the number of those left out."""
    if limit is None or len(items) <= limit:
        return items, 0
    return items[: max(limit, 0)], len(items) - max(limit, 0)


def joined(items: Sequence[str], limit: int | None = 3, separator: str = ", ") -> str:
    """Return the first items separated by commas, and the number of the others: `a, b, c and 5 more`, `a; b; c; and 5 more`."""
    first, rest = split_off(items, limit)
    if not rest:
        return separator.join(first)
    return f"{separator.join(first)} {more(rest)}" if separator == ", " else separator.join([*first, more(rest)])


def joined_values(items: Sequence[str], limit: int = 3) -> str:
    """Return the items as by `joined`, or as `4 x (None, 8)` if there are several and all are equal."""
    if len(items) > 1 and len(set(items)) == 1:
        return f"{len(items):,} x {items[0]}"
    return joined(items, limit)


def width_of(text: str) -> int:
    """Return the number of terminal columns that printable text takes: 2 for wide characters, 0 for combining marks."""
    if text.isascii():
        return len(text)
    return sum(
        0 if unicodedata.combining(char) else 2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in text
    )
