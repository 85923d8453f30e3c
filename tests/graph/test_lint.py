"""Every rule of graphs, with a graph that violates it."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given

from ramet._graph import FrozenDict, Graph, Op, Ref, VariableSpec, freeze, lint
from ramet._graph.lint import GRAPH_RULES, OP_RULES, PATH_RULES, Problem
from tests.graph.sample import call, config, dense, input_op, layer, masked, nested, small, split, value
from tests.graph.strategies import few, graphs

pytestmark = pytest.mark.no_backend

Make = Callable[[], Graph]


def with_call(graph: Graph, name: str, **changes: Any) -> Graph:
    calls = (call.with_changes(**changes) if call.id == name else call for call in graph.calls)
    return graph.with_changes(calls=tuple(calls))


def with_extra(*ops: Op) -> Graph:
    return small().with_changes(extras=ops)


def inner(**changes: Any) -> Graph:
    """Return the nested sample with a changed graph in its encoder."""
    graph = nested()
    encoder = graph.op("encoder").graph
    assert encoder is not None
    x, op, decoder = graph.ops
    return graph.with_changes(ops=(x, op.with_changes(graph=encoder.with_changes(**changes)), decoder))


KERNEL = VariableSpec("kernel", (2,), "float32")

BROKEN: list[tuple[str, Make, str, str]] = [
    (
        "op_ids_are_unique",
        lambda: with_extra(input_op("d")),
        "d",
        "2 ops have the id 'd'.",
    ),
    (
        "graph_kinds_are_known",
        lambda: small().with_changes(kind="cyclic"),
        "",
        "the graph 'small' has the unknown kind 'cyclic'.",
    ),
    (
        "subclassed_graphs_have_no_calls",
        lambda: small().with_changes(kind="subclassed"),
        "",
        "the graph 'small' is of kind 'subclassed', but has calls, inputs or outputs.",
    ),
    (
        "ops_are_called",
        lambda: small().with_changes(ops=(*small().ops, dense("e", 8, 8))),
        "e",
        "the op 'e' has no call; an op that is only held belongs in the extras.",
    ),
    (
        "calls_have_an_op",
        lambda: small().with_changes(ops=small().ops[:2], extras=small().ops[2:]),
        "add",
        "the call 'add' refers to the op 'add', which the graph does not have.",
    ),
    (
        "calls_of_models_have_all_outputs",
        lambda: with_call(nested(), "encoder#2", outputs=(value(), value()), structure=(0, 1)),
        "encoder#2",
        "the call 'encoder#2' has 2 outputs, but its model has 1.",
    ),
    (
        "call_ids_are_unique",
        lambda: with_call(small(), "d#2", id="d", args=(Ref("x"),)),
        "d",
        "2 calls have the id 'd'.",
    ),
    (
        "call_ids_number_the_calls_of_an_op",
        lambda: with_call(split(), "head", id="head#3").with_changes(outputs=Ref("head#3")),
        "head#3",
        "call 1 of the op 'head' has the id 'head#3', not 'head'.",
    ),
    (
        "calls_have_an_op",
        lambda: with_call(small(), "add", op="sum", id="sum").with_changes(outputs=Ref("sum"), ops=small().ops[:2]),
        "sum",
        "the call 'sum' refers to the op 'sum', which the graph does not have.",
    ),
    (
        "refs_resolve",
        lambda: with_call(small(), "d#2", args=(Ref("gone"),)),
        "d#2",
        "the call 'd#2' uses a value of 'gone', which is not a call of the graph.",
    ),
    (
        "refs_resolve",
        lambda: with_call(split(), "head", args=(freeze({"x": [Ref("split", 2)]}),)),
        "head",
        "the call 'head' uses output 2 of 'split', which has 2.",
    ),
    (
        "refs_point_back",
        lambda: with_call(small(), "d", args=(Ref("d#2"),)),
        "d",
        "the call 'd' uses a value of 'd#2', which does not come before it.",
    ),
    (
        "refs_point_back",
        lambda: with_call(small(), "d", args=(Ref("d"),)),
        "d",
        "the call 'd' uses a value of 'd', which does not come before it.",
    ),
    (
        "masks_resolve",
        lambda: with_call(small(), "d", outputs=(value(mask=Ref("gone")),)),
        "d",
        "the mask of output 0 of 'd' is a value of 'gone', which is not a call of the graph.",
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
        "the argument 'masks' of 'lstm' is listed as a mask, but does not exist.",
    ),
    (
        "mask_kinds_name_masks",
        lambda: with_call(masked(), "lstm", mask_kinds=((1, "explicit"),)),
        "lstm",
        "the argument 1 of 'lstm' is listed as a mask, but does not exist.",
    ),
    (
        "mask_kinds_name_masks",
        lambda: with_call(masked(), "lstm", mask_kinds=(("mask", "explicit"), ("mask", "implicit"))),
        "lstm",
        "the argument 'mask' of 'lstm' is listed as a mask twice.",
    ),
    (
        "mask_kinds_name_masks",
        lambda: with_call(masked(), "lstm", mask_kinds=(("mask", "found"),)),
        "lstm",
        "the argument 'mask' of 'lstm' is listed as a mask of the unknown kind 'found'.",
    ),
    (
        "mask_kinds_name_masks",
        lambda: with_call(masked(), "lstm", mask_kinds=(("training", "implicit"),)),
        "lstm",
        "the argument 'training' of 'lstm' is listed as an implicit mask, but no call produces it.",
    ),
    (
        "structures_contain_every_output",
        lambda: with_call(split(), "split", structure=freeze([0, 0])),
        "split",
        "the structure of 'split' does not contain each of its 2 outputs once.",
    ),
    (
        "structures_contain_every_output",
        lambda: with_call(split(), "split", structure=freeze({"a": 0, "b": "1"})),
        "split",
        "the structure of 'split' does not contain each of its 2 outputs once.",
    ),
    (
        "shapes_are_valid",
        lambda: with_call(small(), "d", outputs=(value(None, -1),)),
        "d",
        "output 0 of 'd' has the invalid shape (None, -1).",
    ),
    (
        "calls_contain_frozen_data",
        lambda: with_call(small(), "d", args=(Ref("x"), (1, [2]))),
        "d",
        "the arguments of 'd' contain a list, which is not frozen data.",
    ),
    (
        "inputs_are_calls_of_inputs",
        lambda: small().with_changes(inputs=(Ref("x"), Ref("d"))),
        "d",
        "the inputs contain 'd', which is a call of a layer, not of an input.",
    ),
    (
        "inputs_are_calls_of_inputs",
        lambda: small().with_changes(inputs=(Ref("x"), Ref("y"))),
        "y",
        "the inputs contain a value of 'y', which is not a call of the graph.",
    ),
    (
        "inputs_are_calls_of_inputs",
        lambda: small().with_changes(inputs=(Ref("x"), 1)),
        "",
        "the inputs contain a int, which is not a ref.",
    ),
    (
        "inputs_are_calls_of_inputs",
        lambda: small().with_changes(inputs=(Ref("x"), Ref("x"))),
        "x",
        "the inputs contain 'x' 2 times.",
    ),
    (
        "inputs_are_calls_of_inputs",
        lambda: small().with_changes(inputs=()),
        "x",
        "the call 'x' of an input is not one of the inputs.",
    ),
    (
        "inputs_are_calls_of_inputs",
        lambda: with_call(small(), "x", args=(1,)),
        "x",
        "the call 'x' of an input has arguments.",
    ),
    (
        "outputs_resolve",
        lambda: small().with_changes(outputs=Ref("add", 1)),
        "add",
        "the outputs contain output 1 of 'add', which has 1.",
    ),
    (
        "outputs_resolve",
        lambda: small().with_changes(outputs=None),
        "",
        "the outputs contain None, which is not a ref.",
    ),
    (
        "op_ids_fit_in_paths",
        lambda: with_extra(layer("a/b", "A")),
        "a/b",
        "the id 'a/b' cannot be part of a path.",
    ),
    (
        "op_kinds_are_known",
        lambda: with_extra(layer("l", "L", kind="node")),
        "l",
        "the op 'l' has the unknown kind 'node'.",
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
        "the id 'a/b' of a variable of 'l' cannot be part of a path.",
    ),
    (
        "variable_shapes_are_valid",
        lambda: with_extra(layer("l", "L", variables=(KERNEL.with_changes(shape=(True,)),))),
        "l",
        "the variable 'kernel' of 'l' has the invalid shape (True,).",
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
        "the model 'small' has children besides its graph; they belong in the extras of the graph.",
    ),
    (
        "nested_graphs_match_their_ops",
        lambda: with_extra(layer("m", "M", kind="model", graph=small())),
        "m",
        "the op 'm' is m (M), but its graph is small (Functional).",
    ),
    (
        "nested_graphs_match_their_ops",
        lambda: inner(root=Op("encoder", "model", "Functional", config=config())),
        "encoder",
        "the graph of 'encoder' has a root, which only the outermost graph has.",
    ),
    (
        "configs_exist_or_have_a_reason",
        lambda: with_extra(layer("l", "L", config=None)),
        "l",
        "the op 'l' has neither a config nor a reason for not having one.",
    ),
    (
        "configs_exist_or_have_a_reason",
        lambda: with_extra(layer("l", "L", no_config="none")),
        "l",
        "the op 'l' has a config, and a reason for not having one.",
    ),
    (
        "ops_contain_frozen_data",
        lambda: with_extra(layer("l", "L", config=FrozenDict((("units", {8}),)))),  # type: ignore[arg-type]
        "l",
        "'config' of 'l' contains a set, which is not frozen data.",
    ),
    (
        "stubs_are_empty",
        lambda: with_extra(dense("e", 8, 8, same_as="d")),
        "e",
        "the op 'e' is the same as 'd', but has its own contents.",
    ),
    (
        "stubs_name_an_earlier_op",
        lambda: with_extra(layer("e", "Dense", same_as="f")),
        "e",
        "'e' is the same as 'f', but there is no earlier op at that path.",
    ),
    (
        "stubs_name_an_earlier_op",
        lambda: with_extra(layer("e", "Dense", same_as="f"), dense("f", 8, 8)),
        "e",
        "'e' is the same as 'f', but there is no earlier op at that path.",
    ),
    (
        "stubs_name_an_earlier_op",
        lambda: with_extra(layer("e", "Conv2D", same_as="d")),
        "e",
        "'e' is a Conv2D, but 'd', the same op, is a Dense.",
    ),
    (
        "tied_variables_name_an_earlier_one",
        lambda: with_extra(layer("e", "E", variables=(KERNEL.with_changes(tied="d/kernels"),))),
        "e/kernel",
        "'e/kernel' is tied to 'd/kernels', but there is no earlier variable at that path.",
    ),
    (
        "tied_variables_name_an_earlier_one",
        lambda: with_extra(layer("e", "E", variables=(KERNEL.with_changes(tied="d/kernel"),))),
        "e/kernel",
        "'e/kernel' is ((2,), 'float32'), but 'd/kernel', the same variable, is ((8, 8), 'float32').",
    ),
    (
        "root_is_the_model_alone",
        lambda: small().with_changes(root=Op("small", "layer", "Functional", config=config())),
        "",
        "the root of 'small' is not a model without contents.",
    ),
    (
        "root_is_the_model_alone",
        lambda: small().with_changes(root=Op("large", "model", "Functional", config=config())),
        "",
        "the root is large (Functional), but the graph is small (Functional).",
    ),
]


@pytest.mark.parametrize("graph", [small(), split(), masked(), nested()], ids=lambda graph: graph.name)
def test_consistent_graph_has_no_problems(graph: Graph) -> None:
    assert lint(graph) == []


@pytest.mark.parametrize(("rule", "broken", "path", "message"), BROKEN, ids=[f"{row[0]}-{row[2]}" for row in BROKEN])
def test_violation_is_reported_with_its_path(rule: str, broken: Make, path: str, message: str) -> None:
    assert Problem(rule, path, message) in lint(broken())


# These rules cannot be violated alone: their examples violate the named rules too.
TOGETHER = {
    "calls_have_an_op": {"ops_are_called"},
    "call_ids_are_unique": {"call_ids_number_the_calls_of_an_op", "refs_resolve", "refs_point_back"},
}


@pytest.mark.parametrize(("rule", "broken"), [row[:2] for row in BROKEN], ids=[f"{row[0]}-{row[2]}" for row in BROKEN])
def test_one_mistake_violates_one_rule(rule: str, broken: Make) -> None:
    assert {problem.rule for problem in lint(broken())} <= {rule, *TOGETHER.get(rule, ())}


def test_every_rule_has_an_example() -> None:
    rules = (*GRAPH_RULES, *OP_RULES, *PATH_RULES)

    assert {row[0] for row in BROKEN} == {rule.__name__ for rule in rules}


def test_problem_in_a_nested_graph_has_the_whole_path() -> None:
    assert lint(inner(outputs=Ref("e"))) == [
        Problem("outputs_resolve", "encoder/e", "the outputs contain a value of 'e', which is not a call of the graph.")
    ]


def test_extra_with_a_call_is_a_problem() -> None:
    graph = small().with_changes(ops=small().ops[:2], extras=small().ops[2:])

    assert Problem("ops_are_called", "add", "the op 'add' has a call, but is one of the extras.") in lint(graph)


def test_sequential_model_without_an_input_needs_no_calls() -> None:
    graph = Graph("s", "Sequential", "sequential", ops=(dense("d", 8, 8),))

    assert lint(graph) == []


def test_lint_survives_a_graph_with_many_problems() -> None:
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
def test_random_graphs_are_consistent(graph: Graph) -> None:
    assert lint(graph) == []
