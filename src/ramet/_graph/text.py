"""A graph as text: one line a call, nested models indented below the call that first uses them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ramet._graph.graph import Graph
from ramet._graph.levels import level_by_level
from ramet._graph.line import describe_call, describe_op, describe_values
from ramet._graph.op import Op
from ramet._graph.render import escape

__all__ = ["text"]

# A cell wider than this is written out, and only its own line moves: one long name must not widen every line.
_WIDEST = 40
# Levels that are drawn; below, the depth is told by its number.
_DRAWN = 12


@dataclass(frozen=True, slots=True)
class _Row:
    label: str
    class_name: str
    values: str
    rest: str


def text(graph: Graph) -> str:
    """The graph as text, a header and one line a call (for a model without a call graph: an op)."""
    rows = list(_rows(graph))
    label = _width(row.label for row in rows)
    class_name = _width(row.class_name for row in rows)
    values = _width(row.values for row in rows)
    lines = [_header(graph)]
    for row in rows:
        line = f"  {row.label:<{label}}  {row.class_name:<{class_name}}  {row.values:<{values}}  {row.rest}"
        lines.append(line.rstrip())
    return "\n".join(lines)


def _header(graph: Graph) -> str:
    count = graph.parameters
    line = f"{escape(graph.name)} ({escape(graph.class_name)})  {count:,} parameter{'' if count == 1 else 's'}"
    return line if graph.has_calls else f"{line}, no call graph"


def _width(cells: Iterator[str]) -> int:
    return max((len(cell) for cell in cells if len(cell) <= _WIDEST), default=0)


def _rows(graph: Graph) -> Iterator[_Row]:
    """The rows of all levels, each followed by those inside it."""
    return level_by_level(_level(graph, 0))


_Level = Iterator[tuple[_Row, "_Level | None"]]


def _level(graph: Graph, depth: int) -> _Level:
    if not graph.calls:
        yield from _tree(graph.held, depth)
        return
    for call in graph.calls:
        op = graph._index.ops.get(call.op)
        class_name = "?" if op is None else "Input" if op.kind == "input" else escape(op.class_name)
        label = _indent(depth) + escape(call.id)
        row = _Row(label, class_name, describe_values(graph, call), describe_call(graph, call))
        first = graph.calls_of(call.op)[0] is call
        yield row, _level(op.graph, depth + 1) if first and op and op.graph else None
    for op in graph.extras:
        yield from _tree((op,), depth)


def _tree(ops: tuple[Op, ...], depth: int) -> _Level:
    for op in ops:
        row = _Row(_indent(depth) + escape(op.id), escape(op.class_name), "", describe_op(op))
        if op.graph is not None:
            yield row, _level(op.graph, depth + 1)
        else:
            yield row, _tree(op.children, depth + 1) if op.children else None


def _indent(depth: int) -> str:
    return "| " * depth if depth <= _DRAWN else f"{'| ' * _DRAWN}({depth}) "
