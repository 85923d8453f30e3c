"""Which ops a selector finds: selector, model, expected paths."""

import pytest
from hypothesis import given

from ramet._graph import Op
from ramet._select import Catalog, Search, anything, candidates, feeds, find, named, nth, of_class, reads, where
from tests.graph import sample
from tests.graph.strategies import few, graphs
from tests.select.sample import blocks, chain, circular, paths, wrapped
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
def test_selector_and_what_it_finds(selector, expected):
    assert paths(sample.nested(), selector) == expected


@pytest.mark.parametrize("name", ["block[3]", "a[z-a]b", "a[b", "[", "a*b", "what?", "[!]"])
def test_a_name_written_out_finds_its_op_whatever_it_holds(name):
    graph = chain(2)
    odd = graph.with_changes(ops=(*graph.ops, sample.layer(name, "Odd")))

    assert paths(odd, name) == [name]


def test_an_op_that_stands_twice_is_one_candidate_with_two_places():
    shared = candidates(sample.nested())[3]

    assert shared.path == "encoder/d"
    assert shared.paths == ("encoder/d", "decoder/d")
    assert [(place.path, place.calls) for place in shared.places] == [("encoder/d", ("d",)), ("decoder/d", ())]
    assert shared.calls == ("d",)
    assert shared.graph == sample.nested().op("encoder").graph


def test_an_op_in_a_layer_stands_in_no_graph():
    [query] = find(sample.nested(), "query")

    assert query.graph is None
    assert query.calls == ()


def test_the_calls_of_a_shared_op_are_told():
    [encoder] = find(sample.nested(), "encoder")

    assert encoder.calls == ("encoder", "encoder#2")


def test_what_is_inside_a_shared_op_has_a_path_through_each_place():
    graph = wrapped()
    [gate] = find(graph, "gate")

    assert gate.paths == ("left/cell/gate", "right/inner/gate")
    assert [graph.find(path) for path in gate.paths] == [gate.op, gate.op]
    assert paths(graph, "right/*") == ["left/cell", "left/cell/gate"]


def test_a_layer_that_keeps_the_layer_it_stands_in_has_few_paths():
    assert [candidate.paths for candidate in candidates(circular())] == [
        ("parent", "parent/child/parent"),
        ("parent/child",),
    ]


def test_a_stub_that_names_no_op_stands_for_itself():
    graph = chain(1).with_changes(extras=(sample.layer("lost", "Dense", same_as="nowhere"),))

    assert paths(graph, "lost") == ["lost"]


def test_the_live_op_is_handed_on_and_asked_instead_of_the_data():
    seen = []
    graph, live = chain(2), {"d0": "the live one"}

    found = find(graph, where(lambda op: seen.append(op) or True), live)

    assert [candidate.live for candidate in found] == [None, "the live one", None]
    assert [op if isinstance(op, str) else type(op) for op in seen] == [Op, "the live one", Op]


def test_live_ops_are_no_part_of_what_a_candidate_is():
    graph = chain(1)

    assert candidates(graph, {"d0": 1}) == candidates(graph, {"d0": 2})
    assert hash(candidates(graph, {"d0": 1})) == hash(candidates(graph))


def test_an_error_in_a_predicate_says_which_op_it_was_asked_about():
    def is_small(op):
        return op.variables[0].size < 4

    with pytest.raises(IndexError) as caught:
        find(blocks(), where(is_small))

    assert caught.value.__notes__ == ["ramet: while where(is_small) was asked about 'image'"]


def test_one_search_answers_any_number_of_selectors():
    search = Search(Catalog(blocks()))

    for selector in ("head", reads("stem"), feeds("head"), of_class("Dense") | nth(0), reads("stem")):
        assert search.find(selector) == find(blocks(), selector)


# The laws of sets.


@few
@given(graphs(depth=2), sets, sets)
def test_and_or_and_not_are_those_of_sets(graph, a, b):
    everything, left, right = (set(paths(graph, each)) for each in (anything(), a, b))

    assert set(paths(graph, a & b)) == left & right
    assert set(paths(graph, a | b)) == left | right
    assert set(paths(graph, ~a)) == everything - left
    assert paths(graph, ~(a & b)) == paths(graph, ~a | ~b)
    assert paths(graph, ~(a | b)) == paths(graph, ~a & ~b)


@few
@given(graphs(depth=2), sets)
def test_matches_come_once_and_in_the_order_of_the_model(graph, selector):
    found = paths(graph, selector)

    assert found == [path for path in paths(graph, anything()) if path in set(found)]


@few
@given(graphs(depth=2), sets)
def test_nth_takes_from_what_stands_to_its_left(graph, selector):
    found = paths(graph, selector)

    assert paths(graph, selector & nth(0)) == found[:1]
    assert paths(graph, selector & nth(-1)) == found[-1:]


@few
@given(graphs(depth=2))
def test_reads_and_feeds_are_each_others_inverse(graph):
    every = find(graph, anything())
    after = {(op.path, other) for op in every for other in paths(graph, reads(where(lambda o, op=op.op: o is op)))}
    before = {(other, op.path) for op in every for other in paths(graph, feeds(where(lambda o, op=op.op: o is op)))}

    assert after == before
