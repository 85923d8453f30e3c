"""`rename` and `prefix`: names and everything derived from them."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet import of_class
from tests.edit.expect import assert_edited, assert_saved, edited, scrambled, value
from tests.support.graph_models import Backbone
from tests.support.state_models import floats


def nested(inner="inner", dense="d", head="head"):
    z = keras.Input((4,), name="z")
    model = keras.Model(z, layers.Dense(3, name=dense)(z), name=inner)
    x = keras.Input((4,), name="x")
    return keras.Model(x, layers.Dense(2, name=head)(model(x)), name="outer")


def paths(model):
    return [variable.path for variable in model.variables]


def test_layer_and_paths_of_its_variables_are_renamed():
    expected = nested(head="logits")
    new = assert_edited(
        nested(),
        [e.rename("head", "logits")],
        expected,
        carried={"logits/kernel": "head/kernel", "logits/bias": "head/bias"},
    )

    assert paths(new) == paths(expected)
    assert new.output_names == ["logits"]
    assert new.get_layer("logits").name == "logits"
    with pytest.raises(ValueError, match="No such layer"):
        new.get_layer("head")


def test_nested_model_is_renamed():
    expected = nested(inner="encoder")
    new = assert_edited(
        nested(),
        [e.rename("inner", "encoder")],
        expected,
        carried={"encoder/d/kernel": "inner/d/kernel", "encoder/d/bias": "inner/d/bias"},
    )
    assert paths(new) == paths(expected)


def test_layer_inside_a_nested_model_is_renamed():
    expected = nested(dense="projection")
    new = assert_edited(
        nested(),
        [e.rename("inner/d", "projection")],
        expected,
        carried={"inner/projection/kernel": "inner/d/kernel", "inner/projection/bias": "inner/d/bias"},
    )
    assert paths(new) == paths(expected)


def test_two_layers_can_swap_names():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.Dense(2, name="b")(layers.Dense(3, name="a")(x)), name="m")

    x = keras.Input((4,), name="x")
    expected = keras.Model(x, layers.Dense(2, name="a")(layers.Dense(3, name="b")(x)), name="m")
    swapped = {f"{new}/{name}": f"{old}/{name}" for new, old in ("ab", "ba") for name in ("kernel", "bias")}
    assert_edited(
        model, [e.rename(of_class("Dense"), lambda old: {"a": "b", "b": "a"}[old])], expected, carried=swapped
    )


def test_names_can_come_from_a_function():
    new = edited(nested(), e.rename(of_class("Dense"), lambda old: f"{old}_v2"))

    assert [layer.name for layer in new.layers] == ["x", "inner", "head_v2"]
    assert [layer.name for layer in new.get_layer("inner").layers] == ["z", "d_v2"]


def test_renamed_input_is_fed_by_its_new_name():
    x, y = keras.Input((4,), name="x"), keras.Input((4,), name="y")
    model = keras.Model({"x": x, "y": y}, layers.Subtract(name="s")([x, y]), name="m")

    new = edited(model, e.rename("x", "z"))

    assert [t.name for t in new.inputs] == ["y", "z"]
    a, b = floats(2, 4), floats(2, 4, seed=1)
    np.testing.assert_array_equal(value(new({"z": a, "y": b})), a - b)
    assert_saved(new)


def test_input_of_a_sequential_is_renamed():
    new = edited(
        keras.Sequential([keras.Input((4,), name="x"), layers.Dense(2, name="d")], name="s"), e.rename("x", "z")
    )

    assert [t.name for t in new.inputs] == ["z"]
    assert_saved(new)


def test_input_of_a_nested_model_called_with_a_dict_is_refused():
    z = keras.Input((4,), name="z")
    inner = keras.Model({"z": z}, layers.Dense(2, name="d")(z), name="inner")
    x = keras.Input((4,), name="x")
    model = keras.Model(x, inner({"z": x}), name="outer")

    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(model, e.rename("inner/z", "w"))

    assert str(caught.value) == (
        "Cannot rename 'inner/z': 'inner' is called with a dict that uses its name as a key.\n"
        "  fix: rename only inputs of the outermost model, or flatten the model first."
    )


def test_prefix_renames_everything_but_inputs():
    expected = nested("pre_inner", "pre_d", "pre_head")
    carried = {
        f"{new}/{name}": f"{old}/{name}"
        for new, old in {"pre_inner/pre_d": "inner/d", "pre_head": "head"}.items()
        for name in ("kernel", "bias")
    }
    new = assert_edited(nested(), [e.prefix("pre_")], expected, carried=carried)
    assert paths(new) == paths(expected)


def test_prefix_skips_parts_named_by_their_owner():
    x = keras.Input((5, 4), name="x")
    model = keras.Model(x, layers.MultiHeadAttention(2, 3, name="mha")(x, x), name="attn")

    new = edited(model, e.prefix("p_"))

    assert "p_mha/query/kernel" in paths(new)
    assert_saved(new)


def test_two_prefixed_twins_fit_into_one_model():
    model = scrambled(nested())
    one, two = (ramet.edit(model, e.prefix(text)) for text in ("one_", "two_"))
    x = keras.Input((4,), name="x")

    both = keras.Model(x, layers.Add(name="sum")([one(x), ramet.clone(two, name="second")(x)]), name="both")
    data = floats(2, 4)
    np.testing.assert_allclose(value(both(data)), 2 * value(model(data)), rtol=1e-6)
    both.compile("sgd", "mse")
    before = [value(w) for w in both.weights]
    both.fit(data, floats(2, 2), verbose=0)
    assert all(not np.array_equal(old, value(now)) for old, now in zip(before, both.weights, strict=True))


def test_torch_parameters_have_their_new_paths(backend):
    if backend != "torch":
        pytest.skip("only torch has a registry of parameters; the run on torch covers it")
    new = edited(nested(), e.rename("inner", "encoder"), e.rename("head", "logits"))

    def registered(model):
        return sorted(name for name, _ in model.named_parameters())

    expected = nested("encoder", head="logits")
    assert registered(new) == registered(expected)
    assert len(list(new.parameters())) == 4


def test_summary_shows_the_new_names():
    lines = []
    edited(nested(), e.rename("head", "logits")).summary(print_fn=lambda text, **_: lines.append(text))

    assert "logits" in "".join(lines)
    assert "head" not in "".join(lines)


def test_rename_inside_a_composite_layer_would_be_lost_on_save():
    x = keras.Input((5, 4), name="x")
    model = keras.Model(x, layers.MultiHeadAttention(2, 3, name="mha")(x, x), name="attn")

    with pytest.raises(ramet.errors.LostOnSaveError):
        ramet.edit(model, e.rename("mha/query", "q"))

    new = edited(model, e.rename("mha/query", "q"), unsaved=True)
    assert "mha/q/kernel" in paths(new)


def test_renamed_layer_of_a_backbone_is_saved():
    x = keras.Input((4,), name="features")
    y = layers.Dense(3, name="one")(x)
    expected = keras.Model(x, layers.Dense(2, name="second")(y), name="backbone")
    assert_edited(
        Backbone(name="backbone"),
        [e.rename("first", "one")],
        expected,
        carried={"one/kernel": "first/kernel", "one/bias": "first/bias"},
    )


# Invalid names.


def test_taken_name_is_refused():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.Dense(2, name="b")(layers.Dense(3, name="a")(x)), name="m")

    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(model, e.rename("a", "b"))

    assert str(caught.value) == (
        "Cannot rename 'a' to 'b': the graph already has an op of that name.\n  fix: choose another name."
    )


def test_one_name_for_several_layers_is_refused():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, layers.Dense(2, name="b")(layers.Dense(3, name="a")(x)), name="m")

    with pytest.raises(ramet.errors.EditError, match="the graph already has an op of that name"):
        ramet.edit(model, e.rename(of_class("Dense"), "same"))


@pytest.mark.parametrize("name", ["", "a/b", None, 3])
def test_invalid_name_is_refused(name):
    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(nested(), e.rename("head", lambda old: name))

    assert str(caught.value) == (
        f"Cannot rename 'head' to {name!r}: a name is a non-empty string without '/'.\n  fix: choose another name."
    )


def attention(dtype=None):
    x = keras.Input((3, 4), name="x")
    y = layers.MultiHeadAttention(2, 2, name="mha", dtype=dtype)(x, x)
    return keras.Model(x, layers.Dense(2, name="out")(y), name="m")


@pytest.mark.parametrize(
    "edits",
    [
        [e.quantize(), e.rename("mha", "other")],
        [e.rename("mha", "other"), e.quantize()],
        [e.quantize(), e.prefix("my_")],
    ],
)
def test_policy_maps_follow_a_renamed_quantized_layer(edits, tmp_path):
    model = attention()
    new = ramet.edit(model, *edits)

    data = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")
    by_keras = keras.models.clone_model(model)
    by_keras.set_weights(model.get_weights())
    by_keras.quantize("int8")
    expected = keras.ops.convert_to_numpy(by_keras(data))
    np.testing.assert_allclose(keras.ops.convert_to_numpy(new(data)), expected, atol=1e-6)
    new.save(tmp_path / "new.keras")
    loaded = keras.saving.load_model(tmp_path / "new.keras")
    np.testing.assert_allclose(keras.ops.convert_to_numpy(loaded(data)), expected, atol=1e-6)
    assert loaded.layers[1].query_dense.quantization_mode == "int8"


def test_policy_patterns_follow_or_the_rename_is_refused():
    half = keras.DTypePolicy("mixed_bfloat16")
    model = attention(keras.dtype_policies.DTypePolicyMap("float32", {".*mha/query": half, "mha/v.*": half}))

    again = keras.Model.from_config(ramet.edit(model, e.rename("mha", "my_mha")).get_config()).get_layer("my_mha")
    assert [again.query_dense.compute_dtype, again.value_dense.compute_dtype] == ["bfloat16", "bfloat16"]
    assert again.key_dense.compute_dtype == "float32"
    with pytest.raises(ramet.errors.EditError, match=r"'mha/query': a DTypePolicyMap finds its policy by its path"):
        ramet.edit(model, e.rename("mha", "other"))
    policy = model.get_layer("mha").dtype_policy
    assert policy["mha/value"].compute_dtype == "bfloat16"
    assert policy["my_mha/value"].compute_dtype == "float32"


@pytest.mark.parametrize("as_dict", [False, True])
def test_plan_predicts_the_names_in_the_logs(as_dict):
    x = keras.Input((3,), name="x")
    one, two = layers.Dense(2, name="one")(x), layers.Dense(2, name="two")(x)
    model = keras.Model(x, {"one": one, "two": two} if as_dict else [one, two], name="net")
    model.compile("sgd", {"one": "mse", "two": "mse"} if as_dict else ["mse", "mse"])
    targets = np.ones((4, 2), "float32")
    y = {"one": targets, "two": targets} if as_dict else [targets, targets]

    notes = [note for step in ramet.plan(model, e.rename("one", "first")).steps for note in step.notes]
    logs = ramet.edit(model, e.rename("one", "first")).fit(np.ones((4, 3), "float32"), y, verbose=0).history

    assert ("first_loss" in logs) == any("in the logs" in note for note in notes) == (not as_dict)
