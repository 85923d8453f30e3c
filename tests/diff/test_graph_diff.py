"""Pairs of graphs with a known diff: one test for each kind of change."""

from dataclasses import replace
from itertools import pairwise

import pytest

from ramet._diff import ABSENT, Change, Diff, diff_graphs
from ramet._graph import Graph, Op, Ref, VariableSpec, freeze, lint
from tests.diff.edit import change_op, insert_after, remove, rename
from tests.graph.sample import call, config, dense, input_op, layer, masked, nested, small, split, value

pytestmark = pytest.mark.no_backend


def chain(*ops: Op, name: str = "chain") -> Graph:
    """Return a graph that calls the ops one after the other, on an input `x`."""
    names = ["x", *(op.id for op in ops)]
    calls = [call("x"), *(call(op, Ref(source)) for source, op in pairwise(names))]
    return Graph(
        name, "Functional", ops=(input_op("x"), *ops), calls=tuple(calls), inputs=Ref("x"), outputs=Ref(names[-1])
    )


def tree(*ops: Op) -> Graph:
    """Return a subclassed model that holds the ops."""
    return Graph("tree", "Tree", "subclassed", ops=ops)


def reported(diff: Diff) -> list[tuple[str, str | None, str | None, str]]:
    return [(change.kind, change.before, change.after, change.what) for change in diff.changes]


A, B, C = dense("a", 8, 8), layer("b", "ReLU"), dense("c", 8, 4)


@pytest.mark.parametrize("make", [small, split, masked, nested])
def test_equal_graphs_have_an_empty_diff(make):
    diff = diff_graphs(make(), make())

    assert diff == Diff(make().name, make().name)
    assert diff.empty
    assert not diff


def test_added_layer_is_one_change_without_effect_on_later_layers():
    diff = diff_graphs(chain(A, B, C), insert_after(chain(A, B, C), "a", "norm", "Norm"))

    place = freeze({"takes": (Ref("a"),), "feeds": (Ref("b"),)})
    assert diff == Diff("chain", "chain", (Change("added", None, "norm", "Norm", new=place),))


def test_removed_layer_is_one_change():
    diff = diff_graphs(chain(A, B, C), remove(chain(A, B, C), "b"))

    place = freeze({"takes": (Ref("a"),), "feeds": (Ref("c"),)})
    assert diff == Diff("chain", "chain", (Change("removed", "b", None, "ReLU", old=place),))


def test_layer_added_at_the_end_is_one_change():
    diff = diff_graphs(chain(A, B), chain(A, B, C))

    place = freeze({"takes": (Ref("b"),), "feeds": (), "output": True})
    assert diff == Diff("chain", "chain", (Change("added", None, "c", "Dense", new=place),))


def test_renamed_layer_is_recognized():
    diff = diff_graphs(small(), rename(small(), "d", "other"))

    assert diff == Diff("small", "small", (Change("renamed", "d", "other", "name", "d", "other"),))


def test_layers_are_recognized_if_all_are_renamed():
    after = chain(dense("p", 8, 8), layer("q", "ReLU"), dense("r", 8, 4))

    assert reported(diff_graphs(chain(A, B, C), after)) == [
        ("renamed", "a", "p", "name"),
        ("renamed", "b", "q", "name"),
        ("renamed", "c", "r", "name"),
    ]


def test_renamed_model_is_one_change():
    diff = diff_graphs(nested(), rename(nested(), "encoder", "backbone"))

    assert diff == Diff("nested", "nested", (Change("renamed", "encoder", "backbone", "name", "encoder", "backbone"),))


def test_model_renamed_with_everything_inside_is_one_change():
    def renamed_inside(graph: Graph) -> Graph:
        encoder = graph.op("encoder")
        inner = rename(rename(encoder.graph, "x", "start"), "d", "dense")
        ops = tuple(encoder.with_changes(graph=inner) if op is encoder else op for op in graph.ops)
        return graph.with_changes(ops=ops)

    simple = nested().with_changes(ops=nested().ops[:2], calls=nested().calls[:2], outputs=Ref("encoder"))
    diff = diff_graphs(simple, rename(renamed_inside(simple), "encoder", "backbone"))

    assert reported(diff) == [("renamed", "encoder", "backbone", "name")]
    assert [(change.old, change.new) for change in diff.consequences] == [("x", "start"), ("d", "dense")]


