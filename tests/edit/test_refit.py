"""Weights after `resize_input`, compared position by position.

The oracle uses nothing of ramet: what a policy makes of the weights for the positions of an input is a matrix, so the resized
model on an input must give what the old model gives on that input, multiplied by the matrix along the resized axes.
"""

import keras
import numpy as np
import pytest
from keras import layers, ops

import ramet
from ramet import edits as e
from tests.edit.expect import scrambled


def matrix(policy, old, new):
    """Return, for each new position (a row), the share of each old one."""
    found = np.zeros((new, old))
    for place in range(new):
        if policy == "mean" and (new < old or place >= old):
            found[place] = 1 / old
        elif policy == "repeat":
            found[place, place % old] = 1
        elif place < old:
            found[place, place] = 1
    return found


def seen_by_the_old(x, policy, old):
    for axis, size in enumerate(old, 1):
        if x.shape[axis] != size:
            x = np.moveaxis(np.moveaxis(x, axis, -1) @ matrix(policy, size, x.shape[axis]), -1, axis)
    return x.astype("float32")


def data(shape, count=2):
    return np.random.default_rng(1).normal(size=(count, *shape)).astype("float32")


def chain(*parts):
    def make(shape):
        return keras.Sequential([keras.Input(shape, name="x"), *(part() for part in parts)], name="m")

    return make


def flat_parts(shape):
    x = keras.Input(shape, name="x")
    parts = [layers.Flatten()(x), layers.Flatten()(layers.Permute((3, 1, 2))(x)), layers.GlobalAveragePooling2D()(x)]
    return keras.Model(x, layers.Dense(3)(layers.Concatenate()(parts)))


def reshaped_by_ops(shape):
    x = keras.Input(shape, name="x")
    y = layers.Reshape((-1,))(ops.swapaxes(ops.transpose(x, (0, 3, 2, 1)), 1, 2))
    return keras.Model(x, layers.Dense(3)(ops.squeeze(ops.expand_dims(y, 1), 1)))


def nested(shape):
    x = keras.Input(shape, name="x")
    inner = keras.Sequential([keras.Input((int(np.prod(shape)),)), layers.Dense(4, name="inner_dense")], name="inner")
    return keras.Model(x, layers.Dense(2)(inner(layers.Flatten()(x))))


def sliced_and_stacked(shape):
    x = keras.Input(shape, name="x")
    y = ops.concatenate([ops.roll(x, 1, axis=1), x[:, :, :1], ops.flip(x, axis=2)], axis=2)
    return keras.Model(x, layers.Dense(3)(layers.Flatten()(y)))


def tiled(shape):
    x = keras.Input(shape, name="x")
    y = ops.tile(ops.repeat(x, 2, axis=3), (1, 2, 1, 2))
    return keras.Model(x, layers.Dense(3)(layers.Flatten()(y)))


def split_sums(shape):
    x = keras.Input(shape, name="x")
    return keras.Model(x, layers.Dense(3)(layers.Flatten()(layers.Add()([x, ops.multiply(x, 2.0)]))))


