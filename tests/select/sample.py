"""Small models as data for tests of selectors."""

from ramet._graph import Call, Graph, Op, Ref, VariableSpec, freeze
from ramet._select import find
from tests.graph.sample import call, config, dense, input_op, layer, value


def paths(graph: Graph, selector: object) -> list[str]:
    """Return the paths of the ops that a selector finds."""
    return [candidate.path for candidate in find(graph, selector)]


def blocks() -> Graph:
    """Return two nested blocks in a row, the second with two inputs and two outputs, and a head."""
    return Graph(
        "blocks",
        "Functional",
        ops=(
            input_op("image"),
            layer("stem", "Conv2D", config=config(filters=8, kernel_size=(3, 3), activation="relu")),
            Op("block1", "model", "Functional", config=config(name="block1"), graph=_one()),
            Op("block2", "model", "Functional", config=config(name="block2"), graph=_two()),
            dense("head", 8, 10),
            layer("aux", "Aux", module="mine.layers", registered_name="mine>Aux"),
        ),
        calls=(
            call("image"),
            call("stem", Ref("image")),
            call("block1", Ref("stem")),
            call(
                "block2",
                freeze([Ref("block1"), Ref("stem")]),
                outputs=(value(None, 8), value(None, 4)),
                structure=freeze({"main": 0, "side": 1}),
            ),
            call("head", Ref("block2")),
            call("aux", Ref("block2", 1)),
        ),
        inputs=Ref("image"),
        outputs=freeze([Ref("head"), Ref("aux")]),
    )


def _one() -> Graph:
    conv = layer("conv", "Conv2D", config=config(filters=16, kernel_size=[3, 3], activation="gelu"))
    return Graph(
        "block1",
        "Functional",
        ops=(input_op("x"), conv, layer("drop", "Dropout", config=config(rate=0.5))),
        calls=(call("x"), call("conv", Ref("x")), call("drop", Ref("conv"))),
        inputs=freeze([Ref("x")]),
        outputs=Ref("drop"),
    )


def _two() -> Graph:
    return Graph(
        "block2",
        "Functional",
        ops=(input_op("x"), input_op("skip"), layer("add", "Add"), layer("drop", "Dropout", config=config(rate=0.1))),
        calls=(
            call("x"),
            call("skip"),
            call("add", freeze([Ref("x"), Ref("skip")])),
            call("drop", Ref("x")),
        ),
        inputs=freeze([Ref("x"), Ref("skip")]),
        outputs=freeze({"main": Ref("drop"), "side": Ref("add")}),
    )


def wrapped() -> Graph:
    """Return layers inside layers, one of them shared with a second holder."""
    cell = layer("cell", "Cell", children=(dense("gate", 2, 2),))
    return Graph(
        "wrapped",
        "Mine",
        "subclassed",
        ops=(
            layer("left", "Holder", children=(cell, layer("norm", "Norm", variables=_scale()))),
            layer("right", "Holder", children=(layer("inner", "Cell", same_as="left/cell", config=None),)),
        ),
    )


def circular() -> Graph:
    """Return a layer whose child keeps a reference to it."""
    child = layer("child", "Child", children=(layer("parent", "Parent", same_as="parent", config=None),))
    return Graph("circular", "Mine", "subclassed", ops=(layer("parent", "Parent", children=(child,)),))


def chain(length: int) -> Graph:
    """Return a chain of dense layers."""
    ops = [input_op("x"), *(dense(f"d{number}", 1, 1) for number in range(length))]
    calls = [call("x")]
    for op in ops[1:]:
        calls.append(Call(op.id, op.id, (Ref(calls[-1].id),), outputs=(value(None, 1),)))
    return Graph("chain", "Functional", ops=tuple(ops), calls=tuple(calls), inputs=Ref("x"), outputs=Ref(ops[-1].id))


def nested_deep(depth: int) -> Graph:
    """Return a dense layer in a model in a model, and so on."""
    graph = Graph(
        "m0",
        "Functional",
        ops=(input_op("x"), dense("d", 8, 8)),
        calls=(call("x"), call("d", Ref("x"))),
        inputs=Ref("x"),
        outputs=Ref("d"),
    )
    for level in range(1, depth):
        model = Op(f"m{level - 1}", "model", "Functional", config=config(), graph=graph)
        graph = Graph(
            f"m{level}",
            "Functional",
            ops=(input_op("x"), model),
            calls=(call("x"), call(model.id, Ref("x"))),
            inputs=Ref("x"),
            outputs=Ref(model.id),
        )
    return graph


def _scale() -> tuple[VariableSpec, ...]:
    return (VariableSpec("scale", (2,), "float32"), VariableSpec("seed", (2,), "uint32", weight=False))
