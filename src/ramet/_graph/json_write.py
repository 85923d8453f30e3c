"""A graph as JSON: the same text for equal graphs, one line per op and one line per call.

    {"ramet": "graph", "version": 1,
     "graphs": [...],   the model, then the nested models, each referred to by its position
     "deep": [...]}     parts of arguments that are nested too deeply, each referred to by its position

Fields with their default value are left out. In arguments and configs, a list is an array, a dict an object, and anything that
JSON has no form for is an object with one key that begins with '$': `{"$ref": "conv_1"}`, `{"$ref": ["split", 1]}`,
`{"$tuple": [...]}`, `{"$float": "nan"}`. Parts that are nested deeper than the stack of a JSON reader allows are stored in
"deep": `{"$deep": 0}` refers to the first of them.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Iterator, Mapping
from types import EllipsisType
from typing import TYPE_CHECKING, TypeAlias

from ramet._graph.argument import Argument, Constant, Frozen, FrozenDict, FrozenList, Ref, Slice, fold, parts_of
from ramet._graph.nodes import Call, Op, Value, VariableSpec
from ramet._report import envelope
from ramet.errors import GraphError

if TYPE_CHECKING:
    from ramet._graph.graph import Graph

Json: TypeAlias = "bool | int | float | str | list[Json] | dict[str, Json] | None"

# Levels of an argument that are nested in place; deeper parts go to "deep".
LEVELS = 40
_OP_DEFAULTS: Mapping[str, Json] = {
    **dict.fromkeys(("module", "registered_name", "no_config", "dtype_policy", "same_as")),
    **dict.fromkeys(("trainable", "built"), True),
}
# Beyond this, other readers of JSON lose digits.
_EXACT = 2**53


def to_json(graph: Graph) -> str:
    """Return the graph as JSON; see `Graph.to_json`."""
    return "".join(_lines(graph))


def fingerprint(graph: Graph) -> str:
    """Return the SHA-256 of the graph's JSON in hexadecimal digits."""
    digest = hashlib.sha256()
    for line in _lines(graph):
        digest.update(line.encode("ascii"))
    return digest.hexdigest()


def text_of(value: Frozen) -> str:
    """Return a text that two frozen values share only if they are equal. Nested graphs are included as fingerprints."""
    writer = _GraphWriter()
    record: Json
    if isinstance(value, Call):
        record = writer.call(value)
    elif isinstance(value, Op):
        record = [*writer.op_tree((value,)), [graph.fingerprint for graph in writer.graphs]]
    else:
        record = writer.write(value)  # type: ignore[arg-type]  # the only other frozen values
    return _dump([record, writer.deep] if writer.deep else record)


def _lines(graph: Graph) -> Iterator[str]:
    writer = _GraphWriter()
    writer.graphs.append(graph)
    yield f'{_dump(envelope("graph", {}))[:-1]},\n "graphs": ['
    # The list grows while it is read: nested graphs are appended as they are found.
    for number, inner in enumerate(writer.graphs):
        yield ",\n  " if number else "\n  "
        yield from _graph_lines(writer, inner)
    yield "]"
    if writer.deep:
        yield ',\n "deep": ['
        yield ",".join(f"\n  {_dump(part)}" for part in writer.deep)
        yield "]"
    yield "}\n"


def _graph_lines(writer: _GraphWriter, graph: Graph) -> Iterator[str]:
    yield f'{{"name": {_dump(graph.name)}, "class_name": {_dump(graph.class_name)}, "kind": {_dump(graph.kind)}'
    if graph.root is not None:
        yield f',\n   "root": {_dump(writer.op(graph.root, 0))}'
    for key, value in (("inputs", graph.inputs), ("outputs", graph.outputs)):
        if value is not None:
            yield f',\n   "{key}": {_dump(writer.write(value))}'
    groups: tuple[tuple[str, Iterable[Json]], ...] = (
        ("ops", writer.op_tree(graph.ops)),
        ("extras", writer.op_tree(graph.extras)),
        ("calls", map(writer.call, graph.calls)),
    )
    for key, records in groups:
        lines = ",".join(f"\n    {_dump(record)}" for record in records)
        if lines:
            yield f',\n   "{key}": [{lines}]'
    yield "}"


