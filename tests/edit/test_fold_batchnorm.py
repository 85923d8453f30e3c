"""`fold_batchnorm`: fold into the layer before or after, only where that is exact."""

import keras
import numpy as np
import pytest
from keras import layers

import ramet
from ramet import edits as e
from tests.edit.expect import assert_close, assert_saved, edited, scrambled, value
from tests.support.graph_models import data_for
from tests.support.state_models import floats
from tests.support.twins import outputs

BEFORE = {
    "dense": ((4,), lambda: layers.Dense(6, name="w")),
    "dense_without_bias": ((4,), lambda: layers.Dense(6, use_bias=False, name="w")),
    "dense_on_sequences": ((5, 4), lambda: layers.Dense(6, name="w")),
    "conv1d": ((8, 4), lambda: layers.Conv1D(6, 3, padding="causal", name="w")),
    "conv2d": ((6, 6, 4), lambda: layers.Conv2D(6, 3, padding="same", use_bias=False, name="w")),
    "conv2d_strided": ((7, 7, 4), lambda: layers.Conv2D(6, 3, strides=2, dilation_rate=1, name="w")),
    "conv2d_grouped": ((6, 6, 4), lambda: layers.Conv2D(6, 3, groups=2, name="w")),
    "conv3d": ((4, 4, 4, 2), lambda: layers.Conv3D(3, 2, name="w")),
    "conv1d_transposed": ((8, 4), lambda: layers.Conv1DTranspose(6, 3, strides=2, name="w")),
    "conv2d_transposed": ((5, 5, 4), lambda: layers.Conv2DTranspose(6, 3, padding="same", name="w")),
    "conv3d_transposed": ((3, 3, 3, 2), lambda: layers.Conv3DTranspose(3, 2, name="w")),
    "depthwise1d": ((8, 4), lambda: layers.DepthwiseConv1D(3, depth_multiplier=2, name="w")),
    "depthwise2d": ((6, 6, 4), lambda: layers.DepthwiseConv2D(3, depth_multiplier=2, use_bias=False, name="w")),
    "separable1d": ((8, 4), lambda: layers.SeparableConv1D(6, 3, name="w")),
    "separable2d": ((6, 6, 4), lambda: layers.SeparableConv2D(6, 3, depth_multiplier=2, padding="same", name="w")),
}
AFTER = {
    "dense": ((4,), lambda: layers.Dense(6, activation="relu", name="w")),
    "dense_without_bias": ((4,), lambda: layers.Dense(6, use_bias=False, name="w")),
    "conv1d": ((8, 4), lambda: layers.Conv1D(6, 3, name="w")),
    "conv2d": ((6, 6, 4), lambda: layers.Conv2D(6, 3, use_bias=False, activation="relu", name="w")),
    "conv2d_grouped": ((6, 6, 4), lambda: layers.Conv2D(6, 3, groups=2, name="w")),
    "conv3d": ((4, 4, 4, 2), lambda: layers.Conv3D(3, 2, name="w")),
    "depthwise1d": ((8, 4), lambda: layers.DepthwiseConv1D(3, depth_multiplier=2, name="w")),
    "depthwise2d": ((6, 6, 4), lambda: layers.DepthwiseConv2D(3, name="w")),
    "separable1d": ((8, 4), lambda: layers.SeparableConv1D(6, 3, use_bias=False, name="w")),
    "separable2d": ((6, 6, 4), lambda: layers.SeparableConv2D(6, 3, depth_multiplier=2, name="w")),
}


def stacked(shape, *stack):
    x = keras.Input(shape, name="x")
    y = x
    for layer in stack:
        y = layer(y)
    return scrambled(keras.Model(x, y, name="m"))


def assert_folded(model, tolerance=1e-5):
    """Check that the normalizations are gone and the outputs are the same."""
    new = edited(model, e.fold_batchnorm())
    assert not any(isinstance(layer, layers.BatchNormalization) for layer in new._flatten_layers())
    x = data_for(model)
    assert_close(outputs(new, x), outputs(model, x), tolerance)
    return new


def assert_left_alone(model, reason):
    plan = ramet.plan(model, e.fold_batchnorm())
    assert [(skip.path, skip.reason) for skip in plan.steps[0].skipped] == [("bn", reason)]
    assert ramet.capture(edited(model, e.fold_batchnorm())) == ramet.capture(model)


