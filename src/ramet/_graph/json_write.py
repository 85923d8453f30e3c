"""Arguments to JSON.

A list is an array, a dict an object, and what JSON has no form for is an object with one key that begins with '$':
`{"$ref": "conv_1"}`, `{"$ref": ["split", 1]}`, `{"$tuple": [...]}`, `{"$float": "nan"}`. What is nested deeper than a
JSON reader's stack allows is written beside: `{"$deep": 0}` is the first of those parts.
"""

from __future__ import annotations

import math
from types import EllipsisType
from typing import TypeAlias

from ramet._graph.argument import Argument, Constant, FrozenDict, FrozenList, Ref, Slice, parts_of
from ramet._graph.fold import fold
from ramet._graph.problem import GraphError

__all__ = ["LEVELS", "ArgumentWriter", "Json", "write_leaf"]

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

# How many levels of an argument are written into each other before the rest goes beside.
LEVELS = 40
# Beyond this, other readers of JSON lose digits.
_EXACT = 2**53


class ArgumentWriter:
    """Makes JSON of arguments; `deep` collects what is written beside."""

    def __init__(self) -> None:
        self.deep: list[Json] = []

    def write(self, value: Argument) -> Json:
        """The argument in JSON."""
        return fold(value, parts_of, self._join)[0]

    def _join(self, item: Argument, parts: list[tuple[Json, int]]) -> tuple[Json, int]:
        inner = [part for part, _ in parts]
        if isinstance(item, tuple):
            result: Json = {"$tuple": inner}
        elif isinstance(item, FrozenList):
            result = inner
        elif isinstance(item, FrozenDict):
            result = _write_dict(item, inner)
        elif isinstance(item, Slice):
            result = {"$slice": inner}
        else:
            return write_leaf(item), 0
        height = 1 + max((height for _, height in parts), default=0)
        if height < LEVELS:
            return result, height
        self.deep.append(result)
        return {"$deep": len(self.deep) - 1}, 0


def _write_dict(item: FrozenDict, inner: list[Json]) -> Json:
    names = [key for key in item if isinstance(key, str) and not key.startswith("$")]
    if len(names) == len(item):
        return dict(zip(names, inner, strict=True))
    return {"$dict": [[write_leaf(key), value] for key, value in zip(item, inner, strict=True)]}


def write_leaf(item: Argument) -> Json:
    """A ref, a constant or a plain value in JSON."""
    # By exact class: a subclass (numpy's float64, a member of an IntEnum) would come back as something else.
    match item:
        case None | bool():
            return item
        case str() if type(item) is str:
            return item
        case int() if type(item) is int:
            return item if -_EXACT <= item <= _EXACT else {"$int": hex(item)}
        case float() if type(item) is float:
            return item if math.isfinite(item) else {"$float": repr(item)}
        case Ref(call, output):
            return {"$ref": call if output == 0 else [call, output]}
        case Constant():
            return {"$constant": _write_constant(item)}
        case complex() if type(item) is complex:
            return {"$complex": repr(item)}
        case bytes() if type(item) is bytes:
            return {"$bytes": item.hex()}
        case EllipsisType():
            return {"$ellipsis": True}
    raise GraphError(
        f"Cannot write a {type(item).__qualname__} as JSON: it is no frozen data.",
        fix="make it frozen data with `freeze`.",
    )


def _write_constant(item: Constant) -> Json:
    record: dict[str, Json] = {"kind": item.kind, "class_name": item.class_name}
    if item.shape is not None:
        record["shape"] = list(item.shape)
    for key in ("dtype", "digest", "summary"):
        if (text := getattr(item, key)) is not None:
            record[key] = text
    return record
