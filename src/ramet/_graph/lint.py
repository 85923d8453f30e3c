"""Every rule that a graph must satisfy, in one place: each is a function whose name states it, and `lint` checks all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from ramet._graph.argument import PLAIN, Argument, Constant, Ref, leaves, refs
from ramet._graph.graph import GRAPH_KINDS, Graph
from ramet._graph.nodes import MASK_KINDS, OP_KINDS, Call, Op, call_id

# The id of a call or op (or its path, or "" for the graph itself), and a message.
_Violation = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Problem:
    """One rule that a graph violates.

    Attributes:
        rule: The name of the rule.
        path: The path of the nested graph, if any, and the id of the op or call.
        message: A sentence that makes sense on its own.
    """

    rule: str
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


def lint(graph: Graph) -> list[Problem]:
    """Return every violation of a rule, nested graphs included, in order; an empty list for a consistent graph."""
    return list(_problems(graph))


def _problems(graph: Graph) -> Iterator[Problem]:
    yield from _check(graph, "", GRAPH_RULES)
    if graph.root is not None:
        # The root is described apart from the graph: of the rules for ops, only those for its variables apply.
        for rule in (variables_have_unique_ids, variable_shapes_are_valid):
            yield from (Problem(rule.__name__, "", message) for message in rule(graph.root))
    for path, op in graph.walk():
        for op_rule in OP_RULES:
            for message in op_rule(op):
                yield Problem(op_rule.__name__, path, message)
        if op.graph is not None:
            yield from _check(op.graph, path, GRAPH_RULES)
    yield from _check(graph, "", PATH_RULES)


def _check(graph: Graph, path: str, rules: Iterable[Callable[[Graph], Iterator[_Violation]]]) -> Iterator[Problem]:
    for rule in rules:
        for name, message in rule(graph):
            yield Problem(rule.__name__, "/".join(filter(None, (path, name))), message)


# Rules for one graph as a whole.


def op_ids_are_unique(graph: Graph) -> Iterator[_Violation]:
    """No two ops of a graph have the same id."""
    yield from _repeated((op.id for op in graph.held), "ops have")


def graph_kinds_are_known(graph: Graph) -> Iterator[_Violation]:
    """A graph is functional, sequential, subclassed, or that of a layer on its own."""
    if graph.kind not in GRAPH_KINDS:
        yield "", f"the graph '{graph.name}' has the unknown kind '{graph.kind}'."


def subclassed_graphs_have_no_calls(graph: Graph) -> Iterator[_Violation]:
    """A subclassed model or a layer is a tree of ops: its calls, inputs and outputs are unknown."""
    if not graph.has_calls and (graph.calls or graph.inputs is not None or graph.outputs is not None):
        yield "", f"the graph '{graph.name}' is of kind '{graph.kind}', but has calls, inputs or outputs."


def ops_are_called(graph: Graph) -> Iterator[_Violation]:
    """Each op of a call graph is called. A sequential model without an input has no calls yet."""
    if not graph.has_calls or (graph.kind == "sequential" and not graph.calls):
        return
    for op in graph.ops:
        if not graph.calls_of(op.id):
            yield op.id, f"the op '{op.id}' has no call; an op that is only held belongs in the extras."
    called = {op.id for op in graph.ops}
    for op in graph.extras:
        if op.id not in called and graph.calls_of(op.id):
            yield op.id, f"the op '{op.id}' has a call, but is one of the extras."


def calls_of_models_have_all_outputs(graph: Graph) -> Iterator[_Violation]:
    """A call of a nested model has as many outputs as the model."""
    for call in graph.calls:
        op = graph._index.ops.get(call.op)
        inner = op and op.graph
        if inner and inner.calls:
            count = sum(1 for _ in refs(inner.outputs))
            if count != len(call.outputs):
                yield call.id, f"the call '{call.id}' has {len(call.outputs)} outputs, but its model has {count}."


# Rules for the calls of one graph.


def call_ids_are_unique(graph: Graph) -> Iterator[_Violation]:
    """No two calls have the same id."""
    yield from _repeated((call.id for call in graph.calls), "calls have")


def call_ids_number_the_calls_of_an_op(graph: Graph) -> Iterator[_Violation]:
    """The id of a call gives the id of its op and its number among the op's calls."""
    counts: Counter[str] = Counter()
    for call in graph.calls:
        counts[call.op] += 1
        expected = call_id(call.op, counts[call.op])
        if call.id != expected:
            yield call.id, f"call {counts[call.op]} of the op '{call.op}' has the id '{call.id}', not '{expected}'."