@pytest.mark.parametrize("case", BEFORE)
def test_normalization_is_folded_into_the_layer_before(case):
    shape, make = BEFORE[case]
    new = assert_folded(stacked(shape, make(), layers.BatchNormalization(name="bn"), layers.ReLU(name="act")))

    assert [layer.name for layer in new.layers] == ["x", "w", "act"]
    assert new.get_layer("w").use_bias


@pytest.mark.parametrize("case", AFTER)
def test_normalization_is_folded_into_the_layer_after(case):
    shape, make = AFTER[case]
    new = assert_folded(stacked(shape, layers.BatchNormalization(name="bn"), make()))

    assert [layer.name for layer in new.layers] == ["x", "w"]


def test_result_can_be_saved_and_trained():
    new = assert_folded(stacked((4,), layers.Dense(3, use_bias=False, name="w"), layers.BatchNormalization(name="bn")))

    assert_saved(new)
    new.compile("sgd", "mse", run_eagerly=True)
    new.fit(np.ones((2, 4), "float32"), np.ones((2, 3), "float32"), verbose=0)


@pytest.mark.parametrize("options", [{"scale": False}, {"center": False}, {"scale": False, "center": False}])
def test_normalization_without_scale_or_shift_is_folded(options):
    assert_folded(stacked((4,), layers.Dense(3, name="w"), layers.BatchNormalization(name="bn", **options)))


def test_channels_first_is_supported():
    model = stacked(
        (4, 6, 6),
        layers.Conv2D(5, 1, data_format="channels_first", name="w"),
        layers.BatchNormalization(axis=1, name="bn"),
    ) if keras.backend.backend() != "tensorflow" else stacked(  # its CPU kernels take channels last only
        (6, 6, 4), layers.Conv2D(5, 1, name="w"), layers.BatchNormalization(axis=3, name="bn")
    )  # fmt: skip
    assert_folded(model)


def test_chain_of_blocks_at_two_levels_is_folded():
    def block(x, width, name):
        y = layers.Conv2D(width, 3, padding="same", use_bias=False, name=f"{name}_conv")(x)
        return layers.ReLU(name=f"{name}_act")(layers.BatchNormalization(name=f"{name}_bn")(y))

    z = keras.Input((6, 6, 3), name="z")
    inner = keras.Model(z, block(block(z, 4, "one"), 4, "two"), name="inner")
    x = keras.Input((6, 6, 3), name="x")
    model = scrambled(keras.Model(x, layers.GlobalAveragePooling2D(name="pool")(block(inner(x), 5, "three")), name="m"))

    assert_folded(model)


def test_normalization_in_a_sequential_is_folded():
    model = scrambled(
        keras.Sequential(
            [keras.Input((4,), name="x"), layers.Dense(3, name="w"), layers.BatchNormalization(name="bn")], name="s"
        )
    )
    assert type(assert_folded(model)) is keras.Sequential


def test_only_selected_normalizations_are_folded():
    model = stacked(
        (4,), layers.Dense(4, name="a"), layers.BatchNormalization(name="bn_a"), layers.ReLU(name="act"),
        layers.Dense(4, name="b"), layers.BatchNormalization(name="bn_b"),
    )  # fmt: skip

    new = edited(model, e.fold_batchnorm("bn_b"))

    assert [layer.name for layer in new.layers] == ["x", "a", "bn_a", "act", "b"]
    x = data_for(model)
    assert_close(outputs(new, x), outputs(model, x), 1e-5)


# Cases that would not be exact.


def test_activation_in_between_is_skipped():
    model = stacked((4,), layers.Dense(3, activation="relu", name="w"), layers.BatchNormalization(name="bn"))
    assert_left_alone(model, "before it, 'w' ends with an activation; the output of 'bn' is an output of the model")


def test_convolution_that_pads_with_zeros_is_skipped():
    model = stacked((6, 6, 2), layers.BatchNormalization(name="bn"), layers.Conv2D(3, 3, padding="same", name="w"))
    assert_left_alone(model, "before it is an input; after it, 'w' pads with zeros, which would not be shifted")


def test_shared_layer_is_skipped():
    x, y = keras.Input((4,), name="x"), keras.Input((4,), name="y")
    shared = layers.Dense(4, name="w")
    z = layers.Add(name="sum")([layers.BatchNormalization(name="bn")(shared(x)), shared(y)])
    assert_left_alone(
        scrambled(keras.Model([x, y], z, name="m")), "before it, 'w' is called 2 times; after it, 'sum' is an Add"
    )


