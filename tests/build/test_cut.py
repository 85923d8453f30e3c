"""`cut`: a part of a model, also through nested models and wrappers."""

import keras
import numpy as np
import pytest
from keras import layers, ops

import ramet
from ramet._graph import lint
from tests.support.graph_models import MODELS, Tree, data_for
from tests.support.reach import assert_independent
from tests.support.twins import outputs
from tests.support.versions import needs_keras


def _same(part, x, expected):
    for ours, theirs in zip(outputs(part, x), keras.tree.flatten(expected), strict=True):
        np.testing.assert_allclose(ours, ops.convert_to_numpy(theirs), rtol=1e-5, atol=1e-6)


def _counters():
    from keras.src.backend.common import global_state

    return dict(global_state.get_global_attribute("object_name_uids") or {})


def test_cut_by_name_equals_the_model_of_keras():
    model = MODELS["image"]()
    x = data_for(model)

    part = ramet.cut(model, outputs="conv")

    assert [layer.name for layer in part.layers] == ["image", "rescale", "conv"]
    _same(part, x, keras.Model(model.input, model.get_layer("conv").output)(x))


def test_part_is_independent_and_the_original_is_unchanged():
    model = MODELS["image"]()
    before, counters = ramet.capture(model), _counters()
    calls = [(op.name, len(op._inbound_nodes), len(op._outbound_nodes)) for op in model.operations]

    part = ramet.cut(model, outputs="norm")

    assert ramet.capture(model) == before
    assert _counters() == counters
    assert [(op.name, len(op._inbound_nodes), len(op._outbound_nodes)) for op in model.operations] == calls
    assert_independent(model, part)
    assert lint(ramet.capture(part)) == []
    part.get_layer("conv").kernel.assign_add(np.ones((3, 3, 3, 4), "float32"))
    assert not np.array_equal(part.get_layer("conv").get_weights()[0], model.get_layer("conv").get_weights()[0])


