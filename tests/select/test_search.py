"""The ops that selectors find: selector, model, expected paths."""

import pytest
from hypothesis import given

from ramet._graph import Op, Ref, freeze
from ramet._select import Catalog, Search, anything, feeds, find, named, nth, of_class, reads, where
from tests.graph import sample
from tests.graph.strategies import few, graphs
from tests.select.sample import blocks, chain, circular, nested_deep, paths, wrapped
from tests.select.strategies import sets

pytestmark = pytest.mark.no_backend

DENSE = ["encoder/d", "decoder/attention/query", "decoder/attention/key"]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (
            anything(),
            [
                "a",
                "encoder",
                "encoder/x",
                "encoder/d",
                "decoder",
                "decoder/attention",
                "decoder/attention/query",
                "decoder/attention/key",
                "decoder/out",
            ],
        ),
        (named("query"), ["decoder/attention/query"]),
        (named("que*"), ["decoder/attention/query"]),
        (named("Query"), []),
        (named("*/query"), ["decoder/attention/query"]),
        (named("decoder/*y"), ["decoder/attention/query", "decoder/attention/key"]),
        (named("encoder"), ["encoder"]),
        (named("encoder/*"), ["encoder/x", "encoder/d"]),
        (named("?"), ["a", "encoder/x", "encoder/d"]),
        (named("[ax]"), ["a", "encoder/x"]),
        (named("[!ax]"), ["encoder/d"]),
        (named("key", "a"), ["a", "decoder/attention/key"]),
        (named("decoder/d"), ["encoder/d"]),
        (of_class("Dense"), DENSE),
        (of_class("Dense", "Tied"), [*DENSE, "decoder/out"]),
        (of_class("Dense") & ~named("encoder/*"), DENSE[1:]),
        (of_class("Dense") & nth(0), DENSE[:1]),
        (of_class("Dense") & nth(-1), DENSE[-1:]),
        (of_class("Dense") & nth(0, 2), [DENSE[0], DENSE[2]]),
        (of_class("Dense") & nth(2, 0, -1), [DENSE[0], DENSE[2]]),
        (of_class("Dense") & nth(3), []),
        (of_class("Dense") & nth(-4), []),
        (of_class("Dense") & ~nth(0), DENSE[1:]),
        (of_class("Dense") & (named("key") | nth(0)), [DENSE[0], DENSE[2]]),
        (of_class("Dense") & named("decoder/*") & nth(1), ["decoder/attention/query"]),
        (of_class("Dense") & named("decoder/*/*") & nth(1), ["decoder/attention/key"]),
        (nth(1) & of_class("Dense"), []),
        (nth(1), ["encoder"]),
        (named("key") | nth(0), ["a", "decoder/attention/key"]),
        (~anything(), []),
        (~of_class("Dense") & nth(-1), ["decoder/out"]),
        (where(lambda op: op.variables), [*DENSE, "decoder/out"]),
        (where(lambda op: op.kind == "model") & where(lambda op: not op.trainable), ["encoder"]),
    ],
)
def test_selector_finds_the_expected_ops(selector, expected):
    assert paths(sample.nested(), selector) == expected


@pytest.mark.parametrize("name", ["block[3]", "a[z-a]b", "a[b", "[", "a*b", "what?", "[!]"])
def test_literal_name_finds_its_op_despite_glob_characters(name):
    graph = chain(2)
    odd = graph.with_changes(ops=(*graph.ops, sample.layer(name, "Odd")))

    assert paths(odd, name) == [name]


def test_shared_op_is_one_candidate_with_two_occurrences():
    shared = Catalog(sample.nested()).candidates[3]

    assert shared.path == "encoder/d"
    assert shared.paths == ("encoder/d", "decoder/d")
    assert [(one.path, one.calls) for one in shared.occurrences] == [("encoder/d", ("d",)), ("decoder/d", ())]
    assert shared.calls == ("d",)
    assert shared.graph == sample.nested().op("encoder").graph


def test_op_inside_a_layer_has_no_graph_and_no_calls():
    [query] = find(sample.nested(), "query")

    assert query.graph is None
    assert query.calls == ()


def test_candidate_lists_all_calls():
    [encoder] = find(sample.nested(), "encoder")

    assert encoder.calls == ("encoder", "encoder#2")


def test_op_inside_a_shared_op_has_a_path_through_each_occurrence():
    graph = wrapped()
    [gate] = find(graph, "gate")

    assert gate.paths == ("left/cell/gate", "right/inner/gate")
    assert [graph.find(path) for path in gate.paths] == [gate.op, gate.op]
    assert paths(graph, "right/*") == ["left/cell", "left/cell/gate"]


def test_reference_to_the_parent_adds_one_path():
    assert [candidate.paths for candidate in Catalog(circular()).candidates] == [
        ("parent", "parent/child/parent"),
        ("parent/child",),
    ]


def test_stub_without_an_op_is_a_separate_candidate():
    graph = chain(1).with_changes(extras=(sample.layer("lost", "Dense", same_as="nowhere"),))

    assert paths(graph, "lost") == ["lost"]


def test_predicate_gets_the_live_op_if_there_is_one():
    seen = []
    graph, live = chain(2), {"d0": "the live op"}

    found = find(graph, where(lambda op: seen.append(op) or True), live)

    assert [candidate.live for candidate in found] == [None, "the live op", None]
    assert [op if isinstance(op, str) else type(op) for op in seen] == [Op, "the live op", Op]


def test_live_ops_do_not_affect_equality_of_candidates():
    graph = chain(1)

    assert Catalog(graph, {"d0": 1}).candidates == Catalog(graph, {"d0": 2}).candidates
    assert hash(Catalog(graph, {"d0": 1}).candidates) == hash(Catalog(graph).candidates)