def test_renamed_layer_inside_a_model_is_reported():
    def renamed_inside(path: str, op: Op) -> Op:
        return op.with_changes(graph=rename(op.graph, "d", "dense")) if path == "encoder" else op

    simple = nested().with_changes(ops=nested().ops[:2], calls=nested().calls[:2], outputs=Ref("encoder"))
    ops = tuple(renamed_inside(op.id, op) for op in simple.ops)

    assert reported(diff_graphs(simple, simple.with_changes(ops=ops))) == [
        ("renamed", "encoder/d", "encoder/dense", "name")
    ]


def test_renumbered_names_do_not_hide_an_insertion():
    # Keras calls the second ReLU relu_1 whether or not another came before it.
    before = chain(dense("c1", 8, 8), layer("re_lu", "ReLU"), dense("c2", 8, 8), layer("re_lu_1", "ReLU"))
    after = chain(
        dense("c1", 8, 8),
        layer("re_lu", "ReLU"),
        dense("new", 8, 8, config=config(units=8, use_bias=False)),
        layer("re_lu_1", "ReLU"),
        dense("c2", 8, 8),
        layer("re_lu_2", "ReLU"),
    )

    assert reported(diff_graphs(before, after)) == [
        ("added", None, "new", "Dense"),
        ("added", None, "re_lu_1", "ReLU"),
        ("renamed", "re_lu_1", "re_lu_2", "name"),
    ]


def test_other_class_at_the_same_position_is_a_replacement():
    after = chain(A, layer("gelu", "GELU", config=config(approximate=True)), C)
    diff = diff_graphs(chain(A, B, C), after)

    assert diff.changes == (Change("replaced", "b", "gelu", "class", "ReLU", "GELU"),)
    assert [change.what for change in diff.consequences] == ["approximate", "name"]


def test_other_class_under_the_same_name_is_a_replacement():
    diff = diff_graphs(chain(A, B, C), chain(A, layer("b", "GELU"), C))

    assert diff == Diff("chain", "chain", (Change("replaced", "b", "b", "class", "ReLU", "GELU"),))


def test_moved_layer_is_one_change():
    norm = layer("norm", "Norm")
    diff = diff_graphs(chain(A, norm, B, C), chain(A, B, C, norm))

    assert diff == Diff("chain", "chain", (Change("moved", "norm", "norm", "order", (Ref("a"),), (Ref("c"),)),))


def test_layer_at_another_position_of_a_list_has_moved():
    d = layer("d", "Drop")
    diff = diff_graphs(tree(A, B, C, d), tree(B, C, A, d))

    assert diff.changes == (Change("moved", "a", "a", "order", freeze([None]), freeze(["c"])),)


def test_layer_put_into_a_new_model_has_moved():
    inner = Graph(
        "block", "Functional", ops=(input_op("in"), B), calls=(call("in"), call("b", Ref("in"))), inputs=Ref("in"),
        outputs=Ref("b"),
    )  # fmt: skip
    block = Op("block", "model", "Functional", config=config(), graph=inner)

    diff = diff_graphs(chain(A, B, C), chain(A, block, C))

    assert sorted(reported(diff)) == [("added", None, "block", "Functional"), ("moved", "b", "block/b", "nesting")]


def test_setting_is_reported_with_old_and_new_value():
    start, end = ({"class_name": name, "config": {"seed": seed}} for name, seed in (("Glorot", None), ("Glorot", 7)))
    before = change_op(small(), "d", config=config(units=8, init=start, size=(3, 3)))
    after = change_op(small(), "d", config=config(units=8, init=end, size=(5, 5), bias=None))

    assert diff_graphs(before, after).changes == (
        Change("setting", "d", "d", "bias", ABSENT, None),
        Change("setting", "d", "d", "init.config.seed", None, 7),
        Change("setting", "d", "d", "size", (3, 3), (5, 5)),
    )


def test_other_class_inside_a_config_is_one_change():
    start, end = ({"class_name": name, "config": {key: 1}} for name, key in (("Glorot", "a"), ("He", "b")))
    before, after = (change_op(small(), "d", config=config(init=item)) for item in (start, end))

    assert diff_graphs(before, after).changes == (Change("setting", "d", "d", "init", freeze(start), freeze(end)),)


@pytest.mark.parametrize(
    ("field", "new"),
    [
        ("trainable", False),
        ("dtype_policy", "mixed_bfloat16"),
        ("built", False),
        ("module", "mine"),
        ("registered_name", "mine>Dense"),
    ],
)
def test_every_flag_is_a_setting(field, new):
    diff = diff_graphs(small(), change_op(small(), "d", **{field: new}))

    assert diff.changes == (Change("setting", "d", "d", field, getattr(small().op("d"), field), new),)


