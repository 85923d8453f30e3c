"""Small edits of graphs, so that a test knows what was changed."""

from collections.abc import Callable

from ramet._graph import EMPTY, Call, FrozenDict, Graph, Op, Ref, call_id, map_ops, map_paths, reroute, split_call_id


def change_op(graph: Graph, path: str, **fields: object) -> Graph:
    """The graph with other fields of the op at a path."""
    return map_ops(graph, lambda at, op: op.with_changes(**fields) if at == path else op)


def rename(graph: Graph, old: str, new: str) -> Graph:
    """The graph with another name for an op of its own level."""
    return rename_all(graph, lambda name: new if name == old else name)


def rename_all(graph: Graph, new_name: Callable[[str], str]) -> Graph:
    """The graph with new names for the ops of its own level, wherever they are named."""

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
    """The graph with a new layer behind the last call of an op; everything that took its value takes the new one's."""
    source = Ref(graph.calls_of(op)[-1].id)
    routed = reroute(graph, lambda ref: Ref(name) if ref == source else ref)
    place = next(number for number, call in enumerate(graph.calls) if call.id == source.call) + 1
    made = Call(name, name, (source,), outputs=(graph.value(source).with_changes(mask=None),))
    calls = (*routed.calls[:place], made, *routed.calls[place:])
    at = next(number for number, other in enumerate(graph.ops) if other.id == op) + 1
    ops = (*routed.ops[:at], Op(name, "layer", class_name, config=EMPTY), *routed.ops[at:])
    return routed.with_changes(calls=calls, ops=ops, inputs=graph.inputs)


def remove(graph: Graph, op: str) -> Graph:
    """The graph without an op of one call; what took its value takes its first argument."""
    (call,) = graph.calls_of(op)
    source = next(call.refs())
    routed = reroute(graph, lambda ref: source if ref.call == call.id else ref)
    calls = tuple(other for other in routed.calls if other.id != call.id)
    return routed.with_changes(calls=calls, ops=tuple(other for other in routed.ops if other.id != op))
