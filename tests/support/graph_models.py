"""One small model for each feature of a graph, and padded data for them.

`MODELS` maps a name to a function that makes the model; `data_for` makes inputs for any of them.
"""

import keras
import numpy as np
from keras import layers, ops

from ramet._keras import structure
from tests.support.cases_models import MaskBlind, MaskedSum, MaskedSums, Scale, Swap
from tests.support.versions import KERAS


class Pair(keras.Layer):
    """A layer with one input and two outputs; only the first output has the mask."""

    def call(self, x, mask=None):
        return x, x * 2

    def compute_mask(self, x, mask=None):
        return [mask, None]


class Gate(keras.Layer):
    """Takes a tensor by name, an option, and a mask."""

    supports_masking = True

    def call(self, x, by=None, factor=1.0, mask=None):
        x = x * factor
        if mask is not None:
            x = x * ops.expand_dims(ops.cast(mask, x.dtype), -1)
        return x if by is None else x * by


class Mix(keras.Layer):
    """Takes and returns tensors in a nested structure."""

    def call(self, parts):
        left, right = parts["left"], parts["right"][0]
        return {"sum": left + right, "more": (left * right, [left - right])}


class Block(keras.Layer):
    """A composite layer that builds the layers inside it."""

    def __init__(self, width=3, **kwargs):
        super().__init__(**kwargs)
        self.width = width
        self.first = layers.Dense(width, name="first")
        self.second = layers.Dense(width, name="second")

    def build(self, shape):
        self.first.build(shape)
        self.second.build((*shape[:-1], self.width))

    def call(self, x):
        return self.second(self.first(x))

    def get_config(self):
        return {**super().get_config(), "width": self.width}


class Backbone(keras.Model):
    """A functional subclass with its own config."""

    def __init__(self, units=3, **kwargs):
        inputs = keras.Input((4,), name="features")
        hidden = layers.Dense(units, name="first")(inputs)
        super().__init__(inputs=inputs, outputs=layers.Dense(2, name="second")(hidden), **kwargs)
        self.units = units
        self.pyramid = {"hidden": hidden}

    def get_config(self):
        return {"units": self.units, "name": self.name}


class Tree(keras.Model):
    """A subclassed model: no call graph."""

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.block = Block(name="block")
        self.head = layers.Dense(2, name="head")

    def build(self, shape):
        self.block.build(shape)
        self.head.build((*shape[:-1], 3))
        self.built = True

    def call(self, x):
        return self.head(self.block(x))


def two_output_lambda():
    inputs = keras.Input((4,), name="x")
    a, b = layers.Lambda(lambda x: [x + 1, x], name="pair")(inputs)
    return keras.Model(inputs, [a, b], name="founding")


def one_dense():
    inputs = keras.Input((4,), name="x")
    return keras.Model(inputs, layers.Dense(2, name="d")(inputs), name="one_dense")


def shared_layer():
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    shared = layers.Dense(3, name="shared")
    return keras.Model([a, b], layers.Add(name="add")([shared(a), shared(b)]), name="siamese")


def shared_in_a_chain():
    """Return calls of one layer at three depths, made in a different order than they run in."""
    x = keras.Input((4,), name="x")
    shared = layers.Dense(4, name="shared")
    late = shared(layers.ReLU(name="relu")(layers.Dense(4, name="d")(x)))
    early = shared(x)
    return keras.Model(x, [shared(late), early], name="chain")


def keyword_tensors():
    x, y = keras.Input((4,), name="x"), keras.Input((4,), name="y")
    return keras.Model([x, y], Gate(name="gate")(x, by=y, factor=0.5), name="keywords")


def nested_arguments():
    x, y = keras.Input((4,), name="x"), keras.Input((4,), name="y")
    out = Mix(name="mix")({"left": x, "right": [y]})
    return keras.Model([x, (y,)], {"a": out["sum"], "b": [out["more"][0], out["more"][1][0]]}, name="nest")


def raw_ops():
    x = keras.Input((4,), name="x")
    y = ops.matmul(x[:, 1:3], np.array([[1.0, 2.0], [3.0, 4.0]], "float32"))
    return keras.Model(x, ops.where(y > 0.0, y, 2.0 - y), name="raw")


def call_options():
    x = keras.Input((4,), name="x")
    y = layers.Dropout(0.5, seed=1, name="always")(x, training=True)
    return keras.Model(x, layers.BatchNormalization(name="norm")(y, training=False), name="options")


def two_inputs_in_a_dict():
    b, a = keras.Input((2,), name="b"), keras.Input((3,), name="a")
    joined = layers.Concatenate(name="joined")([a, b])
    return keras.Model({"b": b, "a": a}, {"out": layers.Dense(2, name="d")(joined), "in": a}, name="dicts")


