"""Graphs: lookup, edges, order, paths and equality; ids of calls."""

import copy
import dataclasses
import pickle

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ramet._graph import Call, Graph, Op, Ref, VariableSpec, call_id, lint, split_call_id
from ramet.errors import GraphError, UnknownPathError
from tests.graph.sample import call, dense, input_op, layer, masked, nested, small, split
from tests.graph.strategies import few, graphs

pytestmark = pytest.mark.no_backend


def ids(calls: tuple[Call, ...]) -> list[str]:
    return [call.id for call in calls]


def test_ops_and_calls_are_found_by_id() -> None:
    graph = small()

    assert graph.op("d") is graph.ops[1]
    assert graph.call("d#2") is graph.calls[2]
    assert ids(graph.calls_of("d")) == ["d", "d#2"]


def test_unknown_id_is_an_error_with_the_closest() -> None:
    with pytest.raises(UnknownPathError) as caught:
        small().call("d#3")

    assert str(caught.value) == (
        "Cannot find the call 'd#3': the graph 'small' has no call with this id.\n  closest:  'd#2'"
    )
    assert isinstance(caught.value, LookupError)


def test_consumers_and_producers_follow_from_the_arguments() -> None:
    graph = small()

    assert ids(graph.consumers(Ref("d"))) == ["d#2", "add"]
    assert ids(graph.consumers("d")) == ["d#2", "add"]
    assert ids(graph.producers("add")) == ["d", "d#2"]
    assert graph.consumers(Ref("add")) == ()
    assert graph.producers("x") == ()


def test_each_output_of_a_call_has_its_own_consumers() -> None:
    graph = split()

    assert ids(graph.consumers(Ref("split", 0))) == []
    assert ids(graph.consumers(Ref("split", 1))) == ["head"]
    assert ids(graph.consumers("split")) == ["head"]
    assert graph.output_numbers(Ref("split", 0)) == (0,)
    assert graph.output_numbers(Ref("head")) == (1,)
    assert graph.output_numbers(Ref("split", 1)) == ()


def test_mask_argument_is_an_edge() -> None:
    assert ids(masked().consumers("not_equal")) == ["lstm"]
    assert ids(masked().producers("attention")) == ["lstm", "keep"]


def test_values_are_found_by_ref() -> None:
    assert split().value(Ref("split", 1)).shape == (None, 4)

    with pytest.raises(GraphError, match="Cannot read output 2 of the call 'split': it has 2"):
        split().value(Ref("split", 2))


def test_ancestors_and_descendants_are_in_order() -> None:
    graph = small()

    assert ids(graph.ancestors_of("d#2")) == ["x", "d", "d#2"]
    assert ids(graph.ancestors_of(Ref("add"))) == ["x", "d", "d#2", "add"]
    assert ids(graph.reachable_from("d#2")) == ["d#2", "add"]
    assert ids(split().reachable_from(Ref("split", 0))) == []
    assert ids(split().reachable_from(Ref("split", 1))) == ["head"]


def test_order_keeps_a_valid_order() -> None:
    assert small().order() == small().calls


def test_order_moves_only_what_must_move() -> None:
    graph = small()
    x, first, second, add = graph.calls

    assert ids(graph.with_changes(calls=(add, second, x, first)).order()) == ["x", "d", "d#2", "add"]


def test_cycle_has_no_order() -> None:
    graph = small().with_changes(calls=(call("x"), call("d", Ref("d#2")), call("d#2", Ref("d"))))

    with pytest.raises(GraphError, match=r"Cannot order the calls of 'small': some of them form a cycle") as caught:
        graph.order()

    assert caught.value.closest == ("d", "d#2")


def test_walk_enters_nested_graphs_and_layers_that_hold_layers() -> None:
    assert [path for path, _ in nested().walk()] == [
        "a",
        "encoder",
        "encoder/x",
        "encoder/d",
        "decoder",
        "decoder/d",
        "decoder/attention",
        "decoder/attention/query",
        "decoder/attention/key",
        "decoder/out",
    ]


def test_variables_have_the_paths_of_their_ops() -> None:
    assert [path for path, _ in nested().variables()] == [
        "scale",
        "encoder/d/kernel",
        "encoder/d/bias",
        "decoder/attention/query/kernel",
        "decoder/attention/query/bias",
        "decoder/attention/key/kernel",
        "decoder/attention/key/bias",
        "decoder/out/kernel",
    ]


