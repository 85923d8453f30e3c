"""Changed copies of graphs, for tests that compare a graph with a variant of it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

from ramet._graph import Argument, Call, Graph, Op, Ref, Value, fold, map_leaves

__all__ = ["map_ops", "map_paths", "map_refs", "reroute"]

# An op with its path; the outermost graph has none.
_Level: TypeAlias = tuple[str, Op | Graph]


def map_refs(value: Argument, change: Callable[[Ref], Argument]) -> Argument:
    """Return the same data with `change(ref)` for every ref."""
    return map_leaves(value, lambda leaf: change(leaf) if isinstance(leaf, Ref) else leaf)


def reroute(graph: Graph, change: Callable[[Ref], Ref]) -> Graph:
    """Return the graph with every ref changed: in arguments, masks, inputs and outputs, but not in nested graphs."""

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


def map_ops(graph: Graph, change: Callable[[str, Op], Op]) -> Graph:
    """Return the graph with `change(path, op)` for every op at every level, inner ops first."""

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
    """Return the graph with every path in `same_as` and `tied` changed, as after ops were renamed or moved."""

    def changed(_: str, op: Op) -> Op:
        specs = tuple(spec if spec.tied is None else spec.with_changes(tied=change(spec.tied)) for spec in op.variables)
        if op.same_as is None and all(new is old for new, old in zip(specs, op.variables, strict=True)):
            return op
        return op.with_changes(variables=specs, same_as=None if op.same_as is None else change(op.same_as))

    result = map_ops(graph, changed)
    return result if result.root is None else result.with_changes(root=changed("", result.root))
