"""Random models and random edits: the diff reports the edits, nothing else, and the same from both sides."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ramet._diff import Diff, diff_graphs
from ramet._graph import FrozenDict, Graph, Op, Ref, VariableSpec, freeze
from tests.diff.edit import change_op, insert_after, remove, rename, rename_all
from tests.graph.big import grow
from tests.graph.change import map_ops
from tests.graph.strategies import few, graphs

pytestmark = pytest.mark.no_backend

many = settings(few, max_examples=15)
# Whole random graphs take long to draw.
some = settings(few, max_examples=8)
Reported = set[tuple[str, str | None, str | None, str]]


def reported(diff: Diff) -> Reported:
    return {(change.kind, change.before, change.after, change.what) for change in diff.changes}


# Edits: each takes a graph and the id of an op, and returns the result and the changes that a diff should report.


def _rename(graph: Graph, op: str) -> tuple[Graph, Reported]:
    return rename(graph, op, f"{op}_again"), {("renamed", op, f"{op}_again", "name")}


def _insert(graph: Graph, op: str) -> tuple[Graph, Reported]:
    return insert_after(graph, op, f"after_{op}", "Inserted"), {("added", None, f"after_{op}", "Inserted")}


def _remove(graph: Graph, op: str) -> tuple[Graph, Reported]:
    return remove(graph, op), {("removed", op, None, graph.op(op).class_name)}


def _set(graph: Graph, op: str) -> tuple[Graph, Reported]:
    config = graph.op(op).config
    assert config is not None
    changed = FrozenDict((*config.pairs, ("added_key", 1)))
    return change_op(graph, op, config=changed), {("setting", op, op, "added_key")}


def _freeze(graph: Graph, op: str) -> tuple[Graph, Reported]:
    return change_op(graph, op, trainable=False), {("setting", op, op, "trainable")}


def _tie(graph: Graph, op: str) -> tuple[Graph, Reported]:
    spec = VariableSpec("kernel", (3, 3, 8, 8), "float32")
    made = {("variable", None, f"{op}/kernel", "")}
    return change_op(graph, op, variables=(spec.with_changes(tied="block_0_conv/kernel"),)), made


EDITS: dict[str, Callable[[Graph, str], tuple[Graph, Reported]]] = {
    "rename": _rename,
    "insert": _insert,
    "remove": _remove,
    "set": _set,
    "freeze": _freeze,
    "tie": _tie,
}


@st.composite
def edited(draw: st.DrawFn) -> tuple[Graph, Graph, Reported]:
    """Draw a model, the model after some edits at a distance from each other, and the expected changes."""
    before = after = grow(draw(st.integers(12, 70)))
    # Ops that are called once, have inputs, and have consumers.
    ops = [
        op.id for op in before.ops if op.kind != "input" and len(before.calls_of(op.id)) == 1 and "conv" not in op.id
    ]
    expected: Reported = set()
    for place in range(draw(st.integers(0, 3)), len(ops), 4):
        if draw(st.booleans()):
            after, found = EDITS[draw(st.sampled_from(sorted(EDITS)))](after, ops[place])
            expected |= found
    return before, after, expected


@many
@given(edited())
def test_diff_reports_exactly_the_edits(case):
    before, after, expected = case

    assert reported(diff_graphs(before, after)) == expected


@many
@given(edited())
def test_diff_reports_the_edits_although_every_layer_is_renamed(case):
    before, after, expected = case
    diff = diff_graphs(before, rename_all(after, lambda name: f"{name}_x"))

    found = {change for change in reported(diff) if change[0] != "renamed"}
    wanted = {
        (kind, old, None if new is None else "/".join([f"{new.split('/')[0]}_x", *new.split("/")[1:]]), what)
        for kind, old, new, what in expected
        if kind != "renamed"
    }
    assert found == wanted


@many
@given(edited())
def test_the_reverse_diff_is_the_mirror_image(case):
    before, after, _ = case

    assert diff_graphs(after, before) == diff_graphs(before, after).mirrored()


@some
@given(graphs(depth=2))
def test_graph_read_from_its_json_has_no_difference(graph):
    assert diff_graphs(graph, Graph.from_json(graph.to_json())).empty


@some
@given(graphs(depth=2), graphs(depth=1))
def test_every_diff_can_be_mirrored_written_and_printed(before, after):
    diff = diff_graphs(before, after)

    assert diff_graphs(after, before) == diff.mirrored()
    assert Diff.from_json(diff.to_json()) == diff
    assert str(diff).splitlines()[0].endswith(diff.summary)
    assert diff.to_markdown().endswith("\n")
    assert diff._repr_html_().endswith("</div>")
    assert all(repr(change).startswith("<Change ") for change in diff.changes)


# No field of any value may change without a difference being reported.


@st.composite
def mutated(draw: st.DrawFn) -> tuple[Graph, Graph]:
    """Draw a graph, and the same graph with one field of one part changed."""
    graph = draw(graphs(depth=2))
    kind = draw(st.sampled_from(["op", "call", "value", "graph", "variable"]))
    if kind in ("op", "variable"):
        path = draw(st.sampled_from([path for path, _ in graph.walk()]))
        return graph, map_ops(graph, lambda at, op: _other_op(draw, op, kind) if at == path else op)
    if kind == "graph":
        field = draw(st.sampled_from(["name", "class_name", "kind", "inputs", "outputs"]))
        other = {"kind": "sequential", "inputs": (graph.inputs,), "outputs": (graph.outputs,)}.get(field, "other!")
        return graph, graph.with_changes(**{field: other})
    place = draw(st.integers(0, len(graph.calls) - 1))
    call = graph.calls[place]
    if kind == "call":
        field = draw(st.sampled_from(["args", "kwargs", "structure"]))
        other = {"args": (*call.args, 5), "structure": freeze({"s": call.structure})}.get(
            field, FrozenDict((*call.kwargs.pairs, ("fresh!", Ref(call.id))))
        )
        call = call.with_changes(**{field: other})
    else:
        value = call.outputs[0]
        field = draw(st.sampled_from(["shape", "dtype", "sparse", "ragged", "optional", "name", "mask"]))
        new = {"shape": (99,), "dtype": "other", "name": "other!", "mask": Ref(graph.calls[0].id, 77)}
        value = value.with_changes(**{field: new.get(field, not getattr(value, field))})
        call = call.with_changes(outputs=(value, *call.outputs[1:]))
    return graph, graph.with_changes(calls=(*graph.calls[:place], call, *graph.calls[place + 1 :]))


def _other_op(draw: st.DrawFn, op: Op, kind: str) -> Op:
    if kind == "variable":
        spec = VariableSpec("fresh!", (1,), "float32")
        return op.with_changes(variables=(*op.variables, spec))
    field = draw(st.sampled_from(["class_name", "module", "trainable", "dtype_policy", "built", "config", "flags"]))
    if field in ("trainable", "built"):
        return op.with_changes(**{field: not getattr(op, field)})
    if field in ("config", "flags"):
        pairs = () if getattr(op, field) is None else getattr(op, field).pairs
        return op.with_changes(**{field: FrozenDict((*pairs, ("fresh!", 1)))})
    return op.with_changes(**{field: "other!"})


@many
@given(mutated())
def test_no_difference_goes_unreported(case):
    before, after = case

    diff = diff_graphs(before, after)
    assert diff.changes
    assert diff_graphs(after, before) == diff.mirrored()
