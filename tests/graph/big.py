"""Graphs of any size: blocks of a residual network, with a shared layer, a nested model and a mask in each."""

from ramet._graph import Call, Graph, Op, Ref, Value, VariableSpec, freeze, freeze_dict
from tests.graph.sample import config, input_op


def grow(calls: int) -> Graph:
    """Return a graph with this many calls, not counting those of nested graphs."""
    ops: list[Op] = [input_op("x")]
    made: list[Call] = [Call("x", "x", outputs=(_VALUE,))]
    last = Ref("x")
    block = 0
    while len(made) < calls:
        last = _add_block(block, last, ops, made)
        block += 1
    kept = made[:calls]
    used = {call.op for call in kept}
    return Graph(
        "big",
        "Functional",
        ops=tuple(op for op in ops if op.id in used),
        calls=tuple(kept),
        inputs=Ref("x"),
        outputs=freeze([Ref(kept[-1].id)]),
    )


_VALUE = Value((None, 32, 32, 8), "float32")


def _add_block(number: int, source: Ref, ops: list[Op], calls: list[Call]) -> Ref:
    def name(word: str) -> str:
        return f"block_{number}_{word}"

    def add(op: Op, *args: object, call: str = "", **kwargs: object) -> Ref:
        if not call:
            ops.append(op)
        made = Call(call or op.id, op.id, tuple(map(freeze, args)), freeze_dict(kwargs), (_VALUE,))
        calls.append(made)
        return Ref(made.id)

    conv = _conv(name("conv"))
    first = add(conv, source)
    second = add(conv, first, call=f"{conv.id}#2")
    norm = add(_layer(name("norm"), "BatchNormalization"), second, training=False)
    relu = add(_layer(name("relu"), "ReLU"), norm)
    shape = add(Op(name("getitem"), "operation", "GetItem", config=config()), relu, (slice(None), 0, ...))
    nested = add(_nested(name("gate")), relu)
    mask = add(Op(name("not_equal"), "operation", "NotEqual", config=config()), nested, 0)
    lstm = add(_layer(name("mix"), "Mix"), [nested, shape], mask=mask)
    calls[-1] = calls[-1].with_changes(mask_kinds=(("mask", "explicit"),))
    total = add(_layer(name("add"), "Add"), [source, lstm])
    return add(_layer(name("out"), "Dropout"), total)


def _layer(name: str, class_name: str) -> Op:
    settings = config(name=name, trainable=True, dtype={"module": "keras", "class_name": "DTypePolicy"}, rate=0.1)
    return Op(name, "layer", class_name, "keras.layers", config=settings)


def _conv(name: str) -> Op:
    settings = config(
        name=name,
        filters=8,
        kernel_size=(3, 3),
        strides=[1, 1],
        kernel_initializer={"class_name": "GlorotUniform", "config": {"seed": None}},
    )
    variables = (VariableSpec("kernel", (3, 3, 8, 8), "float32"), VariableSpec("bias", (8,), "float32"))
    return Op(name, "layer", "Conv2D", "keras.layers", config=settings, variables=variables)


def _nested(name: str) -> Op:
    inner = Graph(
        name,
        "Functional",
        ops=(input_op("x"), _layer("gate", "Dense")),
        calls=(Call("x", "x", outputs=(_VALUE,)), Call("gate", "gate", (Ref("x"),), outputs=(_VALUE,))),
        inputs=Ref("x"),
        outputs=Ref("gate"),
    )
    return Op(name, "model", "Functional", "keras", config=config(name=name), graph=inner)
