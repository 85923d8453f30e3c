"""`ramet.clone_model` compared with `keras.models.clone_model`: same arguments, same clone; and cases that Keras refuses."""

import contextlib

import keras
import numpy as np
import pytest
from keras import layers, ops

import ramet
from tests.support.twins import outputs
from tests.support.versions import KERAS

BACKEND = keras.backend.backend()
RNG = np.random.default_rng(0)
BOTH = pytest.mark.parametrize("clone_model", [keras.models.clone_model, ramet.clone_model], ids=["keras", "ramet"])


# Models


def mlp(*, shared=False):
    inputs = keras.Input((3,), name="x")
    x = layers.Dense(2, name="first")(inputs)
    if shared:
        again = layers.Dense(2, name="shared")
        x = again(again(x))
    return keras.Model(inputs, layers.Dense(2, name="last")(x), name="mlp")


def nested():
    inputs = keras.Input((4,), name="x")
    x = mlp()(layers.Dense(3, name="before")(inputs))
    return keras.Model(inputs, layers.Dense(2, name="after")(x), name="nested")


def sequential():
    return keras.Sequential(
        [keras.Input((3,), name="x"), layers.Dense(4, name="a"), layers.Dense(2, name="b")], name="seq"
    )


def sequence_in_sequence():
    inner = keras.Sequential([keras.Input((4,)), layers.Dense(4, name="c"), layers.ReLU(name="r")], name="inner")
    return keras.Sequential(
        [keras.Input((3,), name="x"), layers.Dense(4, name="a"), inner, layers.Dense(2, name="b")], name="seq"
    )


def cnn():
    inputs = keras.Input((6, 6, 3), name="image")
    x = layers.BatchNormalization(name="bn")(layers.Conv2D(4, 3, name="conv")(inputs))
    return keras.Model(inputs, layers.Dense(2, name="top")(layers.GlobalAveragePooling2D(name="pool")(x)), name="cnn")


def structured():
    x, y = keras.Input((3,), name="x"), keras.Input((3,), name="y")
    total = x + y
    return keras.Model({"x": x, "y": y}, {"sum": total, "out": layers.Dense(5, name="d")(total)}, name="structured")


def raw_ops():
    inputs = keras.Input((4,), name="x")
    x = ops.matmul(inputs, np.ones((4, 4), "float32")) + 2.0
    return keras.Model(inputs, layers.Dense(2, name="d")(x[:, 1:3]), name="raw")


def keywords():
    inputs, memory = keras.Input((3, 4), name="x"), keras.Input((5, 4), name="memory")
    x = layers.MultiHeadAttention(2, 4, name="mha")(inputs, value=memory, use_causal_mask=False)
    return keras.Model([inputs, memory], layers.Dropout(0.5, name="drop", seed=1)(x, training=False), name="keywords")


def masked():
    inputs = keras.Input((5,), dtype="int32", name="ids")
    x = layers.LSTM(3, name="lstm")(layers.Embedding(7, 4, mask_zero=True, name="e")(inputs))
    return keras.Model(inputs, layers.Dense(2, name="d")(x), name="masked")


def inner_outer():
    shared = layers.Dense(3, name="shared")
    a = keras.Input((3,), name="a")
    inner = keras.Model(a, shared(a), name="inner")
    x = keras.Input((3,), name="x")
    return keras.Model(x, layers.Dense(2, name="out")(shared(inner(x))), name="outer")


MODELS = [mlp, nested, sequential, sequence_in_sequence, cnn, structured, raw_ops, keywords, masked, inner_outer]
ALL = pytest.mark.parametrize("make", MODELS, ids=lambda make: make.__name__)
SOME = pytest.mark.parametrize(
    "make", [nested, sequence_in_sequence, cnn, masked, inner_outer], ids=lambda m: m.__name__
)