def test_part_has_the_weights_of_the_original():
    model = MODELS["nested_models"]()

    part = ramet.cut(model, outputs="middle")

    for ours, theirs in zip(model.get_layer("middle").get_weights(), part.get_weights(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


@pytest.mark.parametrize("path", ["middle", "middle/inner", "middle/inner/d", "middle/d", "d"])
def test_cut_through_nested_models_at_every_depth(path):
    model = MODELS["nested_models"]()
    x = data_for(model)
    middle, head = model.get_layer("middle"), model.get_layer("d")
    inner = middle.get_layer("inner")
    expected = {
        "middle": lambda: middle(x),
        "middle/inner": lambda: inner(x),
        "middle/inner/d": lambda: inner.get_layer("d")(x),
        "middle/d": lambda: middle(x),
        "d": lambda: head(middle(x)),
    }

    part = ramet.cut(model, outputs=path)

    _same(part, x, expected[path]())
    assert lint(ramet.capture(part)) == []
    assert_independent(model, part)


def test_part_of_nested_models_can_be_saved_and_loaded(tmp_path):
    model = MODELS["nested_models"]()
    part = ramet.cut(model, outputs="middle/inner/d")

    part.save(tmp_path / "part.keras")

    x = data_for(model)
    _same(keras.models.load_model(tmp_path / "part.keras"), x, part(x))


def test_a_part_can_be_trained_cloned_and_cut_again():
    model = MODELS["nested_models"]()
    part = ramet.cut(model, outputs="middle/d")
    x = data_for(model)
    part.compile("sgd", "mse")

    part.fit(x, np.ones((4, 4), "float32"), verbose=0)

    _same(ramet.clone(part), x, part(x))
    assert ramet.cut(part, outputs=part.layers[1].name).layers[0].name == "x"


def test_cut_at_the_second_call_of_a_shared_layer():
    model = MODELS["shared_layer"]()
    a, b = data_for(model)
    shared = model.get_layer("shared")

    first, second = ramet.cut(model, outputs="shared"), ramet.cut(model, outputs="shared#2")

    assert [t.name for t in first.inputs] == ["a"]
    assert [t.name for t in second.inputs] == ["b"]
    _same(first, a, shared(a))
    _same(second, b, shared(b))


def test_first_call_may_be_written_with_its_number():
    model = MODELS["shared_layer"]()
    a, _ = data_for(model)
    shared = model.get_layer("shared")
    _same(ramet.cut(model, outputs="shared#1"), a, shared(a))
    last = model.layers[-1]
    assert [t.name for t in ramet.cut(model, f"{last.name}#1", inputs=["shared#1", "shared#2"]).inputs] == [
        "shared_output",
        "shared_output_1",
    ]
    nested = MODELS["shared_nested_model"]()
    assert [t.name for t in ramet.cut(nested, outputs="inner#1/d#1").inputs] == ["a"]


def test_number_in_a_layer_name_is_not_a_call_number():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, keras.layers.Dense(2, name="d")(keras.layers.Dense(3, name="d#1")(x)))
    assert ramet.cut(model, outputs="d#1").output_shape == (None, 3)
    assert ramet.cut(model, outputs="d##1").output_shape == (None, 3)


def test_cut_at_the_second_call_of_a_nested_model():
    model = MODELS["shared_nested_model"]()
    _, b = data_for(model)

    part = ramet.cut(model, outputs="inner#2/d")

    assert [t.name for t in part.inputs] == ["b"]
    _same(part, b, model.get_layer("inner")(b))


def test_calls_are_numbered_as_in_capture():
    model = MODELS["shared_in_a_chain"]()
    x = data_for(model)
    shared, d = model.get_layer("shared"), model.get_layer("d")
    late = shared(ops.relu(d(x)))

    for name, expected in {"shared": late, "shared#2": shared(x), "shared#3": shared(late)}.items():
        _same(ramet.cut(model, outputs=name), x, expected)


def test_a_time_distributed_model_is_cut_inside():
    x = keras.Input((3, 4), name="x")
    inner = keras.Sequential(
        [keras.Input((4,), name="i"), layers.Dense(5, name="a"), layers.Dense(2, name="b")], name="inner"
    )
    model = keras.Model(x, layers.TimeDistributed(inner, name="steps")(x), name="m")
    data = data_for(model)

    part = ramet.cut(model, outputs="steps/inner/a")

    assert part.output_shape == (None, 3, 5)
    _same(part, data, inner.get_layer("a")(data))
    assert_independent(model, part)


def test_outputs_may_be_lists_tuples_and_dicts():
    model = MODELS["nested_models"]()
    x = data_for(model)
    middle = model.get_layer("middle")

    listed = ramet.cut(model, outputs=["middle/inner", "d"])
    paired = ramet.cut(model, outputs=("middle", "d"))
    named = ramet.cut(model, outputs={"features": "middle/inner/d", "logits": "d"})

    assert [tuple(t.shape) for t in listed.output] == [(None, 4), (None, 2)]
    assert isinstance(paired.output, tuple)
    assert set(named.output) == {"features", "logits"}
    _same(listed, x, [middle.get_layer("inner")(x), model(x)])
    _same(named, x, {"features": middle.get_layer("inner")(x), "logits": model(x)})
    assert len(listed.weights) == len(model.weights)
    assert len(named.weights) == len(model.weights)


def test_two_paths_into_one_nested_model_share_its_layers():
    model = MODELS["nested_models"]()
    x = data_for(model)
    middle = model.get_layer("middle")

    part = ramet.cut(model, outputs=["middle/inner/d", "middle/d"])

    assert len(part.weights) == len(middle.weights)
    _same(part, x, [middle.get_layer("inner")(x), middle(x)])
    assert lint(ramet.capture(part)) == []


def test_inputs_that_are_not_needed_are_dropped():
    model = MODELS["two_inputs_in_a_dict"]()

    part = ramet.cut(model, outputs={"a": "a", "d": "d"})
    only = ramet.cut(MODELS["explicit_over_implicit"](), outputs="emb")

    assert len(part.inputs) == 2
    assert [t.name for t in only.inputs] == ["ids"]
    assert only(np.zeros((2, 5), "int32")).shape == (2, 5, 3)


@needs_keras(3, 14, "an input that leads to no output is refused by Keras itself")
def test_unused_input_is_dropped():
    part = ramet.cut(MODELS["unused_input"](), outputs="d")

    assert [t.name for t in part.inputs] == ["x"]


def test_grad_cam_works_through_a_nested_backbone():
    """Plain Keras fails with 'graph disconnected' for a classifier around a nested backbone."""
    i = keras.Input((8, 8, 3), name="i")
    last = layers.Conv2D(4, 3, activation="relu", name="last_conv")(layers.Conv2D(4, 3, name="first_conv")(i))
    backbone = keras.Model(i, layers.BatchNormalization(name="norm")(last), name="backbone")
    x = keras.Input((8, 8, 3), name="x")
    pooled = layers.GlobalAveragePooling2D(name="pool")(backbone(x))
    model = keras.Model(x, layers.Dense(2, name="logits")(pooled), name="classifier")
    data = data_for(model)

    cam = ramet.cut(model, outputs=["backbone/last_conv", "logits"])

    features, logits = cam(data)
    assert tuple(features.shape) == (4, 4, 4, 4)
    np.testing.assert_allclose(ops.convert_to_numpy(logits), ops.convert_to_numpy(model(data)), rtol=1e-5, atol=1e-6)
    _same(keras.Model(cam.input, cam.output[0]), data, keras.Model(i, last)(data))


def test_the_logits_depend_on_the_features_of_the_same_graph():
    """Grad-CAM needs a prediction that is computed from the returned features."""
    i = keras.Input((4,), name="i")
    hidden = layers.Dense(3, name="hidden")(i)
    backbone = keras.Model(i, layers.Dense(3, name="after")(hidden), name="backbone")
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.Dense(2, name="logits")(backbone(x)), name="classifier")

    cam = ramet.cut(model, outputs=["backbone/hidden", "logits"])

    tail = keras.Model(cam.output[0], cam.output[1])
    data = data_for(model)
    features, logits = outputs(cam, data)
    np.testing.assert_allclose(outputs(tail, features)[0], logits, rtol=1e-5, atol=1e-6)