# Between the input and its first weights each of these only moves values or is linear: the expected weights are exact.
LINEAR = {
    "flatten": chain(layers.Flatten, lambda: layers.Dense(3)),
    "flatten, channels first": chain(lambda: layers.Flatten(data_format="channels_first"), lambda: layers.Dense(3)),
    "permute": chain(lambda: layers.Permute((3, 2, 1)), layers.Flatten, lambda: layers.Dense(3)),
    "dense on each position": chain(lambda: layers.Dense(3), layers.GlobalAveragePooling2D),
    "a convolution": chain(lambda: layers.Conv2D(3, 2), layers.GlobalMaxPooling2D, lambda: layers.Dense(2)),
    "a transposed convolution": chain(lambda: layers.Conv2DTranspose(3, 2, strides=2), layers.GlobalMaxPooling2D),
    "separable": chain(lambda: layers.SeparableConv2D(4, 2, depth_multiplier=2), layers.GlobalMaxPooling2D),
    "einsum": chain(lambda: layers.EinsumDense("abcd,de->aeb", output_shape=(5, None))),
    "einsum over all": chain(lambda: layers.EinsumDense("abcd,bcde->ae", output_shape=5, bias_axes="e")),
    "pooled": chain(layers.GlobalAveragePooling2D, lambda: layers.Dense(3)),
    "steps": chain(lambda: layers.TimeDistributed(layers.Flatten()), lambda: layers.TimeDistributed(layers.Dense(2))),
    "convolution over time": chain(lambda: layers.TimeDistributed(layers.Conv1D(3, 2)), layers.GlobalMaxPooling2D),
    "concatenated": flat_parts,
    "ops": reshaped_by_ops,
    "nested": nested,
    "slices": sliced_and_stacked,
    "sums": split_sums,
    "tiled": tiled,
    "cropped": chain(lambda: layers.Cropping2D(((0, 1), (0, 0))), layers.Flatten, lambda: layers.Dense(2)),
    "upsampled": chain(lambda: layers.UpSampling2D(2), layers.Flatten, lambda: layers.Dense(2)),
}
CHANNELS = {"pad": (4, 4, 5), "slice": (4, 4, 2), "mean": (4, 4, 5), "repeat": (4, 4, 8)}


# Each model with padding and one of the others in turn: all policies share the code, and edits take time.
@pytest.mark.parametrize(
    ("name", "policy"),
    [
        pair
        for number, name in enumerate(LINEAR)
        for pair in ((name, "pad"), (name, ("repeat", "slice", "mean")[number % 3]))
    ],
)
def test_policy_determines_weights_of_new_channels(name, policy):
    model, shape = scrambled(LINEAR[name]((4, 4, 3))), CHANNELS[policy]

    new = ramet.edit(model, e.resize_input(shape, weights=policy))

    x = data(shape)
    np.testing.assert_allclose(
        ops.convert_to_numpy(new(x)),
        ops.convert_to_numpy(model(seen_by_the_old(x, policy, (4, 4, 3)))),
        rtol=2e-4,
        atol=2e-5,
    )


