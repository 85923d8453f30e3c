"""JSON objects read field by field, each with its type, and errors that locate the problem."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator
from typing import Any, NoReturn

from ramet._graph.argument import Shape
from ramet._graph.nodes import HUGE
from ramet.errors import FormatError

_WORDS = {dict: "an object", list: "a list", str: "a string", bool: "true or false", int: "an integer"}
_ABSENT = object()
_VERSION = 1


class JsonPath:
    """A location in a JSON text. It becomes text only when an error needs it, which is almost never."""

    __slots__ = ("_key", "_parent")

    def __init__(self, key: str | int = "", parent: JsonPath | None = None) -> None:
        self._key = key
        self._parent = parent

    def at(self, key: str | int) -> JsonPath:
        """Return the location of a field or an item inside this one."""
        return JsonPath(key, self)

    def __str__(self) -> str:
        keys: list[str | int] = []
        path: JsonPath | None = self
        while path is not None and path._parent is not None:
            keys.append(path._key)
            path = path._parent
        text = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in reversed(keys))
        return text.removeprefix(".") or "the whole text"


def format_error(expected: str, found: str, path: JsonPath) -> FormatError:
    """Return the error for an unexpected value at a location."""
    location = str(path)
    return FormatError(
        f"Cannot read the graph: invalid JSON at {location}.", expected=expected, found=found, path=location
    )


def describe_json(raw: object) -> str:
    """Return a few words that describe a piece of JSON."""
    if raw is None:
        return "null"
    text = repr(raw) if isinstance(raw, str | bool | float) else ""
    if type(raw) is int:
        text = str(raw) if raw.bit_length() < 64 else "a huge number"
    word = _WORDS.get(type(raw), "a number")
    return word if not text else text if len(text) < 60 else f"{text[:56]}..."


class JsonFields:
    """The fields of a JSON object, to be read one by one. A field that was not read is an error at the `end`."""

    __slots__ = ("_left", "path")

    def __init__(self, raw: object, path: JsonPath) -> None:
        self.path = path
        self._left: dict[str, Any] = dict(read_type(raw, dict, path))

    def __contains__(self, key: str) -> bool:
        return key in self._left

    def raw(self, key: str, default: object = _ABSENT) -> Any:
        """Return the field unchecked."""
        found = self._left.pop(key, default)
        if found is _ABSENT:
            raise format_error(f"a field '{key}'", "none", self.path)
        return found

    def _typed(self, key: str, kind: type[Any], default: object = _ABSENT) -> Any:
        if default is not _ABSENT and key not in self._left:
            return default
        found = self.raw(key)
        # Checked before a location is made for the error, since the type is almost always right.
        return found if type(found) is kind else read_type(found, kind, self.path.at(key))

    def text(self, key: str) -> str:
        """Return a string."""
        return self._typed(key, str)  # type: ignore[no-any-return]

    def optional_text(self, key: str) -> str | None:
        """Return a string, or None if the field is missing."""
        return self._typed(key, str, None)  # type: ignore[no-any-return]

    def flag(self, key: str, *, default: bool) -> bool:
        """Return true or false."""
        return self._typed(key, bool, default)  # type: ignore[no-any-return]

    def number(self, key: str) -> int | None:
        """Return an integer of 0 or more, or None if the field is missing."""
        found: int | None = self._typed(key, int, None)
        if found is not None and found < 0:
            raise format_error("an integer of 0 or more", str(found), self.path.at(key))
        return found

    def choice(self, key: str, allowed: Collection[str]) -> Any:
        """Return one of the allowed words."""
        return read_choice(self.text(key), allowed, self.path.at(key))

    def items(self, key: str) -> Iterator[tuple[Any, JsonPath]]:
        """Yield the items of a list with their locations; nothing if the field is missing."""
        path = self.path.at(key)
        for number, item in enumerate(self._typed(key, list, [])):
            yield item, path.at(number)

    def end(self) -> None:
        """Raise an error if there is an unknown field."""
        for key in self._left:
            raise format_error("no such field", describe_json(self._left[key]), self.path.at(key))


def open_document(text: str, kind: str) -> JsonFields:
    """Return the fields of a JSON document of a kind ("graph", "diff"), after its header.

    The header is `"ramet": kind, "version": 1`; documents of earlier development versions begin with `"ramet_<kind>": 1` instead.
    """
    fields = JsonFields(_parse(text, kind), JsonPath())
    old = f"ramet_{kind}"
    if old not in fields:
        fields.choice("ramet", [kind])
    key = old if old in fields else "version"
    version = fields.raw(key)
    if type(version) is not int or version != _VERSION:
        raise format_error(str(_VERSION), describe_json(version), fields.path.at(key))
    return fields


def _parse(text: str, kind: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_refuse_repeats)
    except RecursionError:
        found = "lists and objects nested too deeply"
    except ValueError as error:
        found = str(error)
    raise FormatError(f"Cannot read the {kind}: the text is not JSON.", found=found, path="the whole text")


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"the word {word}")


def _refuse_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        # If a name is repeated, JSON readers disagree about which field counts.
        raise ValueError("an object with a repeated field")
    return result


def read_type(raw: object, kind: type[Any], path: JsonPath) -> Any:
    """Return the value, which must be exactly of this class."""
    if type(raw) is not kind:
        raise format_error(_WORDS[kind], describe_json(raw), path)
    return raw


def read_choice(word: str, allowed: Collection[str], path: JsonPath) -> str:
    """Return the word, which must be one of those allowed."""
    if word not in allowed:
        raise format_error("one of " + ", ".join(f"'{name}'" for name in sorted(allowed)), describe_json(word), path)
    return word


def read_shape(raw: object, path: JsonPath) -> Shape | None:
    """Return a shape, which is a list of sizes with null for a free dimension; None if it is unknown."""
    if raw is None:
        return None
    sizes = read_type(raw, list, path)
    for number, size in enumerate(sizes):
        if size is not None and (type(size) is not int or not 0 <= size < HUGE):
            raise format_error("an integer of 0 or more, or null", describe_json(size), path.at(number))
    return tuple(sizes)