def calls_have_an_op(graph: Graph) -> Iterator[_Violation]:
    """The op of each call is one of the graph's ops."""
    known = {op.id for op in graph.ops}
    for call in graph.calls:
        if call.op not in known:
            yield call.id, f"the call '{call.id}' refers to the op '{call.op}', which the graph does not have."


def refs_resolve(graph: Graph) -> Iterator[_Violation]:
    """Each ref in an argument points to an existing output of an existing call."""
    for call, reads in zip(graph.calls, graph._index.reads, strict=True):
        for ref in reads:
            if missing := _missing(graph, ref):
                yield call.id, f"the call '{call.id}' uses {missing}."


def refs_point_back(graph: Graph) -> Iterator[_Violation]:
    """A call uses values of earlier calls only: so there are no cycles, and the calls can run in order."""
    at = graph._index.positions
    for position, (call, reads) in enumerate(zip(graph.calls, graph._index.reads, strict=True)):
        for ref in reads:
            if at.get(ref.call, -1) >= position:
                yield call.id, f"the call '{call.id}' uses a value of '{ref.call}', which does not come before it."


def masks_resolve(graph: Graph) -> Iterator[_Violation]:
    """The mask of each value points to an existing output of an existing call."""
    for call in graph.calls:
        for number, value in enumerate(call.outputs):
            if isinstance(value.mask, Ref) and (missing := _missing(graph, value.mask)):
                yield call.id, f"the mask of output {number} of '{call.id}' is {missing}."


def mask_kinds_name_masks(graph: Graph) -> Iterator[_Violation]:
    """Each mask kind names an argument, once, as implicit or explicit; an implicit mask is produced by a call."""
    for call in graph.calls:
        seen: set[int | str] = set()
        for key, kind in call.mask_kinds:
            argument = f"the argument {key!r} of '{call.id}'"
            given = key in call.kwargs if isinstance(key, str) else 0 <= key < len(call.args)
            if not given:
                yield call.id, f"{argument} is listed as a mask, but does not exist."
            elif key in seen:
                yield call.id, f"{argument} is listed as a mask twice."
            elif kind not in MASK_KINDS:
                yield call.id, f"{argument} is listed as a mask of the unknown kind '{kind}'."
            elif kind == "implicit" and next(refs(call.argument(key)), None) is None:
                yield call.id, f"{argument} is listed as an implicit mask, but no call produces it."
            seen.add(key)


def structures_contain_every_output(graph: Graph) -> Iterator[_Violation]:
    """The structure of a call's outputs contains the position of each output once."""
    for call in graph.calls:
        found = [leaf for leaf in leaves(call.structure) if leaf is not None]
        numbers = [leaf for leaf in found if type(leaf) is int]
        if len(numbers) != len(found) or sorted(numbers) != list(range(len(call.outputs))):
            yield (
                call.id,
                f"the structure of '{call.id}' does not contain each of its {len(call.outputs)} outputs once.",
            )


def shapes_are_valid(graph: Graph) -> Iterator[_Violation]:
    """A shape is a tuple of sizes, with None for a free dimension; or it is unknown."""
    for call in graph.calls:
        for number, value in enumerate(call.outputs):
            if value.shape is not None and not _is_shape(value.shape):
                yield call.id, f"output {number} of '{call.id}' has the invalid shape {value.shape!r}."


def calls_contain_frozen_data(graph: Graph) -> Iterator[_Violation]:
    """Arguments are frozen data at every depth."""
    for call in graph.calls:
        for word, value in (("arguments", call.args), ("arguments", call.kwargs), ("structure", call.structure)):
            if (foreign := _first_foreign(value)) is not None:
                verb = "contain" if word == "arguments" else "contains"
                yield call.id, f"the {word} of '{call.id}' {verb} a {foreign}, which is not frozen data."


def inputs_are_calls_of_inputs(graph: Graph) -> Iterator[_Violation]:
    """The graph's inputs are the calls of its input ops, each once, and these take no arguments."""
    if not graph.has_calls:
        return
    counts: Counter[str] = Counter()
    for leaf in leaves(graph.inputs):
        if not isinstance(leaf, Ref):
            if leaf is not None or graph.calls:
                yield "", f"the inputs contain {_describe(leaf)}, which is not a ref."
            continue
        counts[leaf.call] += 1
        call = graph._index.calls.get(leaf.call)
        op = call and graph._index.ops.get(call.op)
        if missing := _missing(graph, leaf):
            yield leaf.call, f"the inputs contain {missing}."
        elif op and op.kind != "input":
            yield leaf.call, f"the inputs contain '{leaf.call}', which is a call of a {op.kind}, not of an input."
    for name, count in counts.items():
        if count > 1:
            yield name, f"the inputs contain '{name}' {count} times."
    for call in graph.calls:
        op = graph._index.ops.get(call.op)
        if op and op.kind == "input":
            if call.id not in counts:
                yield call.id, f"the call '{call.id}' of an input is not one of the inputs."
            if call.args or len(call.kwargs):
                yield call.id, f"the call '{call.id}' of an input has arguments."


