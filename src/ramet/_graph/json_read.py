"""Arguments from JSON: `json_write.py` says how they are written."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from types import EllipsisType
from typing import Any

from ramet._graph.argument import KEYS, Argument, Constant, FrozenDict, FrozenList, Key, Ref, Slice
from ramet._graph.fold import TooDeepError, fold
from ramet._graph.json_record import Place, Record, describe, misfit
from ramet._graph.json_write import LEVELS, Json
from ramet._graph.problem import FormatError

__all__ = ["ArgumentReader", "read_ref"]


class ArgumentReader:
    """Makes arguments of JSON, given the parts that were written beside.

    Each part may be used once, and only by what comes after it: so a short text can neither go round in circles nor
    grow into a huge argument.
    """

    def __init__(self, deep: list[Json], place: Place) -> None:
        self._place = place
        self._deep: list[Argument] = []
        self._unused: set[int] = set()
        for number, part in enumerate(deep):
            self._deep.append(self.read(part, place.at(number)))
            self._unused.add(number)

    def read(self, raw: Json, place: Place) -> Argument:
        """The argument that the JSON stands for."""
        try:
            return fold(raw, _parts, self._join, limit=LEVELS)
        except TooDeepError:
            raise misfit(f"at most {LEVELS} levels (deeper parts stand under 'deep')", "more", place) from None
        except _MisreadError as error:
            raise misfit(error.expected, error.found, _place_of(error.raw, raw, place)) from None

    def end(self) -> None:
        """Nothing; raises when a part that was written beside stands nowhere."""
        for number in sorted(self._unused):
            raise misfit(f'one {{"$deep": {number}}} in the text', "none", self._place.at(number))

    def _join(self, raw: Json, parts: list[Argument]) -> Argument:
        if isinstance(raw, list):
            return FrozenList(tuple(parts))
        if not isinstance(raw, dict):
            return raw
        tag = _tag(raw)
        match tag:
            case None:
                return FrozenDict(tuple(zip(raw, parts, strict=True)))
            case "$tuple":
                return tuple(parts)
            case "$slice":
                return Slice(*parts)
            case "$dict":
                return _read_dict(raw, parts)
            case "$deep":
                return self._read_deep(raw)
        try:
            return _READ[tag](raw[tag])
        except (KeyError, TypeError, ValueError, FormatError):
            known = sorted([*_READ, "$deep", "$dict", "$slice", "$tuple"])
            expected = f"what is written under '{tag}'" if tag in _READ else "one of " + ", ".join(known)
            raise _MisreadError(raw, expected, f"'{tag}': {describe(raw[tag])}") from None

    def _read_deep(self, raw: dict[str, Json]) -> Argument:
        number = raw["$deep"]
        if type(number) is not int or number not in self._unused:
            raise _MisreadError(
                raw, "the number of an earlier part of 'deep' that stands nowhere else", describe(number)
            )
        self._unused.remove(number)
        return self._deep[number]


class _MisreadError(Exception):
    """A list or an object in an argument is not as it should be."""

    def __init__(self, raw: Json, expected: str, found: str) -> None:
        self.raw = raw
        self.expected = expected
        self.found = found


def _place_of(culprit: Json, root: Json, place: Place) -> Place:
    """Where in an argument the list or object stands: looked for only once it is known to be wrong."""
    waiting: list[tuple[Any, Place]] = [(root, place)]
    while waiting:
        raw, where = waiting.pop()
        if raw is culprit:
            return where
        if isinstance(raw, dict):
            waiting += [(item, where.at(key)) for key, item in raw.items()]
        elif isinstance(raw, list):
            waiting += [(item, where.at(number)) for number, item in enumerate(raw)]
    return place


def _tag(raw: dict[str, Json]) -> str | None:
    for key in raw:
        if key.startswith("$"):
            return key
    return None


def _parts(raw: Json) -> Iterable[Json] | None:
    """The arguments inside; None for a leaf, which an object that stands for a ref or the like is too."""
    if isinstance(raw, list):
        return raw
    if not isinstance(raw, dict):
        return None
    tag = _tag(raw)
    if tag is None:
        return raw.values()
    if len(raw) > 1:
        raise _MisreadError(raw, f"'{tag}' alone", f"{len(raw)} fields")
    content = raw[tag]
    if tag == "$dict":
        pairs = content if isinstance(content, list) else [None]
        values = [pair[1] for pair in pairs if isinstance(pair, list) and len(pair) == 2]
        if len(values) != len(pairs):
            raise _MisreadError(raw, "a list of pairs under '$dict'", describe(content))
        return values
    if tag in ("$tuple", "$slice"):
        if not isinstance(content, list):
            raise _MisreadError(raw, f"a list under '{tag}'", describe(content))
        if tag == "$slice" and len(content) != 3:
            raise _MisreadError(raw, "three items under '$slice'", str(len(content)))
        return content
    return None


def _read_dict(raw: dict[str, Any], parts: list[Argument]) -> FrozenDict:
    try:
        keys = [_read_key(key) for key, _ in raw["$dict"]]
        return FrozenDict(tuple(zip(keys, parts, strict=True)))
    except (KeyError, TypeError, ValueError):
        raise _MisreadError(raw, "keys that are plain data, each once", "others") from None


def _read_key(raw: Any) -> Key:
    if isinstance(raw, dict):
        ((tag, content),) = raw.items()
        raw = {name: _READ[name] for name in ("$int", "$float", "$bytes")}[tag](content)
    if type(raw) not in KEYS:
        raise TypeError
    return raw  # type: ignore[no-any-return]


def read_ref(content: Any) -> Ref:
    """The ref that stands under '$ref'."""
    call, output = (content, 0) if isinstance(content, str) else content
    if type(call) is not str or type(output) is not int or output < 0:
        raise TypeError
    return Ref(call, output)


def _read_constant(content: Any) -> Constant:
    record = Record(content, Place())
    kind = record.choice("kind", frozenset({"array", "object"}))
    class_name = record.text("class_name")
    raw = record.raw("shape", None)
    shape = None if raw is None else tuple(raw)
    if shape is not None and not all(type(size) is int and size >= 0 for size in shape):
        raise TypeError
    rest = [record.optional_text(key) for key in ("dtype", "digest", "summary")]
    record.end()
    return Constant(kind, class_name, shape, *rest)


def _read_float(content: Any) -> float:
    return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[content]


def _read_complex(content: Any) -> complex:
    if type(content) is not str:
        raise TypeError
    return complex(content)


def _read_ellipsis(content: Any) -> EllipsisType:
    if content is not True:
        raise TypeError
    return ...


_READ: dict[str, Callable[[Any], Argument]] = {
    "$bytes": bytes.fromhex,
    "$complex": _read_complex,
    "$constant": _read_constant,
    "$ellipsis": _read_ellipsis,
    "$float": _read_float,
    "$int": lambda content: int(content, 16),
    "$ref": read_ref,
}
