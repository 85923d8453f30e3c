"""Small edits of graphs with a known diff."""

from collections.abc import Callable

from ramet._graph import EMPTY, Call, FrozenDict, Graph, Op, Ref, call_id, split_call_id
from tests.graph.change import map_ops, map_paths, reroute


def change_op(graph: Graph, path: str, **fields: object) -> Graph:
    """Return the graph with changed fields of the op at a path."""
    return map_ops(graph, lambda at, op: op.with_changes(**fields) if at == path else op)


def rename(graph: Graph, old: str, new: str) -> Graph:
    """Return the graph with a renamed op of its top level."""
    return rename_all(graph, lambda name: new if name == old else name)


def rename_all(graph: Graph, new_name: Callable[[str], str]) -> Graph:
    """Return the graph with new names for the ops of its top level, in all references to them."""

    def call_name(name: str) -> str:
        found = split_call_id(name)
        assert found is not None
        return call_id(new_name(found[0]), found[1])

    def path(text: str) -> str:
        first, *rest = text.split("/")
        return "/".join([new_name(first), *rest])

    def renamed(op: Op) -> Op:
        name = new_name(op.id)
        inner = None if op.graph is None else op.graph.with_changes(name=name)
        config = op.config
        if config is not None and "name" in config:
            config = FrozenDict(tuple((key, name if key == "name" else item) for key, item in config.pairs))
        return op.with_changes(id=name, name=name, graph=inner, config=config)

    routed = reroute(graph, lambda ref: Ref(call_name(ref.call), ref.output))
    calls = tuple(call.with_changes(id=call_name(call.id), op=new_name(call.op)) for call in routed.calls)
    ops, extras = tuple(map(renamed, routed.ops)), tuple(map(renamed, routed.extras))
    return map_paths(routed.with_changes(calls=calls, ops=ops, extras=extras), path)


def insert_after(graph: Graph, op: str, name: str, class_name: str = "Inserted") -> Graph:
    """Return the graph with a new layer after the last call of an op, whose consumers are rewired to the new layer."""
    source = Ref(graph.calls_of(op)[-1].id)
    routed = reroute(graph, lambda ref: Ref(name) if ref == source else ref)
    place = next(number for number, call in enumerate(graph.calls) if call.id == source.call) + 1
    made = Call(name, name, (source,), outputs=(graph.value(source).with_changes(mask=None),))
    calls = (*routed.calls[:place], made, *routed.calls[place:])
    at = next(number for number, other in enumerate(graph.ops) if other.id == op) + 1
    ops = (*routed.ops[:at], Op(name, "layer", class_name, config=EMPTY), *routed.ops[at:])
    return routed.with_changes(calls=calls, ops=ops, inputs=graph.inputs)


def remove(graph: Graph, op: str) -> Graph:
    """Return the graph without an op of one call, whose consumers are rewired to its first input."""
    (call,) = graph.calls_of(op)
    source = next(call.refs())
    routed = reroute(graph, lambda ref: source if ref.call == call.id else ref)
    calls = tuple(other for other in routed.calls if other.id != call.id)
    return routed.with_changes(calls=calls, ops=tuple(other for other in routed.ops if other.id != op))