def _dump(value: Json) -> str:
    return json.dumps(value, allow_nan=False)


class ArgumentWriter:
    """Converts arguments to JSON; `deep` collects the parts that are nested too deeply."""

    def __init__(self) -> None:
        self.deep: list[Json] = []

    def write(self, value: Argument) -> Json:
        """Return the argument as JSON."""
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
            return _write_leaf(item), 0
        height = 1 + max((height for _, height in parts), default=0)
        if height < LEVELS:
            return result, height
        self.deep.append(result)
        return {"$deep": len(self.deep) - 1}, 0


def _write_dict(item: FrozenDict, inner: list[Json]) -> Json:
    names = [key for key in item if isinstance(key, str) and not key.startswith("$")]
    if len(names) == len(item):
        return dict(zip(names, inner, strict=True))
    return {"$dict": [[_write_leaf(key), value] for key, value in zip(item, inner, strict=True)]}


def _write_leaf(item: Argument) -> Json:
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
        f"Cannot write a {type(item).__qualname__} as JSON: it is not frozen data.",
        fix="convert it to frozen data with `freeze`.",
    )


def _write_constant(item: Constant) -> Json:
    record: dict[str, Json] = {"kind": item.kind, "class_name": item.class_name}
    if item.shape is not None:
        record["shape"] = list(item.shape)
    return _add_changed(record, item, {"dtype": None, "digest": None, "summary": None})


def _add_changed(record: dict[str, Json], item: object, defaults: Mapping[str, Json]) -> Json:
    """Add the fields of an item that do not have their default value."""
    for key, default in defaults.items():
        value = getattr(item, key)
        if value != default:
            record[key] = value
    return record


class _GraphWriter(ArgumentWriter):
    """Converts ops and calls to JSON, too; `graphs` collects nested graphs."""

    def __init__(self) -> None:
        super().__init__()
        self.graphs: list[Graph] = []

    def op_tree(self, ops: tuple[Op, ...]) -> Iterator[Json]:
        """Yield one record per op, each before its children, which give their depth."""
        waiting = [(op, 0) for op in reversed(ops)]
        while waiting:
            op, depth = waiting.pop()
            yield self.op(op, depth)
            waiting += [(child, depth + 1) for child in reversed(op.children)]

    def op(self, op: Op, depth: int) -> Json:
        """Return the record of one op, without its children."""
        record: dict[str, Json] = {"id": op.id, "kind": op.kind, "class_name": op.class_name}
        if depth:
            record["depth"] = depth
        if op.name != op.id:
            record["name"] = op.name
        _add_changed(record, op, _OP_DEFAULTS)
        if op.config is not None:
            record["config"] = self.write(op.config)
        if len(op.flags):
            record["flags"] = self.write(op.flags)
        if op.variables:
            record["variables"] = [_write_variable(spec) for spec in op.variables]
        if op.graph is not None:
            record["graph"] = len(self.graphs)
            self.graphs.append(op.graph)
        return record

    def call(self, call: Call) -> Json:
        """Return the record of one call."""
        record: dict[str, Json] = {"id": call.id, "op": call.op}
        if call.args:
            record["args"] = [self.write(item) for item in call.args]
        if len(call.kwargs):
            record["kwargs"] = self.write(call.kwargs)
        record["outputs"] = [_write_value(value) for value in call.outputs]
        if not (type(call.structure) is int and call.structure == 0):
            record["structure"] = self.write(call.structure)
        if call.mask_kinds:
            record["mask_kinds"] = [[key, kind] for key, kind in call.mask_kinds]
        return record


def _write_value(value: Value) -> Json:
    record: dict[str, Json] = {"shape": None if value.shape is None else list(value.shape), "dtype": value.dtype}
    _add_changed(record, value, {"sparse": False, "ragged": False, "optional": False, "name": None})
    if value.mask is not None:
        record["mask"] = _write_leaf(value.mask)
    return record


def _write_variable(spec: VariableSpec) -> Json:
    shape: Json = None if spec.shape is None else list(spec.shape)
    record: dict[str, Json] = {"id": spec.id, "shape": shape, "dtype": spec.dtype}
    return _add_changed(record, spec, {"trainable": True, "weight": True, "tied": None, "name": spec.id})
