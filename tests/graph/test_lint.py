"""Every rule of graphs, with a graph that breaks it."""

import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from ramet._graph import RULES, FrozenDict, Graph, GraphError, Op, Problem, Ref, VariableSpec, check, freeze, lint
from tests.graph.sample import call, config, dense, input_op, layer, masked, nested, small, split, value
from tests.graph.strategies import few, graphs

pytestmark = pytest.mark.no_backend

Breaks = Callable[[], Graph]


def with_call(graph: Graph, name: str, **changes: Any) -> Graph:
    calls = (call.with_changes(**changes) if call.id == name else call for call in graph.calls)
    return graph.with_changes(calls=tuple(calls))


def with_extra(*ops: Op) -> Graph:
    return small().with_changes(extras=ops)


def inner(**changes: Any) -> Graph:
    """The nested sample with a changed graph in its encoder."""
    graph = nested()
    encoder = graph.op("encoder").graph
    assert encoder is not None
    x, op, decoder = graph.ops
    return graph.with_changes(ops=(x, op.with_changes(graph=encoder.with_changes(**changes)), decoder))


KERNEL = VariableSpec("kernel", (2,), "float32")

BROKEN: list[tuple[str, Breaks, str, str]] = [
    (
        "op_ids_are_unique",
        lambda: with_extra(input_op("d")),
        "d",
        "2 ops have the id 'd'.",
    ),
    (
        "kinds_are_known",
        lambda: small().with_changes(kind="cyclic"),
        "",
        "the graph 'small' is of the kind 'cyclic', and there is no such kind.",
    ),
    (
        "subclassed_graphs_have_no_calls",
        lambda: small().with_changes(kind="subclassed"),
        "",
        "the graph 'small' is of the kind 'subclassed', and yet has calls, inputs or outputs.",
    ),
    (
        "ops_are_called",
        lambda: small().with_changes(ops=(*small().ops, dense("e", 8, 8))),
        "e",
        "the op 'e' has no call; what a model only holds stands among its extras.",
    ),
    (
        "calls_have_an_op",
        lambda: small().with_changes(ops=small().ops[:2], extras=small().ops[2:]),
        "add",
        "the call 'add' is a call of 'add', and the graph has no such op.",
    ),
    (
        "calls_of_models_have_their_outputs",
        lambda: with_call(nested(), "encoder#2", outputs=(value(), value()), structure=(0, 1)),
        "encoder#2",
        "the call 'encoder#2' has 2 outputs, and its model has 1.",
    ),
    (
        "call_ids_are_unique",
        lambda: with_call(small(), "d#2", id="d", args=(Ref("x"),)),
        "d",
        "2 calls have the id 'd'.",
    ),
    (
        "call_ids_count_the_calls_of_an_op",
        lambda: with_call(split(), "head", id="head#3").with_changes(outputs=Ref("head#3")),
        "head#3",
        "call number 1 of the op 'head' has the id 'head#3', not 'head'.",
    ),
    (
        "calls_have_an_op",
        lambda: with_call(small(), "add", op="sum", id="sum").with_changes(outputs=Ref("sum"), ops=small().ops[:2]),
        "sum",
        "the call 'sum' is a call of 'sum', and the graph has no such op.",
    ),
    (
        "refs_resolve",
        lambda: with_call(small(), "d#2", args=(Ref("gone"),)),
        "d#2",
        "the call 'd#2' takes a value of 'gone', and there is no such call.",
    ),
    (
        "refs_resolve",
        lambda: with_call(split(), "head", args=(freeze({"x": [Ref("split", 2)]}),)),
        "head",
        "the call 'head' takes output 2 of 'split', which has 2.",
    ),
    (
        "refs_point_back",
        lambda: with_call(small(), "d", args=(Ref("d#2"),)),
        "d",
        "the call 'd' takes a value of 'd#2', which does not come before it.",
    ),
    (
        "refs_point_back",
        lambda: with_call(small(), "d", args=(Ref("d"),)),
        "d",
        "the call 'd' takes a value of 'd', which does not come before it.",
    ),
    (
        "masks_resolve",
        lambda: with_call(small(), "d", outputs=(value(mask=Ref("gone")),)),
        "d",
        "the mask of output 0 of 'd' is a value of 'gone', and there is no such call.",
    ),
    (
        "masks_resolve",
        lambda: with_call(small(), "d", outputs=(value(mask=Ref("x", 1)),)),
        "d",
        "the mask of output 0 of 'd' is output 1 of 'x', which has 1.",
    ),
    (
        "mask_kinds_name_masks",
        lambda: with_call(masked(), "lstm", mask_kinds=(("masks", "implicit"),)),
        "lstm",
        "the argument 'masks' of 'lstm' is said to be a mask, and there is no such argument.",
    ),
    (
        "mask_kinds_name_masks",
        lambda: with_call(masked(), "lstm", mask_kinds=((1, "explicit"),)),
        "lstm",
        "the argument 1 of 'lstm' is said to be a mask, and there is no such argument.",
    ),
    (
        "mask_kinds_name_masks",
        lambda: with_call(masked(), "lstm", mask_kinds=(("mask", "explicit"), ("mask", "implicit"))),
        "lstm",
        "the argument 'mask' of 'lstm' is said to be a mask twice.",
    ),
    (
        "mask_kinds_name_masks",
        lambda: with_call(masked(), "lstm", mask_kinds=(("mask", "found"),)),
        "lstm",
        "the argument 'mask' of 'lstm' is said to be a mask of the kind 'found', and there is no such kind.",
    ),
    (
        "mask_kinds_name_masks",
        lambda: with_call(masked(), "lstm", mask_kinds=(("training", "implicit"),)),
        "lstm",
        "the argument 'training' of 'lstm' is said to be an implicit mask, and no call makes it.",
    ),
    (
        "structures_hold_every_output",
        lambda: with_call(split(), "split", structure=freeze([0, 0])),
        "split",
        "the structure of 'split' does not hold each of its 2 outputs once.",
    ),
    (
        "structures_hold_every_output",
        lambda: with_call(split(), "split", structure=freeze({"a": 0, "b": "1"})),
        "split",
        "the structure of 'split' does not hold each of its 2 outputs once.",
    ),
    (
        "shapes_are_sizes",
        lambda: with_call(small(), "d", outputs=(value(None, -1),)),
        "d",
        "output 0 of 'd' has the shape (None, -1).",
    ),
    (
        "calls_hold_frozen_data",
        lambda: with_call(small(), "d", args=(Ref("x"), (1, [2]))),
        "d",
        "the arguments of 'd' hold a list, which is no frozen data.",
    ),
    (
        "inputs_are_calls_of_inputs",
        lambda: small().with_changes(inputs=(Ref("x"), Ref("d"))),
        "d",
        "the inputs hold 'd', which is a call of a layer, not of an input.",
    ),
    (
        "inputs_are_calls_of_inputs",
        lambda: small().with_changes(inputs=(Ref("x"), Ref("y"))),
        "y",
        "the inputs hold a value of 'y', and there is no such call.",
    ),
    (
        "inputs_are_calls_of_inputs",
        lambda: small().with_changes(inputs=(Ref("x"), 1)),
        "",
        "the inputs hold a int, which is no ref.",
    ),
    (
        "inputs_are_calls_of_inputs",
        lambda: small().with_changes(inputs=(Ref("x"), Ref("x"))),
        "x",
        "the inputs hold 'x' 2 times.",
    ),
    (
        "inputs_are_calls_of_inputs",
        lambda: small().with_changes(inputs=()),
        "x",
        "the call 'x' of an input is not among the inputs.",
    ),
    (
        "inputs_are_calls_of_inputs",
        lambda: with_call(small(), "x", args=(1,)),
        "x",
        "the call 'x' of an input takes arguments.",
    ),
    (
        "outputs_resolve",
        lambda: small().with_changes(outputs=Ref("add", 1)),
        "add",
        "the outputs hold output 1 of 'add', which has 1.",
    ),
    (
        "outputs_resolve",
        lambda: small().with_changes(outputs=None),
        "",
        "the outputs hold None, which is no ref.",
    ),
    (
        "op_ids_are_names",
        lambda: with_extra(layer("a/b", "A")),
        "a/b",
        "the id 'a/b' cannot be a part of a path.",
    ),
    (
        "op_kinds_are_known",
        lambda: with_extra(layer("l", "L", kind="node")),
        "l",
        "the op 'l' is of the kind 'node', and there is no such kind.",
    ),
    (
        "children_have_unique_ids",
        lambda: with_extra(layer("l", "L", children=(layer("a", "A"), layer("a", "B")))),
        "l",
        "2 children of 'l' have the id 'a'.",
    ),
    (
        "variables_have_unique_ids",
        lambda: with_extra(layer("l", "L", variables=(KERNEL, KERNEL))),
        "l",
        "2 variables of 'l' have the id 'kernel'.",
    ),
    (
        "variables_have_unique_ids",
        lambda: with_extra(layer("l", "L", variables=(KERNEL.with_changes(id="a/b"),))),
        "l",
        "the id 'a/b' of a variable of 'l' cannot be a part of a path.",
    ),
    (
        "variable_shapes_are_sizes",
        lambda: with_extra(layer("l", "L", variables=(KERNEL.with_changes(shape=(True,)),))),
        "l",
        "the variable 'kernel' of 'l' has the shape (True,).",
    ),
    (
        "models_have_a_graph",
        lambda: with_extra(layer("m", "M", kind="model")),
        "m",
        "the model 'm' has no graph.",
    ),
    (
        "models_have_a_graph",
        lambda: with_extra(layer("small", "Functional", graph=small())),
        "small",
        "the layer 'small' has a graph, which only models have.",
    ),
    (
        "models_have_a_graph",
        lambda: with_extra(layer("small", "Functional", kind="model", graph=small(), children=(layer("a", "A"),))),
        "small",
        "the model 'small' has children beside its graph; they belong among the extras of the graph.",
    ),
    (
        "nested_graphs_carry_the_names_of_their_ops",
        lambda: with_extra(layer("m", "M", kind="model", graph=small())),
        "m",
        "the op 'm' is m (M), and its graph says small (Functional).",
    ),
    (
        "nested_graphs_carry_the_names_of_their_ops",
        lambda: inner(root=Op("encoder", "model", "Functional", config=config())),
        "encoder",
        "the graph of 'encoder' has a root, which only the outermost graph has.",
    ),
    (
        "configs_are_there_or_missed",
        lambda: with_extra(layer("l", "L", config=None)),
        "l",
        "the op 'l' has no config, and no reason for that.",
    ),
    (
        "configs_are_there_or_missed",
        lambda: with_extra(layer("l", "L", no_config="none")),
        "l",
        "the op 'l' has a config, and a reason for having none.",
    ),
    (
        "ops_hold_frozen_data",
        lambda: with_extra(layer("l", "L", config=FrozenDict((("units", {8}),)))),  # type: ignore[arg-type]
        "l",
        "the config of 'l' holds a set, which is no frozen data.",
    ),
    (
        "stubs_are_empty",
        lambda: with_extra(dense("e", 8, 8, same_as="d")),
        "e",
        "the op 'e' is the same as 'd', and yet tells what is inside it.",
    ),
    (
        "stubs_name_an_op_before_them",
        lambda: with_extra(layer("e", "Dense", same_as="f")),
        "e",
        "'e' is said to be 'f', and no op that is told before stands there.",
    ),
    (
        "stubs_name_an_op_before_them",
        lambda: with_extra(layer("e", "Dense", same_as="f"), dense("f", 8, 8)),
        "e",
        "'e' is said to be 'f', and no op that is told before stands there.",
    ),
    (
        "stubs_name_an_op_before_them",
        lambda: with_extra(layer("e", "Conv2D", same_as="d")),
        "e",
        "'e' is a Conv2D, and 'd', the same op, a Dense.",
    ),
    (
        "tied_variables_name_one_before_them",
        lambda: with_extra(layer("e", "E", variables=(KERNEL.with_changes(tied="d/kernels"),))),
        "e/kernel",
        "'e/kernel' is tied to 'd/kernels', and no variable that is told before stands there.",
    ),
    (
        "tied_variables_name_one_before_them",
        lambda: with_extra(layer("e", "E", variables=(KERNEL.with_changes(tied="d/kernel"),))),
        "e/kernel",
        "'e/kernel' is ((2,), 'float32'), and 'd/kernel', the same variable, ((8, 8), 'float32').",
    ),
    (
        "the_root_is_the_model_alone",
        lambda: small().with_changes(root=Op("small", "layer", "Functional", config=config())),
        "",
        "the root of 'small' is no model without a graph, children and another place.",
    ),
    (
        "the_root_is_the_model_alone",
        lambda: small().with_changes(root=Op("large", "model", "Functional", config=config())),
        "",
        "the root is large (Functional), and the graph small (Functional).",
    ),
]