def test_masks_are_kept():
    model = MODELS["embedded_lstm"]()

    part = ramet.cut(model, outputs="lstm")

    assert ramet.capture(part) == ramet.capture(model)
    x = data_for(model)
    _same(part, x, model(x))


def test_a_mask_inside_a_nested_model_is_kept():
    i = keras.Input((5,), dtype="int32", name="i")
    inner = keras.Model(
        i, layers.LSTM(2, name="lstm")(layers.Embedding(6, 3, mask_zero=True, name="emb")(i)), name="inner"
    )
    ids = keras.Input((5,), dtype="int32", name="ids")
    model = keras.Model(ids, layers.Dense(1, name="d")(inner(ids)), name="m")
    x = data_for(model)

    part = ramet.cut(model, outputs="inner/lstm")

    _same(part, x, inner(x))


def test_a_nested_model_with_dicts_is_cut():
    model = MODELS["nested_with_dicts"]()
    x = data_for(model)

    part = ramet.cut(model, outputs="inner/d")
    summed = ramet.cut(model, outputs="inner/add")

    _same(part, x, model(x)[0])
    _same(summed, x, model(x)[1])


def test_a_layer_with_two_outputs_gives_both():
    model = MODELS["two_output_lambda"]()
    x = data_for(model)

    part = ramet.cut(model, outputs="pair")

    _same(part, x, [x + 1, x])


def test_cut_at_an_input_and_at_a_raw_operation():
    model = MODELS["raw_ops"]()
    x = data_for(model)

    _same(ramet.cut(model, outputs="matmul"), x, np.matmul(x[:, 1:3], [[1.0, 2.0], [3.0, 4.0]]))
    _same(ramet.cut(model, outputs="x"), x, x)


def test_a_sequential_model_is_cut():
    model = MODELS["sequential"]()
    x = data_for(model)

    part = ramet.cut(model, outputs="a")

    _same(part, x, model.layers[0](x))


# Errors


def test_an_unknown_path_names_the_closest():
    model = MODELS["nested_models"]()

    with pytest.raises(ramet.errors.UnknownPathError) as caught:
        ramet.cut(model, outputs="middle/iner/d")

    assert str(caught.value) == (
        "Cannot cut 'outer' at 'middle/iner/d': the model has no layer with this path.\n"
        "  closest:  'middle/inner/d', 'middle/inner', 'middle/d'\n"
        "  fix: use one of these paths, or list all paths with print(ramet.capture(model))."
    )
    assert isinstance(caught.value, LookupError)


@pytest.mark.parametrize("path", ["shared#3", "shared#0", "other", "", "shared/d"])
def test_unknown_paths_are_refused(path):
    with pytest.raises((ramet.errors.UnknownPathError, ramet.errors.ArgumentError)) as caught:
        ramet.cut(MODELS["shared_layer"](), outputs=path)

    assert str(caught.value).startswith(f"Cannot cut 'siamese' at '{path}': ")
    assert caught.value.fix


def test_cut_inside_a_composite_layer_is_refused():
    with pytest.raises(ramet.errors.ArgumentError) as caught:
        ramet.cut(MODELS["composite"](), outputs="block/first")

    assert str(caught.value) == (
        "Cannot cut 'composite' at 'block/first': 'block' has no call graph.\n"
        "  found:    a Block, whose own code calls its inner layers\n"
        "  fix: cut at 'block' itself."
    )


