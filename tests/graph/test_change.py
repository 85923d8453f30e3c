"""Graphs made from graphs."""

import pytest
from hypothesis import given

from ramet._graph import Graph, Op, Ref, freeze, lint, map_ops, map_paths, renumber, reroute
from tests.graph.sample import call, masked, nested, small
from tests.graph.strategies import few, graphs

pytestmark = pytest.mark.no_backend


def test_renumber_counts_the_calls_that_are_left() -> None:
    graph = small()
    x, _, second, add = graph.calls
    cut = graph.with_changes(calls=(x, second.with_changes(args=(Ref("x"),)), add.with_changes(args=(Ref("d#2"),))))

    assert renumber(cut) == graph.with_changes(calls=(x, call("d", Ref("x")), call("add", Ref("d"))))


def test_renumber_leaves_alone_what_is_numbered() -> None:
    graph = small()

    assert renumber(graph) is graph


def test_reroute_changes_arguments_masks_inputs_and_outputs() -> None:
    graph = reroute(masked(), lambda ref: Ref(ref.call.upper(), ref.output))

    assert graph.call("lstm").args == (Ref("EMBEDDING"),)
    assert graph.call("lstm").kwargs == freeze({"mask": Ref("NOT_EQUAL"), "training": False})
    assert graph.call("lstm").outputs[0].mask == Ref("NOT_EQUAL")
    assert graph.inputs == freeze({"tokens": Ref("TOKENS"), "keep": Ref("KEEP")})
    assert graph.outputs == Ref("ATTENTION")


def test_map_ops_reaches_every_level_from_the_inside_out() -> None:
    seen: list[str] = []

    def freeze_dense(path: str, op: Op) -> Op:
        seen.append(path)
        return op.with_changes(trainable=False) if op.class_name == "Dense" else op

    graph = map_ops(nested(), freeze_dense)

    assert sorted(seen) == sorted(path for path, _ in nested().walk())
    assert seen.index("decoder/attention/query") < seen.index("decoder/attention") < seen.index("decoder")
    assert {path for path, op in graph.walk() if not op.trainable} == {
        "encoder",
        "encoder/d",
        "decoder/d",
        "decoder/attention/query",
        "decoder/attention/key",
    }


def test_map_ops_keeps_what_did_not_change() -> None:
    before = nested()

    after = map_ops(before, lambda path, op: op.with_changes(built=False) if path == "decoder/out" else op)

    assert after != before
    assert after.op("encoder") is before.op("encoder")
    assert after.find("decoder/attention") is before.find("decoder/attention")
    assert map_ops(before, lambda _, op: op) is before


def test_map_paths_follows_a_rename() -> None:
    before = nested()

    def renamed(_: str, op: Op) -> Op:
        inner = op.graph
        if inner is None or op.id != "encoder":
            return op
        return op.with_changes(id="enc", name="enc", graph=inner.with_changes(name="enc"))

    after = map_ops(before, renamed)
    after = renumber(
        after.with_changes(
            calls=tuple(call.with_changes(op="enc") if call.op == "encoder" else call for call in after.calls)
        )
    )
    assert [problem.rule for problem in lint(after)] == [
        "stubs_name_an_op_before_them",
        "tied_variables_name_one_before_them",
    ]

    after = map_paths(after, lambda path: path.replace("encoder/", "enc/"))

    assert lint(after) == []
    assert after.find("decoder/d") is after.find("enc/d")


@few
@given(graphs())
def test_changing_nothing_gives_the_same_graph(graph: Graph) -> None:
    assert reroute(graph, lambda ref: ref) == graph
    assert renumber(graph) is graph
    assert map_ops(graph, lambda _, op: op.with_changes()) == graph
    assert map_paths(graph, lambda path: path) == graph
