"""Weight policies of `update` and `swap_head`, compared with outputs and with kernels made by hand."""

import keras
import numpy as np
import pytest
from keras import layers, ops

import ramet
from ramet import edits as e
from tests.edit.expect import scrambled


def model_of(layer, shape):
    return scrambled(keras.Sequential([keras.Input(shape), layer], name="m"))


def outputs(model, x):
    return ops.convert_to_numpy(model(x))


def data(*shape):
    return np.random.default_rng(3).normal(size=shape).astype("float32")


GROWN = {
    "dense": (lambda: layers.Dense(3, name="a"), (4,), {"units": 5}),
    "convolution": (lambda: layers.Conv2D(3, 2, name="a"), (4, 4, 2), {"filters": 5}),
    "lstm": (lambda: layers.LSTM(3, name="a"), (5, 2), {"units": 5}),
    "gru": (lambda: layers.GRU(3, name="a"), (5, 2), {"units": 5}),
    "gru, no reset after": (lambda: layers.GRU(3, name="a", reset_after=False), (5, 2), {"units": 5}),
    "simple": (lambda: layers.SimpleRNN(3, name="a"), (5, 2), {"units": 5}),
    "over time and space": (lambda: layers.ConvLSTM1D(3, 2, name="a"), (3, 4, 2), {"filters": 5}),
}


