"""A graph from its JSON. Nothing in the text is believed: every field has a type, and every number a range."""

from __future__ import annotations

import json
from typing import Any, NoReturn

from ramet._graph.encode import VERSION
from ramet._graph.graph import GRAPH_KINDS, Graph
from ramet._graph.json_call import read_call
from ramet._graph.json_op import build_ops, read_ops
from ramet._graph.json_read import ArgumentReader
from ramet._graph.json_record import Place, Record, describe, misfit
from ramet._graph.problem import FormatError

__all__ = ["from_json"]


def from_json(text: str) -> Graph:
    """The graph that `to_json` made this text of.

    Raises:
        FormatError: when the text is not the JSON of a graph; it says where, what was expected and what was found.
            Whether the graph keeps the rules of graphs is another question: ask `lint`.
    """
    record = Record(_parse(text), Place())
    version = record.raw("ramet_graph")
    if type(version) is not int or version != VERSION:
        raise misfit(str(VERSION), describe(version), record.place.at("ramet_graph"))
    arguments = ArgumentReader([part for part, _ in record.items("deep")], record.place.at("deep"))
    graphs = [_GraphRecord(raw, place, arguments) for raw, place in record.items("graphs")]
    record.end()
    arguments.end()
    return _nest(graphs, record.place.at("graphs"))


def _parse(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse, object_pairs_hook=_without_repeats)
    except RecursionError:
        found = "lists and objects nested too deep to read"
    except ValueError as error:
        found = str(error)
    raise FormatError("Cannot read the graph: the text is not JSON.", found=found, path="the whole text")


def _refuse(word: str) -> NoReturn:
    raise ValueError(f"the word {word}")


def _without_repeats(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        # Of two fields with one name, readers disagree on which counts.
        raise ValueError("an object with the same field twice")
    return result


class _GraphRecord:
    """A graph that waits for the graphs inside it."""

    def __init__(self, raw: object, place: Place, arguments: ArgumentReader) -> None:
        record = Record(raw, place)
        self.fields: dict[str, Any] = {
            "name": record.text("name"),
            "class_name": record.text("class_name"),
            "kind": record.choice("kind", GRAPH_KINDS),
            "inputs": arguments.read(record.raw("inputs", None), place.at("inputs")),
            "outputs": arguments.read(record.raw("outputs", None), place.at("outputs")),
            "calls": tuple(read_call(item, where, arguments) for item, where in record.items("calls")),
        }
        root = [(record.raw("root"), place.at("root"))] if "root" in record else []
        self.root = read_ops(root, arguments)
        self.ops = read_ops(record.items("ops"), arguments)
        self.extras = read_ops(record.items("extras"), arguments)
        record.end()


def _nest(records: list[_GraphRecord], place: Place) -> Graph:
    """The first graph, with the others where they belong: each in one op, of a graph before it."""
    if not records:
        raise misfit("at least one graph", "none", place)
    free: dict[int, Graph] = {}

    def take(number: int, where: Place) -> Graph:
        if number not in free:
            raise misfit("the number of a later graph that stands nowhere else", str(number), where)
        return free.pop(number)

    for number in reversed(range(len(records))):
        record = records[number]
        free[number] = Graph(
            **record.fields,
            root=next(iter(build_ops(record.root, take)), None),
            ops=build_ops(record.ops, take),
            extras=build_ops(record.extras, take),
        )
    for number in sorted(free.keys() - {0}):
        raise misfit(f"an op with the graph {number}", "none", place.at(number))
    return free[0]
