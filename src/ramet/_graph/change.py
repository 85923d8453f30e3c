"""Graphs made from graphs: the few changes that every edit is built of."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ramet._graph.argument import Ref, map_refs
from ramet._graph.call import Call, call_id
from ramet._graph.fold import fold
from ramet._graph.graph import Graph
from ramet._graph.op import Op
from ramet._graph.value import Value

__all__ = ["map_ops", "map_paths", "renumber", "reroute"]

# An op with its path; the outermost graph plays the part of an op without one.
_Level: TypeAlias = tuple[str, Op | Graph]


def reroute(graph: Graph, change: Callable[[Ref], Ref]) -> Graph:
    """The graph with every ref changed: in arguments, in masks, in inputs and outputs. Nested graphs stay as they are."""

    def changed(call: Call) -> Call:
        args = map_refs(call.args, change)
        kwargs = map_refs(call.kwargs, change)
        return call.with_changes(args=args, kwargs=kwargs, outputs=tuple(map(masked, call.outputs)))

    def masked(value: Value) -> Value:
        return value.with_changes(mask=change(value.mask)) if isinstance(value.mask, Ref) else value

    return graph.with_changes(
        calls=tuple(map(changed, graph.calls)),
        inputs=map_refs(graph.inputs, change),
        outputs=map_refs(graph.outputs, change),
    )


def renumber(graph: Graph) -> Graph:
    """The graph with its calls named after their ops and numbered in order: what an edit leaves is made whole."""
    counts: dict[str, int] = {}
    names: dict[str, str] = {}
    for call in graph.calls:
        counts[call.op] = counts.get(call.op, 0) + 1
        names[call.id] = call_id(call.op, counts[call.op])
    if all(old == new for old, new in names.items()):
        return graph
    renamed = reroute(graph, lambda ref: Ref(names.get(ref.call, ref.call), ref.output))
    return renamed.with_changes(calls=tuple(call.with_changes(id=names[call.id]) for call in renamed.calls))


def map_ops(graph: Graph, change: Callable[[str, Op], Op]) -> Graph:
    """The graph with `change(path, op)` for every op on every level, what is inside an op before the op itself.

    Ops that come back as they were are kept, and so are the graphs they stand in.
    """

    def parts(level: _Level) -> list[_Level] | None:
        path, item = level
        inside = item.held if isinstance(item, Graph) else item.inside
        prefix = f"{path}/" if path else ""
        return [(prefix + op.id, op) for op in inside] or None

    def join(level: _Level, inside: list[Op | Graph]) -> Op | Graph:
        path, item = level
        ops = tuple(op for op in inside if isinstance(op, Op))
        if isinstance(item, Graph):
            return _holding(item, ops)
        if item.graph is not None:
            item = item if ops == () else _with_graph(item, _holding(item.graph, ops))
        elif any(new is not old for new, old in zip(ops, item.children, strict=True)):
            item = item.with_changes(children=ops)
        return change(path, item)

    outermost: _Level = ("", graph)
    result = fold(outermost, parts, join)
    return result if isinstance(result, Graph) else graph


def _with_graph(op: Op, graph: Graph) -> Op:
    return op if graph is op.graph else op.with_changes(graph=graph)


def _holding(graph: Graph, ops: tuple[Op, ...]) -> Graph:
    if all(new is old for new, old in zip(ops, graph.held, strict=True)):
        return graph
    called = len(graph.ops)
    return graph.with_changes(ops=ops[:called], extras=ops[called:])


def map_paths(graph: Graph, change: Callable[[str], str]) -> Graph:
    """The graph with every path that it holds changed: what `same_as` and `tied` say, after ops were renamed or moved."""

    def changed(_: str, op: Op) -> Op:
        specs = tuple(spec if spec.tied is None else spec.with_changes(tied=change(spec.tied)) for spec in op.variables)
        if op.same_as is None and all(new is old for new, old in zip(specs, op.variables, strict=True)):
            return op
        return op.with_changes(variables=specs, same_as=None if op.same_as is None else change(op.same_as))

    result = map_ops(graph, changed)
    return result if result.root is None else result.with_changes(root=changed("", result.root))