def test_error_in_a_predicate_names_the_op():
    def is_small(op):
        return op.variables[0].size < 4

    with pytest.raises(IndexError) as caught:
        find(blocks(), where(is_small))

    assert caught.value.__notes__ == ["ramet: while evaluating where(is_small) on 'image'"]


def test_search_can_be_used_for_several_selectors():
    search = Search(Catalog(blocks()))

    for selector in ("head", reads("stem"), feeds("head"), of_class("Dense") | nth(0), reads("stem")):
        assert search.find(selector) == find(blocks(), selector)


# The laws of sets.


@few
@given(graphs(depth=2), sets, sets)
def test_and_or_and_not_are_set_operations(graph, a, b):
    everything, left, right = (set(paths(graph, each)) for each in (anything(), a, b))

    assert set(paths(graph, a & b)) == left & right
    assert set(paths(graph, a | b)) == left | right
    assert set(paths(graph, ~a)) == everything - left
    assert paths(graph, ~(a & b)) == paths(graph, ~a | ~b)
    assert paths(graph, ~(a | b)) == paths(graph, ~a & ~b)


@few
@given(graphs(depth=2), sets)
def test_matches_are_unique_and_in_model_order(graph, selector):
    found = paths(graph, selector)

    assert found == [path for path in paths(graph, anything()) if path in set(found)]


@few
@given(graphs(depth=2), sets)
def test_nth_counts_the_matches_to_its_left(graph, selector):
    found = paths(graph, selector)

    assert paths(graph, selector & nth(0)) == found[:1]
    assert paths(graph, selector & nth(-1)) == found[-1:]


@few
@given(graphs(depth=2))
def test_reads_is_the_inverse_of_feeds(graph):
    every = find(graph, anything())
    after = {(op.path, other) for op in every for other in paths(graph, reads(where(lambda o, op=op.op: o is op)))}
    before = {(other, op.path) for op in every for other in paths(graph, feeds(where(lambda o, op=op.op: o is op)))}

    assert after == before


# Neighbors, in nested models too.


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (reads("image"), ["stem"]),
        # Into the block: the model, its input, and the ops that use the input.
        (reads("stem"), ["block1", "block1/x", "block1/conv", "block2", "block2/skip", "block2/add"]),
        (reads("block1/x"), ["block1/conv"]),
        (reads("block1/conv"), ["block1/drop"]),
        # Out of one block and into the other.
        (reads("block1"), ["block2", "block2/x", "block2/add", "block2/drop"]),
        (reads("block1/drop"), ["block2", "block2/x", "block2/add", "block2/drop"]),
        # By output: each inner op produces its own.
        (reads("block2"), ["head", "aux"]),
        (reads("block2/drop"), ["head"]),
        (reads("block2/add"), ["aux"]),
        (reads("head"), []),
        (feeds("image"), []),
        (feeds("stem"), ["image"]),
        (feeds("block1"), ["stem"]),
        (feeds("block1/x"), ["stem"]),
        (feeds("block1/conv"), ["stem", "block1/x"]),
        (feeds("block2/skip"), ["stem"]),
        (feeds("block2/add"), ["stem", "block1", "block1/drop", "block2/x", "block2/skip"]),
        (feeds("head"), ["block2", "block2/drop"]),
        (feeds("aux"), ["block2", "block2/add"]),
        (reads(of_class("Conv2D")) & of_class("Dropout"), ["block1/drop"]),
        (reads(reads("image")) & named("block1"), ["block1"]),
        (feeds(anything()) & of_class("Add"), ["block2/add"]),
        (~reads(anything()), ["image"]),
    ],
)
def test_selector_finds_the_expected_neighbors(selector, expected):
    assert paths(blocks(), selector) == expected


@pytest.mark.parametrize(
    "given",
    [
        freeze([Ref("block1"), Ref("stem")]),
        (Ref("block1"), Ref("stem")),
        freeze({"skip": Ref("stem"), "x": Ref("block1")}),
    ],
)
def test_inputs_are_matched_however_they_are_passed(given):
    graph = blocks()
    calls = [call.with_changes(args=(given,)) if call.id == "block2" else call for call in graph.calls]

    again = graph.with_changes(calls=tuple(calls))

    assert paths(again, reads("stem") & "block2/*") == ["block2/skip", "block2/add"]


def test_explicit_mask_is_a_neighbor_and_implicit_mask_is_not():
    graph = sample.masked()

    assert paths(graph, feeds("lstm")) == ["embedding"]
    assert paths(graph, feeds("attention")) == ["keep", "lstm"]
    assert paths(graph, reads("not_equal")) == []


def test_neighbors_follow_every_call_of_a_shared_op():
    graph = sample.small()

    assert paths(graph, reads("d")) == ["d", "add"]
    assert paths(graph, feeds("d")) == ["x", "d"]


def test_nested_model_called_on_its_own_output_feeds_itself():
    graph = sample.nested()

    assert paths(graph, feeds("encoder/d")) == ["a", "encoder", "encoder/x", "encoder/d"]
    assert paths(graph, reads("encoder")) == ["encoder", "encoder/x", "encoder/d", "decoder"]


def test_values_pass_through_many_levels():
    graph = nested_deep(4)

    assert paths(graph, reads(named("x") & ~named("*/x"))) == [
        "m2",
        "m2/x",
        "m2/m1",
        "m2/m1/x",
        "m2/m1/m0",
        "m2/m1/m0/x",
        "m2/m1/m0/d",
    ]


def test_op_inside_a_layer_has_no_neighbors():
    assert paths(sample.nested(), reads("query") | feeds("query")) == []