@pytest.mark.parametrize("graph", [small(), split(), masked(), nested()], ids=lambda graph: graph.name)
def test_a_sound_graph_breaks_no_rule(graph: Graph) -> None:
    assert lint(graph) == []
    assert check(graph) is graph


@pytest.mark.parametrize(("rule", "broken", "path", "message"), BROKEN, ids=[f"{row[0]}-{row[2]}" for row in BROKEN])
def test_a_broken_rule_is_told_with_its_place(rule: str, broken: Breaks, path: str, message: str) -> None:
    assert Problem(rule, path, message) in lint(broken())


# These rules cannot be broken alone: what breaks them breaks the named ones too.
TOGETHER = {
    "calls_have_an_op": {"ops_are_called"},
    "call_ids_are_unique": {"call_ids_count_the_calls_of_an_op", "refs_resolve", "refs_point_back"},
}


@pytest.mark.parametrize(("rule", "broken"), [row[:2] for row in BROKEN], ids=[f"{row[0]}-{row[2]}" for row in BROKEN])
def test_one_mistake_breaks_one_rule(rule: str, broken: Breaks) -> None:
    assert {problem.rule for problem in lint(broken())} <= {rule, *TOGETHER.get(rule, ())}


def test_every_rule_has_a_graph_that_breaks_it() -> None:
    assert {row[0] for row in BROKEN} == set(RULES)


