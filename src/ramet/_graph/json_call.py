"""Calls and their values from JSON."""

from __future__ import annotations

from typing import Any

from ramet._graph.argument import Argument, FrozenDict
from ramet._graph.call import Call, MaskKind
from ramet._graph.json_read import ArgumentReader, read_ref
from ramet._graph.json_record import Place, Record, checked, chosen, describe, misfit, shape_of
from ramet._graph.value import UNRECORDED, Mask, Value

__all__ = ["read_call", "read_dict"]

_MASK_KINDS = frozenset({"implicit", "explicit"})


def read_call(raw: object, place: Place, arguments: ArgumentReader) -> Call:
    """The call that a record tells of."""
    record = Record(raw, place)
    structure: Argument = 0
    if "structure" in record:
        structure = arguments.read(record.raw("structure"), place.at("structure"))
    call = Call(
        id=record.text("id"),
        op=record.text("op"),
        args=tuple(arguments.read(item, where) for item, where in record.items("args")),
        kwargs=read_dict(record, "kwargs", arguments),
        outputs=tuple(_read_value(item, where) for item, where in record.items("outputs")),
        structure=structure,
        mask_kinds=tuple(_read_mask_kind(item, where) for item, where in record.items("mask_kinds")),
    )
    record.end()
    return call


def read_dict(record: Record, key: str, arguments: ArgumentReader) -> FrozenDict:
    """A field that is a dict of arguments; an empty one where there is no such field."""
    found = arguments.read(record.raw(key, {}), record.place.at(key))
    if not isinstance(found, FrozenDict):
        raise misfit("an object", "something else", record.place.at(key))
    return found


def _read_value(raw: object, place: Place) -> Value:
    record = Record(raw, place)
    shape = record.raw("shape")
    value = Value(
        shape=None if shape is None else shape_of(shape, place.at("shape")),
        dtype=record.text("dtype"),
        sparse=record.flag("sparse", default=False),
        ragged=record.flag("ragged", default=False),
        optional=record.flag("optional", default=False),
        name=record.optional_text("name"),
        mask=_read_mask(record.raw("mask", None), place.at("mask")),
    )
    record.end()
    return value


def _read_mask(raw: Any, place: Place) -> Mask:
    if raw is None or raw == UNRECORDED:
        return raw  # type: ignore[no-any-return]
    try:
        ((tag, content),) = raw.items()
        if tag == "$ref":
            return read_ref(content)
    except (AttributeError, TypeError, ValueError):
        pass
    raise misfit(f"a '$ref', or '{UNRECORDED}'", describe(raw), place)


def _read_mask_kind(raw: object, place: Place) -> tuple[int | str, MaskKind]:
    pair = checked(raw, list, place)
    if len(pair) != 2 or type(pair[0]) not in (int, str):
        raise misfit("a position or name, and a kind", describe(raw), place)
    kind: Any = chosen(checked(pair[1], str, place.at(1)), _MASK_KINDS, place.at(1))
    return pair[0], kind
