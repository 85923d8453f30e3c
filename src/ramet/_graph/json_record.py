"""JSON objects read field by field, each with its type, and errors that say where."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from ramet._graph.argument import Shape
from ramet._graph.problem import FormatError
from ramet._graph.value import HUGE

__all__ = ["Place", "Record", "misfit", "shape_of"]

Choice = TypeVar("Choice", bound=str)

_WORDS = {dict: "an object", list: "a list", str: "a text", bool: "true or false", int: "a whole number"}
_ABSENT = object()


class Place:
    """A place in a JSON text; it becomes text when an error needs it, which is almost never."""

    __slots__ = ("_above", "_key")

    def __init__(self, key: str | int = "", above: Place | None = None) -> None:
        self._key = key
        self._above = above

    def at(self, key: str | int) -> Place:
        """The place of a field or an item inside this one."""
        return Place(key, self)

    def __str__(self) -> str:
        keys: list[str | int] = []
        place: Place | None = self
        while place is not None and place._above is not None:
            keys.append(place._key)
            place = place._above
        text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in reversed(keys))
        return text.removeprefix(".") or "the whole text"


def misfit(expected: str, found: str, place: Place) -> FormatError:
    """The error that something else was expected at this place."""
    where = str(place)
    return FormatError(
        f"Cannot read the graph: {where} is not what belongs there.", expected=expected, found=found, path=where
    )


def describe(raw: object) -> str:
    """What a piece of JSON is, in a few words."""
    if raw is None:
        return "null"
    text = repr(raw) if isinstance(raw, str | bool | float) else ""
    if type(raw) is int:
        text = str(raw) if raw.bit_length() < 64 else "a huge number"
    word = _WORDS.get(type(raw), "a number")
    return word if not text else text if len(text) < 60 else f"{text[:56]}..."


class Record:
    """A JSON object that is being read. A field that is never asked for is an error at its `end`."""

    __slots__ = ("_left", "place")

    def __init__(self, raw: object, place: Place) -> None:
        self.place = place
        self._left: dict[str, Any] = dict(checked(raw, dict, place))

    def __contains__(self, key: str) -> bool:
        return key in self._left

    def raw(self, key: str, default: object = _ABSENT) -> Any:
        """The field as it is."""
        found = self._left.pop(key, default)
        if found is _ABSENT:
            raise misfit(f"a field '{key}'", "none", self.place)
        return found

    def _typed(self, key: str, kind: type[Any], default: object = _ABSENT) -> Any:
        if default is not _ABSENT and key not in self._left:
            return default
        found = self.raw(key)
        # Asked before a place is made for the error, since it almost always fits.
        return found if type(found) is kind else checked(found, kind, self.place.at(key))

    def text(self, key: str) -> str:
        """A text."""
        return self._typed(key, str)  # type: ignore[no-any-return]

    def optional_text(self, key: str) -> str | None:
        """A text, or None where there is no such field."""
        return self._typed(key, str, None)  # type: ignore[no-any-return]

    def flag(self, key: str, *, default: bool) -> bool:
        """True or false."""
        return self._typed(key, bool, default)  # type: ignore[no-any-return]

    def number(self, key: str, default: int | None = None) -> int | None:
        """A whole number of 0 or more, or the default where there is no such field."""
        found: int | None = self._typed(key, int, default)
        if found is not None and found < 0:
            raise misfit("a number of 0 or more", str(found), self.place.at(key))
        return found

    def choice(self, key: str, allowed: frozenset[str]) -> Any:
        """One of the allowed words."""
        return chosen(self.text(key), allowed, self.place.at(key))

    def items(self, key: str) -> Iterator[tuple[Any, Place]]:
        """The items of a list with their places; none where there is no such field."""
        place = self.place.at(key)
        for number, item in enumerate(self._typed(key, list, [])):
            yield item, place.at(number)

    def end(self) -> None:
        """Nothing; raises when fields are left that nobody asked for."""
        for key in self._left:
            raise misfit("no such field", describe(self._left[key]), self.place.at(key))


def checked(raw: object, kind: type[Any], place: Place) -> Any:
    """The JSON, which must be of this class."""
    if type(raw) is not kind:
        raise misfit(_WORDS[kind], describe(raw), place)
    return raw


def chosen(word: str, allowed: frozenset[str], place: Place) -> str:
    """The word, which must be one of these."""
    if word not in allowed:
        raise misfit("one of " + ", ".join(f"'{name}'" for name in sorted(allowed)), describe(word), place)
    return word


def shape_of(raw: object, place: Place) -> Shape:
    """A shape: a list of sizes, null for a free one."""
    sizes = checked(raw, list, place)
    for number, size in enumerate(sizes):
        if size is not None and (type(size) is not int or not 0 <= size < HUGE):
            raise misfit("a number of 0 or more, or null", describe(size), place.at(number))
    return tuple(sizes)
