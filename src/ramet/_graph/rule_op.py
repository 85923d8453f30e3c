"""The rules for the ops of one graph, and for the graph as a whole."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator

from ramet._graph.argument import refs
from ramet._graph.graph import GRAPH_KINDS, Graph
from ramet._graph.op import OP_KINDS, Op
from ramet._graph.rule_call import Finding, first_foreign, is_shape

__all__ = ["GRAPH_RULES", "OP_RULES"]


# For one graph.


def op_ids_are_unique(graph: Graph) -> Iterator[Finding]:
    """No two ops of a graph have one id."""
    yield from _repeated((op.id for op in graph.held), "ops have")


def kinds_are_known(graph: Graph) -> Iterator[Finding]:
    """A graph is functional, sequential, subclassed, or that of a layer on its own."""
    if graph.kind not in GRAPH_KINDS:
        yield "", f"the graph '{graph.name}' is of the kind '{graph.kind}', and there is no such kind."


def subclassed_graphs_have_no_calls(graph: Graph) -> Iterator[Finding]:
    """A subclassed model or a layer is an op tree: nothing is known of its calls, inputs and outputs."""
    if not graph.has_calls and (graph.calls or graph.inputs is not None or graph.outputs is not None):
        yield "", f"the graph '{graph.name}' is of the kind '{graph.kind}', and yet has calls, inputs or outputs."


def ops_are_called(graph: Graph) -> Iterator[Finding]:
    """Each op of a call graph is called. A sequential model without an input has no calls yet."""
    if not graph.has_calls or (graph.kind == "sequential" and not graph.calls):
        return
    for op in graph.ops:
        if not graph.calls_of(op.id):
            yield op.id, f"the op '{op.id}' has no call; what a model only holds stands among its extras."
    called = {op.id for op in graph.ops}
    for op in graph.extras:
        if op.id not in called and graph.calls_of(op.id):
            yield op.id, f"the op '{op.id}' has a call, and yet stands among the extras."


def calls_of_models_have_their_outputs(graph: Graph) -> Iterator[Finding]:
    """A call of a nested model has as many outputs as the model."""
    for call in graph.calls:
        op = graph._index.ops.get(call.op)
        inner = op and op.graph
        if inner and inner.calls:
            count = sum(1 for _ in refs(inner.outputs))
            if count != len(call.outputs):
                yield call.id, f"the call '{call.id}' has {len(call.outputs)} outputs, and its model has {count}."


# For one op; the path is added by the caller.


def op_ids_are_names(op: Op) -> Iterator[str]:
    """An id can be a part of a path."""
    if not op.id or "/" in op.id:
        yield f"the id {op.id!r} cannot be a part of a path."


def op_kinds_are_known(op: Op) -> Iterator[str]:
    """An op is an input, a layer, a model or an operation."""
    if op.kind not in OP_KINDS:
        yield f"the op '{op.id}' is of the kind '{op.kind}', and there is no such kind."


def children_have_unique_ids(op: Op) -> Iterator[str]:
    """No two children of an op have one id."""
    for _, message in _repeated((child.id for child in op.children), f"children of '{op.id}' have"):
        yield message


def variables_have_unique_ids(op: Op) -> Iterator[str]:
    """No two variables of an op have one id, and each id can be a part of a path."""
    for _, message in _repeated((spec.id for spec in op.variables), f"variables of '{op.id}' have"):
        yield message
    for spec in op.variables:
        if not spec.id or "/" in spec.id:
            yield f"the id {spec.id!r} of a variable of '{op.id}' cannot be a part of a path."


def variable_shapes_are_sizes(op: Op) -> Iterator[str]:
    """The shape of a variable is a tuple of sizes, or None while it is not known."""
    for spec in op.variables:
        if spec.shape is not None and not is_shape(spec.shape):
            yield f"the variable '{spec.id}' of '{op.id}' has the shape {spec.shape!r}."


def models_have_a_graph(op: Op) -> Iterator[str]:
    """A model has a graph, which holds what is inside it; nothing else has one."""
    if op.kind == "model" and op.graph is None and op.same_as is None:
        yield f"the model '{op.id}' has no graph."
    if op.kind != "model" and op.graph is not None:
        yield f"the {op.kind} '{op.id}' has a graph, which only models have."
    if op.graph is not None and op.children:
        yield f"the model '{op.id}' has children beside its graph; they belong among the extras of the graph."


def nested_graphs_carry_the_names_of_their_ops(op: Op) -> Iterator[str]:
    """A nested graph has the name and class of its op, which says the rest: it has no root."""
    inner = op.graph
    if inner is None:
        return
    if (inner.name, inner.class_name) != (op.name, op.class_name):
        yield (
            f"the op '{op.id}' is {op.name} ({op.class_name}), and its graph says {inner.name} ({inner.class_name})."
        )
    if inner.root is not None:
        yield f"the graph of '{op.id}' has a root, which only the outermost graph has."


def configs_are_there_or_missed(op: Op) -> Iterator[str]:
    """An op has a config, or the reason why there is none. A stub needs neither."""
    if op.config is not None and op.no_config is not None:
        yield f"the op '{op.id}' has a config, and a reason for having none."
    if op.config is None and op.no_config is None and op.same_as is None:
        yield f"the op '{op.id}' has no config, and no reason for that."


def ops_hold_frozen_data(op: Op) -> Iterator[str]:
    """Configs and flags are frozen data all the way down."""
    for word, value in (("config", op.config), ("flags", op.flags)):
        if (foreign := first_foreign(value)) is not None:
            yield f"the {word} of '{op.id}' holds a {foreign}, which is no frozen data."


def stubs_are_empty(op: Op) -> Iterator[str]:
    """Where an op stands again, nothing is told again."""
    if op.same_as is not None and (op.graph is not None or op.children or op.variables):
        yield f"the op '{op.id}' is the same as '{op.same_as}', and yet tells what is inside it."


GRAPH_RULES = (
    op_ids_are_unique,
    kinds_are_known,
    subclassed_graphs_have_no_calls,
    ops_are_called,
    calls_of_models_have_their_outputs,
)

OP_RULES = (
    op_ids_are_names,
    op_kinds_are_known,
    children_have_unique_ids,
    variables_have_unique_ids,
    variable_shapes_are_sizes,
    models_have_a_graph,
    nested_graphs_carry_the_names_of_their_ops,
    configs_are_there_or_missed,
    ops_hold_frozen_data,
    stubs_are_empty,
)


def _repeated(names: Iterable[str], words: str) -> Iterator[Finding]:
    for name, count in Counter(names).items():
        if count > 1:
            yield name, f"{count} {words} the id '{name}'."