class Two(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.a = layers.Dense(4, name="a")
        self.rest = [layers.Dense(2, name="b")]

    def call(self, x):
        return self.rest[0](self.a(x))


def two():
    model = Two(name="two")
    model(np.ones((1, 3), "float32"))
    return model


# Comparison of clones


def sample(model):
    def one(tensor):
        shape = [2 if size is None else size for size in tensor.shape]
        if "int" in tensor.dtype:
            return np.array([[1, 2, 3, 0, 0], [4, 0, 0, 0, 0]], "int32")
        return np.random.default_rng(1).normal(size=shape).astype(tensor.dtype)

    return keras.tree.map_structure(one, model.inputs[0] if isinstance(model, keras.Sequential) else model.input)


def ops_below(model):
    found, waiting = [], [model]
    while waiting:
        op = waiting.pop()
        if not any(op is other for other in found):
            found.append(op)
            waiting += [*getattr(op, "_layers", ()), *getattr(op, "operations", ())]
            waiting += [op._functional] if getattr(op, "_functional", None) is not None else []
    return found


def state(model):
    """Return everything that must not change on an original."""
    return (
        [(op.name, len(op._inbound_nodes), len(op._outbound_nodes)) for op in ops_below(model)],
        [(v.path, v.trainable, np.array(keras.ops.convert_to_numpy(v)).tolist()) for v in model.variables],
        [
            (op.trainable, op.built, sorted(map(str, vars(op))))
            for op in ops_below(model)
            if isinstance(op, keras.Layer)
        ],
    )


@contextlib.contextmanager
def untouched(model):
    before = state(model)
    yield
    assert state(model) == before


def counters():
    """Return Keras' counters of layer names, without those of tensors and masks, which every call increases."""
    from keras.src.backend.common import global_state

    found = global_state.get_global_attribute("object_name_uids") or {}
    return {name: count for name, count in found.items() if name not in ("keras_tensor", "not_equal")}


def shape_of(model):
    """Return the layers in order: class, name without a generated number, and weights."""
    kept = [layer for layer in model._flatten_layers(include_self=False) if not isinstance(layer, layers.InputLayer)]
    return [
        (
            type(layer).__name__,
            layer.name.rstrip("_0123456789"),
            [(w.path, tuple(w.shape), w.dtype, w.trainable) for w in layer.weights],
        )
        for layer in kept
    ]


def without_paths(model):
    """Return variable paths without the first part, which Keras loses for nested Sequentials and wrappers."""
    return [
        (kind, name, [(path.rpartition("/")[2], *rest) for path, *rest in weights])
        for kind, name, weights in shape_of(model)
    ]


def paths(model):
    return [w.path for w in model.weights]


def assert_alike(ours, theirs, x):
    """Check that two models have the same layers and specs and, with the same weights, the same outputs."""
    assert without_paths(ours) == without_paths(theirs)
    specs = [keras.tree.map_structure(lambda t: (t.shape, t.dtype), (m.inputs, m.outputs)) for m in (ours, theirs)]
    assert specs[0] == specs[1]
    weights = [RNG.normal(size=w.shape).astype(w.dtype) for w in theirs.weights]
    ours.set_weights(weights)
    theirs.set_weights(weights)
    for a, b in zip(outputs(ours, x), outputs(theirs, x), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-6)


def again(layer):
    return type(layer).from_config(layer.get_config())


def renamed(layer):
    return type(layer).from_config({**layer.get_config(), "name": f"{layer.name}_custom"})


def values(model):
    return [np.array(w) for w in model.get_weights()]


def all_equal(ours, theirs):
    return all(np.array_equal(a, b) for a, b in zip(ours, theirs, strict=True))


# Cases in which Keras is right, side by side


@ALL
def test_plain_clone_equals_the_clone_of_keras(make):
    model = make()
    if make is inner_outer:
        model = keras.models.clone_model(model, recursive=True)  # with sharing, Keras clones it only so
        theirs = keras.models.clone_model(model, recursive=True)
    else:
        theirs = keras.models.clone_model(model)
    with untouched(model):
        before = counters()
        ours = ramet.clone_model(model)
        assert counters() == before

    assert paths(ours) == paths(model)
    assert_alike(ours, theirs, sample(model))


@ALL
@pytest.mark.parametrize("recursive", [False, True], ids=["flat", "recursive"])
def test_clone_with_a_function_equals_the_clone_of_keras(make, recursive):
    if make is inner_outer and not recursive:
        pytest.skip(
            "Keras' clone_model loses the sharing, so there is nothing to compare with; a Keras that keeps it lifts this"
        )
    model = make()
    theirs = keras.models.clone_model(model, clone_function=again, recursive=recursive)
    with untouched(model):
        ours = ramet.clone_model(model, clone_function=again, recursive=recursive)

    assert not recursive or paths(ours) == paths(model)
    assert_alike(ours, theirs, sample(model))


@SOME
def test_layers_can_be_renamed_as_in_keras(make):
    model = make()
    theirs = keras.models.clone_model(model, clone_function=renamed)
    with untouched(model):
        ours = ramet.clone_model(model, clone_function=renamed)

    assert [layer.name for layer in ours.layers][1:] == [layer.name for layer in theirs.layers][1:]


@pytest.mark.parametrize(
    "make", [mlp, nested, cnn, structured, raw_ops, keywords, inner_outer], ids=lambda m: m.__name__
)
@pytest.mark.parametrize("recursive", [False, True], ids=["flat", "recursive"])
def test_functions_are_called_in_the_order_and_with_the_arguments_of_keras(make, recursive):
    model = make()
    said = {}
    for clone_model in (keras.models.clone_model, ramet.clone_model):
        log = said[clone_model] = []

        def clone_function(layer, log=log):
            log.append(("clone", type(layer).__name__, layer.name, any(layer is op for op in ops_below(model))))
            return again(layer)

        def call_function(layer, *args, log=log, **kwargs):
            spec = keras.tree.map_structure(
                lambda a: (a.shape, a.dtype) if isinstance(a, keras.KerasTensor) else str(a),
                (args, {k: v for k, v in kwargs.items() if k != "training" and v is not None}),
            )
            log.append(("call", type(layer).__name__, layer.name, spec))
            return layer(*args, **kwargs)

        clone_model(model, clone_function=clone_function, call_function=call_function, recursive=recursive)

    entered = [entry for entry in said[ramet.clone_model] if entry[2] not in INSIDE]
    assert entered == said[keras.models.clone_model]


INSIDE = {
    "query",
    "key",
    "value",
    "attention_output",
    "softmax",
    "dropout",
}  # of MultiHeadAttention: Keras stays outside


@BOTH
def test_layer_can_be_inserted_after_each_dense(clone_model):
    model = mlp()

    def call_function(layer, *args, **kwargs):
        out = layer(*args, **kwargs)
        return layers.Dropout(0.5)(out) if isinstance(layer, layers.Dense) else out

    new = clone_model(model, clone_function=lambda layer: layer, call_function=call_function)

    kinds = [type(layer).__name__ for layer in new.layers]
    assert kinds == ["InputLayer", "Dense", "Dropout", "Dense", "Dropout"]
    assert [layer.name for layer in new.layers] == ["x", "first", "dropout", "last", "dropout_1"]
    np.testing.assert_allclose(outputs(new, sample(model))[0], outputs(model, sample(model))[0], rtol=1e-6)


@BOTH
def test_layer_can_be_inserted_after_each_dense_of_nested_models(clone_model):
    model = nested()

    def call_function(layer, *args, **kwargs):
        out = layer(*args, **kwargs)
        return layers.Dropout(0.5)(out) if isinstance(layer, layers.Dense) else out

    new = clone_model(model, call_function=call_function, recursive=True)

    kinds = [type(layer).__name__ for layer in new.get_layer("mlp").layers]
    assert kinds == ["InputLayer", "Dense", "Dropout", "Dense", "Dropout"]
    assert [layer.name for layer in new.layers] == ["x", "before", "dropout", "mlp", "after", "dropout_3"]


@BOTH
def test_layer_can_be_replaced_by_a_function(clone_model):
    model = keras.Model(x := keras.Input((3,)), layers.ReLU()(layers.Dense(2, name="d")(x)))
    new = clone_model(model, clone_function=lambda layer: ops.tanh if isinstance(layer, layers.ReLU) else again(layer))
    new.set_weights(model.get_weights())

    x = np.ones((2, 3), "float32")
    np.testing.assert_allclose(outputs(new, x)[0], np.tanh(outputs(new.layers[1], x)[0]), rtol=1e-5)


@BOTH
def test_layer_can_be_replaced_by_a_functional_model(clone_model):
    model = mlp()

    def deeper(layer):
        if layer.name != "last":
            return again(layer)
        a = keras.Input((2,))
        return keras.Model(a, layers.Dense(2)(layers.Dense(5)(a)), name="deeper")

    new = clone_model(model, clone_function=deeper)

    assert [layer.name for layer in new.layers][1:] == ["first", "deeper"]
    assert new.output_shape == (None, 2)
    assert len(new.weights) == 6


@BOTH
def test_layer_can_be_replaced_by_one_with_another_output_size(clone_model):
    new = clone_model(
        mlp(), clone_function=lambda layer: layers.Dense(7, name="first") if layer.name == "first" else again(layer)
    )

    assert [tuple(w.shape) for w in new.weights] == [(3, 7), (7,), (7, 2), (2,)]


@BOTH
def test_clone_function_is_called_once_for_a_shared_layer_which_stays_shared(clone_model):
    asked = []
    new = clone_model(mlp(shared=True), clone_function=lambda layer: asked.append(layer.name) or again(layer))

    assert asked == ["first", "shared", "last"]
    assert len(new.layers) == 4
    assert len(new.weights) == 6


@BOTH
def test_layers_can_get_another_dtype_policy(clone_model):
    new = clone_model(
        mlp(), clone_function=lambda layer: type(layer).from_config({**layer.get_config(), "dtype": "float16"})
    )

    assert [w.dtype for w in new.weights] == ["float16"] * 4


@BOTH
@pytest.mark.parametrize("make", [mlp, sequential], ids=lambda make: make.__name__)
def test_a_clone_is_built_on_the_given_input(clone_model, make):
    given = keras.Input((3,), dtype="float16", name="given")
    new = clone_model(make(), input_tensors=given)

    assert [t.dtype for t in new.inputs] == ["float16"]
    assert outputs(new, np.ones((2, 3), "float16"))[0].shape == (2, 2)


@BOTH
def test_two_clones_on_one_input_make_one_model(clone_model):
    x = keras.Input((3,), name="both")
    first = clone_model(mlp(), input_tensors=x)
    second = clone_model(mlp(), input_tensors=x, clone_function=renamed)

    joint = keras.Model(x, [first.output, second.output])

    assert len(joint.weights) == 8


@BOTH
def test_inputs_are_passed_in_the_structure_of_the_model(clone_model):
    model = structured()
    given = {"x": keras.Input((3,), name="x"), "y": keras.Input((3,), name="y")}
    new = clone_model(model, input_tensors=given)

    keras.tree.assert_same_structure(new.input, given)
    assert new.input["x"] is given["x"]


@BOTH
def test_a_sequential_without_input_is_built_on_the_given_one(clone_model):
    model = keras.Sequential([layers.Dense(4, name="a"), layers.Dense(2, name="b")], name="seq")
    new = clone_model(model, input_tensors=keras.Input((3,), name="given"))

    assert not model.built
    assert [tuple(w.shape) for w in new.weights] == [(3, 4), (4,), (4, 2), (2,)]
    assert outputs(new, np.ones((2, 3), "float32"))[0].shape == (2, 2)


@BOTH
@pytest.mark.parametrize("function", [None, again], ids=["plain", "function"])
def test_a_sequential_that_was_never_built_stays_unbuilt(clone_model, function):
    model = keras.Sequential([layers.Dense(4, name="a"), layers.Dense(2, name="b")], name="seq")
    new = clone_model(model, clone_function=function)

    assert not new.built
    assert [layer.name for layer in new.layers] == ["a", "b"]
    assert new.layers[0] is not model.layers[0]


@BOTH
def test_a_subclassed_model_is_cloned_by_its_config(clone_model):
    model = two()
    new = clone_model(model)
    new(np.ones((1, 3), "float32"))
    new.set_weights(model.get_weights())

    assert type(new) is Two
    np.testing.assert_allclose(*(outputs(m, np.ones((2, 3), "float32"))[0] for m in (model, new)), rtol=1e-6)


@BOTH
@pytest.mark.parametrize("function", [None, again], ids=["plain", "function"])
def test_a_compiled_model_stays_compiled(clone_model, function):
    model = sequential()
    model.compile("adam", "mse")
    model.fit(np.ones((4, 3)), np.ones((4, 2)), verbose=0)
    new = clone_model(model, clone_function=function)

    assert new.compiled
    assert type(new.optimizer) is type(model.optimizer)
    assert int(new.optimizer.iterations) == 0
    assert new.optimizer is not model.optimizer
    new.fit(np.ones((4, 3)), np.ones((4, 2)), verbose=0)


# clone_function returns the layer itself


@SOME
@pytest.mark.parametrize("recursive", [False, True], ids=["flat", "recursive"])
def test_returning_the_layer_gives_a_new_layer_on_the_same_variables(make, recursive):
    model = make()
    for _ in range(2):
        with untouched(model):
            before = counters()
            new = ramet.clone_model(model, clone_function=lambda layer: layer, recursive=recursive)

    assert counters() == before
    assert not {id(op) for op in ops_below(model)} & {id(op) for op in ops_below(new)}
    assert [id(w) for w in new.weights] == [id(w) for w in model.weights]
    for a, b in zip(outputs(new, sample(model)), outputs(model, sample(model)), strict=True):
        np.testing.assert_array_equal(a, b)


def test_training_a_clone_on_the_same_variables_trains_the_original():
    model = mlp()
    new = ramet.clone_model(model, clone_function=lambda layer: layer)
    before = values(model)
    new.compile("sgd", "mse")
    new.fit(np.ones((4, 3)), np.ones((4, 2)), verbose=0)

    assert not all_equal(values(model), before)
    assert all_equal(values(model), values(new))


def test_a_wrapper_around_the_layer_does_not_hold_the_original():
    model = mlp()
    with untouched(model):
        new = ramet.clone_model(
            model,
            clone_function=lambda layer: (
                keras.Sequential([layer, layers.ReLU()], name="wrapped") if layer.name == "last" else layer
            ),
        )

    assert new.get_layer("wrapped").layers[0] is not model.get_layer("last")
    assert new.get_layer("wrapped").layers[0].kernel is model.get_layer("last").kernel


def test_layer_can_be_replaced_by_another_layer_of_the_original():
    model = mlp(shared=True)
    with untouched(model):
        new = ramet.clone_model(
            model, clone_function=lambda layer: model.get_layer("shared") if layer.name == "last" else layer
        )

    assert [layer.name for layer in new.layers] == ["x", "first", "shared"]
    assert len(new.get_layer("shared")._inbound_nodes) == 3


# recursive


class Unregistered(layers.Layer):
    def __init__(self, units, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.inner = layers.Dense(units, name="in")

    def build(self, shape):
        self.inner.build(shape)

    def call(self, x):
        return self.inner(x)

    def compute_output_shape(self, shape):
        return (*shape[:-1], self.units)

    def get_config(self):
        return {**super().get_config(), "units": self.units}


def wrappers():
    x = keras.Input((4, 3), name="x")
    y = layers.TimeDistributed(mlp(), name="td")(x)
    y = layers.Bidirectional(layers.LSTM(2, name="rnn"), name="bi")(y)
    y = Unregistered(4, name="custom")(y)
    return keras.Model(
        x, layers.TimeDistributed(Unregistered(2, name="deep"), name="last")(layers.RepeatVector(3)(y)), name="wrappers"
    )


def attention():
    x = keras.Input((4, 6), name="x")
    return keras.Model(x, layers.MultiHeadAttention(2, 3, name="mha")(x, x), name="attention")


@pytest.mark.parametrize("function", [again, lambda layer: layer], ids=["again", "same"])
def test_recursive_enters_wrappers_and_composite_layers(function):
    model = wrappers()
    asked = []
    with untouched(model), keras.saving.custom_object_scope({"Unregistered": Unregistered}):
        new = ramet.clone_model(
            model, clone_function=lambda layer: asked.append(layer.name) or function(layer), recursive=True
        )

    assert asked[:5] == ["td", "first", "last", "bi", "forward_rnn"]
    assert {"in", "deep", "custom"} <= set(asked)
    assert shape_of(new) == shape_of(model)
    new.set_weights(model.get_weights())
    np.testing.assert_allclose(*(outputs(m, sample(model))[0] for m in (model, new)), rtol=1e-5, atol=1e-6)


def test_layer_inside_a_wrapper_is_the_returned_layer():
    model = wrappers()

    def wider(layer):
        if isinstance(layer, layers.Dense):
            made = again(layer)
            made.flag = True
            return made
        return again(layer)

    with untouched(model), keras.saving.custom_object_scope({"Unregistered": Unregistered}):
        new = ramet.clone_model(model, clone_function=wider, recursive=True)

    flags = [getattr(layer, "flag", False) for layer in new._flatten_layers() if isinstance(layer, layers.Dense)]
    assert flags == [True] * 4
    assert outputs(new, sample(model))[0].shape == (2, 3, 2)
    assert len(new.weights) == len(model.weights)


def test_recursive_enters_attention_and_keeps_its_paths():
    model = attention()
    asked = []

    def bigger(layer):
        asked.append(layer.name)
        made = again(layer)
        made.tag = "new"
        return made

    with untouched(model):
        new = ramet.clone_model(model, clone_function=bigger, recursive=True)

    assert asked[0] == "mha"
    assert {"query", "key", "value", "attention_output"} <= set(asked)
    mha = new.get_layer("mha")
    assert [getattr(part, "tag", None) for part in (mha.query_dense, mha.key_dense, mha.value_dense)] == ["new"] * 3
    assert shape_of(new) == shape_of(model)
    new.set_weights(model.get_weights())
    np.testing.assert_allclose(*(outputs(m, sample(model))[0] for m in (model, new)), rtol=1e-5, atol=1e-6)


def test_without_recursive_clone_function_gets_wrappers_as_a_whole():
    asked = []
    ramet.clone_model(wrappers(), clone_function=lambda layer: asked.append(layer.name) or layer)

    assert asked == ["td", "bi", "custom", "repeat_vector", "last"]


class Kept(keras.Model):
    def __init__(self, inputs, outputs, alpha=0.1, **kwargs):
        super().__init__(inputs, outputs, **kwargs)
        self.alpha = alpha


@pytest.mark.parametrize("function", [None, again, lambda layer: layer], ids=["plain", "again", "same"])
def test_classes_flags_and_attributes_are_kept_on_all_levels(function):
    inner = Kept(a := keras.Input((3,), name="a"), layers.Dense(3, name="d")(a), alpha=0.3, name="inner")
    inner.trainable = False
    model = Kept(
        x := keras.Input((3,), name="x", optional=True), layers.Dense(2, name="e")(inner(x)), alpha=0.5, name="outer"
    )
    model.tag = "mine"

    new = ramet.clone_model(model, clone_function=function, recursive=True)

    assert (type(new), new.alpha, new.tag) == (Kept, 0.5, "mine")
    assert (type(new.get_layer("inner")), new.get_layer("inner").alpha) == (Kept, 0.3)
    assert not new.get_layer("inner").trainable
    assert [layer.name for layer in new.layers] == ["x", "inner", "e"]
    assert new.layers[0].optional


def test_a_layer_shared_between_outer_and_nested_stays_shared():
    model = inner_outer()

    for new in (
        ramet.clone_model(model),
        ramet.clone_model(model, clone_function=again, recursive=True),
        ramet.clone_model(model, clone_function=lambda layer: layer, recursive=True),
    ):
        assert new.get_layer("inner").get_layer("shared") is new.get_layer("shared")
        assert len(new.weights) == 4


def test_unregistered_layers_inside_nested_models_and_wrappers_are_cloned():
    inner = keras.Sequential([keras.Input((3,)), Unregistered(3, name="custom")], name="inner")
    x = keras.Input((4, 3), name="x")
    model = keras.Model(x, layers.TimeDistributed(inner, name="td")(x), name="outer")

    for options in ({}, {"recursive": True}, {"clone_function": lambda layer: layer, "recursive": True}):
        new = ramet.clone_model(model, **options)
        assert shape_of(new) == shape_of(model)


@pytest.mark.parametrize("depth", [3])
def test_recursive_enters_every_level(depth):
    model = mlp()
    for level in range(depth):
        x = keras.Input((3,), name=f"x{level}")
        model = keras.Model(
            x,
            layers.Dense(3, name=f"d{level}")(layers.RepeatVector(1, name=f"r{level}")(model(x)))[:, 0],
            name=f"level{level}",
        )
    asked = []
    new = ramet.clone_model(
        model, clone_function=lambda layer: asked.append(layer.name) or again(layer), recursive=True
    )

    assert {"first", "last", "d0", "d1", "d2"} <= set(asked)
    assert shape_of(new) == shape_of(model)


# Sequential models and call_function


def test_call_function_works_for_sequential_models():
    model = sequential()
    with untouched(model):
        new = ramet.clone_model(
            model,
            clone_function=lambda layer: layer,
            call_function=lambda layer, *args, **kwargs: layers.ReLU(name=f"after_{layer.name}")(
                layer(*args, **kwargs)
            ),
        )

    assert type(new) is keras.Sequential
    assert [layer.name for layer in new.layers] == ["a", "after_a", "b", "after_b"]
    assert outputs(new, sample(model))[0].min() >= 0


def test_call_function_reaches_a_sequential_inside_a_functional_model():
    inner = sequential()
    model = keras.Model(x := keras.Input((3,), name="x"), inner(x), name="outer")
    seen = []
    new = ramet.clone_model(
        model, call_function=lambda layer, *a, **k: seen.append(layer.name) or layer(*a, **k), recursive=True
    )

    assert seen == ["a", "b", "seq"]
    assert type(new.get_layer("seq")) is keras.Sequential


def test_sequential_becomes_functional_if_a_list_of_layers_cannot_describe_it():
    model = sequential()
    new = ramet.clone_model(model, weights="copy", call_function=lambda layer, x: layer(x) + 1.0)

    assert type(new).__name__ == "Functional"
    assert new.name == "seq"
    plus = outputs(model.layers[1], outputs(model.layers[0], sample(model))[0] + 1)[0] + 1
    np.testing.assert_allclose(outputs(new, sample(model))[0], plus, rtol=1e-5)


def test_a_layer_is_removed_by_returning_its_input():
    for model in (cnn(), keras.Sequential([keras.Input((3,)), layers.ReLU(name="bn"), layers.Dense(2)])):
        with untouched(model):
            new = ramet.clone_model(
                model, call_function=lambda layer, x, **k: x if layer.name == "bn" else layer(x, **k), weights="copy"
            )

        assert type(new) is type(model)
        assert "bn" not in [layer.name for layer in new.layers]
        assert outputs(new, sample(model))[0].shape == (2, 2)


def test_a_sequential_without_input_takes_functions_with_an_input():
    model = keras.Sequential([layers.Dense(4, name="a"), layers.Dense(2, name="b")], name="seq")
    new = ramet.clone_model(
        model,
        input_tensors=[keras.Input((3,))],
        clone_function=again,
        call_function=lambda layer, x: layers.ReLU(name=f"after_{layer.name}")(layer(x)),
    )

    assert [layer.name for layer in new.layers] == ["a", "after_a", "b", "after_b"]
    assert not model.built


# Subclassed models


def test_layers_of_a_subclassed_model_are_replaced_at_every_reference():
    model = two()
    with untouched(model):
        new = ramet.clone_model(model, clone_function=renamed)

    assert type(new) is Two
    assert (new.a.name, new.rest[0].name) == ("a_custom", "b_custom")
    new.set_weights(model.get_weights())
    x = np.ones((2, 3), "float32")
    np.testing.assert_array_equal(*(outputs(m, x)[0] for m in (model, new)))


def test_layers_of_a_subclassed_model_are_kept_on_the_same_variables():
    model = two()
    with untouched(model):
        new = ramet.clone_model(model, clone_function=lambda layer: layer)

    assert new.a is not model.a
    assert new.a.kernel is model.a.kernel


def test_nested_subclassed_model_is_passed_to_clone_function_and_entered():
    x = keras.Input((3,), name="x")
    model = keras.Model(x, two()(x), name="outer")
    asked = []
    with untouched(model):
        new = ramet.clone_model(
            model, clone_function=lambda layer: asked.append(layer.name) or again(layer), recursive=True
        )

    assert asked == ["two", "a", "b"]
    assert shape_of(new) == shape_of(model)
    assert new.get_layer("two").a is new.get_layer("two")._layers[0]


class Block(layers.Layer):
    """A layer without build(): its inner layers are built when it is called."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.first = layers.Dense(3, name="first")
        self.rest = [layers.Dense(2, name="second")]

    def call(self, x):
        return self.rest[0](self.first(x))


class Around(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.block = Block(name="block")

    def call(self, x):
        return self.block(x)


def block():
    return keras.Model(x := keras.Input((3,), name="x"), Block(name="block")(x), name="model")


def around():
    model = Around(name="model")
    model(np.ones((1, 3), "float32"))
    return model


@pytest.mark.parametrize("make", [block, around], ids=lambda make: make.__name__)
@pytest.mark.parametrize("recursive", [False, True], ids=["flat", "recursive"])
def test_layers_without_a_build_method_are_built_and_get_weights(make, recursive):
    model = make()
    asked = []
    with untouched(model):
        new = ramet.clone_model(
            model,
            clone_function=lambda layer: asked.append(layer.name) or again(layer),
            recursive=recursive,
            weights="copy",
        )

    assert asked == (["block", "first", "second"] if recursive else ["block"])
    assert paths(new) == paths(model)
    assert all_equal(values(new), values(model))
    x = np.ones((2, 3), "float32")
    np.testing.assert_array_equal(*(outputs(m, x)[0] for m in (model, new)))


# Weights and seeds


@pytest.mark.parametrize("function", [None, again, lambda layer: layer], ids=["plain", "again", "same"])
@SOME
def test_weights_can_be_copied(make, function):
    model = make()
    with untouched(model):
        new = ramet.clone_model(model, clone_function=function, weights="copy")

    assert not {id(v) for v in model.variables} & {id(v) for v in new.variables}
    for a, b in zip(outputs(new, sample(model)), outputs(model, sample(model)), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("function", [None, again, lambda layer: layer], ids=["plain", "again", "same"])
@pytest.mark.parametrize(
    "make", [mlp, nested, sequential, cnn, masked, inner_outer, two], ids=lambda make: make.__name__
)
def test_weights_can_be_shared(make, function):
    model = make()
    with untouched(model):
        new = ramet.clone_model(model, clone_function=function, weights="share")

    assert [id(w) for w in new.weights] == [id(w) for w in model.weights]
    assert not {id(op) for op in ops_below(model)} & {id(op) for op in ops_below(new)}


@pytest.mark.parametrize("function", [None, again], ids=["plain", "again"])
@SOME
def test_weights_are_fresh_by_default(make, function):
    model = make()
    new = ramet.clone_model(model, clone_function=function)

    assert not {id(v) for v in model.variables} & {id(v) for v in new.variables}
    assert not all_equal(values(new), values(model))


def test_new_head_does_not_change_the_other_weights():
    model = cnn()
    with untouched(model):
        new = ramet.clone_model(
            model,
            clone_function=lambda layer: layers.Dense(9, name="top") if layer.name == "top" else layer,
            weights="copy",
        )

    assert new.output_shape == (None, 9)
    assert all_equal(values(new)[:6], values(model)[:6])
    new.compile("sgd", "mse")
    with untouched(model):
        new.fit(np.ones((4, 6, 6, 3)), np.ones((4, 9)), verbose=0)


def test_copied_weights_take_the_dtype_of_the_new_layer():
    model = mlp()
    new = ramet.clone_model(
        model,
        clone_function=lambda layer: type(layer).from_config({**layer.get_config(), "dtype": "float16"}),
        weights="copy",
    )

    assert [w.dtype for w in new.weights] == ["float16"] * 4
    for a, b in zip(values(new), values(model), strict=True):
        np.testing.assert_allclose(a.astype("float32"), b, rtol=1e-2, atol=1e-3)


def test_original_and_copied_clone_train_side_by_side():
    model = sequential()
    model.compile("adam", "mse")
    new = ramet.clone_model(model, clone_function=again, weights="copy")
    for one in (model, new, model):
        one.fit(np.ones((4, 3)), np.ones((4, 2)), verbose=0)


def test_adapted_statistics_are_copied_and_used():
    norm = layers.Normalization(name="norm")
    norm.adapt(np.arange(12.0, dtype="float32").reshape(4, 3))
    model = keras.Sequential([keras.Input((3,)), norm])
    new = ramet.clone_model(model, clone_function=again, weights="copy")

    np.testing.assert_allclose(*(outputs(m, np.ones((2, 3), "float32"))[0] for m in (model, new)), rtol=1e-6)


@pytest.mark.parametrize("function", [None, again], ids=["plain", "again"])
def test_a_seed_makes_fresh_weights_repeatable(function):
    x = keras.Input((3,), name="x")
    y = layers.Dropout(0.5, name="drop")(layers.Dense(2, name="first")(x))
    model = keras.Model(x, layers.Dense(2, name="last")(y), name="noisy")

    def call_function(layer, *args, **kwargs):
        out = layer(*args, **kwargs)
        return layers.Dense(2, name="more")(out) if layer.name == "first" else out

    def clone(seed):
        return ramet.clone_model(
            model, clone_function=function, call_function=call_function if function else None, seed=seed
        )

    with untouched(model):
        first, twice, other = clone(7), clone(7), clone(8)

    drops = [
        np.array(ops.convert_to_numpy(m.get_layer("drop").seed_generator.state)).tolist() for m in (first, twice, other)
    ]
    assert drops[0] == drops[1] != drops[2]
    assert all_equal(values(first), values(twice))
    assert not any(np.array_equal(a, b) for a, b in zip(values(first)[::2], values(other)[::2], strict=True))


def test_a_seed_leaves_kept_layers_on_the_variables_of_the_original():
    model = mlp()
    new = ramet.clone_model(model, clone_function=lambda layer: layer, seed=3)

    assert [id(w) for w in new.weights] == [id(w) for w in model.weights]


def my_loss(y, p):
    return ops.mean((y - p) ** 2)


class MyOptimizer(keras.optimizers.SGD):
    pass


class MyMetric(keras.metrics.Mean):
    def update_state(self, y, p, sample_weight=None):
        return super().update_state(ops.abs(y - p))


@pytest.mark.parametrize("loss", [my_loss, lambda y, p: ops.mean((y - p) ** 2)], ids=["function", "lambda"])
@pytest.mark.parametrize("function", [None, again, lambda layer: layer], ids=["plain", "again", "same"])
def test_models_compiled_with_custom_code_stay_compiled(loss, function):
    model = sequential()
    model.compile(MyOptimizer(0.1), loss, metrics=[MyMetric(name="mine")])
    data = np.ones((4, 3)), np.ones((4, 2))
    model.fit(*data, verbose=0)

    new = ramet.clone_model(model, clone_function=function)

    assert type(new.optimizer) is MyOptimizer
    assert int(new.optimizer.iterations) == 0
    assert int(model.optimizer.iterations) == 1
    assert set(new.fit(*data, verbose=0).history) == {"loss", "mine"}
    model.fit(*data, verbose=0)


def test_layers_inserted_by_call_function_are_trained():
    model = sequential()
    model.compile("adam", "mse")
    data = np.ones((4, 3)), np.ones((4, 2))
    model.fit(*data, verbose=0)
    new = ramet.clone_model(
        model,
        weights="copy",
        call_function=lambda layer, x: layers.Dense(4)(layer(x)) if layer.name == "a" else layer(x),
    )
    before = values(new)
    new.fit(*data, verbose=0)

    assert len(before) == 6
    assert not np.array_equal(before[2], values(new)[2])


# input_tensors


@pytest.mark.parametrize("function", [None, again, lambda layer: layer], ids=["plain", "again", "same"])
@pytest.mark.parametrize(
    "given",
    [
        lambda: keras.Input((3,), name="new"),
        lambda: [keras.Input((3,), name="new")],
        lambda: {"x": keras.Input((3,), name="new")},
        lambda: layers.InputLayer((3,), name="new"),
        lambda: np.ones((5, 3), "float32"),
        lambda: layers.ReLU()(keras.Input((3,))),
    ],
    ids=["tensor", "list", "dict", "layer", "array", "inside"],
)
@pytest.mark.parametrize("make", [mlp, sequential], ids=lambda make: make.__name__)
def test_input_can_be_passed_in_many_ways(make, given, function):
    model = make()
    with untouched(model):
        new = ramet.clone_model(model, input_tensors=given(), clone_function=function, weights="copy")

    assert new.inputs[0].name in ("new", "x", "input_wrapper_for_x")
    np.testing.assert_array_equal(*(outputs(m, sample(model))[0] for m in (model, new)))


def test_inputs_of_the_original_are_used_as_specs():
    model = mlp()
    with untouched(model):
        new = ramet.clone_model(model, input_tensors=model.inputs, clone_function=lambda layer: layer)

    assert new.inputs[0] is not model.inputs[0]
    assert new.inputs[0].name == "x"


def test_a_clone_on_another_shape_keeps_its_weights():
    model = cnn()
    new = ramet.clone_model(model, input_tensors=keras.Input((9, 8, 3)), weights="copy")

    assert all_equal(values(new), values(model))
    assert new.input_shape == (None, 9, 8, 3)
    assert outputs(new, np.ones((2, 9, 8, 3), "float32"))[0].shape == (2, 2)


@BOTH
def test_clone_accepts_bytes_if_its_layers_do(clone_model):
    model = keras.Sequential([keras.Input((4,)), layers.Rescaling(1 / 255), layers.Dense(2)])
    new = clone_model(model, input_tensors=keras.Input((4,), dtype="uint8"))
    new.set_weights(model.get_weights())

    assert new.inputs[0].dtype == "uint8"
    whole = np.array([[0, 1, 2, 255]])
    np.testing.assert_allclose(
        outputs(new, whole.astype("uint8"))[0], outputs(model, whole.astype("float32"))[0], rtol=1e-5
    )


# Missing outputs


class Split(layers.Layer):
    def __init__(self, parts=2, **kwargs):
        super().__init__(**kwargs)
        self.parts = parts

    def call(self, x):
        return [x + part for part in range(self.parts)]


def splitting():
    x = keras.Input((3,), name="x")
    a, b = Split(name="split")(x)
    return keras.Model(x, layers.Add(name="add")([a, b]), name="splitting")


FEWER = """Cannot clone 'splitting': output 1 of 'split' is used but missing.
  expected: 2 outputs, as in the original
  found:    1
  fix: return as many outputs as the graph uses."""


@pytest.mark.parametrize(
    "options",
    [
        {"clone_function": lambda layer: Split(1, name="split") if layer.name == "split" else layer},
        {"call_function": lambda layer, *args: layer(*args)[:1] if layer.name == "split" else layer(*args)},
    ],
    ids=["clone_function", "call_function"],
)
def test_missing_output_that_is_used_is_named(options):
    model = splitting()
    with untouched(model), pytest.raises(ramet.errors.RebuildError) as caught:
        ramet.clone_model(model, **options)

    assert str(caught.value) == FEWER
    assert isinstance(caught.value, ValueError)


def test_missing_outputs_that_are_not_used_are_accepted():
    x = keras.Input((3,), name="x")
    model = keras.Model(x, Split(name="split")(x)[0])
    new = ramet.clone_model(model, clone_function=lambda layer: Split(1, name="split"))

    np.testing.assert_array_equal(outputs(new, np.ones((1, 3), "float32"))[0], np.ones((1, 3)))


# Wrong arguments


def unbuilt():
    return keras.Sequential([layers.Dense(2, name="a")], name="seq")


WRONG = {
    "no model": (
        lambda: layers.Dense(2),
        {},
        (
            "Cannot clone an object of class Dense: it is not a model.\n"
            "  expected: a Keras model\n"
            "  fix: pass a model; ramet.clone also takes layers, optimizers and metrics."
        ),
    ),
    "a class": (
        lambda: Two,
        {},
        (
            "Cannot clone the class Two: it is not a model.\n"
            "  expected: a Keras model\n"
            "  fix: pass a model; ramet.clone also takes layers, optimizers and metrics."
        ),
    ),
    "clone_function is no function": (
        mlp,
        {"clone_function": "again"},
        (
            "Cannot clone 'mlp': clone_function is not a function.\n"
            "  found:    an object of class str\n"
            "  fix: pass a function as clone_function, or leave it out."
        ),
    ),
    "call_function is no function": (
        mlp,
        {"call_function": 3},
        (
            "Cannot clone 'mlp': call_function is not a function.\n"
            "  found:    an object of class int\n"
            "  fix: pass a function as call_function, or leave it out."
        ),
    ),
    "clone_function returns None": (
        mlp,
        {"clone_function": lambda layer: None},
        (
            "Cannot clone 'first': clone_function did not return a layer.\n"
            "  expected: a layer, a model or an operation\n"
            "  found:    an object of class NoneType\n"
            "  fix: return a layer for every layer; return the given layer to keep it."
        ),
    ),
    "clone_function returns a class": (
        mlp,
        {"clone_function": type},
        (
            "Cannot clone 'first': clone_function did not return a layer.\n"
            "  expected: a layer, a model or an operation\n"
            "  found:    the class Dense\n"
            "  fix: return a layer for every layer; return the given layer to keep it."
        ),
    ),
    "clone_function returns a function where a layer is held": (
        two,
        {"clone_function": lambda layer: ops.relu},
        (
            "Cannot clone 'a': clone_function did not return a layer.\n"
            "  expected: a layer, a model or an operation\n"
            "  found:    a function for a layer that is held by another layer\n"
            "  fix: return a layer for every layer; return the given layer to keep it."
        ),
    ),
    "call_function returns None": (
        mlp,
        {"call_function": lambda layer, *args: None},
        (
            "Cannot clone 'first': call_function did not return a tensor as output 0.\n"
            "  expected: the outputs of the call, as symbolic tensors\n"
            "  found:    None\n"
            "  fix: return the result of layer(*args, **kwargs), or tensors to use instead."
        ),
    ),
    "call_function for a subclassed model": (
        two,
        {"call_function": lambda layer, x: layer(x)},
        (
            "Cannot clone 'two' with call_function=: it has no call graph.\n"
            "  expected: a functional or Sequential model\n"
            "  found:    a model of class Two, whose own code calls its layers\n"
            "  fix: leave call_function= out."
        ),
    ),
    "input_tensors for a subclassed model": (
        two,
        {"input_tensors": keras.Input((3,))},
        (
            "Cannot clone 'two' with input_tensors=: it has no call graph.\n"
            "  expected: a functional or Sequential model\n"
            "  found:    a model of class Two, whose own code calls its layers\n"
            "  fix: leave input_tensors= out."
        ),
    ),
    "call_function for an unbuilt Sequential": (
        unbuilt,
        {"call_function": lambda layer, x: layer(x)},
        (
            "Cannot clone 'seq' with call_function=: it has not been built, so its layers have no calls yet.\n"
            "  fix: build it first, model.build(shape), or pass the clone's input as input_tensors=."
        ),
    ),
    "two inputs for an unbuilt Sequential": (
        unbuilt,
        {"input_tensors": [keras.Input((3,)), keras.Input((3,))]},
        (
            "Cannot rebuild 'seq' on these inputs: a Sequential has one input, but got 2.\n"
            "  fix: pass one tensor, or a list of one."
        ),
    ),
    "no tensor for an unbuilt Sequential": (
        unbuilt,
        {"input_tensors": "x"},
        (
            "Cannot rebuild 'seq' on this input: the given object is not a tensor.\n"
            "  expected: a keras.Input, a symbolic tensor, an array or a backend tensor\n"
            "  found:    an object of class str\n"
            "  fix: pass keras.Input(shape)."
        ),
    ),
    "a list for a dict": (
        structured,
        {"input_tensors": (keras.Input((3,)), keras.Input((3,)))},
        (
            "Cannot clone 'structured': `input_tensors` must have the same structure as model.input.\n"
            "  expected: a dict with the keys 'x', 'y'\n"
            "  found:    a tuple of 2\n"
            "  fix: pass a dict with these keys, or with the names of the inputs."
        ),
    ),
    "weights": (
        mlp,
        {"weights": "new"},
        (
            "Cannot clone with weights='new': unknown value.\n"
            "  expected: 'copy', 'fresh' or 'share'\n"
            "  fix: pass 'copy', 'fresh' or 'share'."
        ),
    ),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_refused_with_a_reason_and_a_fix(case):
    make, options, text = WRONG[case]
    model = make()
    context = untouched(model) if isinstance(model, keras.Model) else contextlib.nullcontext()
    with context, pytest.raises(ramet.errors.RametError) as caught:
        ramet.clone_model(model, **options)

    assert str(caught.value) == text
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize("function", [None, again], ids=["plain", "function"])
@pytest.mark.parametrize(
    ("make", "given"),
    [
        (keywords, lambda: keras.Input((3,))),
        (mlp, list),
        (mlp, lambda: "x"),
        (sequential, lambda: [3.0]),
        (structured, lambda: {"x": keras.Input((3,))}),
        (mlp, lambda: keras.Input((3, 3))),
    ],
    ids=["one for two", "none", "text", "number", "missing key", "rank"],
)
def test_wrong_inputs_raise_the_same_error_as_in_clone(make, given, function):
    model = make()
    tensors = given()
    with pytest.raises(ramet.errors.ArgumentError) as expected:
        ramet.clone(model, inputs=tensors)
    with untouched(model), pytest.raises(ramet.errors.ArgumentError) as caught:
        ramet.clone_model(model, input_tensors=tensors, clone_function=function)

    assert str(caught.value) == str(expected.value)
    assert isinstance(caught.value, ValueError)


def test_a_layer_that_refuses_the_input_is_named():
    model = mlp()
    with untouched(model), pytest.raises(ramet.errors.RebuildError, match="'first' refused") as caught:
        ramet.clone_model(model, input_tensors=keras.Input((5,)), weights="copy")

    assert caught.value.path == "first"


class OwnError(Exception):
    pass


@BOTH
@pytest.mark.parametrize("argument", ["clone_function", "call_function"])
def test_errors_of_user_functions_are_not_wrapped(clone_model, argument):
    def function(layer, *args, **kwargs):
        raise OwnError(layer.name)

    with pytest.raises(OwnError, match="first"):
        clone_model(mlp(), **{argument: function})


# Cases that Keras refuses or gets wrong, each with a row in docs/clone_model.md


KERAS_REFUSES = {
    "call_function for a Sequential": (sequential, {"call_function": lambda layer, *a, **k: layer(*a, **k)}),
    "clone_function on a subclassed model": (two, {"clone_function": again}),
    "a list for one input": (mlp, {"input_tensors": [keras.Input((3,))]}),
    "an array for an input": (mlp, {"input_tensors": np.ones((1, 3), "float32")}),
    "an input layer for an input": (mlp, {"input_tensors": layers.InputLayer((3,))}),
    "a lambda": (lambda: keras.Sequential([keras.Input((3,)), layers.Lambda(lambda x: x + 1)]), {}),
    "the founding model": (
        lambda: keras.Model(x := keras.Input((3,)), layers.Add()(layers.Lambda(lambda x: [x + 1, x])(x))),
        {},
    ),
}


@pytest.mark.parametrize("case", KERAS_REFUSES)
def test_cases_that_keras_refuses_work(case):
    make, options = KERAS_REFUSES[case]
    model = make()
    if KERAS >= (3, 15) or case not in ("a lambda", "the founding model"):  # older ones run any lambda
        with pytest.raises((ValueError, TypeError, NotImplementedError)):
            keras.models.clone_model(model, **options)

    new = ramet.clone_model(model, weights="copy", **options)
    x = np.ones((2, 3), "float32")
    np.testing.assert_array_equal(*(outputs(m, x)[0] for m in (model, new)))


class Fussy(Block):
    """A layer that cannot be called on symbolic tensors."""

    def call(self, x, scale=None):
        if scale is None:
            raise ValueError("no scale")
        return super().call(x) * scale


class Scaled(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.block = Fussy(name="block")

    def call(self, x):
        return self.block(x, scale=2.0)


def test_copying_weights_to_an_unbuilt_layer_is_refused():
    model = Scaled(name="model")
    model(np.ones((1, 3), "float32"))
    with untouched(model), pytest.raises(ramet.errors.ArgumentError) as caught:
        ramet.clone_model(model, clone_function=again, weights="copy")

    assert str(caught.value) == (
        "Cannot copy weights to 'block': its replacement has no weights before it is called.\n"
        "  found:    a layer of class Fussy, not built\n"
        "  fix: give Fussy a build() method, or leave weights= out."
    )