@pytest.mark.parametrize("policy", ["mean", "repeat"])
def test_channels_are_removed_by_mean_and_repeat(policy):
    model = scrambled(LINEAR["flatten"]((4, 4, 3)))

    new = ramet.edit(model, e.resize_input((4, 4, 2), weights=policy))

    x = data((4, 4, 2))
    expected = model(seen_by_the_old(x, policy, (4, 4, 3)))
    np.testing.assert_allclose(ops.convert_to_numpy(new(x)), ops.convert_to_numpy(expected), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", ["flatten", "einsum over all", "nested"])
@pytest.mark.parametrize(
    ("policy", "shape"),
    [("pad", (6, 4, 4)), ("slice", (2, 3, 1)), ("mean", (5, 6, 4)), ("repeat", (6, 2, 5))],
)
def test_several_axes_are_resized_at_once(name, policy, shape):
    model = scrambled(LINEAR[name]((4, 4, 3)))

    new = ramet.edit(model, e.resize_input(shape, weights=policy))

    x = data(shape)
    expected = model(seen_by_the_old(x, policy, (4, 4, 3)))
    np.testing.assert_allclose(ops.convert_to_numpy(new(x)), ops.convert_to_numpy(expected), rtol=2e-4, atol=2e-5)


SEQUENCES = {
    "lstm": lambda: layers.LSTM(4),
    "gru": lambda: layers.GRU(4, return_sequences=True),
    "simple": lambda: layers.SimpleRNN(4),
    "cell": lambda: layers.RNN(layers.GRUCell(4)),
    "stacked cells": lambda: layers.RNN(layers.StackedRNNCells([layers.LSTMCell(4), layers.LSTMCell(3)])),
    "a list of cells": lambda: layers.RNN([layers.LSTMCell(4), layers.GRUCell(3)]),
    "both ways": lambda: layers.Bidirectional(layers.LSTM(4, return_sequences=True), merge_mode="sum"),
    "dense": lambda: layers.Dense(4),
    "steps": lambda: layers.TimeDistributed(layers.Dense(4)),
    "einsum": lambda: layers.EinsumDense("...c,cd->...d", output_shape=4, bias_axes="d"),
    "separable": lambda: layers.SeparableConv1D(4, 2, depth_multiplier=2),
    "convolution": lambda: layers.Conv1D(4, 2),
}


def test_separable_convolution_is_resized_by_mean():
    model = scrambled(LINEAR["separable"]((4, 4, 3)))

    new = ramet.edit(model, e.resize_input((4, 4, 4), weights="mean"))

    for layer in (model.layers[0], new.layers[0]):
        assert [tuple(v.shape) for v in layer.weights][2] == (4,)
    (depth, point), (new_depth, new_point) = (
        [ops.convert_to_numpy(v) for v in one.layers[0].weights[:2]] for one in (model, new)
    )
    np.testing.assert_array_equal(new_depth[:, :, :3], depth)
    np.testing.assert_allclose(new_depth[:, :, 3], depth.mean(2), rtol=1e-5)
    np.testing.assert_array_equal(new_point[:, :, :6], point)
    np.testing.assert_allclose(new_point[:, :, 6:], point.reshape(1, 1, 3, 2, 4).mean(2), rtol=1e-5)


@pytest.mark.parametrize(
    ("name", "policy"),
    [(name, ("pad", "repeat", "slice", "mean")[number % 4]) for number, name in enumerate(SEQUENCES)]
    + [("lstm", "mean"), ("stacked cells", "mean"), ("both ways", "repeat")],
)
def test_features_of_a_sequence_are_resized(name, policy):
    model = scrambled(chain(SEQUENCES[name], layers.Flatten)((5, 3)))
    features = 2 if policy == "slice" else 5

    new = ramet.edit(model, e.resize_input((5, features), weights=policy))

    x = data((5, features))
    expected = model(seen_by_the_old(x, policy, (5, 3)))
    np.testing.assert_allclose(ops.convert_to_numpy(new(x)), ops.convert_to_numpy(expected), rtol=2e-4, atol=2e-5)


@pytest.mark.parametrize("name", ["lstm", "cell", "stacked cells", "both ways", "steps"])
def test_resized_recurrent_model_can_be_saved_and_trained(name, tmp_path):
    model = chain(SEQUENCES[name], layers.Flatten, lambda: layers.Dense(1))((5, 3))
    model.compile("adam", "mse")
    model.fit(data((5, 3)), np.zeros((2, 1), "float32"), verbose=0)

    new = ramet.edit(model, e.resize_input((5, 4), weights="pad"))

    new.save(tmp_path / "new.keras")
    x = data((5, 4))
    np.testing.assert_allclose(
        keras.models.load_model(tmp_path / "new.keras").predict(x, verbose=0), new.predict(x, verbose=0), rtol=1e-5
    )
    new.fit(x, np.zeros((2, 1), "float32"), verbose=0)


def test_convolution_over_time_and_space_is_resized():
    make = chain(lambda: layers.ConvLSTM2D(2, 2), layers.GlobalAveragePooling2D)
    model = scrambled(make((3, 4, 4, 2)))

    new = ramet.edit(model, e.resize_input((3, 4, 4, 4), weights="repeat"))

    x = data((3, 4, 4, 4))
    expected = model(seen_by_the_old(x, "repeat", (3, 4, 4, 2)))
    np.testing.assert_allclose(ops.convert_to_numpy(new(x)), ops.convert_to_numpy(expected), rtol=2e-4, atol=2e-5)


# Normalization and depthwise layers come before the first weights that combine channels: new channels change nothing.
NEW_CHANNELS_CHANGE_NOTHING = {
    "batch": layers.BatchNormalization,
    "batch, first axis": lambda: layers.BatchNormalization(axis=1),
    "normalization": layers.Normalization,
    "depthwise": lambda: layers.DepthwiseConv2D(2, depth_multiplier=2, padding="same"),
    "prelu": layers.PReLU,
    "shared prelu": lambda: layers.PReLU(shared_axes=[1, 2]),
    "relu": layers.ReLU,
    "pool": lambda: layers.MaxPooling2D(2),
    "lambda": lambda: layers.Lambda(lambda x: x * x),
    "rescaled": lambda: layers.Rescaling(0.5),
    "padded": lambda: layers.ZeroPadding2D(1),
}


@pytest.mark.parametrize("last", ["convolution", "flatten"])
@pytest.mark.parametrize("name", NEW_CHANNELS_CHANGE_NOTHING)
def test_padded_channels_do_not_change_the_outputs(name, last):
    tail = {
        "convolution": (lambda: layers.Conv2D(3, 2),),
        "flatten": (layers.Flatten, lambda: layers.Dense(3)),
    }[last]
    make = chain(NEW_CHANNELS_CHANGE_NOTHING[name], *tail)
    model = scrambled(make((4, 4, 3)))
    for variable in model.layers[0].weights:
        if "variance" in variable.name:
            variable.assign(ops.abs(variable) + 0.5)
    if isinstance(model.layers[0], layers.Normalization):
        model.layers[0].finalize_state()

    new = ramet.edit(model, e.resize_input((4, 4, 5), weights="pad"))

    x = data((4, 4, 5))
    y = ops.convert_to_numpy(new(x))
    assert np.isfinite(y).all()
    np.testing.assert_allclose(y, ops.convert_to_numpy(model(x[..., :3])), rtol=2e-4, atol=2e-5)
    for variable in new.layers[0].weights:  # as in a new layer: no variance of 0, no scale of 0
        if variable.name in ("moving_variance", "gamma", "variance") and tuple(variable.shape) == (5,):
            np.testing.assert_array_equal(ops.convert_to_numpy(variable)[3:], 1.0)


def test_statistics_follow_their_channels():
    model = scrambled(chain(layers.BatchNormalization, lambda: layers.Dense(2))((4, 3)))
    old = [ops.convert_to_numpy(v) for v in model.layers[0].weights]

    for policy, size in (("slice", 2), ("repeat", 5), ("mean", 5)):
        new = ramet.edit(model, e.resize_input((4, size), weights=policy))
        for before, variable in zip(old, new.layers[0].weights, strict=True):
            np.testing.assert_allclose(ops.convert_to_numpy(variable), matrix(policy, 3, size) @ before, rtol=1e-5)


def test_attention_over_padded_features_is_unchanged():
    def make(size):
        x = keras.Input((4, size), name="x")
        y = layers.MultiHeadAttention(2, 3, name="attention")(x, x)
        return keras.Model(x, layers.Dense(2, name="head")(layers.Add()([x, y])))

    model = scrambled(make(3))

    new = ramet.edit(model, e.resize_input((4, 5), weights="pad"))

    x = data((4, 5))
    np.testing.assert_allclose(
        ops.convert_to_numpy(new(x)), ops.convert_to_numpy(model(x[..., :3])), rtol=2e-4, atol=2e-5
    )


def test_shared_layer_is_fitted_once():
    def make(size):
        x, y = keras.Input((size,), name="x"), keras.Input((size,), name="y")
        shared = layers.Dense(2, name="shared")
        return keras.Model([x, y], layers.Add()([shared(x), shared(y)]))

    model = scrambled(make(3))

    new = ramet.edit(
        model, e.resize_input((5,), input="x", weights="pad"), e.resize_input((5,), input="y", weights="pad")
    )

    x, y = data((5,)), data((5,)) + 1
    expected = model([x[:, :3], y[:, :3]])
    np.testing.assert_allclose(ops.convert_to_numpy(new([x, y])), ops.convert_to_numpy(expected), rtol=2e-4, atol=2e-5)
    with pytest.raises(ramet.errors.WeightsDoNotFitError, match="called several times"):
        ramet.edit(model, e.resize_input((5,), input="x", weights="pad"))


def test_channels_of_many_branches_stay_where_other_axes_are_resized():
    x = keras.Input((8, 8, 3), name="x")
    branches = [layers.Conv2D(80, 1, name=f"branch_{number}")(x) for number in range(4)]
    y = layers.Conv2D(2, 1, name="after")(layers.Concatenate(name="join")(branches))
    model = scrambled(keras.Model(x, layers.GlobalAveragePooling2D(name="pool")(y), name="m"))

    new = ramet.edit(model, e.resize_input((12, 12, 3)))

    x = data((8, 8, 3))
    tiled = np.pad(x, ((0, 0), (0, 4), (0, 4), (0, 0)), mode="edge")
    expected = model.get_layer("after")(ops.concatenate([model.get_layer(f"branch_{n}")(tiled) for n in range(4)], -1))
    np.testing.assert_allclose(
        ops.convert_to_numpy(new(tiled)), ops.convert_to_numpy(ops.mean(expected, (1, 2))), rtol=2e-4, atol=2e-5
    )


@pytest.mark.parametrize("is_nested", [False, True])
def test_fresh_weights_inside_a_shared_model_are_refused_if_another_call_needs_the_old_ones(is_nested):
    inside = keras.Input((3,), name="inside")
    block = keras.Model(inside, _custom()(inside), name="block")
    x, y = keras.Input((3,), name="x"), keras.Input((3,), name="y")
    other = keras.Input((3,), name="other")
    around = keras.Model(other, block(other), name="around") if is_nested else block
    model = keras.Model([x, y], layers.Add(name="sum")([block(x), around(y)]), name="m")

    with pytest.raises(ramet.errors.WeightsDoNotFitError, match="give each call a layer of its own first"):
        ramet.edit(model, e.resize_input((5,), input="x", weights="fresh"))


# Cases without a right answer are refused with path, reason and fix.


def _custom():
    class Own(layers.Layer):
        def build(self, shape):
            self.w = self.add_weight(shape=(shape[-1], 2), name="w")

        def call(self, x):
            return ops.matmul(x, self.w)

    return Own(name="own")


REFUSED = {
    "convolution before flatten": (
        chain(lambda: layers.Conv2D(2, 2, name="c"), layers.Flatten, lambda: layers.Dense(2, name="d")),
        (6, 6, 3),
        "pad",
        "d/kernel",
    ),
    "pooling before flatten": (
        chain(lambda: layers.MaxPooling2D(2), layers.Flatten, lambda: layers.Dense(2, name="d")),
        (6, 6, 3),
        "slice",
        "d/kernel",
    ),
    "recurrent before flatten": (
        chain(
            lambda: layers.Reshape((-1, 3)),
            lambda: layers.LSTM(2, return_sequences=True),
            layers.Flatten,
            lambda: layers.Dense(2, name="d"),
        ),
        (6, 4, 3),
        "pad",
        "d/kernel",
    ),
    "groups": (
        chain(lambda: layers.Conv2D(6, 2, groups=3, name="c"), layers.GlobalMaxPooling2D),
        (4, 4, 6),
        "pad",
        "c/kernel",
    ),
    "layer normalization": (
        chain(lambda: layers.LayerNormalization(name="n"), lambda: layers.Dense(2)),
        (4, 4, 5),
        "pad",
        "n/gamma",
    ),
    "softmax over channels": (
        chain(lambda: layers.Softmax(name="s"), lambda: layers.Dense(2)),
        (4, 4, 5),
        "pad",
        "s",
    ),
    "a mean over channels": (
        chain(lambda: layers.Lambda(lambda x: ops.mean(x, axis=-1), name="s"), layers.Flatten, lambda: layers.Dense(2)),
        (4, 4, 5),
        "pad",
        "s",
    ),
    "the last channels": (
        chain(lambda: layers.Lambda(lambda x: x[..., -2:]), lambda: layers.Dense(2, name="d")),
        (4, 4, 5),
        "pad",
        "d/kernel",
    ),
    "a class of one's own": (chain(_custom), (4, 4, 5), "pad", "own"),
    "as many values in another order": (
        chain(layers.Flatten, lambda: layers.Dense(2, name="d")),
        (2, 8, 3),
        "refuse",
        "d/kernel",
    ),
    "a convolution with as many values": (
        chain(lambda: layers.Conv2D(2, 1, strides=2, name="c"), layers.Flatten, lambda: layers.Dense(2, name="d")),
        (2, 8, 3),
        "pad",
        "d/kernel",
    ),
    "a target shape in numbers": (
        chain(lambda: layers.Lambda(lambda x: ops.reshape(x, (-1, 48))), lambda: layers.Dense(2, name="d")),
        (4, 4, 6),
        "pad",
        "d/kernel",
    ),
    "folded into the batch": (
        chain(lambda: layers.Lambda(lambda x: ops.reshape(x, (-1, 6))), lambda: layers.Dense(2, name="d")),
        (4, 4, 6),
        "pad",
        "d/kernel",
    ),
}


@pytest.mark.parametrize("name", REFUSED)
def test_layer_that_cannot_be_followed_is_refused(name, recwarn):
    make, shape, policy, path = REFUSED[name]
    model = make((4, 4, 3))

    with pytest.raises(ramet.errors.WeightsDoNotFitError) as caught:
        ramet.edit(model, e.resize_input(shape, weights=policy))

    assert caught.value.path == path
    assert caught.value.fix
    assert not [str(w.message) for w in recwarn if "__array__" not in str(w.message)]


@pytest.mark.parametrize(
    "name", ["convolution before flatten", "groups", "layer normalization", "a class of one's own"]
)
def test_fresh_weights_are_always_possible(name):
    make, shape, _, _ = REFUSED[name]

    new = ramet.edit(make((4, 4, 3)), e.resize_input(shape, weights="fresh"))

    assert new(data(shape)).shape == make(shape)(data(shape)).shape


def test_slots_follow_their_channels():
    """Check that a training step on zeros in the padded channels is the step of the old model."""
    make = chain(layers.Flatten, lambda: layers.Dense(3, name="d"))
    model = make((2, 2, 3))
    model.compile(keras.optimizers.Adam(0.1), "mse", run_eagerly=True)
    x, y = data((2, 2, 3)), data((3,))
    model.fit(x, y, verbose=0)

    new = ramet.edit(model, e.resize_input((2, 2, 5), weights="pad"))

    for one, inputs in ((model, x), (new, np.pad(x, ((0, 0), (0, 0), (0, 0), (0, 2))))):
        one.fit(inputs, y, verbose=0)
    ours, theirs = (ops.convert_to_numpy(one.get_layer("d").kernel).reshape(2, 2, -1, 3) for one in (new, model))
    np.testing.assert_allclose(ours[:, :, :3], theirs, rtol=1e-5, atol=1e-6)


def test_names_of_inputs_are_kept():
    model = keras.Sequential([keras.Input((4, 3)), layers.Conv1D(2, 2)])
    layer, tensor = model.inputs[0]._keras_history.operation.name, model.inputs[0].name

    new = ramet.edit(model, e.resize_input((6, 3)), seed=1)

    assert (new.inputs[0]._keras_history.operation.name, new.inputs[0].name) == (layer, tensor)


def test_names_of_several_inputs_and_nested_models_are_kept():
    def make(size):
        inner_in = keras.Input((size, 3))
        inner = keras.Model(inner_in, layers.GlobalAveragePooling1D()(inner_in), name="inner")
        a, b = keras.Input((size, 3)), keras.Input((3,), name="b")
        return keras.Model({"a": a, "b": b}, layers.Add()([inner(a), b]))

    with pytest.warns(UserWarning, match="all keys in the dict must match"):
        model = make(4)
    names = [layer.name for layer in model.layers]
    inner_names = [layer.name for layer in model.get_layer("inner").layers]
    first = model.inputs[0]._keras_history.operation.name

    new = ramet.edit(model, e.resize_input((6, 3), input=first))

    assert [layer.name for layer in new.layers] == names
    assert [layer.name for layer in new.get_layer("inner").layers] == inner_names
    assert new.get_layer("b").output.shape == (None, 3)