@pytest.mark.parametrize("name", GROWN)
def test_padded_units_do_not_change_the_old_ones(name):
    make, shape, settings = GROWN[name]
    model, x = model_of(make(), shape), data(2, *shape)

    new = ramet.edit(model, e.update("a", weights="pad", **settings))

    np.testing.assert_allclose(outputs(new, x)[..., :3], outputs(model, x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["dense", "convolution"])
def test_sliced_units_are_the_first_ones(name):
    make, shape, settings = GROWN[name]
    model, x = model_of(make(), shape), data(2, *shape)

    new = ramet.edit(model, e.update("a", weights="slice", **dict.fromkeys(settings, 2)))

    np.testing.assert_allclose(outputs(new, x), outputs(model, x)[..., :2], rtol=1e-4, atol=1e-5)


def test_gates_are_adapted_by_repeat_and_mean():
    model = model_of(layers.LSTM(2, name="a"), (5, 3))
    old = ops.convert_to_numpy(model.layers[0].cell.kernel).reshape(3, 4, 2)

    repeated = ramet.edit(model, e.update("a", units=3, weights="repeat")).layers[0].cell.kernel
    averaged = ramet.edit(model, e.update("a", units=3, weights="mean")).layers[0].cell.kernel

    np.testing.assert_array_equal(ops.convert_to_numpy(repeated).reshape(3, 4, 3), old[:, :, [0, 1, 0]])
    expected = np.concatenate([old, old.mean(2, keepdims=True)], 2)
    np.testing.assert_allclose(ops.convert_to_numpy(averaged).reshape(3, 4, 3), expected, rtol=1e-5)


@pytest.mark.parametrize("rank", [1, 2])
@pytest.mark.parametrize("padding", ["valid", "same", "causal"])
@pytest.mark.parametrize(("size", "policy"), [(3, "pad"), (5, "pad"), (4, "pad")])
def test_larger_kernel_looks_at_the_same_neighbors(rank, padding, size, policy):
    if padding == "causal" and rank == 2:
        padding = "same"
    make = {1: layers.Conv1D, 2: layers.Conv2D}[rank]
    model = model_of(make(3, 2, padding=padding, name="a"), (7,) * rank + (2,))
    x = data(2, *(7,) * rank, 2)

    new = ramet.edit(model, e.update("a", kernel_size=size, weights=policy))

    ours, theirs = outputs(new, x), outputs(model, x)
    inside = (slice(None), *(slice(0, length) for length in ours.shape[1:-1]))
    np.testing.assert_allclose(ours, theirs[inside], rtol=1e-4, atol=1e-5)


def test_smaller_kernel_is_the_middle_of_the_old_one():
    model = model_of(layers.Conv1D(2, 5, padding="same", name="a"), (7, 2))

    new = ramet.edit(model, e.update("a", kernel_size=3, weights="slice"))

    old, now = (ops.convert_to_numpy(one.layers[0].kernel) for one in (model, new))
    np.testing.assert_array_equal(now, old[1:4])


def test_values_of_each_channel_stay_together():
    model = model_of(layers.DepthwiseConv2D(2, depth_multiplier=1, name="a"), (4, 4, 3))
    x = data(2, 4, 4, 3)

    new = ramet.edit(model, e.update("a", depth_multiplier=2, weights="repeat"))

    np.testing.assert_allclose(outputs(new, x), np.repeat(outputs(model, x), 2, -1), rtol=1e-4, atol=1e-5)


def test_rows_of_each_channel_stay_together():
    model = model_of(layers.SeparableConv2D(4, 2, depth_multiplier=1, name="a"), (4, 4, 3))
    x = data(2, 4, 4, 3)

    new = ramet.edit(model, e.update("a", depth_multiplier=2, weights="pad"))

    np.testing.assert_allclose(outputs(new, x), outputs(model, x), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    ("layer", "settings"),
    [
        (lambda: layers.Conv1D(4, 2, name="a"), {"groups": 2}),
        (lambda: layers.Conv1D(4, 2, strides=2, padding="same", name="a"), {"kernel_size": 3}),
        (lambda: layers.Conv1DTranspose(4, 2, padding="same", name="a"), {"kernel_size": 3}),
    ],
)
def test_ambiguous_weights_are_refused(layer, settings):
    policy = "slice" if "groups" in settings else "pad"
    with pytest.raises(ramet.errors.WeightsDoNotFitError) as caught:
        ramet.edit(model_of(layer(), (6, 4)), e.update("a", weights=policy, **settings))

    assert caught.value.path == "a/kernel"
    assert "fresh" in caught.value.fix


@pytest.mark.parametrize("policy", ["pad", "repeat", "mean", "slice"])
def test_head_is_adapted_by_each_policy(policy):
    model = keras.Sequential([keras.Input((4,)), layers.Dense(5, name="h"), layers.Dense(3, name="logits")])
    scrambled(model)
    kernel, bias = (ops.convert_to_numpy(v) for v in model.get_layer("logits").weights)
    count = 2 if policy == "slice" else 5
    taken = {
        "pad": lambda a: np.concatenate([a, np.zeros((*a.shape[:-1], 2))], -1),
        "repeat": lambda a: a[..., [0, 1, 2, 0, 1]],
        "mean": lambda a: np.concatenate([a, a.mean(-1, keepdims=True), a.mean(-1, keepdims=True)], -1),
        "slice": lambda a: a[..., :2],
    }[policy]

    new = ramet.edit(model, e.swap_head(count, weights=policy))

    x = data(2, 4)
    hidden = ops.convert_to_numpy(model.get_layer("h")(x))
    np.testing.assert_allclose(outputs(new, x), hidden @ taken(kernel) + taken(bias), rtol=1e-4, atol=1e-5)


def test_slots_follow_padded_classes():
    model = keras.Sequential([keras.Input((4,)), layers.Dense(3, name="logits")])
    model.compile(keras.optimizers.Adam(0.1), "mse", run_eagerly=True)
    model.fit(data(2, 4), data(2, 3), verbose=0)

    new = ramet.edit(model, e.swap_head(5, weights="pad"))

    for old, now in zip(model.optimizer.variables, new.optimizer.variables, strict=True):
        before, after = ops.convert_to_numpy(old), ops.convert_to_numpy(now)
        if before.shape != after.shape:
            before = np.concatenate([before, np.zeros((*before.shape[:-1], 2))], -1)
        np.testing.assert_array_equal(after, before)