def test_output_that_is_used_twice_is_skipped():
    x = keras.Input((4,), name="x")
    y = layers.Dense(4, name="w")(x)
    z = layers.Add(name="sum")([layers.BatchNormalization(name="bn")(y), y])
    assert_left_alone(
        scrambled(keras.Model(x, z, name="m")),
        "before it, the output of 'w' is used 2 times; after it, 'sum' is an Add",
    )


def test_other_axis_is_skipped():
    model = stacked((5, 4), layers.Dense(3, name="w"), layers.BatchNormalization(axis=1, name="bn"))
    plan = ramet.plan(model, e.fold_batchnorm())
    assert "it normalizes another axis than the channels" in plan.steps[0].skipped[0].reason


def test_normalization_called_with_training_true_is_skipped():
    x = keras.Input((4,), name="x")
    y = layers.BatchNormalization(name="bn")(layers.Dense(4, name="w")(x), training=True)
    model = scrambled(keras.Model(x, y, name="m"))

    plan = ramet.plan(model, e.fold_batchnorm())

    assert not plan.steps[0].touched
    assert "training" in plan.steps[0].skipped[0].reason


def test_masked_input_never_changes_the_outputs():
    x = keras.Input((5, 3), name="x")
    y = layers.Dense(4, name="w")(layers.Masking(name="masking")(x))
    model = scrambled(keras.Model(x, layers.LSTM(2, name="rnn")(layers.BatchNormalization(name="bn")(y)), name="m"))

    new = edited(model, e.fold_batchnorm())

    x = data_for(model)
    assert_close(outputs(new, x), outputs(model, x), 1e-5)


def test_layers_with_lora_or_a_constraint_are_skipped():
    dense = layers.Dense(4, name="w")
    model = stacked((4,), dense, layers.BatchNormalization(name="bn"))
    dense.enable_lora(2)
    assert_left_alone(model, "before it, 'w' has LoRA enabled; the output of 'bn' is an output of the model")
    held = stacked((4,), layers.Dense(4, kernel_constraint="max_norm", name="w"), layers.BatchNormalization(name="bn"))
    assert_left_alone(held, "before it, 'w' has a constraint; the output of 'bn' is an output of the model")


def test_subclass_of_a_convolution_is_skipped():
    class Special(layers.Dense):
        def call(self, x):
            return super().call(x) ** 2

    model = stacked((4,), Special(4, name="w"), layers.BatchNormalization(name="bn"))
    assert_left_alone(model, "before it, 'w' is a Special; the output of 'bn' is an output of the model")


def test_two_normalizations_in_a_row_need_two_edits():
    model = stacked(
        (4,), layers.Dense(4, name="w"), layers.BatchNormalization(name="one"), layers.BatchNormalization(name="two")
    )

    once = edited(model, e.fold_batchnorm())
    twice = edited(once, e.fold_batchnorm())

    x = data_for(model)
    assert_close(outputs(once, x), outputs(model, x), 1e-5)
    assert_close(outputs(twice, x), outputs(model, x), 1e-5)
    assert [layer.name for layer in twice.layers] == ["x", "w"]


def test_outputs_stay_close_in_mixed_precision():
    x = keras.Input((4,), name="x")
    y = layers.Dense(3, dtype="mixed_float16", name="w")(x)
    model = scrambled(keras.Model(x, layers.BatchNormalization(dtype="mixed_float16", name="bn")(y), name="m"))
    new = edited(model, e.fold_batchnorm())

    x = data_for(model)
    assert_close(outputs(new, x), outputs(model, x), 1e-2)


class Holder(layers.Layer):
    """A layer that holds a layer of the graph without calling it."""

    def __init__(self, held, **kwargs):
        super().__init__(**kwargs)
        self.held = held

    def call(self, x):
        return x


def test_layer_that_another_layer_holds_is_folded_under_its_path_in_the_graph():
    conv = layers.Conv2D(4, 3, use_bias=False, name="c")
    conv.build((None, 8, 8, 3))
    x = keras.Input((8, 8, 3), name="x")
    model = scrambled(keras.Model(x, layers.BatchNormalization(name="n")(conv(Holder(conv, name="h")(x))), name="m"))

    plan = ramet.plan(model, e.fold_batchnorm())
    new = ramet.edit(model, e.fold_batchnorm(), unsaved=True)

    assert "folded into 'c'" in str(plan)
    x = floats(2, 8, 8, 3)
    np.testing.assert_allclose(value(new(x)), value(model(x)), rtol=1e-4, atol=1e-5)
