"""Single layers, which are verified, captured, selected from, compared, drawn and edited like models."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet._graph import Graph, lint


@keras.saving.register_keras_serializable("layers_alone")
class Block(layers.Layer):
    """A typical composite layer of a user: normalization, attention, dropout, and a small network."""

    def __init__(self, units=4, rate=0.5, **kwargs):
        super().__init__(**kwargs)
        self.units, self.rate = units, rate
        self.norm = layers.LayerNormalization(name="norm")
        self.attn = layers.MultiHeadAttention(2, 2, name="attn")
        self.drop = layers.Dropout(rate, seed=3, name="drop")
        self.ff = keras.Sequential([layers.Dense(units, activation="gelu", name="up")], name="ff")

    def build(self, shape):
        self.norm.build(shape)
        self.attn.build(shape, shape)
        self.ff.build(shape)

    def call(self, x, training=False):
        y = self.norm(x)
        return x + self.drop(self.ff(self.attn(y, y)), training=training)

    def get_config(self):
        return {**super().get_config(), "units": self.units, "rate": self.rate}


def built(layer, *shapes):
    layer.build(*shapes)
    return layer


def of_a_model():
    x = keras.Input((3, 4))
    block = Block(name="block")
    keras.Model(x, layers.Dense(2)(block(x)))
    return block


LAYERS = {
    "a dense layer": lambda: built(layers.Dense(3, name="dense"), (None, 4)),
    "an embedding": lambda: built(layers.Embedding(5, 3, name="embedding"), (None, 4)),
    "attention": lambda: built(layers.MultiHeadAttention(2, 2, name="attention"), (None, 3, 4), (None, 3, 4)),
    "a wrapped rnn": lambda: built(layers.Bidirectional(layers.LSTM(2), name="both"), (None, 3, 4)),
    "a composite": lambda: built(Block(name="block"), (None, 3, 4)),
    "a layer of a model": of_a_model,
}


@pytest.mark.parametrize("name", LAYERS)
def test_twin_of_a_layer_is_verified(name):
    layer = LAYERS[name]()

    report = ramet.verify(layer, ramet.clone(layer), progress=False)

    assert report.ok, report
    assert {check.name for check in report if check.outcome == "not run"} == {"training", "file"}
    assert report["state"].counts["variables"] == len(layer.variables)


def test_corrupted_twin_of_a_layer_is_detected():
    layer = of_a_model()
    twin = ramet.clone(layer)
    kernel = twin.ff.get_layer("up").kernel
    kernel.assign(keras.ops.convert_to_numpy(kernel) + 0.5)
    twin.attn.trainable = False
    twin.norm.note = layer.norm.note = np.zeros(2)

    report = ramet.verify(layer, twin, progress=False)

    failed = {check.name: [one.path for one in check.differences] for check in report.failed}
    assert "ff/up/kernel" in failed["state"]
    assert "attn.trainable" in failed["settings"]
    assert "norm.note" in failed["identity"]
    assert {"outputs", "gradients"} <= failed.keys()


def test_unbuilt_layer_is_verified_with_inputs():
    layer = layers.MultiHeadAttention(2, 2)
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).astype("float32")

    without = ramet.verify(layer, ramet.clone(layer), progress=False)
    given = ramet.verify(layer, ramet.clone(layer), inputs={"query": x, "value": x}, progress=False)

    assert without.ok
    assert "not built" in without["outputs"].reason
    assert given.ok
    assert given["outputs"].outcome == "passed"
    assert not layer.built


@pytest.mark.parametrize("name", LAYERS)
def test_layer_is_captured_as_a_tree(name):
    layer = LAYERS[name]()

    graph = ramet.capture(layer)

    assert (graph.kind, graph.has_calls, graph.calls) == ("layer", False, ())
    assert graph.root.kind == "layer"
    assert graph.class_name == type(layer).__name__
    assert graph.parameters == layer.count_params()
    assert not list(lint(graph))
    assert Graph.from_json(graph.to_json()) == graph
    assert "<svg" in ramet.draw(layer).to_svg()


def test_layers_inside_a_layer_are_selected_and_compared():
    layer = built(Block(name="block"), (None, 3, 4))
    other = ramet.clone(layer)
    other.norm.trainable = False
    kernel = other.ff.get_layer("up").kernel
    kernel.assign(keras.ops.zeros(kernel.shape))

    found = ramet.select(layer, ramet.of_class("Dense"))

    assert found.paths == ("ff/up",)
    assert not ramet.diff(layer, ramet.clone(layer))
    text = str(ramet.diff(layer, other))
    assert "norm" in text
    assert "ff/up" in text


def test_layer_is_edited_as_a_twin():
    layer = built(Block(name="block"), (None, 3, 4))

    frozen = ramet.edit(layer, e.freeze("attn"))
    milder = ramet.edit(layer, e.update("drop", rate=0.1), unsaved=True)

    assert type(frozen) is Block
    assert not frozen.attn.trainable
    assert layer.attn.trainable
    assert (milder.drop.rate, layer.drop.rate) == (0.1, 0.5)
    x = np.ones((1, 3, 4), "float32")
    np.testing.assert_array_equal(*[keras.ops.convert_to_numpy(one(x)) for one in (layer, milder)])
    assert "attn  MultiHeadAttention, frozen" in str(ramet.plan(layer, e.freeze("attn")))


@pytest.mark.parametrize(
    ("edit", "words"),
    [
        (e.resize_input((3, 5)), "Cannot resize the input of 'block'"),
        (e.swap_head(5), "Cannot swap the head of 'block': it is a layer"),
        (e.remove("drop"), "Cannot remove 'drop'"),
    ],
)
def test_edit_that_does_not_apply_to_a_layer_is_refused(edit, words):
    layer = built(Block(name="block"), (None, 3, 4))

    with pytest.raises(ramet.errors.RametError, match=words):
        ramet.edit(layer, edit)


@pytest.mark.parametrize(
    "verb", [ramet.capture, lambda one: ramet.verify(one, one), lambda one: ramet.plan(one, e.freeze())]
)
def test_object_that_is_not_a_layer_is_refused(verb):
    with pytest.raises(ramet.errors.NotAModelError, match="it is not a model"):
        verb(keras.metrics.Mean())


def test_layer_without_layers_inside_is_edited_itself():
    layer = built(layers.Dense(3, name="dense"), (None, 4))
    kernel, bias = (keras.ops.convert_to_numpy(v) for v in layer.variables)
    x = np.random.default_rng(0).normal(size=(2, 4)).astype("float32")

    frozen = ramet.edit(layer, e.freeze())
    narrow = ramet.edit(layer, e.update("dense", units=2, activation="relu", weights="slice"))
    small = ramet.edit(layer, e.quantize())
    by_keras = ramet.clone(layer)
    by_keras.quantize("int8")

    assert type(frozen) is layers.Dense
    assert (frozen.trainable, frozen.trainable_variables, layer.trainable) == (False, [], True)
    expected = np.maximum(x @ kernel[:, :2] + bias[:2], 0)
    np.testing.assert_allclose(keras.ops.convert_to_numpy(narrow(x)), expected, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(*[keras.ops.convert_to_numpy(one(x)) for one in (small, by_keras)])
    assert "dense  Dense, frozen" in str(ramet.plan(layer, e.freeze()))


class WithWeights:
    """A layer that holds a layer and its own weight."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = layers.Dense(3, name="dense")

    def build(self, shape):
        self.scale = self.add_weight(shape=(3,), name="scale")
        self.dense.build(shape)
        self.built = True

    def call(self, x):
        return self.dense(x) * self.scale


class ModelWithWeights(WithWeights, keras.Model):
    pass


class LayerWithWeights(WithWeights, layers.Layer):
    pass


@pytest.mark.parametrize("cls", [ModelWithWeights, LayerWithWeights])
def test_own_weights_of_a_composite_layer_are_frozen_and_cast_with_it(cls):
    owner = cls(name="owner")
    owner.build((None, 4))

    frozen = ramet.edit(owner, e.freeze())
    partly = ramet.edit(owner, e.freeze(), e.unfreeze("dense"))
    again = ramet.edit(frozen, e.unfreeze())

    assert frozen.trainable_variables == []
    assert [v.path for v in partly.trainable_variables] == ["owner/dense/kernel", "owner/dense/bias"]
    assert len(again.trainable_variables) == len(owner.trainable_variables) == 3
    assert "the weights of 'owner' itself: frozen" in str(ramet.plan(owner, e.freeze()))
    with pytest.raises(ramet.errors.EditError, match="'owner/scale' belongs to none of the layers inside"):
        ramet.edit(owner, e.cast("bfloat16"), unsaved=True)
