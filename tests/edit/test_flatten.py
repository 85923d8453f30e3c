"""`flatten`: inline nested models; shared layers stay shared."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from tests.edit.expect import assert_close, assert_edited, assert_saved, edited, scrambled
from tests.support.graph_models import GRAPHS, MASKS, Backbone, data_for
from tests.support.twins import outputs

pytestmark = pytest.mark.filterwarnings("ignore:.*was passed an input with a mask attached to it:UserWarning")


def inner(name="inner", **names):
    z = keras.Input((3,), name=f"{name}_in")
    return keras.Model(z, layers.Dense(3, name=names.get("dense", "d"))(z), name=name)


def test_one_level_is_inlined():
    x = keras.Input((3,), name="x")
    model = keras.Model(x, layers.Dense(2, name="head")(inner()(x)), name="outer")

    x = keras.Input((3,), name="x")
    expected = keras.Model(x, layers.Dense(2, name="head")(layers.Dense(3, name="d")(x)), name="outer")
    assert_edited(
        model, [e.flatten()], expected, carried={"d/kernel": "inner/d/kernel", "d/bias": "inner/d/bias"},
    )  # fmt: skip


def test_two_levels_are_inlined():
    z = keras.Input((3,), name="z")
    middle = keras.Model(z, layers.ReLU(name="act")(inner()(z)), name="middle")
    x = keras.Input((3,), name="x")
    model = keras.Model(x, middle(x), name="outer")

    x = keras.Input((3,), name="x")
    expected = keras.Model(x, layers.ReLU(name="act")(layers.Dense(3, name="d")(x)), name="outer")
    carried = {f"d/{name}": f"middle/inner/d/{name}" for name in ("kernel", "bias")}
    assert_edited(model, [e.flatten()], expected, carried=carried)


def test_shared_model_stays_shared():
    shared = inner()
    x, y = keras.Input((3,), name="x"), keras.Input((3,), name="y")
    model = keras.Model([x, y], layers.Subtract(name="difference")([shared(x), shared(y)]), name="siamese")

    x, y = keras.Input((3,), name="x"), keras.Input((3,), name="y")
    dense = layers.Dense(3, name="d")
    expected = keras.Model([x, y], layers.Subtract(name="difference")([dense(x), dense(y)]), name="siamese")
    carried = {f"d/{name}": f"inner/d/{name}" for name in ("kernel", "bias")}
    new = assert_edited(model, [e.flatten()], expected, carried=carried)
    assert len(new.weights) == 2


def test_equal_names_are_made_unique():
    x = keras.Input((3,), name="x")
    y = layers.Dense(3, name="d")(inner("second")(inner("first")(x)))
    model = scrambled(keras.Model(x, y, name="outer"))

    new = edited(model, e.flatten())

    names = [layer.name for layer in new.layers]
    assert len(set(names)) == 4
    assert "d" in names
    x = data_for(model)
    assert_close(outputs(new, x), outputs(model, x), 0.0)
    assert_saved(new)


def test_nested_sequential_is_inlined():
    block = keras.Sequential(
        [keras.Input((3,), name="z"), layers.Dense(3, name="d"), layers.ReLU(name="act")], name="block"
    )
    x = keras.Input((3,), name="x")
    model = keras.Model(x, block(x), name="outer")

    x = keras.Input((3,), name="x")
    expected = keras.Model(x, layers.ReLU(name="act")(layers.Dense(3, name="d")(x)), name="outer")
    assert_edited(
        model, [e.flatten()], expected, carried={f"d/{name}": f"block/d/{name}" for name in ("kernel", "bias")}
    )


def test_sequential_of_models_stays_a_sequential():
    model = keras.Sequential([keras.Input((3,), name="x"), inner("one", dense="a"), inner("two", dense="b")], name="s")

    expected = keras.Sequential(
        [keras.Input((3,), name="x"), layers.Dense(3, name="a"), layers.Dense(3, name="b")], name="s"
    )
    carried = {f"{d}/{n}": f"{m}/{d}/{n}" for m, d in (("one", "a"), ("two", "b")) for n in ("kernel", "bias")}
    new = assert_edited(model, [e.flatten()], expected, carried=carried)
    assert type(new) is keras.Sequential


def test_only_selected_models_are_inlined():
    x = keras.Input((3,), name="x")
    model = keras.Model(x, inner("second", dense="b")(inner("first", dense="a")(x)), name="outer")

    x = keras.Input((3,), name="x")
    expected = keras.Model(x, inner("second", dense="b")(layers.Dense(3, name="a")(x)), name="outer")
    carried = {f"a/{name}": f"first/a/{name}" for name in ("kernel", "bias")}
    assert_edited(model, [e.flatten("first")], expected, carried=carried)


def test_training_argument_of_a_nested_call_is_kept():
    def body(x, **kwargs):
        return layers.BatchNormalization(name="bn")(x, **kwargs)

    z = keras.Input((3,), name="z")
    frozen = keras.Model(z, body(z), name="frozen")
    x = keras.Input((3,), name="x")
    model = scrambled(keras.Model(x, frozen(x, training=False), name="outer"))

    new = edited(model, e.flatten())

    x = data_for(model)
    assert_close(outputs(new, x), outputs(model, x), 0.0)
    assert ramet.capture(new).call("bn").kwargs.get("training") is False


def test_layers_of_a_frozen_model_stay_frozen():
    frozen = inner()
    frozen.trainable = False
    x = keras.Input((3,), name="x")
    model = keras.Model(x, layers.Dense(2, name="head")(frozen(x)), name="outer")

    new = edited(model, e.flatten())

    assert [v.path for v in new.trainable_variables] == ["head/kernel", "head/bias"]


def test_masks_pass_through():
    z = keras.Input((5, 3), name="z")
    rnn = keras.Model(z, layers.LSTM(2, name="rnn")(z), name="inner")
    ids = keras.Input((5,), dtype="int32", name="ids")
    model = keras.Model(ids, rnn(layers.Embedding(6, 3, mask_zero=True, name="embed")(ids)), name="outer")
    scrambled(model)

    new = edited(model, e.flatten())

    x = data_for(model)
    assert_close(outputs(new, x), outputs(model, x), 0.0)


def test_backbone_is_inlined():
    x = keras.Input((4,), name="x")
    model = keras.Model(x, Backbone(name="backbone")(x), name="outer")

    x = keras.Input((4,), name="x")
    expected = keras.Model(x, layers.Dense(2, name="second")(layers.Dense(3, name="first")(x)), name="outer")
    carried = {f"{d}/{n}": f"backbone/{d}/{n}" for d in ("first", "second") for n in ("kernel", "bias")}
    assert_edited(model, [e.flatten()], expected, carried=carried)


def test_model_inside_a_wrapper_is_skipped_with_a_reason():
    x = keras.Input((5, 3), name="x")
    model = keras.Model(x, layers.TimeDistributed(inner(), name="each")(x), name="outer")

    plan = ramet.plan(model, e.flatten())

    assert [(skip.path, skip.reason) for skip in plan.steps[0].skipped] == [
        ("each/inner", "it is called by the code of the layer around it")
    ]
    assert ramet.capture(edited(model, e.flatten())) == ramet.capture(model)


@pytest.mark.parametrize("make", (GRAPHS | MASKS).values(), ids=(GRAPHS | MASKS).keys())
def test_every_kind_of_graph_computes_the_same(make):
    model = make()

    new = edited(model, e.flatten())

    if "half" not in make.__name__:  # bfloat16 products need instructions that not every processor has
        x = data_for(model)
        assert_close(outputs(new, x), outputs(model, x), 0.0)
    nested = [op.kind for _, op in ramet.capture(new).walk() if op.kind == "model"]
    skipped = ramet.plan(model, e.flatten()).steps[0].skipped
    assert len(nested) <= len(skipped)


def test_features_of_a_nested_model_can_be_extracted():
    x = keras.Input((3,), name="x")
    model = scrambled(keras.Model(x, layers.Dense(2, name="head")(inner()(x)), name="outer"))

    flat = edited(model, e.flatten())
    features = keras.Model(flat.input, flat.get_layer("d").output)

    x = data_for(model)
    np.testing.assert_array_equal(outputs(features, x)[0], outputs(model.get_layer("inner"), x)[0])