def test_every_rule_is_a_sentence() -> None:
    for name, sentence in RULES.items():
        assert sentence.endswith("."), name


def test_a_problem_in_a_nested_graph_has_the_path_to_it() -> None:
    assert lint(inner(outputs=Ref("e"))) == [
        Problem("outputs_resolve", "encoder/e", "the outputs hold a value of 'e', and there is no such call.")
    ]


def test_an_extra_is_not_called() -> None:
    graph = small().with_changes(ops=small().ops[:2], extras=small().ops[2:])

    assert Problem("ops_are_called", "add", "the op 'add' has a call, and yet stands among the extras.") in lint(graph)


def test_a_sequential_model_without_an_input_needs_no_calls() -> None:
    graph = Graph("s", "Sequential", "sequential", ops=(dense("d", 8, 8),))

    assert lint(graph) == []


def test_check_raises_with_all_problems() -> None:
    graph = small().with_changes(inputs=(), outputs=Ref("gone"))

    with pytest.raises(GraphError) as caught:
        check(graph)

    assert str(caught.value) == (
        "Cannot use the graph 'small': the call 'x' of an input is not among the inputs.\n"
        "  found:    1 more broken rule; `lint` lists them"
    )
    assert list(caught.value.problems) == lint(graph)
    assert isinstance(caught.value, ValueError)
    assert pickle.loads(pickle.dumps(caught.value)).problems == caught.value.problems


def test_lint_looks_at_everything_even_where_much_is_wrong() -> None:
    graph = Graph(
        "wrong",
        "Functional",
        ops=(layer("", ""), layer("", "")),
        calls=(call("a", Ref("a"), Ref("b", 3), outputs=()), call("a", kwargs=config(mask=Ref("c")))),
        outputs=(Ref("a", 9), "x"),
    )

    assert len({problem.rule for problem in lint(graph)}) >= 8


@few
@given(graphs())
def test_random_graphs_are_sound(graph: Graph) -> None:
    assert lint(graph) == []