def test_flag_of_an_op_is_reported_by_name():
    diff = diff_graphs(small(), change_op(small(), "d", flags=config(lora_rank=4)))

    assert diff.changes == (Change("setting", "d", "d", "lora_rank", ABSENT, 4),)


def test_frozen_model_is_one_change_with_consequences():
    frozen = nested()
    for path in ("decoder", "decoder/attention", "decoder/attention/query", "decoder/attention/key"):
        frozen = change_op(frozen, path, trainable=False)
    diff = diff_graphs(nested(), frozen)

    assert reported(diff) == [("setting", "decoder", "decoder", "trainable")]
    assert len(diff.consequences) == 3


def test_setting_of_an_inner_layer_is_reported_once():
    def wrapper(units: int) -> Op:
        inner = dense("cell", 8, 8, config=config(name="cell", units=units))
        written = {"class_name": "Dense", "config": {"name": "cell", "units": units}}
        return layer("wrap", "Wrapper", config=config(layer=written), children=(inner,))

    diff = diff_graphs(tree(A, wrapper(8)), tree(A, wrapper(9)))

    assert diff.changes == (Change("setting", "wrap/cell", "wrap/cell", "units", 8, 9),)


def test_shapes_after_a_layer_of_another_size_are_consequences():
    before = chain(A, B, C)
    wide = {"a": (None, 16), "b": (None, 16)}
    calls = tuple(
        item.with_changes(outputs=(value(*wide[item.id]),)) if item.id in wide else item for item in before.calls
    )
    after = before.with_changes(ops=(before.ops[0], dense("a", 8, 16), B, dense("c", 16, 4)), calls=calls)
    after = change_op(after, "c", config=C.config)
    diff = diff_graphs(before, after)

    assert diff.changes == (Change("setting", "a", "a", "units", 8, 16),)
    assert [(change.kind, change.after, change.what) for change in diff.consequences] == [
        ("value", "a", "shape"),
        ("variable", "a/kernel", "shape"),
        ("variable", "a/bias", "shape"),
        ("value", "b", "shape"),
        ("variable", "c/kernel", "shape"),
    ]


def test_changed_argument_of_a_call_is_reported():
    calls = list(split().calls)
    calls[2] = calls[2].with_changes(args=(Ref("split", 0),), kwargs=config(training=True))
    diff = diff_graphs(split(), split().with_changes(calls=tuple(calls)))

    assert diff.changes == (
        Change("call", "head", "head", "argument 0", Ref("split", 1), Ref("split")),
        Change("call", "head", "head", "training", ABSENT, True),
    )


def test_argument_may_have_any_name_and_any_value():
    def given(**kwargs: object) -> Graph:
        calls = (*small().calls[:3], small().calls[3].with_changes(args=(freeze(kwargs),), kwargs=config(**kwargs)))
        return small().with_changes(calls=calls)

    odd = {"argument x": 1, "cut": slice(Ref("d"), None), "deep": {"b.c": [Ref("d"), {"e": 1}]}}
    other = {"argument x": 2, "cut": slice(Ref("x"), None), "deep": {"b.c": [Ref("d"), {"e": 2}]}}
    diff = diff_graphs(given(**odd), given(**other))

    parts = [".argument x", ".cut[0]", ".deep.b.c[1].e"]
    assert [change.what for change in diff.changes] == [
        *(f"argument 0{part}" for part in parts),
        *(part[1:] for part in parts),
    ]
    assert {change.kind for change in diff.changes} == {"call"}


def test_changed_number_of_calls_is_reported():
    calls = (*small().calls[:2], call("add", freeze([Ref("d"), Ref("x")])))
    diff = diff_graphs(small(), small().with_changes(calls=calls))

    assert diff.changes == (
        Change("call", "d", "d", "number of calls", 2, 1),
        Change("call", "add", "add", "argument 0[1]", Ref("d#2"), Ref("x")),
    )


def test_layer_unshared_within_its_graph_is_an_addition():
    calls = list(small().calls)
    calls[2] = call("e", Ref("d"))
    calls[3] = call("add", freeze([Ref("d"), Ref("e")]))
    after = small().with_changes(ops=(*small().ops[:2], dense("e", 8, 8), small().ops[2]), calls=tuple(calls))

    assert reported(diff_graphs(small(), after)) == [
        ("call", "d", "d", "number of calls"),
        ("added", None, "e", "Dense"),
    ]