def outputs_resolve(graph: Graph) -> Iterator[_Violation]:
    """The graph's outputs are refs to existing outputs of its calls."""
    if not graph.calls:
        return
    for leaf in leaves(graph.outputs):
        if not isinstance(leaf, Ref):
            yield "", f"the outputs contain {_describe(leaf)}, which is not a ref."
        elif missing := _missing(graph, leaf):
            yield leaf.call, f"the outputs contain {missing}."


# Rules for one op at any level; the path is added by the caller.


def op_ids_fit_in_paths(op: Op) -> Iterator[str]:
    """An id can be part of a path."""
    if not op.id or "/" in op.id:
        yield f"the id {op.id!r} cannot be part of a path."


def op_kinds_are_known(op: Op) -> Iterator[str]:
    """An op is an input, a layer, a model or an operation."""
    if op.kind not in OP_KINDS:
        yield f"the op '{op.id}' has the unknown kind '{op.kind}'."


def children_have_unique_ids(op: Op) -> Iterator[str]:
    """No two children of an op have the same id."""
    for _, message in _repeated((child.id for child in op.children), f"children of '{op.id}' have"):
        yield message


def variables_have_unique_ids(op: Op) -> Iterator[str]:
    """No two variables of an op have the same id, and each id can be part of a path."""
    for _, message in _repeated((spec.id for spec in op.variables), f"variables of '{op.id}' have"):
        yield message
    for spec in op.variables:
        if not spec.id or "/" in spec.id:
            yield f"the id {spec.id!r} of a variable of '{op.id}' cannot be part of a path."


def variable_shapes_are_valid(op: Op) -> Iterator[str]:
    """The shape of a variable is a tuple of sizes, or None if unknown."""
    for spec in op.variables:
        if spec.shape is not None and not _is_shape(spec.shape):
            yield f"the variable '{spec.id}' of '{op.id}' has the invalid shape {spec.shape!r}."


def models_have_a_graph(op: Op) -> Iterator[str]:
    """A model has a graph with everything inside it; no other op has one."""
    if op.kind == "model" and op.graph is None and op.same_as is None:
        yield f"the model '{op.id}' has no graph."
    if op.kind != "model" and op.graph is not None:
        yield f"the {op.kind} '{op.id}' has a graph, which only models have."
    if op.graph is not None and op.children:
        yield f"the model '{op.id}' has children besides its graph; they belong in the extras of the graph."


def nested_graphs_match_their_ops(op: Op) -> Iterator[str]:
    """A nested graph has the name and class of its op, and no root: the op has everything else."""
    inner = op.graph
    if inner is None:
        return
    if (inner.name, inner.class_name) != (op.name, op.class_name):
        yield (f"the op '{op.id}' is {op.name} ({op.class_name}), but its graph is {inner.name} ({inner.class_name}).")
    if inner.root is not None:
        yield f"the graph of '{op.id}' has a root, which only the outermost graph has."


def configs_exist_or_have_a_reason(op: Op) -> Iterator[str]:
    """An op has a config, or the reason why there is none. A stub needs neither."""
    if op.config is not None and op.no_config is not None:
        yield f"the op '{op.id}' has a config, and a reason for not having one."
    if op.config is None and op.no_config is None and op.same_as is None:
        yield f"the op '{op.id}' has neither a config nor a reason for not having one."


def ops_contain_frozen_data(op: Op) -> Iterator[str]:
    """Configs and flags are frozen data at every depth."""
    for word, value in (("config", op.config), ("flags", op.flags)):
        if (foreign := _first_foreign(value)) is not None:
            yield f"'{word}' of '{op.id}' contains a {foreign}, which is not frozen data."


def stubs_are_empty(op: Op) -> Iterator[str]:
    """Only the first occurrence of an op has contents."""
    if op.same_as is not None and (op.graph is not None or op.children or op.variables):
        yield f"the op '{op.id}' is the same as '{op.same_as}', but has its own contents."


