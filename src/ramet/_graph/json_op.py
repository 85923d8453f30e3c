"""Ops and their variables from JSON: a flat list becomes a tree, and numbers become graphs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from ramet._graph.graph import Graph
from ramet._graph.json_call import read_dict
from ramet._graph.json_read import ArgumentReader
from ramet._graph.json_record import Place, Record, misfit, shape_of
from ramet._graph.op import OP_KINDS, Op
from ramet._graph.value import VariableSpec

__all__ = ["OpRecord", "build_ops", "read_ops"]


@dataclass(frozen=True, slots=True)
class OpRecord:
    """An op that waits for its children and its graph."""

    fields: dict[str, Any]
    depth: int
    graph: int | None
    place: Place


def read_ops(items: Iterable[tuple[Any, Place]], arguments: ArgumentReader) -> list[OpRecord]:
    """The records of ops, each before its children."""
    records: list[OpRecord] = []
    deepest = 0
    for raw, place in items:
        record = _read_op(raw, place, arguments)
        if record.depth > deepest:
            raise misfit(f"at most {deepest}", str(record.depth), place.at("depth"))
        deepest = record.depth + 1
        records.append(record)
    return records


def build_ops(records: list[OpRecord], graph: Callable[[int, Place], Graph]) -> tuple[Op, ...]:
    """The ops of the records, children inside their parents.

    Args:
        records: each op before its children.
        graph: the graph with a number, asked for once.
    """
    # From the end, an op's children are those that wait one level below it.
    waiting: dict[int, list[Op]] = {}
    for record in reversed(records):
        children = tuple(reversed(waiting.pop(record.depth + 1, [])))
        inner = None if record.graph is None else graph(record.graph, record.place.at("graph"))
        op = Op(**record.fields, children=children, graph=inner)
        waiting.setdefault(record.depth, []).append(op)
    return tuple(reversed(waiting.get(0, [])))


def _read_op(raw: object, place: Place, arguments: ArgumentReader) -> OpRecord:
    record = Record(raw, place)
    fields = {
        "id": record.text("id"),
        "kind": record.choice("kind", OP_KINDS),
        "class_name": record.text("class_name"),
        "name": record.optional_text("name") or "",
        "module": record.optional_text("module"),
        "registered_name": record.optional_text("registered_name"),
        "config": read_dict(record, "config", arguments) if "config" in record else None,
        "no_config": record.optional_text("no_config"),
        "trainable": record.flag("trainable", default=True),
        "dtype_policy": record.optional_text("dtype_policy"),
        "built": record.flag("built", default=True),
        "flags": read_dict(record, "flags", arguments),
        "variables": tuple(_read_variable(item, where) for item, where in record.items("variables")),
        "same_as": record.optional_text("same_as"),
    }
    result = OpRecord(fields, record.number("depth") or 0, record.number("graph"), place)
    record.end()
    return result


def _read_variable(raw: object, place: Place) -> VariableSpec:
    record = Record(raw, place)
    shape = record.raw("shape")
    spec = VariableSpec(
        id=record.text("id"),
        shape=None if shape is None else shape_of(shape, place.at("shape")),
        dtype=record.text("dtype"),
        trainable=record.flag("trainable", default=True),
        weight=record.flag("weight", default=True),
        tied=record.optional_text("tied"),
        name=record.optional_text("name") or "",
    )
    record.end()
    return spec
