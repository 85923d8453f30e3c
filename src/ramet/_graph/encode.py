"""A graph as JSON: the same text for the same graph, one line an op and one line a call.

    {"ramet_graph": 1,
     "graphs": [...],   the model, then the nested ones, each named by its position
     "deep": [...]}     parts of arguments nested deeper than a JSON reader's stack allows, named by position

Fields that hold what they would hold anyway are left out; `json_write.py` says how arguments and configs are written.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from ramet._graph.call import Call
from ramet._graph.frozen import Frozen
from ramet._graph.json_write import ArgumentWriter, Json, write_leaf
from ramet._graph.op import Op
from ramet._graph.value import Value, VariableSpec

if TYPE_CHECKING:
    from ramet._graph.graph import Graph

__all__ = ["VERSION", "fingerprint", "text_of", "to_json"]

VERSION = 1


def to_json(graph: Graph) -> str:
    """The graph as text. `from_json` makes an equal graph of it."""
    return "".join(_lines(graph))


def fingerprint(graph: Graph) -> str:
    """The SHA-256 of the graph's JSON, in hexadecimal digits."""
    digest = hashlib.sha256()
    for line in _lines(graph):
        digest.update(line.encode("ascii"))
    return digest.hexdigest()


def text_of(value: Frozen) -> str:
    """A frozen value as text that no other value has. Graphs inside it are told by their fingerprints."""
    encoder = Encoder()
    record: Json
    if isinstance(value, Call):
        record = encoder.call(value)
    elif isinstance(value, Op):
        record = [*encoder.op_tree((value,)), [graph.fingerprint for graph in encoder.graphs]]
    else:
        record = encoder.argument(value)  # type: ignore[arg-type]  # the only other frozen values
    return _dump([record, encoder.deep] if encoder.deep else record)


def _lines(graph: Graph) -> Iterator[str]:
    encoder = Encoder()
    encoder.graphs.append(graph)
    yield f'{{"ramet_graph": {VERSION},\n "graphs": ['
    # The list grows while it is read: nested graphs join it as they are met.
    for place, inner in enumerate(encoder.graphs):
        yield ",\n  " if place else "\n  "
        yield from _graph_lines(encoder, inner)
    yield "]"
    if encoder.deep:
        yield ',\n "deep": ['
        yield ",".join(f"\n  {_dump(part)}" for part in encoder.deep)
        yield "]"
    yield "}\n"


def _graph_lines(encoder: Encoder, graph: Graph) -> Iterator[str]:
    yield f'{{"name": {_dump(graph.name)}, "class_name": {_dump(graph.class_name)}, "kind": {_dump(graph.kind)}'
    if graph.root is not None:
        yield f',\n   "root": {_dump(encoder.op(graph.root, 0))}'
    for key, value in (("inputs", graph.inputs), ("outputs", graph.outputs)):
        if value is not None:
            yield f',\n   "{key}": {_dump(encoder.argument(value))}'
    groups: tuple[tuple[str, Iterable[Json]], ...] = (
        ("ops", encoder.op_tree(graph.ops)),
        ("extras", encoder.op_tree(graph.extras)),
        ("calls", map(encoder.call, graph.calls)),
    )
    for key, records in groups:
        lines = ",".join(f"\n    {_dump(record)}" for record in records)
        if lines:
            yield f',\n   "{key}": [{lines}]'
    yield "}"


def _dump(value: Json) -> str:
    return json.dumps(value, allow_nan=False)


class Encoder:
    """Makes JSON of the parts of graphs, and collects what is written beside them."""

    def __init__(self) -> None:
        self.graphs: list[Graph] = []
        self._writer = ArgumentWriter()
        self.deep = self._writer.deep
        self.argument = self._writer.write

    def op_tree(self, ops: tuple[Op, ...]) -> Iterator[Json]:
        """One record an op, each before its children, which say how deep they stand."""
        waiting = [(op, 0) for op in reversed(ops)]
        while waiting:
            op, depth = waiting.pop()
            yield self.op(op, depth)
            waiting += [(child, depth + 1) for child in reversed(op.children)]

    def op(self, op: Op, depth: int) -> Json:
        """The record of one op, without its children."""
        record: dict[str, Json] = {"id": op.id, "kind": op.kind, "class_name": op.class_name}
        if depth:
            record["depth"] = depth
        if op.name != op.id:
            record["name"] = op.name
        for key in ("module", "registered_name", "no_config", "dtype_policy", "same_as"):
            if (text := getattr(op, key)) is not None:
                record[key] = text
        for key in ("trainable", "built"):
            if not getattr(op, key):
                record[key] = False
        if op.config is not None:
            record["config"] = self.argument(op.config)
        if len(op.flags):
            record["flags"] = self.argument(op.flags)
        if op.variables:
            record["variables"] = [_variable(spec) for spec in op.variables]
        if op.graph is not None:
            record["graph"] = len(self.graphs)
            self.graphs.append(op.graph)
        return record

    def call(self, call: Call) -> Json:
        """The record of one call."""
        record: dict[str, Json] = {"id": call.id, "op": call.op}
        if call.args:
            record["args"] = [self.argument(item) for item in call.args]
        if len(call.kwargs):
            record["kwargs"] = self.argument(call.kwargs)
        record["outputs"] = [_value(value) for value in call.outputs]
        if not (type(call.structure) is int and call.structure == 0):
            record["structure"] = self.argument(call.structure)
        if call.mask_kinds:
            record["mask_kinds"] = [[place, kind] for place, kind in call.mask_kinds]
        return record


def _value(value: Value) -> Json:
    record: dict[str, Json] = {"shape": None if value.shape is None else list(value.shape), "dtype": value.dtype}
    for key in ("sparse", "ragged", "optional"):
        if getattr(value, key):
            record[key] = True
    if value.name is not None:
        record["name"] = value.name
    if value.mask is not None:
        record["mask"] = write_leaf(value.mask)
    return record


def _variable(spec: VariableSpec) -> Json:
    shape: Json = None if spec.shape is None else list(spec.shape)
    record: dict[str, Json] = {"id": spec.id, "shape": shape, "dtype": spec.dtype}
    for key in ("trainable", "weight"):
        if not getattr(spec, key):
            record[key] = False
    if spec.tied is not None:
        record["tied"] = spec.tied
    if spec.name != spec.id:
        record["name"] = spec.name
    return record