# Rules across all levels: every object has one first occurrence.


def stubs_name_an_earlier_op(graph: Graph) -> Iterator[_Violation]:
    """`same_as` names an op that comes earlier, has the same class, and is not a stub."""
    wanted = {op.same_as for _, op in graph.walk() if op.same_as is not None}
    if not wanted:
        return
    # Only the paths that are needed are kept: all of them together grow with the square of the depth.
    seen: dict[str, str | None] = {}
    for path, op in graph.walk():
        if op.same_as is None:
            if path in wanted:
                seen.setdefault(path, op.class_name)
            continue
        if op.same_as not in seen:
            yield path, f"'{path}' is the same as '{op.same_as}', but there is no earlier op at that path."
        elif seen[op.same_as] != op.class_name:
            yield path, f"'{path}' is a {op.class_name}, but '{op.same_as}', the same op, is a {seen[op.same_as]}."


def tied_variables_name_an_earlier_one(graph: Graph) -> Iterator[_Violation]:
    """`tied` names a variable that comes earlier, has the same shape and dtype, and is not tied itself."""
    wanted = {spec.tied for _, spec in graph.variables() if spec.tied is not None}
    if not wanted:
        return
    seen: dict[str, tuple[object, str]] = {}
    for path, spec in graph.variables():
        form = (spec.shape, spec.dtype)
        if spec.tied is None:
            if path in wanted:
                seen.setdefault(path, form)
            continue
        if spec.tied not in seen:
            yield path, f"'{path}' is tied to '{spec.tied}', but there is no earlier variable at that path."
        elif seen[spec.tied] != form:
            yield path, f"'{path}' is {form}, but '{spec.tied}', the same variable, is {seen[spec.tied]}."


def root_is_the_model_alone(graph: Graph) -> Iterator[_Violation]:
    """The root describes the model itself; its contents are in the graph."""
    root = graph.root
    if root is None:
        return
    kind = "layer" if graph.kind == "layer" else "model"
    if root.kind != kind or root.graph is not None or root.children or root.same_as is not None:
        yield "", f"the root of '{graph.name}' is not a {kind} without contents."
    if (root.name, root.class_name) != (graph.name, graph.class_name):
        yield "", f"the root is {root.name} ({root.class_name}), but the graph is {graph.name} ({graph.class_name})."


GRAPH_RULES = (
    op_ids_are_unique,
    graph_kinds_are_known,
    subclassed_graphs_have_no_calls,
    ops_are_called,
    calls_of_models_have_all_outputs,
    call_ids_are_unique,
    call_ids_number_the_calls_of_an_op,
    calls_have_an_op,
    refs_resolve,
    refs_point_back,
    masks_resolve,
    mask_kinds_name_masks,
    structures_contain_every_output,
    shapes_are_valid,
    calls_contain_frozen_data,
    inputs_are_calls_of_inputs,
    outputs_resolve,
)

OP_RULES = (
    op_ids_fit_in_paths,
    op_kinds_are_known,
    children_have_unique_ids,
    variables_have_unique_ids,
    variable_shapes_are_valid,
    models_have_a_graph,
    nested_graphs_match_their_ops,
    configs_exist_or_have_a_reason,
    ops_contain_frozen_data,
    stubs_are_empty,
)

PATH_RULES = (stubs_name_an_earlier_op, tied_variables_name_an_earlier_one, root_is_the_model_alone)


def _repeated(names: Iterable[str], words: str) -> Iterator[_Violation]:
    for name, count in Counter(names).items():
        if count > 1:
            yield name, f"{count} {words} the id '{name}'."


def _is_shape(shape: object) -> bool:
    return isinstance(shape, tuple) and all(size is None or (type(size) is int and size >= 0) for size in shape)


def _first_foreign(value: Argument) -> str | None:
    """Return the class of the first thing in it that is not frozen data, or None."""
    for leaf in leaves(value):
        if type(leaf) not in PLAIN and not isinstance(leaf, Ref | Constant):
            return type(leaf).__qualname__
    return None


def _missing(graph: Graph, ref: Ref) -> str | None:
    call: Call | None = graph._index.calls.get(ref.call)
    if call is None:
        return f"a value of '{ref.call}', which is not a call of the graph"
    if not 0 <= ref.output < len(call.outputs):
        return f"output {ref.output} of '{ref.call}', which has {len(call.outputs)}"
    return None


def _describe(leaf: Argument) -> str:
    return "None" if leaf is None else f"a {type(leaf).__qualname__}"