def flagged_inputs():
    ids = keras.Input((3,), batch_size=4, dtype="int32", name="ids")
    extra = keras.Input((2,), optional=True, name="extra")
    embedded = layers.Flatten(name="flat")(layers.Embedding(5, 2, name="emb")(ids))
    return keras.Model([ids, extra], [embedded, layers.Activation("relu", name="act")(extra)], name="flags")


def unused_input():
    x, y = keras.Input((4,), name="x"), keras.Input((4,), name="unused")
    return keras.Model([x, y], layers.Dense(2, name="d")(x), name="unused_input")


def sequential():
    return keras.Sequential(
        [keras.Input((4,), name="x"), layers.Dense(3, name="a"), layers.Dense(2, name="b")], name="seq"
    )


def nested_models():
    inner_in = keras.Input((4,), name="inner_in")
    inner = keras.Model(inner_in, layers.Dense(4, name="d")(inner_in), name="inner")
    middle_in = keras.Input((4,), name="middle_in")
    middle = keras.Model(middle_in, layers.Dense(4, name="d")(inner(middle_in)), name="middle")
    x = keras.Input((4,), name="x")
    return keras.Model(x, layers.Dense(2, name="d")(middle(x)), name="outer")


def nested_on_its_own_input():
    x = keras.Input((4,), name="x")
    y = layers.Dropout(0.5, name="drop")(layers.Dense(4, name="a", activation="relu")(x))
    inner = keras.Model(x, layers.Dense(3, name="b")(y), name="inner")
    return keras.Model(inner.input, layers.Dense(2, name="head")(inner(inner.input)), name="outer")


def nested_and_beside_itself():
    """Return a model with an inner model and the inner model's own tensors: its layers have two calls each there."""
    x, other = keras.Input((4,), name="x"), keras.Input((4,), name="other")
    y = layers.Dropout(0.5, name="drop")(layers.Dense(4, name="a", activation="relu")(x))
    inner = keras.Model(x, layers.Dense(3, name="b")(y), name="inner")
    return keras.Model([x, other], layers.Subtract(name="sub")([inner.output, inner(other)]), name="outer")


def shared_nested_model():
    a, b = keras.Input((4,), name="a"), keras.Input((4,), name="b")
    inner = keras.Sequential([keras.Input((4,), name="i"), layers.Dense(3, name="d")], name="inner")
    return keras.Model([a, b], layers.Subtract(name="sub")([inner(a), inner(b)]), name="shared_nested")


def shared_across_levels():
    layer = layers.Dense(4, name="both")
    i = keras.Input((4,), name="i")
    inner = keras.Model(i, layer(i), name="inner")
    x = keras.Input((4,), name="x")
    return keras.Model(x, layer(inner(x)), name="across")


def nested_with_dicts():
    i, j = keras.Input((4,), name="i"), keras.Input((4,), name="j")
    inner = keras.Model({"i": i, "j": j}, {"sum": i + j, "first": layers.Dense(4, name="d")(i)}, name="inner")
    x = keras.Input((4,), name="x")
    out = inner({"i": x, "j": layers.ReLU(name="relu")(x)})
    return keras.Model(x, [out["first"], out["sum"]], name="nested_dicts")


def wrappers():
    x = keras.Input((3, 4), name="x")
    steps = layers.TimeDistributed(sequential_on((4,)), name="steps")(x)
    return keras.Model(x, layers.Bidirectional(layers.GRU(2, name="gru"), name="both_ways")(steps), name="wrappers")


def sequential_on(shape):
    return keras.Sequential([keras.Input(shape, name="step"), layers.Dense(3, name="d")], name="inner")


def composite():
    x = keras.Input((3, 4), name="x")
    y = Block(name="block")(x)
    return keras.Model(x, layers.MultiHeadAttention(1, 2, name="attention")(y, y), name="composite")


def image():
    x = keras.Input((8, 8, 3), name="image")
    y = layers.Rescaling(1 / 255, name="rescale")(x)
    y = layers.Conv2D(4, 3, padding="same", name="conv")(y)
    y = layers.BatchNormalization(name="norm")(y)
    return keras.Model(x, layers.GlobalAveragePooling2D(name="pool")(y), name="image_model")


def backbone():
    return Backbone(name="backbone")


def frozen_parts():
    x = keras.Input((4,), name="x")
    block = Block(name="block")
    model = keras.Model(x, layers.Dense(2, name="head")(block(x)), name="frozen")
    block.first.trainable = False
    return model