def test_sequential_model_must_be_built_before_it_is_cut():
    model = keras.Sequential([layers.Dense(3, name="a")], name="net")

    with pytest.raises(ramet.errors.NotAModelError) as caught:
        ramet.cut(model, outputs="a")

    assert caught.value.fix == "build it first: model.build(input_shape)."


def test_a_subclassed_model_cannot_be_cut():
    model = Tree(name="tree")
    model.build((None, 4))

    with pytest.raises(ramet.errors.NotAModelError) as caught:
        ramet.cut(model, outputs="block")

    assert str(caught.value) == (
        "Cannot cut 'tree': it has no call graph.\n"
        "  expected: a functional or a built Sequential model\n"
        "  fix: cut a subclassed model in its own code."
    )


@pytest.mark.parametrize("given", [3, [None], np.zeros(3), {"a": 1.5}])
@pytest.mark.parametrize("argument", ["outputs", "inputs"])
def test_other_objects_than_paths_layers_and_tensors_are_refused(given, argument):
    with pytest.raises(ramet.errors.ArgumentError, match="it is not a path, a layer or a tensor"):
        ramet.cut(MODELS["one_dense"](), **({"outputs": "d"} | {argument: given}))


@pytest.mark.parametrize("empty", [[], {}, ()])
def test_an_empty_list_is_refused(empty):
    with pytest.raises(ramet.errors.ArgumentError, match="outputs= is empty"):
        ramet.cut(MODELS["one_dense"](), outputs=empty)


# Cuts by layer, by tensor and from the middle, compared with a model that plain Keras creates from the same tensors


def _net():
    x = keras.Input((4,), name="x")
    a = layers.Dense(5, name="a", activation="relu")(x)
    b = layers.Dense(5, name="b")(a)
    y = layers.Add(name="add")([a, b])
    return keras.Model(x, [layers.Dense(2, name="c")(y), layers.Dense(3, name="d")(y)], name="net")


@pytest.mark.parametrize("end", ["a", "b", "add", "c"])
def test_layer_and_tensor_are_accepted_instead_of_a_path(end):
    model, x = _net(), np.random.default_rng(0).normal(size=(3, 4)).astype("float32")
    layer = model.get_layer(end)
    expected = keras.Model(model.input, layer.output)(x)

    for given in (end, layer, layer.output):
        part = ramet.cut(model, given)
        _same(part, x, expected)
        assert_independent(model, part)


@pytest.mark.parametrize("kind", ["path", "layer", "tensor"])
def test_cut_from_the_middle_equals_the_model_of_keras(kind):
    model = _net()
    a, b, c = (model.get_layer(name) for name in "abc")
    start, mid, end = {"path": "abc", "layer": (a, b, c), "tensor": (a.output, b.output, c.output)}[kind]
    data = np.random.default_rng(0).normal(size=(3, 5)).astype("float32")

    part = ramet.cut(model, {"mid": mid, "end": end}, inputs=start)

    assert (part.input_shape, part.input.name) == ((None, 5), "a_output")
    _same(part, data, keras.Model(a.output, {"mid": b.output, "end": c.output})(data))
    assert [layer.name for layer in part.layers] == ["a_output", "b", "add", "c"]
    assert lint(ramet.capture(part)) == []
    assert_independent(model, part)
    part.compile("sgd", "mse")
    _same(ramet.clone(part), data, part(data))


def test_cut_from_several_tensors_in_a_dict(tmp_path):
    model = _net()
    a, b, d = (model.get_layer(name) for name in "abd")
    data = {"left": np.ones((2, 5), "float32"), "right": np.full((2, 5), 2.0, "float32")}

    part = ramet.cut(model, d, inputs={"left": a.output, "right": b})

    assert sorted(t.name for t in part.inputs) == ["left", "right"]
    _same(part, data, d(data["left"] + data["right"]))
    part.save(tmp_path / "part.keras")
    _same(keras.models.load_model(tmp_path / "part.keras"), data, d(data["left"] + data["right"]))


def test_cut_from_inside_a_nested_model():
    model = MODELS["nested_models"]()
    inner = model.get_layer("middle").get_layer("inner")
    start = inner.output.shape[1:]
    data = np.random.default_rng(0).normal(size=(2, *start)).astype("float32")

    part = ramet.cut(model, model.output, inputs=inner.get_layer("d"))

    expected = model.get_layer("d")(model.get_layer("middle").get_layer("d")(data))
    _same(part, data, expected)


