"""Graphs and pictures for tests, besides those of tests/graph."""

from typing import Any

from ramet._diff import diff_graphs
from ramet._draw import Picture, draw_graph
from ramet._graph import Argument, Call, Graph, Op, Ref, VariableSpec, freeze
from tests.graph import big, sample
from tests.graph.sample import call, config, dense, input_op, layer, value

HOSTILE = "<img src=x onerror=alert(1)>"


def chain(*names: str) -> Graph:
    """Return a chain of Dense layers."""
    calls: list[Call] = [call("x")]
    for name in names:
        calls.append(call(name, Ref(calls[-1].id)))
    ops = (input_op("x"), *(dense(name, 8, 8) for name in names))
    return Graph("chain", "Functional", ops=ops, calls=tuple(calls), inputs=Ref("x"), outputs=Ref(calls[-1].id))


def unet() -> Graph:
    """Return a U-Net: three levels down, three levels up, with skip connections."""
    ops: list[Op] = [input_op("image")]
    calls = [call("image", outputs=(value(None, 64, 64, 3),))]
    kept: list[str] = []

    def add(op: Op, *sources: str, size: int) -> None:
        taken: Argument = Ref(sources[0]) if len(sources) == 1 else freeze([Ref(source) for source in sources])
        ops.append(op)
        calls.append(call(op.id, taken, outputs=(value(None, size, size, 8),)))

    for number, size in enumerate((64, 32, 16)):
        add(layer(f"down_{number}", "Conv2D", config=config(filters=8, kernel_size=(3, 3))), calls[-1].id, size=size)
        kept.append(calls[-1].id)
        add(layer(f"pool_{number}", "MaxPooling2D"), calls[-1].id, size=size // 2)
    for number, size in enumerate((16, 32, 64)):
        add(layer(f"up_{number}", "Conv2DTranspose"), calls[-1].id, size=size)
        add(layer(f"join_{number}", "Concatenate"), calls[-1].id, kept.pop(), size=size)
    made = Graph("unet", "Functional", ops=tuple(ops), calls=tuple(calls), inputs=Ref("image"))
    return made.with_changes(outputs=Ref(calls[-1].id))


def inception(cells: int = 8) -> Graph:
    """Return cells of three branches with automatic names: only their structure shows that they repeat."""
    ops: list[Op] = [input_op("x")]
    calls = [call("x")]
    number = 0

    def add(class_name: str, *sources: str) -> str:
        nonlocal number
        number += 1
        name = f"{class_name.lower()}_{number}"
        taken: Argument = Ref(sources[0]) if len(sources) == 1 else freeze([Ref(source) for source in sources])
        ops.append(layer(name, class_name))
        calls.append(call(name, taken))
        return name

    last = "x"
    for _ in range(cells):
        branches = [add("Conv2D", last), add("ReLU", add("Conv2D", last)), add("AveragePooling2D", last)]
        last = add("Concatenate", *branches)
    return Graph("inception", "Functional", ops=tuple(ops), calls=tuple(calls), inputs=Ref("x"), outputs=Ref(last))


def tree() -> Graph:
    """Return a subclassed model, which has no calls: an attention layer with its parts, and dense layers."""
    parts = (dense("query", 8, 8), dense("key", 8, 8), dense("value", 8, 8))
    attention = layer("attention", "MultiHeadAttention", children=parts)
    ops = (attention, *(dense(f"dense_{number}", 8, 8) for number in range(4)))
    return Graph("tree", "MyModel", "subclassed", ops=ops)


def twice(depth: int) -> Graph:
    """Return nested models that call the model inside them twice, with a dense layer in the innermost."""
    graph = chain("d").with_changes(name="bottom")
    for number in range(depth):
        name = f"m{number}"
        calls = (call("x"), call(name, Ref("x")), call(f"{name}#2", Ref(name)))
        ops = (input_op("x"), Op(name, "model", "Functional", graph=graph))
        graph = Graph("twice", "Functional", ops=ops, calls=calls, inputs=Ref("x"), outputs=Ref(f"{name}#2"))
    return graph


def hostile() -> Graph:
    """Return a model with names that try to act as markup or control characters."""
    names = (HOSTILE, "</script><script>alert(2)</script>", "a\u202eb\x1b[31m\n", "'\"&amp;{{data}}${1}", "\ud800")
    return chain(*names).with_changes(name=f"</title>{HOSTILE}", class_name="<b>Model</b>")


def before_and_after() -> tuple[Graph, Graph]:
    """Return two models: one layer added, one removed, one renamed, one with a changed setting."""
    before = chain("first", "second", "gone", "last")
    after = chain("first", "zweite", "last", "new")
    changed = after.op("first").with_changes(config=config(units=8, activation="gelu"))
    ops = tuple(changed if op.id == "first" else op for op in after.ops)
    # Another class, so that no layer is taken for a renamed `gone`.
    gone = before.op("gone").with_changes(class_name="Dropout", variables=(), config=config(rate=0.5, seed=7))
    old = tuple(gone if op.id == "gone" else op for op in before.ops)
    return before.with_changes(ops=old), after.with_changes(ops=ops)


def diff_picture(**options: Any) -> Picture:
    before, after = before_and_after()
    return draw_graph(after, diff_graphs(before, after), before=before, **options)


def wrapped() -> Graph:
    """Return a long model inside a short one."""
    inner = Op("inner", "model", "Functional", graph=chain(*(f"d{number}" for number in range(11))))
    calls = (call("x"), call("inner", Ref("x")))
    return Graph(
        "wrapped", "Functional", ops=(input_op("x"), inner), calls=calls, inputs=Ref("x"), outputs=Ref("inner")
    )


def wide_tree() -> Graph:
    variable = VariableSpec("kernel", (3, 3), "float32", tied="a/kernel")
    own = variable.with_changes(tied=None)
    ops = (layer("a", "Dense", variables=(own,)), layer("b", "Dense", variables=(variable,)), *tree().ops)
    return Graph("tied", "MyModel", "subclassed", ops=ops)


PICTURES = {
    "small": lambda: draw_graph(sample.small()),
    "split": lambda: draw_graph(sample.split()),
    "masked": lambda: draw_graph(sample.masked()),
    "nested": lambda: draw_graph(sample.nested()),
    "chain": lambda: draw_graph(chain("a", "b", "c")),
    "unet": lambda: draw_graph(unet()),
    "inception": lambda: draw_graph(inception()),
    "residual": lambda: draw_graph(big.grow(60)),
    "tree": lambda: draw_graph(tree()),
    "tied": lambda: draw_graph(wide_tree()),
    "hostile": lambda: draw_graph(hostile()),
    "diff": diff_picture,
    "unet_from_left": lambda: draw_graph(unet(), rankdir="LR"),
    "unet_in_columns": lambda: draw_graph(unet(), columns=3),
    "unet_in_lines": lambda: draw_graph(unet(), rankdir="LR", columns=3),
    "masked_from_left": lambda: draw_graph(sample.masked(), rankdir="LR"),
    "nested_from_left": lambda: draw_graph(sample.nested(), rankdir="LR", columns=2),
    "residual_in_columns": lambda: draw_graph(big.grow(60), columns=4),
    "tree_from_left": lambda: draw_graph(tree(), rankdir="LR", columns=2),
    "diff_from_left": lambda: diff_picture(rankdir="LR", columns=2),
    "inside_in_columns": lambda: draw_graph(wrapped(), columns=2),
}
