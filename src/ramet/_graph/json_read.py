"""A graph from its JSON; `json_write.py` describes the format. Nothing in the text is trusted."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from types import EllipsisType
from typing import Any

from ramet._graph.argument import (
    KEYS,
    Argument,
    Constant,
    FrozenDict,
    FrozenList,
    Key,
    Ref,
    Slice,
    TooDeepError,
    fold,
)
from ramet._graph.graph import GRAPH_KINDS, Graph
from ramet._graph.json_fields import (
    JsonFields,
    JsonPath,
    describe_json,
    format_error,
    open_document,
    read_choice,
    read_shape,
    read_type,
)
from ramet._graph.json_write import LEVELS, Json
from ramet._graph.nodes import MASK_KINDS, OP_KINDS, UNRECORDED, Call, Mask, MaskKind, Op, Value, VariableSpec
from ramet.errors import FormatError


def from_json(text: str) -> Graph:
    """Return the graph that a text describes; see `Graph.from_json`. `lint` checks whether the graph is consistent."""
    fields = open_document(text, "graph")
    arguments = ArgumentReader(fields)
    records = list(fields.items("graphs"))
    # Each graph but the first is in one op of an earlier graph, so the last one is read first.
    graphs: dict[int, Graph] = {}
    for number, (raw, path) in reversed(list(enumerate(records))):
        graphs[number] = _read_graph(raw, path, arguments, graphs)
    fields.end()
    arguments.end()
    if not records:
        raise format_error("at least one graph", "none", fields.path.at("graphs"))
    for number in sorted(graphs.keys() - {0}):
        raise format_error(f"an op with the graph {number}", "none", records[number][1])
    return graphs[0]


def _read_graph(raw: object, path: JsonPath, arguments: ArgumentReader, graphs: dict[int, Graph]) -> Graph:
    """Return a graph; the graphs inside it are taken from those that were read already."""
    fields = JsonFields(raw, path)
    root = [(fields.raw("root"), path.at("root"))] if "root" in fields else []
    graph = Graph(
        name=fields.text("name"),
        class_name=fields.text("class_name"),
        kind=fields.choice("kind", GRAPH_KINDS),
        inputs=arguments.read(fields.raw("inputs", None), path.at("inputs")),
        outputs=arguments.read(fields.raw("outputs", None), path.at("outputs")),
        calls=tuple(_read_call(item, location, arguments) for item, location in fields.items("calls")),
        root=next(iter(_read_ops(root, arguments, graphs)), None),
        ops=_read_ops(fields.items("ops"), arguments, graphs),
        extras=_read_ops(fields.items("extras"), arguments, graphs),
    )
    fields.end()
    return graph


def _read_ops(
    items: Iterable[tuple[Any, JsonPath]], arguments: ArgumentReader, graphs: dict[int, Graph]
) -> tuple[Op, ...]:
    """Return the ops of a list of records, in which each op comes before its children."""
    records: list[tuple[Op, int, int | None, JsonPath]] = []
    deepest = 0
    for raw, path in items:
        op, depth, graph = _read_op(raw, path, arguments)
        if depth > deepest:
            raise format_error(f"at most {deepest}", str(depth), path.at("depth"))
        deepest = depth + 1
        records.append((op, depth, graph, path))
    # Read from the end, the children of an op are those that wait one level below it.
    waiting: dict[int, list[Op]] = {}
    for op, depth, graph, path in reversed(records):
        children = tuple(reversed(waiting.pop(depth + 1, [])))
        if graph is not None and graph not in graphs:
            expected = "the number of a later graph that is not used elsewhere"
            raise format_error(expected, str(graph), path.at("graph"))
        if children or graph is not None:
            op = op.with_changes(children=children, graph=None if graph is None else graphs.pop(graph))
        waiting.setdefault(depth, []).append(op)
    return tuple(reversed(waiting.get(0, [])))


def _read_op(raw: object, path: JsonPath, arguments: ArgumentReader) -> tuple[Op, int, int | None]:
    """Return an op without its contents, its depth, and the number of its graph."""
    fields = JsonFields(raw, path)
    op = Op(
        id=fields.text("id"),
        kind=fields.choice("kind", OP_KINDS),
        class_name=fields.text("class_name"),
        name=fields.optional_text("name") or "",
        module=fields.optional_text("module"),
        registered_name=fields.optional_text("registered_name"),
        config=_read_dict_field(fields, "config", arguments) if "config" in fields else None,
        no_config=fields.optional_text("no_config"),
        trainable=fields.flag("trainable", default=True),
        dtype_policy=fields.optional_text("dtype_policy"),
        built=fields.flag("built", default=True),
        flags=_read_dict_field(fields, "flags", arguments),
        variables=tuple(_read_variable(item, location) for item, location in fields.items("variables")),
        same_as=fields.optional_text("same_as"),
    )
    depth, graph = fields.number("depth") or 0, fields.number("graph")
    fields.end()
    return op, depth, graph


def _read_variable(raw: object, path: JsonPath) -> VariableSpec:
    fields = JsonFields(raw, path)
    spec = VariableSpec(
        id=fields.text("id"),
        shape=read_shape(fields.raw("shape"), path.at("shape")),
        dtype=fields.text("dtype"),
        trainable=fields.flag("trainable", default=True),
        weight=fields.flag("weight", default=True),
        tied=fields.optional_text("tied"),
        name=fields.optional_text("name") or "",
    )
    fields.end()
    return spec


# Calls and values.


def _read_call(raw: object, path: JsonPath, arguments: ArgumentReader) -> Call:
    fields = JsonFields(raw, path)
    structure: Argument = 0
    if "structure" in fields:
        structure = arguments.read(fields.raw("structure"), path.at("structure"))
    call = Call(
        id=fields.text("id"),
        op=fields.text("op"),
        args=tuple(arguments.read(item, location) for item, location in fields.items("args")),
        kwargs=_read_dict_field(fields, "kwargs", arguments),
        outputs=tuple(_read_value(item, location) for item, location in fields.items("outputs")),
        structure=structure,
        mask_kinds=tuple(_read_mask_kind(item, location) for item, location in fields.items("mask_kinds")),
    )
    fields.end()
    return call


def _read_dict_field(fields: JsonFields, key: str, arguments: ArgumentReader) -> FrozenDict:
    """Return a field that is a dict of arguments; an empty one if the field is missing."""
    found = arguments.read(fields.raw(key, {}), fields.path.at(key))
    if not isinstance(found, FrozenDict):
        raise format_error("an object", "something else", fields.path.at(key))
    return found


def _read_value(raw: object, path: JsonPath) -> Value:
    fields = JsonFields(raw, path)
    value = Value(
        shape=read_shape(fields.raw("shape"), path.at("shape")),
        dtype=fields.text("dtype"),
        sparse=fields.flag("sparse", default=False),
        ragged=fields.flag("ragged", default=False),
        optional=fields.flag("optional", default=False),
        name=fields.optional_text("name"),
        mask=_read_mask(fields.raw("mask", None), path.at("mask")),
    )
    fields.end()
    return value


def _read_mask(raw: Any, path: JsonPath) -> Mask:
    if raw is None or raw == UNRECORDED:
        return raw  # type: ignore[no-any-return]
    try:
        ((tag, content),) = raw.items()
        if tag == "$ref":
            return _read_ref(content)
    except (AttributeError, TypeError, ValueError):
        pass
    raise format_error(f"a '$ref', or '{UNRECORDED}'", describe_json(raw), path)


def _read_mask_kind(raw: object, path: JsonPath) -> tuple[int | str, MaskKind]:
    pair = read_type(raw, list, path)
    if len(pair) != 2 or type(pair[0]) not in (int, str):
        raise format_error("a position or name, and a kind", describe_json(raw), path)
    kind: Any = read_choice(read_type(pair[1], str, path.at(1)), MASK_KINDS, path.at(1))
    return pair[0], kind


# Arguments.


class ArgumentReader:
    """Converts the JSON of a document to arguments, with the parts in its field "deep".

    Each of those parts may be used once, and only by a later one: so a short text can neither contain a cycle nor grow into a
    huge argument.
    """

    def __init__(self, document: JsonFields) -> None:
        self._unused: dict[int, tuple[Argument, JsonPath]] = {}
        for number, (raw, path) in enumerate(document.items("deep")):
            self._unused[number] = self.read(raw, path), path

    def read(self, raw: Json, path: JsonPath) -> Argument:
        """Return the argument that the JSON describes."""
        try:
            return fold(raw, _parts, self._join, limit=LEVELS)
        except TooDeepError:
            raise format_error(f"at most {LEVELS} levels (deeper parts belong in 'deep')", "more", path) from None
        except _InvalidArgumentError as error:
            raise format_error(error.expected, error.found, _locate(error.raw, raw, path)) from None

    def end(self) -> None:
        """Raise an error if a part of "deep" was not used."""
        for number, (_, path) in self._unused.items():
            raise format_error(f'one {{"$deep": {number}}} in the text', "none", path)

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
            return _READERS[tag](raw[tag])
        except (KeyError, TypeError, ValueError, FormatError):
            known = sorted([*_READERS, "$deep", "$dict", "$slice", "$tuple"])
            expected = f"valid content of '{tag}'" if tag in _READERS else "one of " + ", ".join(known)
            raise _InvalidArgumentError(raw, expected, f"'{tag}': {describe_json(raw[tag])}") from None

    def _read_deep(self, raw: dict[str, Json]) -> Argument:
        number = raw["$deep"]
        if type(number) is not int or number not in self._unused:
            raise _InvalidArgumentError(
                raw, "the number of an earlier part of 'deep' that is not used elsewhere", describe_json(number)
            )
        return self._unused.pop(number)[0]


class _InvalidArgumentError(Exception):
    """A list or an object in an argument is invalid."""

    def __init__(self, raw: Json, expected: str, found: str) -> None:
        self.raw = raw
        self.expected = expected
        self.found = found


def _locate(wanted: Json, root: Json, path: JsonPath) -> JsonPath:
    """Return the location of a list or object in an argument; searched only once it is known to be invalid."""
    waiting: list[tuple[Any, JsonPath]] = [(root, path)]
    while waiting:
        raw, location = waiting.pop()
        if raw is wanted:
            return location
        if isinstance(raw, dict):
            waiting += [(item, location.at(key)) for key, item in raw.items()]
        elif isinstance(raw, list):
            waiting += [(item, location.at(number)) for number, item in enumerate(raw)]
    return path


def _tag(raw: dict[str, Json]) -> str | None:
    return next((key for key in raw if key.startswith("$")), None)


def _parts(raw: Json) -> Iterable[Json] | None:
    """Return the arguments inside; None for a leaf, including an object that describes a ref or the like."""
    if isinstance(raw, list):
        return raw
    if not isinstance(raw, dict):
        return None
    tag = _tag(raw)
    if tag is None:
        return raw.values()
    if len(raw) > 1:
        raise _InvalidArgumentError(raw, f"'{tag}' alone", f"{len(raw)} fields")
    content = raw[tag]
    if tag == "$dict":
        pairs = content if isinstance(content, list) else [None]
        values = [pair[1] for pair in pairs if isinstance(pair, list) and len(pair) == 2]
        if len(values) != len(pairs):
            raise _InvalidArgumentError(raw, "a list of pairs in '$dict'", describe_json(content))
        return values
    if tag in ("$tuple", "$slice"):
        if not isinstance(content, list):
            raise _InvalidArgumentError(raw, f"a list in '{tag}'", describe_json(content))
        if tag == "$slice" and len(content) != 3:
            raise _InvalidArgumentError(raw, "three items in '$slice'", str(len(content)))
        return content
    return None


def _read_dict(raw: dict[str, Any], parts: list[Argument]) -> FrozenDict:
    try:
        keys = [_read_key(key) for key, _ in raw["$dict"]]
        return FrozenDict(tuple(zip(keys, parts, strict=True)))
    except (KeyError, TypeError, ValueError):
        raise _InvalidArgumentError(raw, "keys that are plain data, without repetition", "others") from None


def _read_key(raw: Any) -> Key:
    if isinstance(raw, dict):
        ((tag, content),) = raw.items()
        raw = {name: _READERS[name] for name in ("$int", "$float", "$bytes")}[tag](content)
    if type(raw) not in KEYS:
        raise TypeError
    return raw  # type: ignore[no-any-return]


def _read_ref(content: Any) -> Ref:
    call, output = (content, 0) if isinstance(content, str) else content
    if type(call) is not str or type(output) is not int or output < 0:
        raise TypeError
    return Ref(call, output)


def _read_constant(content: Any) -> Constant:
    fields = JsonFields(content, JsonPath())
    kind = fields.choice("kind", ("array", "object"))
    class_name = fields.text("class_name")
    raw = fields.raw("shape", None)
    shape = None if raw is None else tuple(raw)
    if shape is not None and not all(type(size) is int and size >= 0 for size in shape):
        raise TypeError
    rest = [fields.optional_text(key) for key in ("dtype", "digest", "summary")]
    fields.end()
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


_READERS: dict[str, Callable[[Any], Argument]] = {
    "$bytes": bytes.fromhex,
    "$complex": _read_complex,
    "$constant": _read_constant,
    "$ellipsis": _read_ellipsis,
    "$float": _read_float,
    "$int": lambda content: int(content, 16),
    "$ref": _read_ref,
}
