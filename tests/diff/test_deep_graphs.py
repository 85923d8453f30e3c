"""No recursion: models nested thousands deep, long chains and deep configs, at Python's default recursion limit."""

import pytest

from ramet._diff import Diff, diff_graphs
from ramet._graph import Graph, Op, Ref, freeze
from tests.diff.edit import change_op, rename_all
from tests.graph.big import grow
from tests.graph.sample import call, config, dense, input_op, layer

pytestmark = pytest.mark.no_backend

LEVELS = 2_000


def models(depth: int, *, last: Op) -> Graph:
    """Return models nested in each other, with a layer in the innermost one."""

    def around(name: str, op: Op) -> Graph:
        calls = (call("x"), call(op.id, Ref("x")))
        return Graph(name, "Functional", ops=(input_op("x"), op), calls=calls, inputs=Ref("x"), outputs=Ref(op.id))

    op = last
    for level in range(depth):
        name = f"m{level}"
        op = Op(name, "model", "Functional", config=config(), graph=around(name, op))
    return around("outermost", op)


def layers(depth: int, *, last: Op) -> Graph:
    """Return layers nested in each other."""
    op = last
    for level in range(depth):
        op = layer(f"l{level}", "Holder", children=(op,))
    return Graph("deep", "Tree", "subclassed", ops=(op,))


def check_every_form_of(diff: Diff) -> None:
    assert Diff.from_json(diff.to_json()) == diff
    assert diff.mirrored().mirrored() == diff
    assert str(diff)
    assert diff.to_markdown()
    assert diff._repr_html_()


def test_change_inside_two_thousand_nested_models_is_found():
    diff = diff_graphs(models(LEVELS, last=dense("d", 8, 8)), models(LEVELS, last=dense("d", 8, 9)))

    assert [(change.kind, change.what) for change in diff.changes] == [("setting", "units")]
    assert diff.changes[0].path.count("/") == LEVELS
    check_every_form_of(diff)


def test_change_inside_two_thousand_nested_layers_is_found():
    diff = diff_graphs(layers(LEVELS, last=dense("d", 8, 8)), layers(LEVELS, last=layer("d", "Other")))

    assert [(change.kind, change.what) for change in diff.changes] == [
        ("replaced", "class"),
        ("setting", "dtype_policy"),
    ]
    check_every_form_of(diff)


def test_added_deep_model_is_one_change():
    before = Graph("deep", "Tree", "subclassed", ops=(layer("first", "First"),))
    after = before.with_changes(ops=(*before.ops, *layers(LEVELS, last=layer("d", "D")).ops))
    diff = diff_graphs(before, after)

    assert [(change.kind, change.path) for change in diff.changes] == [("added", f"l{LEVELS - 1}")]
    check_every_form_of(diff)


def test_settings_may_be_nested_deeper_than_python_recurses():
    def nest(end: int) -> Graph:
        value: object = end
        for _ in range(LEVELS):
            value = [{"key": value}]
        return change_op(layers(0, last=layer("d", "D")), "d", config=config(deep=value))

    diff = diff_graphs(nest(1), nest(2))

    assert [change.kind for change in diff.changes] == ["setting"]
    check_every_form_of(diff)


def test_thousands_of_renamed_layers_are_only_renamed():
    before = grow(3_000)
    diff = diff_graphs(before, rename_all(before, lambda name: f"{name}_x"))

    assert diff.count() == {"renamed": len(before.ops)}
    assert diff.consequences == ()


def test_value_with_thousands_of_consumers_is_compared():
    def star(count: int, name: str) -> Graph:
        ops = tuple(dense(f"{name}_{number}", 8, 8) for number in range(count))
        calls = tuple(call(op.id, Ref("x")) for op in ops)
        ends = freeze([Ref(op.id) for op in ops])
        return Graph("star", "Functional", ops=(input_op("x"), *ops), calls=(call("x"), *calls), inputs=Ref("x"), outputs=ends)  # fmt: skip

    diff = diff_graphs(star(3_000, "a"), star(3_000, "b"))

    assert diff.count() == {"renamed": 3_000}
