"""A model file as lines of text: every layer, also those inside layers, with shapes, parameters and sharing."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass

from ramet._files.model_file import ModelFile
from ramet._files.text import Json
from ramet._files.value import UNKNOWN_DTYPE
from ramet._graph import Call, Graph, Op, describe_call, escape, level_by_level

__all__ = ["show_lines"]

_WIDEST = 44
_DRAWN = 12
_SHOWN = 3


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    class_name: str
    values: str
    count: str
    rest: str


def show_lines(file: ModelFile) -> list[str]:
    """What there is to say of a model file, a line each; whatever a terminal would act on is written as an escape."""
    rows = list(_rows(file.graph))
    widths = [_width(row.label for row in rows), _width(row.class_name for row in rows)]
    widths += [_width(row.values for row in rows), _width(row.count for row in rows)]
    lines = [*_head(file), ""]
    for row in rows:
        cells = (row.label, row.class_name, row.values)
        padded = [f"{cell:<{width}}" for cell, width in zip(cells, widths, strict=False)]
        lines.append("  ".join([*padded, f"{row.count:>{widths[3]}}", row.rest]).rstrip())
    return lines


def _head(file: ModelFile) -> Iterator[str]:
    graph = file.graph
    name = f"{escape(graph.name)} ({escape(graph.class_name)})" if file.config is not None else "weights"
    trainable = sum(spec.size for _, spec in graph.variables() if spec.trainable and spec.tied is None)
    total = graph.parameters
    frozen = f", {total - trainable:,} not trainable" if trainable < total else ""
    others = file.other_weights.paths()
    size = sum(math.prod(file.other_weights.spec(path).shape) for path in others)
    beside = f", and {size:,} in arrays that belong to no layer" if others else ""
    yield f"{escape(file.path.name)}: {name}, {total:,} parameter{'' if total == 1 else 's'}{frozen}{beside}"
    metadata = {key: escape(text) for key, text in file.metadata.items()}
    if metadata:
        words = [f"Keras {metadata['keras_version']}"] if "keras_version" in metadata else []
        words += [metadata[key] for key in ("backend", "date_saved") if key in metadata]
        yield f"  saved by {', '.join(words)}"
    compiled = file.compile_config
    if compiled is not None:
        optimizer = compiled.get("optimizer") or compiled.get("optimizer_config")
        count = len(file.optimizer_weights)
        state = f", {count} variables of it saved" if count else ""
        yield f"  compiled with {_named(optimizer)}, loss {_named(compiled.get('loss'))}{state}"
    elif len(file.optimizer_weights):
        yield f"  holds {len(file.optimizer_weights)} variables of an optimizer"
    if others:
        more = f" and {len(others) - _SHOWN:,} more" if len(others) > _SHOWN else ""
        named = ", ".join(f"'{escape(path)}'" for path in others[:_SHOWN])
        yield f"  no layer of the model has {named}{more}"
    if file.shards:
        yield f"  its weights lie in {len(file.shards)} shard{'' if len(file.shards) == 1 else 's'}"
    for asset in file.assets:
        yield f"  holds {escape(asset.name)}, {asset.size:,} bytes"
    if not graph.has_calls and file.config is not None:
        yield "  has no call graph: the file tells of its layers only"


def _named(value: Json) -> str:
    """An optimizer or a loss in a word."""
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, dict) and isinstance(value.get("class_name"), str):
        is_function = value["class_name"] == "function" and isinstance(value.get("config"), str)
        return escape(value["config"] if is_function else value["class_name"])
    return "of its own" if value else "none"


_Level = Iterator[tuple[_Row, "_Level | None"]]


def _rows(graph: Graph) -> Iterator[_Row]:
    """The rows of all levels, each followed by those inside it."""
    return level_by_level(_level(graph, 0))


def _level(graph: Graph, depth: int) -> _Level:
    if not graph.calls:
        yield from _tree(graph.held, depth)
        return
    for call in graph.calls:
        op = graph.op(call.op)
        first = graph.calls_of(call.op)[0] is call
        class_name = "Input" if op.kind == "input" else escape(op.class_name)
        count = _count(op) if first else ""
        row = _Row(_indent(depth) + escape(call.id), class_name, _values(call), count, describe_call(graph, call))
        yield row, _inside(op, depth + 1) if first else None
    yield from _tree(graph.extras, depth)


def _tree(ops: tuple[Op, ...], depth: int) -> _Level:
    for op in ops:
        notes = [f"(same as {escape(op.same_as)})"] if op.same_as else []
        notes += ["(frozen)"] if not op.trainable and (op.variables or op.inside) else []
        row = _Row(_indent(depth) + escape(op.id), escape(op.class_name), "", _count(op), "  ".join(notes))
        yield row, _inside(op, depth + 1)


def _inside(op: Op, depth: int) -> _Level | None:
    if op.graph is not None:
        return _level(op.graph, depth)
    return _tree(op.children, depth) if op.children else None


def _values(call: Call) -> str:
    """The outputs of a call: `(None, 8) float32`, `2 x (None, 8) float32`, with `?` for what the file does not tell."""
    words = []
    for value in call.outputs[: _SHOWN + 1]:
        dtype = "" if value.dtype == UNKNOWN_DTYPE else f" {escape(value.dtype)}"
        flags = [flag for flag in ("sparse", "ragged", "optional") if getattr(value, flag)]
        words.append(" ".join([f"{'?' if value.shape is None else value.shape}{dtype}", *flags]))
    if len(words) > 1 and len(set(words)) == 1:
        return f"{len(call.outputs)} x {words[0]}"
    more = f" and {len(call.outputs) - _SHOWN} more" if len(call.outputs) > _SHOWN else ""
    return ", ".join(words[:_SHOWN]) + more


def _count(op: Op) -> str:
    """How many parameters an op has of its own."""
    count = sum(spec.size for spec in op.variables if spec.weight and spec.tied is None)
    return f"{count:,}" if count else ""


def _indent(depth: int) -> str:
    return "| " * depth if depth <= _DRAWN else f"{'| ' * _DRAWN}({depth}) "


def _width(cells: Iterator[str]) -> int:
    return max((len(cell) for cell in cells if len(cell) <= _WIDEST), default=0)