def test_changed_mask_is_reported():
    calls = list(masked().calls)
    calls[4] = calls[4].with_changes(
        kwargs=config(mask=Ref("keep"), training=False), mask_kinds=(("mask", "explicit"),)
    )
    diff = diff_graphs(masked(), masked().with_changes(calls=tuple(calls)))

    assert diff.changes == (
        Change("mask", "lstm", "lstm", "mask", Ref("not_equal"), Ref("keep")),
        Change("mask", "lstm", "lstm", "mask made by Keras or by hand", "implicit", "explicit"),
    )


@pytest.mark.parametrize(
    ("field", "new"),
    [("shape", (None, 9)), ("dtype", "int32"), ("sparse", True), ("ragged", True), ("optional", True)],
)
def test_changed_input_is_reported(field, new):
    calls = (small().calls[0].with_changes(outputs=(replace(value(None, 8), **{field: new}),)), *small().calls[1:])
    diff = diff_graphs(small(), small().with_changes(calls=calls))

    assert diff.changes == (Change("input", "x", "x", field, getattr(value(None, 8), field), new),)


def test_changed_nesting_of_inputs_and_outputs_is_reported():
    diff = diff_graphs(small(), small().with_changes(inputs=Ref("x"), outputs=freeze({"y": Ref("add")})))

    assert diff.changes == (
        Change("input", "", "", "inputs", freeze([Ref("x")]), Ref("x")),
        Change("output", "", "", "outputs", Ref("add"), freeze({"y": Ref("add")})),
    )


def test_changed_order_of_named_outputs_is_reported():
    turned = split().with_changes(outputs=freeze({"class": Ref("head"), "rest": Ref("split")}))

    assert reported(diff_graphs(split(), turned)) == [("output", "", "", "outputs")]


def test_the_model_itself_has_a_name_a_class_and_settings():
    root = nested().root.with_changes(class_name="Mine", trainable=False)
    diff = diff_graphs(nested(), nested().with_changes(name="new", class_name="Mine", root=root))

    assert reported(diff) == [
        ("replaced", "", "", "class"),
        ("setting", "", "", "trainable"),
        ("renamed", "", "", "name"),
    ]


def test_lost_sharing_is_reported():
    after = change_op(nested(), "decoder/d", same_as=None, config=config(units=8), variables=dense("d", 8, 8).variables)
    after = change_op(after, "decoder/d", dtype_policy="float32")
    diff = diff_graphs(nested(), after)

    assert diff.changes == (Change("sharing", "decoder/d", "decoder/d", "same_as", "encoder/d"),)
    assert diff_graphs(after, nested()) == diff.mirrored()


def test_lost_tie_is_reported():
    free = VariableSpec("kernel", (8, 8), "float32")
    diff = diff_graphs(nested(), change_op(nested(), "decoder/out", variables=(free,)))

    path = "decoder/out/kernel"
    assert diff.changes == (Change("sharing", path, path, "tied", "encoder/d/kernel"),)


def test_sharing_does_not_depend_on_which_holder_comes_first():
    first = tree(layer("p", "P", children=(A,)), layer("q", "Q", children=(layer("a", "Dense", same_as="p/a"),)))
    last = tree(layer("q", "Q", children=(A,)), layer("p", "P", children=(layer("a", "Dense", same_as="q/a"),)))

    assert [kind for kind, *_ in reported(diff_graphs(first, last))] == ["moved"]


def test_trainable_flag_of_a_variable_is_compared():
    specs = (VariableSpec("kernel", (8, 8), "float32", trainable=False), VariableSpec("bias", (8,), "float32"))
    diff = diff_graphs(small(), change_op(small(), "d", variables=specs))

    assert diff.changes == (Change("variable", "d/kernel", "d/kernel", "trainable", True, False),)


def test_compile_settings_are_compared_if_both_are_compiled():
    one, other = (config(optimizer={"class_name": "Adam", "config": {"learning_rate": rate}}) for rate in (0.1, 0.2))

    changed_rate = Change("compile", "", "", "optimizer.config.learning_rate", 0.1, 0.2)
    assert diff_graphs(small(), small(), compiled=(one, other)).changes == (changed_rate,)
    assert diff_graphs(small(), small(), compiled=(None, None)).empty
    assert diff_graphs(small(), small(), compiled=(one, None)).changes == (
        Change("compile", "", "", "compiled", True, False),
    )


@pytest.mark.parametrize("make", [small, split, masked, nested])
def test_edits_used_by_these_tests_make_valid_graphs(make):
    assert lint(rename(make(), make().ops[0].id, "fresh")) == []
    assert lint(insert_after(make(), make().ops[0].id, "fresh")) == []
