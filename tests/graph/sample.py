"""Small graphs for tests."""

from ramet._graph import Argument, Call, FrozenDict, Graph, Op, Ref, Value, VariableSpec, freeze, freeze_dict


def config(**settings: object) -> FrozenDict:
    return freeze_dict(settings)


def value(*shape: int | None, dtype: str = "float32", **fields: object) -> Value:
    return Value(shape, dtype).with_changes(**fields)


def input_op(name: str) -> Op:
    return Op(name, "input", "InputLayer", config=config())


def dense(name: str, inputs: int, units: int, **fields: object) -> Op:
    variables = (VariableSpec("kernel", (inputs, units), "float32"), VariableSpec("bias", (units,), "float32"))
    op = Op(name, "layer", "Dense", config=config(units=units), dtype_policy="float32", variables=variables)
    return op.with_changes(**fields)


def layer(name: str, class_name: str, **fields: object) -> Op:
    return Op(name, "layer", class_name, config=config()).with_changes(**fields)


def call(name: str, *args: Argument, outputs: tuple[Value, ...] = (), op: str = "", **fields: object) -> Call:
    made = Call(name, op or name.partition("#")[0], args, outputs=outputs or (value(None, 8),))
    return made.with_changes(**fields)


def small() -> Graph:
    """Return an input, a shared dense layer, an add."""
    return Graph(
        "small",
        "Functional",
        ops=(input_op("x"), dense("d", 8, 8), layer("add", "Add")),
        calls=(
            call("x"),
            call("d", Ref("x")),
            call("d#2", Ref("d")),
            call("add", freeze([Ref("d"), Ref("d#2")])),
        ),
        inputs=freeze([Ref("x")]),
        outputs=Ref("add"),
    )


def split() -> Graph:
    """Return one layer with two outputs, which the graph returns as a dict."""
    two = (value(None, 8), value(None, 4))
    return Graph(
        "split",
        "Functional",
        ops=(input_op("x"), layer("split", "Lambda"), dense("head", 4, 2)),
        calls=(
            call("x"),
            call("split", Ref("x"), outputs=two, structure=freeze([0, 1])),
            call("head", Ref("split", 1), outputs=(value(None, 2),)),
        ),
        inputs=Ref("x"),
        outputs=freeze({"rest": Ref("split"), "class": Ref("head")}),
    )


def masked() -> Graph:
    """Return an embedding that produces a mask, an LSTM that uses it, and an attention with an explicit mask."""
    mask = Ref("not_equal")
    table = VariableSpec("embeddings", (100, 16), "float32")
    return Graph(
        "masked",
        "Functional",
        ops=(
            input_op("tokens"),
            input_op("keep"),
            layer("embedding", "Embedding", variables=(table,)),
            Op("not_equal", "operation", "NotEqual", config=config()),
            layer("lstm", "LSTM"),
            layer("attention", "Attention"),
        ),
        calls=(
            call("tokens", outputs=(value(None, None, dtype="int32"),)),
            call("keep", outputs=(value(None, None, dtype="bool", optional=True),)),
            call("embedding", Ref("tokens"), outputs=(value(None, None, 16, mask=mask),)),
            call("not_equal", Ref("tokens"), 0, outputs=(value(None, None, dtype="bool"),)),
            call(
                "lstm",
                Ref("embedding"),
                kwargs=config(mask=mask, training=False),
                mask_kinds=(("mask", "implicit"),),
                outputs=(value(None, None, 8, mask=mask),),
            ),
            call(
                "attention",
                freeze([Ref("lstm"), Ref("lstm")]),
                kwargs=config(mask=[Ref("keep"), None]),
                mask_kinds=(("mask", "explicit"),),
                outputs=(value(None, None, 8),),
            ),
        ),
        inputs=freeze({"tokens": Ref("tokens"), "keep": Ref("keep")}),
        outputs=Ref("attention"),
    )


def nested() -> Graph:
    """Return an encoder used twice, and a decoder that shares the encoder's dense layer and ties a variable to it."""
    encoder = Graph(
        "encoder",
        "Functional",
        ops=(input_op("x"), dense("d", 8, 8)),
        calls=(call("x"), call("d", Ref("x"))),
        inputs=Ref("x"),
        outputs=Ref("d"),
    )
    attention = layer("attention", "MultiHeadAttention", children=(dense("query", 8, 8), dense("key", 8, 8)))
    tied = VariableSpec("kernel", (8, 8), "float32", tied="encoder/d/kernel")
    decoder = Graph(
        "decoder",
        "MyDecoder",
        "subclassed",
        ops=(layer("d", "Dense", same_as="encoder/d", config=None), attention, layer("out", "Tied", variables=(tied,))),
    )
    return Graph(
        "nested",
        "Functional",
        ops=(
            input_op("a"),
            Op("encoder", "model", "Functional", config=config(), graph=encoder, trainable=False),
            Op("decoder", "model", "MyDecoder", no_config="get_config() is not implemented", graph=decoder),
        ),
        calls=(
            call("a"),
            call("encoder", Ref("a")),
            call("encoder#2", Ref("encoder")),
            call("decoder", Ref("encoder#2")),
        ),
        inputs=Ref("a"),
        outputs=(Ref("encoder"), Ref("decoder")),
        root=Op("nested", "model", "Functional", config=config(), variables=(VariableSpec("scale", (), "float32"),)),
    )