def test_parameters_count_tied_weights_once_and_no_other_state() -> None:
    seed = VariableSpec("seed", (2,), "uint32", weight=False)
    unknown = VariableSpec("later", None, "float32")
    graph = nested().with_changes(extras=(layer("dropout", "Dropout", variables=(seed, unknown)),))

    assert graph.parameters == 1 + 3 * (8 * 8 + 8)


def test_size_of_a_huge_shape_is_computed_quickly() -> None:
    endless = VariableSpec("w", (10**4000,) * 10_000, "float32")

    assert endless.size == 2**63
    assert endless.with_changes(shape=(*(endless.shape or ()), 0)).size == 0
    assert "9,223,372,036,854,776,024 parameters" in str(
        nested().with_changes(root=layer("r", "R", variables=(endless,)))
    )


def test_find_reaches_every_path_of_the_walk() -> None:
    graph = nested()

    for path, op in graph.walk():
        assert graph.find(path, follow=False) is op


def test_find_follows_a_stub_to_its_first_occurrence() -> None:
    graph = nested()
    again = Op("again", "model", "MyDecoder", same_as="decoder")
    graph = graph.with_changes(extras=(again,))

    assert graph.find("decoder/d") is graph.find("encoder/d")
    assert graph.find("decoder/d", follow=False).same_as == "encoder/d"
    assert graph.find("again/attention/query") is graph.find("decoder/attention/query")
    assert graph.find("again/d") is graph.find("encoder/d")


def test_find_names_the_part_of_the_path_that_does_not_exist() -> None:
    with pytest.raises(UnknownPathError) as caught:
        nested().find("decoder/attention/quary")

    assert str(caught.value) == (
        "Cannot find 'decoder/attention/quary' in 'nested': 'decoder/attention' has no op 'quary'.\n"
        "  closest:  'decoder/attention/query'"
    )


@pytest.mark.parametrize("path", ["", "/", "nowhere", "encoder/", "/encoder", "a/b"])
def test_path_without_an_op_is_an_error(path: str) -> None:
    with pytest.raises(UnknownPathError, match=r"^Cannot find '.*' in 'nested': .* has no op"):
        nested().find(path)


def test_stubs_that_name_each_other_are_an_error() -> None:
    ops = (Op("a", "layer", "A", same_as="b"), Op("b", "layer", "A", same_as="a"))

    with pytest.raises(UnknownPathError, match="refers to itself"):
        Graph("g", "G", "subclassed", ops=ops).find("a")


def test_graphs_are_compared_by_value() -> None:
    assert small() == small()
    assert hash(small()) == hash(small())
    assert small().fingerprint == small().fingerprint
    assert small() != small().with_changes(name="other")
    assert len({small(), small(), split()}) == 2
    assert small().calls == small().calls
    assert nested().ops == nested().ops
    assert small() != "small"


def test_every_field_of_a_graph_counts() -> None:
    graph = nested()
    others = {
        "name": "other",
        "class_name": "Other",
        "kind": "sequential",
        "ops": graph.ops[:-1],
        "calls": graph.calls[:-1],
        "inputs": None,
        "outputs": None,
        "extras": (input_op("y"),),
        "root": None,
    }

    assert {*others, "_index"} == {field.name for field in dataclasses.fields(Graph)}
    for name, other in others.items():
        assert graph.with_changes(**{name: other}) != graph, name


def test_every_field_of_a_call_counts() -> None:
    before = masked().call("lstm")
    others = {
        "id": "other",
        "op": "other",
        "args": (),
        "kwargs": before.kwargs.with_changes(pairs=before.kwargs.pairs[::-1]),
        "outputs": (before.outputs[0].with_changes(mask="unrecorded"),),
        "structure": (0,),
        "mask_kinds": (("mask", "explicit"),),
    }

    assert others.keys() == {field.name for field in dataclasses.fields(Call)}
    for name, other in others.items():
        assert before.with_changes(**{name: other}) != before, name


