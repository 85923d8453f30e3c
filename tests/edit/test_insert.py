"""`insert_before` and `insert_after`: new layers at all or some calls."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from ramet import named, of_class
from tests.edit.expect import assert_edited, edited, scrambled, value
from tests.support.state_models import floats


def chain(*between, tail=()):
    x = keras.Input((4,), name="x")
    y = layers.Dense(3, name="a")(x)
    for layer in between:
        y = layer(y)
    y = layers.Dense(2, name="logits")(y)
    for layer in tail:
        y = layer(y)
    return keras.Model(x, y, name="chain")


def test_dropout_is_inserted_after_every_dense_layer_but_the_last():
    new = assert_edited(
        chain(),
        [
            e.insert_after(
                of_class(layers.Dense) & ~named("logits"), lambda old: layers.Dropout(0.1, seed=1, name="drop")
            )
        ],
        chain(layers.Dropout(0.1, seed=1, name="drop")),
    )
    assert [layer.name for layer in new.layers] == ["x", "a", "drop", "logits"]


def test_layer_is_inserted_before_another():
    assert_edited(
        chain(),
        [e.insert_before("logits", lambda old: layers.LayerNormalization(name="norm"))],
        chain(layers.LayerNormalization(name="norm")),
    )


def test_layer_after_the_last_one_makes_the_output():
    new = assert_edited(
        chain(),
        [e.insert_after("logits", lambda old: layers.Softmax(name="p"))],
        chain(tail=[layers.Softmax(name="p")]),
    )
    assert new.output_names == ["p"]


def test_several_insertions_keep_the_order_of_the_edits():
    assert_edited(
        chain(),
        [
            e.insert_after("a", lambda old: layers.ReLU(name="first")),
            e.insert_after("a", lambda old: layers.LayerNormalization(name="second")),
        ],
        chain(layers.ReLU(name="first"), layers.LayerNormalization(name="second")),
    )


def test_layer_is_inserted_after_an_input():
    x = keras.Input((4,), name="x")
    y = layers.Rescaling(0.5, name="scale")(x)
    expected = keras.Model(x, layers.Dense(2, name="logits")(layers.Dense(3, name="a")(y)), name="chain")
    assert_edited(chain(), [e.insert_after("x", lambda old: layers.Rescaling(0.5, name="scale"))], expected)


def test_sequential_stays_a_sequential():
    def make(*between):
        stack = [keras.Input((4,), name="x"), layers.Dense(3, name="a"), *between, layers.Dense(2, name="b")]
        return keras.Sequential(stack, name="s")

    new = assert_edited(
        make(),
        [e.insert_after("a", lambda old: layers.Dropout(0.2, seed=3, name="drop"))],
        make(layers.Dropout(0.2, seed=3, name="drop")),
    )
    assert type(new) is keras.Sequential
    assert [layer.name for layer in new.layers] == ["a", "drop", "b"]


def test_layer_is_inserted_into_a_nested_sequential():
    def make(*between):
        inner = keras.Sequential(
            [keras.Input((4,), name="z"), layers.Dense(3, name="d"), *between, layers.Dense(2, name="f")], name="inner"
        )
        x = keras.Input((4,), name="x")
        return keras.Model(x, layers.ReLU(name="act")(inner(x)), name="outer")

    new = assert_edited(
        make(), [e.insert_after("inner/d", lambda old: layers.ELU(name="elu"))], make(layers.ELU(name="elu"))
    )
    assert type(new.get_layer("inner")) is keras.Sequential


def test_layer_is_inserted_two_levels_down():
    def make(*between):
        z = keras.Input((4,), name="z")
        y = layers.Dense(4, name="d")(z)
        for layer in between:
            y = layer(y)
        inner = keras.Model(z, y, name="inner")
        z = keras.Input((4,), name="w")
        middle = keras.Model(z, inner(z), name="middle")
        x = keras.Input((4,), name="x")
        return keras.Model(x, middle(middle(x)), name="outer")

    assert_edited(
        make(), [e.insert_after("middle/inner/d", lambda old: layers.ELU(name="elu"))], make(layers.ELU(name="elu"))
    )


# Shared layers.


def shared(after=None, calls=()):
    x, y = keras.Input((4,), name="x"), keras.Input((4,), name="y")
    layer = layers.Dense(3, name="shared")
    ends = [layer(x), layer(y)]
    ends = [after(end) if number in calls else end for number, end in enumerate(ends, 1)]
    return keras.Model([x, y], layers.Subtract(name="difference")(ends), name="siamese")


def test_new_layer_is_shared_like_the_layer_it_follows():
    new = assert_edited(
        shared(),
        [e.insert_after("shared", lambda old: layers.Dense(3, name="new"))],
        shared(layers.Dense(3, name="new"), calls=(1, 2)),
    )
    assert len(new.weights) == 4


@pytest.mark.parametrize(
    ("chosen", "number"), [(1, 1), (2, 2), ("shared", 1), ("shared#1", 1), ("shared#2", 2), ([2], 2)]
)
def test_layer_is_inserted_at_a_chosen_call(chosen, number):
    assert_edited(
        shared(),
        [e.insert_after("shared", lambda old: layers.Dense(3, name="new"), calls=chosen)],
        shared(layers.Dense(3, name="new"), calls=(number,)),
    )


def test_layer_is_inserted_before_a_chosen_call():
    x, y = keras.Input((4,), name="x"), keras.Input((4,), name="y")
    layer = layers.Dense(3, name="shared")
    ends = [layer(x), layer(layers.ELU(name="elu")(y))]
    expected = keras.Model([x, y], layers.Subtract(name="difference")(ends), name="siamese")
    assert_edited(shared(), [e.insert_before("shared", lambda old: layers.ELU(name="elu"), calls=2)], expected)


def test_unknown_call_is_refused():
    with pytest.raises(ramet.errors.UnknownPathError) as caught:
        ramet.edit(shared(), e.insert_after("shared", lambda old: layers.ELU(), calls=3))

    assert str(caught.value) == (
        "Cannot insert_after at call 3 of 'shared': there is no such call.\n"
        "  closest:  'shared', 'shared#2'\n"
        "  fix: pass numbers, counted from 1, or ids of calls."
    )


@pytest.mark.parametrize("edit", [e.insert_before, e.insert_after, lambda *args, **kwargs: e.remove(args[0], **kwargs)])
def test_empty_list_of_calls_is_refused(edit):
    with pytest.raises(ramet.errors.ArgumentError, match="at no calls: calls= is empty"):
        edit("shared", lambda old: layers.ELU(), calls=[])


# Several tensors.


def test_each_input_of_a_merge_gets_a_layer():
    x, y = keras.Input((4,), name="x"), keras.Input((4,), name="y")
    model = keras.Model([x, y], layers.Add(name="sum")([x, y]), name="m")

    new = edited(model, e.insert_before("sum", lambda old: layers.Dense(3)))

    assert [type(layer).__name__ for layer in new.layers] == ["InputLayer", "InputLayer", "Dense", "Dense", "Add"]
    x, y = floats(2, 4), floats(2, 4, seed=1)
    first, second = (new.get_layer(name) for name in ("dense", "dense_1"))
    np.testing.assert_array_equal(value(new([x, y])), value(first(x) + second(y)))


def test_each_output_gets_a_layer():
    class Pair(layers.Layer):
        def call(self, x):
            return x, x * 2

    x = keras.Input((4,), name="x")
    a, b = Pair(name="pair")(x)
    model = keras.Model(x, [a, b], name="m")

    new = edited(model, e.insert_after("pair", lambda old: layers.Dense(3)))

    x = floats(2, 4)
    first, second = (new.get_layer(name) for name in ("dense", "dense_1"))
    got = new(x)
    np.testing.assert_array_equal(value(got[0]), value(first(x)))
    np.testing.assert_array_equal(value(got[1]), value(second(x * 2)))


def test_masks_do_not_pass_through_inserted_layers():
    def make(*between):
        x = keras.Input((5,), dtype="int32", name="ids")
        y = layers.Embedding(6, 3, mask_zero=True, name="embed")(x)
        for layer in between:
            y = layer(y)
        return keras.Model(x, layers.LSTM(2, name="rnn")(y), name="m")

    drop = layers.SpatialDropout1D(0.1, seed=2, name="drop")
    assert_edited(
        make(), [e.insert_before("rnn", lambda old: layers.SpatialDropout1D(0.1, seed=2, name="drop"))], make(drop)
    )


def test_layer_is_inserted_after_a_raw_operation():
    def make(after=None):
        x = keras.Input((4,), name="x")
        y = keras.ops.sin(x)
        y = y if after is None else after(y)
        return keras.Model(x, layers.Dense(2, name="d")(y), name="m")

    model = make()
    keras.utils.clear_session(free_memory=False)
    expected = make(layers.ELU(name="elu"))
    assert_edited(model, [e.insert_after("sin", lambda old: layers.ELU(name="elu"))], expected)


def test_misfit_names_both_layers_and_shapes():
    model = scrambled(chain())

    with pytest.raises(ramet.errors.DoesNotFitError) as caught:
        ramet.edit(model, e.insert_after("a", lambda old: layers.Dense(7, name="wide")))

    error = caught.value
    assert error.path == "logits"
    assert "'logits'" in error.summary
    assert "'wide'" in str(error)
    assert "(None, 7)" in str(error)
    assert "(None, 3)" in str(error)