def half_precision():
    x = keras.Input((4,), name="x")
    return keras.Model(x, layers.Dense(2, dtype="mixed_bfloat16", name="half")(x), name="mixed")


def intermediate_inputs():
    """Return a model on the inner tensor of another."""
    x = keras.Input((4,), name="x")
    inner = layers.Dense(3, name="first")(x)
    whole = keras.Model(x, layers.Dense(2, name="second")(inner), name="whole")
    return keras.Model(inner, whole.output, name="part")


def several_outputs_twice():
    x = keras.Input((4,), name="x")
    y = layers.Dense(2, name="d")(x)
    return keras.Model(x, (y, x, y), name="twice")


def swapped():
    x, y = keras.Input((4,), name="x"), keras.Input((4,), name="y")
    return keras.Model([x, y], Swap(name="swap")([x, y]), name="swapped")


def weighted_custom_layer():
    x = keras.Input((4,), name="x")
    return keras.Model(x, Scale(name="scale")(x), name="scaled")


def _ids():
    return keras.Input((5,), dtype="int32", name="ids")


def embedded_lstm():
    ids = _ids()
    x = layers.Embedding(6, 3, mask_zero=True, name="emb")(ids)
    return keras.Model(ids, layers.LSTM(2, name="lstm")(x), name="embedded_lstm")


def masking_lstm():
    x = keras.Input((5, 3), name="x")
    return keras.Model(x, layers.LSTM(2, name="lstm")(layers.Masking(name="masking")(x)), name="masking_lstm")


def explicit_mask():
    x, mask = keras.Input((5, 3), name="x"), keras.Input((5,), dtype="bool", name="m")
    return keras.Model([x, mask], layers.LSTM(2, name="lstm")(x, mask=mask), name="explicit_mask")


def explicit_over_implicit():
    ids, mask = _ids(), keras.Input((5,), dtype="bool", name="m")
    x = layers.Embedding(6, 3, mask_zero=True, name="emb")(ids)
    return keras.Model([ids, mask], MaskedSum(name="sum")(x, mask=mask), name="both_masks")


def mask_of_another_layer():
    """Return a model that passes the mask of one embedding explicitly to a layer on another."""
    ids = _ids()
    first = layers.Embedding(6, 3, mask_zero=True, name="first")(ids)
    second = layers.Embedding(6, 3, name="second")(ids)
    return keras.Model(ids, MaskedSum(name="sum")(second, mask=first._keras_mask), name="borrowed_mask")


def mask_with_keyword_arguments():
    """Return a call with keyword arguments, for which Keras does not record the mask; it is propagated at run time."""
    ids = _ids()
    x = layers.Embedding(6, 3, mask_zero=True, name="emb")(ids)
    y = Gate(name="gate")(x, factor=0.5)
    return keras.Model(ids, MaskedSum(name="sum")(y), name="keyword_mask")


def mask_through_a_cast():
    """Return a call with a dtype conversion, for which Keras does not record the mask either."""
    ids = _ids()
    x = layers.Embedding(6, 3, mask_zero=True, name="emb")(ids)
    return keras.Model(ids, MaskedSum(name="sum", dtype="bfloat16")(x), name="cast_mask")


def mask_list():
    ids, x = _ids(), keras.Input((5, 3), name="x")
    first = layers.Embedding(6, 3, mask_zero=True, name="emb")(ids)
    return keras.Model([ids, x], MaskedSums(name="sums")([first, layers.Masking(name="masking")(x)]), name="masks")


def mask_list_with_a_gap():
    ids, x = _ids(), keras.Input((5, 3), name="x")
    first = layers.Embedding(6, 3, mask_zero=True, name="emb")(ids)
    return keras.Model([ids, x], MaskedSums(name="sums")([first, x]), name="masks_with_gap")


def mask_of_two_outputs():
    ids = _ids()
    x = layers.Embedding(6, 3, mask_zero=True, name="emb")(ids)
    first, second = Pair(name="pair")(x)
    return keras.Model(ids, [MaskedSum(name="s1")(first), MaskedSum(name="s2")(second)], name="pair_masks")


def mask_lost_on_the_way():
    ids = _ids()
    x = layers.Embedding(6, 3, mask_zero=True, name="emb")(ids)
    return keras.Model(ids, MaskedSum(name="sum")(MaskBlind(name="blind")(x)), name="lost_mask")


def mask_blind_pair():
    """Return the model of the founding report: two outputs, no mask support, an input with a mask."""
    ids = _ids()
    x = layers.Embedding(6, 3, mask_zero=True, name="emb")(ids)
    a, b = layers.Lambda(lambda x: [x + 1, x], name="pair")(x)
    return keras.Model(ids, [MaskedSum(name="s1")(a), MaskedSum(name="s2")(b)], name="blind_pair")