def test_input_of_the_model_stays_an_input():
    model = MODELS["shared_layer"]()
    a, b = data_for(model)

    part = ramet.cut(model, model.outputs, inputs=model.inputs)

    assert [t.name for t in part.inputs] == ["a", "b"]
    _same(part, [a, b], model([a, b]))


def test_a_sequential_is_cut_from_the_middle():
    model = MODELS["sequential"]()
    x = data_for(model)
    hidden = model.layers[0](x)

    part = ramet.cut(model, model.layers[-1], inputs=model.layers[0])

    _same(part, ops.convert_to_numpy(hidden), model(x))


def test_shared_layer_is_refused_without_the_path_of_a_call():
    model = MODELS["shared_layer"]()

    with pytest.raises(ramet.errors.ArgumentError) as caught:
        ramet.cut(model, model.get_layer("shared"))

    assert str(caught.value) == (
        "Cannot cut 'siamese' at the layer 'shared': it is called 2 times.\n"
        "  found:    'shared', 'shared#2'\n"
        "  fix: pass the path of one of these calls."
    )


@pytest.mark.parametrize("foreign", [lambda: layers.Dense(2), lambda: _net().layers[1], lambda: _net().input])
@pytest.mark.parametrize("argument", ["outputs", "inputs"])
def test_objects_of_another_model_are_refused(foreign, argument):
    with pytest.raises(ramet.errors.ArgumentError, match="it is not part of the model"):
        ramet.cut(_net(), **({"outputs": "c"} | {argument: foreign()}))


def test_output_that_depends_on_other_inputs_is_refused():
    with pytest.raises(ramet.errors.ArgumentError) as caught:
        ramet.cut(_net(), "c", inputs="b")

    assert caught.value.summary == "Cannot cut 'net' between these layers: 'c' also depends on the input 'x'."
    assert "add 'x' to inputs=" in caught.value.fix


@pytest.mark.parametrize(
    ("outputs", "inputs", "summary"),
    [
        ("d", ["add", "c"], "no output depends on 'c'"),
        ("a", "b", "'a' also depends on the input 'x'"),
        ("c", ["add", "x"], "no output depends on 'x'"),
    ],
)
def test_inputs_that_do_not_lead_to_the_outputs_are_refused(outputs, inputs, summary):
    with pytest.raises(ramet.errors.ArgumentError, match=summary):
        ramet.cut(_net(), outputs, inputs=inputs)


def test_a_mask_from_before_the_cut_is_never_lost():
    model = MODELS["embedded_lstm"]()

    with pytest.raises(ramet.errors.ArgumentError, match="also depends on the input"):
        ramet.cut(model, "lstm", inputs=next(one for one in model.layers if isinstance(one, layers.Embedding)))


@pytest.mark.parametrize("loaded", [False, True])
@pytest.mark.parametrize("start", ["embedding", "drop"])
def test_a_mask_from_before_the_cut_is_computed_from_the_inputs_of_the_part(start, loaded, tmp_path):
    tokens = keras.Input((5,), dtype="int32", name="tokens")
    x = layers.Dropout(0.5, name="drop")(layers.Embedding(6, 3, mask_zero=True, name="embedding")(tokens))
    model = keras.Model(tokens, layers.LSTM(2, name="lstm")(x))
    if loaded:
        model.save(tmp_path / "model.keras")
        model = keras.models.load_model(tmp_path / "model.keras")
    data = np.array([[1, 4, 2, 0, 0], [3, 0, 0, 0, 0]])

    part = ramet.cut(model, "lstm", inputs=["tokens", start])

    embedded = keras.ops.convert_to_numpy(model.get_layer("embedding")(data))
    found, expected = (keras.ops.convert_to_numpy(outputs) for outputs in (part([data, embedded]), model(data)))
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-6)


def test_a_model_with_an_operation_without_a_name_is_cut_at_a_layer():
    class Twice(keras.Operation):
        def call(self, x):
            return x * 2

        def compute_output_spec(self, x):
            return keras.KerasTensor(x.shape, x.dtype)

    twice = Twice()
    x = keras.Input((4,), name="x")
    hidden = layers.Dense(3, name="hidden")
    y = hidden(twice(x))
    twice.name = None
    model = keras.Model(x, layers.Dense(2, name="head")(y))
    data = np.ones((2, 4), "float32")

    part = ramet.cut(model, outputs=hidden)

    kernel, bias = (keras.ops.convert_to_numpy(v) for v in hidden.variables)
    np.testing.assert_allclose(keras.ops.convert_to_numpy(part(data)), data * 2 @ kernel + bias, rtol=1e-5, atol=1e-6)