def test_every_field_of_an_op_counts() -> None:
    before = dense("d", 8, 8)
    others = {
        "id": "other",
        "name": "other",
        "kind": "operation",
        "class_name": "Other",
        "module": "m",
        "registered_name": "r",
        "config": None,
        "no_config": "none",
        "trainable": False,
        "dtype_policy": None,
        "built": False,
        "flags": before.config,
        "variables": (before.variables[0].with_changes(weight=False), before.variables[1]),
        "graph": small(),
        "children": (before,),
        "same_as": "e",
    }

    assert others.keys() == {field.name for field in dataclasses.fields(Op)}
    for name, other in others.items():
        assert before.with_changes(**{name: other}) != before, name


def test_op_with_another_graph_inside_is_not_equal() -> None:
    encoder = nested().op("encoder")
    inner = encoder.graph
    assert inner is not None

    assert encoder.with_changes(graph=inner.with_changes(outputs=Ref("x"))) != encoder


def test_flags_and_mask_kinds_are_sorted() -> None:
    op = layer("l", "L")
    one = masked().call("lstm").with_changes(mask_kinds=(("b", "implicit"), (0, "explicit"), ("a", "implicit")))
    frozen = small().op("d").config
    assert frozen is not None
    flags = frozen.with_changes(pairs=(("b", 1), ("a", 2)))

    assert op.with_changes(flags=flags).flags.pairs == (("a", 2), ("b", 1))
    assert one.mask_kinds == ((0, "explicit"), ("a", "implicit"), ("b", "implicit"))


def test_changed_graph_has_its_own_index() -> None:
    graph = small()
    assert ids(graph.consumers("d#2")) == ["add"]

    shorter = graph.with_changes(calls=graph.calls[:3], outputs=Ref("d#2"))

    assert ids(shorter.consumers("d#2")) == []
    assert ids(graph.consumers("d#2")) == ["add"]


def test_graph_cannot_be_changed_in_place() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        small().name = "other"  # type: ignore[misc]


def test_copy_is_the_graph_itself_and_pickle_gives_an_equal_one() -> None:
    graph = nested()

    assert copy.deepcopy(graph) is graph
    assert pickle.loads(pickle.dumps(graph)) == graph


def test_reprs_are_short() -> None:
    graph = nested()

    assert repr(graph) == "<Graph 'nested': Functional, 3 ops, 4 calls>"
    assert repr(graph.ops[1]) == "<Op 'encoder': Functional>"
    assert repr(graph.calls[2]) == "<Call 'encoder#2' of 'encoder'>"


@few
@given(graphs())
def test_consumers_mirror_producers(graph: Graph) -> None:
    forward = {(a.id, b.id) for a in graph.calls for b in graph.consumers(a.id)}
    backward = {(a.id, b.id) for b in graph.calls for a in graph.producers(b.id)}

    assert forward == backward


@few
@given(graphs())
def test_order_repairs_any_order_of_calls(graph: Graph) -> None:
    backwards = graph.with_changes(calls=graph.calls[::-1])

    ordered = backwards.with_changes(calls=backwards.order())

    assert [problem for problem in lint(ordered) if problem.rule == "refs_point_back"] == []
    assert graph.order() == graph.calls


def test_graph_error_keeps_its_problems_when_pickled() -> None:
    problems = lint(small().with_changes(inputs=()))
    error = GraphError("Cannot use the graph.", problems=problems)

    assert list(pickle.loads(pickle.dumps(error)).problems) == problems != []


@pytest.mark.parametrize(
    ("op", "number", "expected"),
    [("conv_1", 1, "conv_1"), ("conv_1", 2, "conv_1#2"), ("a#2", 1, "a##2"), ("a#", 2, "a###2"), ("a##2", 1, "a####2")],
)
def test_call_id_is_the_op_and_a_number_from_the_second_call(op: str, number: int, expected: str) -> None:
    assert call_id(op, number) == expected
    assert split_call_id(expected) == (op, number)


@pytest.mark.parametrize("text", ["a#", "a#0", "a#1", "a#02", "a#b", "a#" + "9" * 5000], ids=lambda text: text[:8])
def test_text_that_is_not_a_call_id_is_recognized(text: str) -> None:
    assert split_call_id(text) is None


@few
@given(st.text("a#12", min_size=1, max_size=5), st.integers(1, 30))
def test_call_id_can_be_split_again(op: str, number: int) -> None:
    assert split_call_id(call_id(op, number)) == (op, number)
