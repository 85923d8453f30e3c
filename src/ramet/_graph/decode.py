"""A graph from its JSON. Nothing in the text is believed: every field has a type, and every number a range."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from ramet._graph.argument import Argument, FrozenDict
from ramet._graph.call import Call
from ramet._graph.encode import VERSION
from ramet._graph.graph import GRAPH_KINDS, Graph
from ramet._graph.json_read import ArgumentReader, read_ref
from ramet._graph.json_record import Place, Record, checked, chosen, describe, misfit, shape_of
from ramet._graph.op import OP_KINDS, Op
from ramet._graph.problem import FormatError
from ramet._graph.value import UNRECORDED, Mask, Value, VariableSpec

__all__ = ["from_json"]

_MASK_KINDS = frozenset({"implicit", "explicit"})


def from_json(text: str) -> Graph:
    """The graph that `to_json` made this text of.

    Raises:
        FormatError: when the text is not the JSON of a graph; it says where, what was expected and what was found.
            Whether the graph keeps the rules of graphs is another question: ask `lint`.
    """
    record = Record(_parse(text), Place())
    version = record.raw("ramet_graph")
    if version != VERSION or type(version) is not int:
        raise misfit(str(VERSION), describe(version), record.place.at("ramet_graph"))
    deep = [part for part, _ in record.items("deep")]
    reader = _GraphReader(ArgumentReader(deep, record.place.at("deep")))
    graphs = [reader.graph(raw, place) for raw, place in record.items("graphs")]
    record.end()
    if not graphs:
        raise misfit("at least one graph", "none", record.place.at("graphs"))
    reader.arguments.end()
    return _nest(graphs)


def _parse(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse_constant, object_pairs_hook=_no_key_twice)
    except RecursionError:
        found = "lists and objects nested too deep to read"
    except ValueError as error:
        found = str(error)
    raise FormatError("Cannot read the graph: the text is not JSON.", found=found, path="the whole text")


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"the word {word}, which is no JSON")


def _no_key_twice(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        keys = [key for key, _ in pairs]
        twice = next(key for key in keys if keys.count(key) > 1)
        raise ValueError(f"an object with the key {describe(twice)} twice")
    return result


# Where an op's graph is told: the fields of the op, the number of the graph, and where that number stands.
_Link = tuple[int, Place]


class _GraphReader:
    """Reads records. Ops come with the numbers of their graphs, which are joined when all have been read."""

    def __init__(self, arguments: ArgumentReader) -> None:
        self.arguments = arguments

    def graph(self, raw: Any, place: Place) -> tuple[dict[str, Any], list[_OpRecord], list[_OpRecord]]:
        """The fields of a graph, and the records of its ops and extras."""
        record = Record(raw, place)
        fields: dict[str, Any] = {
            "name": record.text("name"),
            "class_name": record.text("class_name"),
            "kind": record.choice("kind", GRAPH_KINDS),
        }
        root = record.raw("root", None)
        if root is not None:
            (fields["root"],) = _build_ops(self._ops([(root, place.at("root"))]), {})
        for key in ("inputs", "outputs"):
            fields[key] = self._argument(record, key, None)
        ops = self._ops(record.items("ops"))
        extras = self._ops(record.items("extras"))
        fields["calls"] = tuple(self._call(item, where) for item, where in record.items("calls"))
        record.end()
        return fields, ops, extras

    def _argument(self, record: Record, key: str, default: Argument) -> Argument:
        raw = record.raw(key, _ABSENT)
        return default if raw is _ABSENT else self.arguments.read(raw, record.place.at(key))

    def _dict(self, record: Record, key: str, default: FrozenDict | None) -> FrozenDict | None:
        found = self._argument(record, key, default)
        if found is not None and not isinstance(found, FrozenDict):
            raise misfit("an object", "something else", record.place.at(key))
        return found
