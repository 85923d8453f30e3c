"""`resize_input`: change the shape of an input, with the weights."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from tests.edit.expect import assert_edited, assert_saved, edited, scrambled, value
from tests.support.state_models import floats
from tests.support.versions import needs_keras


def conv(shape=(8, 8, 3)):
    x = keras.Input(shape, name="image")
    y = layers.Conv2D(4, 3, name="stem")(x)
    y = layers.BatchNormalization(name="bn")(y)
    y = layers.GlobalAveragePooling2D(name="pool")(y)
    return keras.Model(x, layers.Dense(2, name="head")(y), name="conv")


@pytest.mark.parametrize("shape", [(12, 10, 3), (5, 5, 3)])
def test_another_size_keeps_all_weights(shape):
    assert_edited(conv(), [e.resize_input(shape)], conv(shape))


def test_size_can_be_left_open():
    new = assert_edited(conv(), [e.resize_input((None, None, 3))], conv((None, None, 3)))
    assert new.input_shape == (None, None, None, 3)


def test_another_channel_is_refused_without_a_policy():
    with pytest.raises(ramet.errors.RametError) as caught:
        ramet.edit(conv(), e.resize_input((8, 8, 4)))

    assert "'stem/kernel'" in str(caught.value)
    assert "(3, 3, 3, 4)" in str(caught.value)
    assert "(3, 3, 4, 4)" in str(caught.value)
    assert "resize_input(shape, weights='mean')" in str(caught.value)


@pytest.mark.parametrize("policy", ["pad", "mean", "repeat", "fresh"])
def test_another_channel_is_added_with_a_policy(policy):
    model = scrambled(conv())

    new = assert_edited(model, [e.resize_input((8, 8, 4), weights=policy)], conv((8, 8, 4)), seed=1)

    old, now = (value(one.get_layer("stem").kernel) for one in (model, new))
    if policy == "fresh":
        assert not np.allclose(now[:, :, :3], old)
        return
    added = {"pad": np.zeros_like(old[:, :, :1]), "mean": old.mean(2, keepdims=True), "repeat": old[:, :, :1]}
    np.testing.assert_allclose(now, np.concatenate([old, added[policy]], 2), rtol=1e-6)


def test_channels_are_removed_with_a_policy():
    model = scrambled(conv())

    new = assert_edited(model, [e.resize_input((8, 8, 1), weights="slice")], conv((8, 8, 1)))

    np.testing.assert_array_equal(value(new.get_layer("stem").kernel), value(model.get_layer("stem").kernel)[:, :, :1])


def test_dense_layer_after_flatten_follows_positions():
    def make(shape):
        x = keras.Input(shape, name="x")
        return keras.Model(x, layers.Dense(2, name="head")(layers.Flatten(name="flat")(x)), name="m")

    with pytest.raises(ramet.errors.RametError, match="head/kernel"):
        ramet.edit(make((4, 2)), e.resize_input((6, 2)))
    assert_edited(make((4, 2)), [e.resize_input((6, 2), weights="pad")], make((6, 2)))


def test_one_of_several_inputs_is_resized():
    def make(size):
        x, y = keras.Input((size, 3), name="x"), keras.Input((3,), name="y")
        z = layers.GlobalAveragePooling1D(name="pool")(x)
        return keras.Model({"x": x, "y": y}, layers.Add(name="sum")([z, y]), name="m")

    assert_edited(make(4), [e.resize_input((7, 3), input="x")], make(7))


def test_size_passes_through_a_nested_model():
    def make(shape):
        x = keras.Input(shape, name="x")
        return keras.Model(x, conv(shape)(x), name="outer")

    assert_edited(make((8, 8, 3)), [e.resize_input((10, 12, 3))], make((10, 12, 3)))


def test_channels_pass_through_a_nested_model():
    def make(shape):
        x = keras.Input(shape, name="x")
        return keras.Model(x, conv(shape)(x), name="outer")

    assert_edited(make((8, 8, 3)), [e.resize_input((8, 8, 4), weights="mean")], make((8, 8, 4)))


def test_sequential_is_resized():
    def make(size):
        return keras.Sequential(
            [keras.Input((size, 3), name="x"), layers.Conv1D(4, 2, name="c"), layers.GlobalMaxPooling1D(name="p")],
            name="s",
        )

    new = assert_edited(make(6), [e.resize_input((9, 3))], make(9))
    assert type(new) is keras.Sequential


def test_resize_works_together_with_swap_head():
    x = keras.Input((12, 12, 3), name="image")
    y = layers.GlobalAveragePooling2D(name="pool")(
        layers.BatchNormalization(name="bn")(layers.Conv2D(4, 3, name="stem")(x))
    )
    expected = keras.Model(x, layers.Dense(7, name="head")(y), name="conv")
    assert_edited(conv(), [e.resize_input((12, 12, 3)), e.swap_head(7)], expected)


def test_optimizer_keeps_slots_of_unchanged_shapes():
    model = conv()
    model.compile(keras.optimizers.Adam(0.1), "mse", run_eagerly=True)
    model.fit(floats(2, 8, 8, 3), floats(2, 2), verbose=0)

    new = edited(model, e.resize_input((8, 8, 4), weights="mean"))

    slots = {v.path: value(v) for v in new.optimizer.variables}
    assert int(value(new.optimizer.iterations)) == 1
    for variable in model.optimizer.variables:
        if "head_kernel" in variable.path:
            np.testing.assert_array_equal(slots[variable.path], value(variable))
    new.fit(floats(2, 8, 8, 4), floats(2, 2), verbose=0)
    assert_saved(new)


# Bad input.


def test_several_inputs_need_a_name():
    x, y = keras.Input((3,), name="x"), keras.Input((3,), name="y")
    model = keras.Model([x, y], layers.Add(name="sum")([x, y]), name="m")

    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(model, e.resize_input((4,)))

    assert str(caught.value) == (
        "Cannot resize the input of 'm': it has the inputs 'x', 'y'.\n  fix: choose one: resize_input(shape, input='name')."
    )


def test_wrong_number_of_sizes_is_refused():
    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(conv(), e.resize_input((8, 8)))

    assert str(caught.value) == (
        "Cannot resize 'image' to (8, 8): it needs 3 sizes, without the batch.\n"
        "  expected: a shape like (8, 8, 3)\n"
        "  fix: pass that many sizes; None for any size."
    )


@needs_keras(3, 15, "a convolution takes an input that is smaller than its kernel")
def test_too_small_size_names_the_layer_that_refuses_it():
    with pytest.raises(ramet.errors.RebuildError) as caught:
        ramet.edit(conv(), e.resize_input((2, 2, 3)))

    assert caught.value.path == "stem"
    assert "'image' of shape (None, 2, 2, 3)" in caught.value.summary


def test_subclassed_model_is_refused():
    class Sub(keras.Model):
        def call(self, x):
            return x

    with pytest.raises(ramet.errors.EditError) as caught:
        ramet.edit(Sub(name="sub"), e.resize_input((4,)))

    assert caught.value.summary == "Cannot resize the input of 'sub': it has no call graph."