def masks_of_attention():
    ids = _ids()
    x = layers.Embedding(6, 4, mask_zero=True, name="emb")(ids)
    y = layers.MultiHeadAttention(1, 2, name="attention")(x, x)
    return keras.Model(ids, MaskedSum(name="sum")(y), name="attention_masks")


def explicit_attention_mask():
    ids, allowed = _ids(), keras.Input((5, 5), dtype="bool", name="allowed")
    x = layers.Embedding(6, 4, mask_zero=True, name="emb")(ids)
    y = layers.MultiHeadAttention(1, 2, name="attention")(x, x, attention_mask=allowed)
    return keras.Model([ids, allowed], y, name="attention_allowed")


def mask_into_a_nested_model():
    i = keras.Input((5, 3), name="i")
    inner = keras.Model(i, layers.LSTM(2, name="lstm")(i), name="inner")
    ids = _ids()
    x = layers.Embedding(6, 3, mask_zero=True, name="emb")(ids)
    return keras.Model(ids, inner(x), name="nested_mask")


def mask_inside_a_nested_model():
    i = keras.Input((5,), dtype="int32", name="i")
    inner = keras.Model(i, layers.Embedding(6, 3, mask_zero=True, name="emb")(i), name="inner")
    ids = _ids()
    return keras.Model(ids, MaskedSum(name="sum")(inner(ids)), name="mask_from_nested")


def supports_masking_by_hand():
    ids = _ids()
    x = layers.Embedding(6, 3, mask_zero=True, name="emb")(ids)
    blind = MaskBlind(name="blind")
    blind.supports_masking = True
    return keras.Model(ids, MaskedSum(name="sum")(blind(x)), name="by_hand")


GRAPHS = {
    make.__name__: make
    for make in (
        two_output_lambda, one_dense, shared_layer, shared_in_a_chain, keyword_tensors, nested_arguments, raw_ops,
        call_options, two_inputs_in_a_dict, flagged_inputs, unused_input, sequential, nested_models,
        nested_on_its_own_input, nested_and_beside_itself, shared_nested_model, shared_across_levels,
        nested_with_dicts, wrappers, composite, image, backbone,
        frozen_parts, half_precision, intermediate_inputs, several_outputs_twice, swapped, weighted_custom_layer,
    )
}  # fmt: skip
MASKS = {
    make.__name__: make
    for make in (
        embedded_lstm, masking_lstm, explicit_mask, explicit_over_implicit, mask_of_another_layer,
        mask_with_keyword_arguments, mask_through_a_cast, mask_list, mask_list_with_a_gap, mask_of_two_outputs,
        mask_lost_on_the_way, mask_blind_pair, masks_of_attention, explicit_attention_mask, mask_into_a_nested_model,
        mask_inside_a_nested_model, supports_masking_by_hand,
    )
}  # fmt: skip
if KERAS < (3, 14):  # Keras itself refuses an input that leads to no output
    GRAPHS.pop("unused_input")
MODELS = GRAPHS | MASKS


def data_for(model, seed=0, batch=4):
    """Return random arrays in the structure of a model's inputs; sequences of different lengths are padded with zeros."""
    rng = np.random.default_rng(seed)

    def array(tensor):
        shape = (batch, *(size or 5 for size in tensor.shape[1:]))
        if tensor.dtype == "bool":
            return rng.random(shape) > 0.4
        if "int" in tensor.dtype:
            return _padded(rng.integers(1, 5, shape)).astype(tensor.dtype)
        return _padded(rng.normal(size=shape)).astype(tensor.dtype)

    return keras.tree.map_structure(array, inputs_of(model))


def inputs_of(model):
    """Return a model's input tensors in its structure, which a Sequential has only after its first call."""
    return structure.inputs_of(structure.function_of(model))


def _padded(array):
    if array.ndim > 1 and array.shape[1] == 5:
        for row in range(len(array)):
            array[row, 4 - row :] = 0
    return array


def same_inputs(model):
    """Return new `keras.Input`s with the specs, names and flags of a model's inputs, in its structure."""
    return keras.tree.map_structure(_input_like, inputs_of(model))


def _input_like(tensor):
    flags = {
        "sparse": tensor.sparse,
        "ragged": getattr(tensor, "ragged", False),
        "optional": getattr(tensor._keras_history[0], "optional", False),
    }
    given = {name: value for name, value in flags.items() if value}
    return keras.Input(batch_shape=tensor.shape, dtype=tensor.dtype, name=tensor.name, **given)
