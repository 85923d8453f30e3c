"""Models of Keras 3, ported to tf_keras: loaded by tf_keras in a process of its own, and compared by their outputs."""

import inspect
import json
import os
import subprocess
import sys
import traceback
from importlib.util import find_spec

import keras
import numpy as np
import pytest
from keras import layers, ops

import ramet
from ramet._port.notes import Notes
from ramet._port.placement import Arrays, Values
from ramet._port.releases import known_versions, release_of
from ramet._port.settings import hard_sigmoid
from ramet._port.to_keras_2 import keras_2_compile, keras_2_config
from ramet._port.to_keras_2_classes import COMMON, LAYERS, OBJECTS
from ramet._port.to_keras_2_weights import archive_config, check_weights

pytestmark = [
    pytest.mark.skipif(keras.backend.backend() != "tensorflow", reason="tf_keras and Keras are compared on TensorFlow"),
    pytest.mark.skipif(find_spec("tf_keras") is None, reason="tf_keras loads the files: `pip install tf_keras`"),
    pytest.mark.filterwarnings("ignore"),
]

VECTOR, SERIES, IMAGE, VOLUME = (5,), (6, 4), (9, 8, 4), (4, 6, 6, 2)
ALL = {"kernel_regularizer": "l2", "bias_constraint": "max_norm", "kernel_initializer": "he_normal"}


def data(*shapes):
    rng = np.random.default_rng(0)
    return [rng.uniform(-2, 2, (3, *shape)).astype("float32") for shape in shapes]


def one(make, shape=VECTOR, dtype="float32", given=None):
    def build():
        values = data(shape) if given is None else [np.asarray(given)]
        if dtype == "int32" and given is None:
            values = [np.arange(3 * np.prod(shape)).reshape(3, *shape).astype("int32") % 7]
        x = keras.Input(shape, dtype=dtype, name="x")
        return keras.Model(x, make()(x), name="net"), values

    return build


def graph(*shapes):
    """Return a decorator that makes a model of a function from inputs to outputs."""

    def decorate(function):
        def build():
            inputs = [keras.Input(shape, name=f"x{number}") for number, shape in enumerate(shapes)]
            return keras.Model(inputs, function(*inputs), name="net"), data(*shapes)

        CASES[function.__name__] = build
        return function

    return decorate


# Settings other than the defaults, as far as a class has them.
SETTINGS = {
    VECTOR: {
        "Activation": [{"activation": "gelu"}, {"activation": "silu"}],
        "ActivityRegularization": [{"l1": 0.1}],
        "AlphaDropout": [{"rate": 0.2, "seed": 1}],
        "BatchNormalization": [
            {},
            {"center": False, "epsilon": 0.1, "momentum": 0.5},
            {"scale": False, "trainable": False},
        ],
        "Dense": [
            {"units": 3, "activation": "selu", **ALL},
            {"units": 3, "activation": "leaky_relu", "use_bias": False},
            {"units": 3, "activation": "relu6"},
        ],
        "Dropout": [{"rate": 0.2, "noise_shape": (None, 1), "seed": 3}],
        "ELU": [{"alpha": 0.5}],
        "Flatten": [{}],
        "GaussianDropout": [{"rate": 0.2}],
        "GaussianNoise": [{"stddev": 0.2}],
        "Identity": [{}],
        "LayerNormalization": [{}, {"epsilon": 0.1, "scale": False}],
        "LeakyReLU": [{"negative_slope": 0.2}, {}],
        "Masking": [{"mask_value": 1.0}],
        "Normalization": [
            {"mean": 1.0, "variance": 2.0},
            {"mean": [1.0, 2, 3, 4, 5], "variance": [1.0] * 5, "invert": True},
        ],
        "PReLU": [{"alpha_initializer": "ones"}],
        "ReLU": [{"max_value": 0.5}, {"negative_slope": 0.3, "threshold": 0.4}, {"threshold": 0.5}],
        "RepeatVector": [{"n": 3}],
        "Rescaling": [{"scale": 0.5, "offset": 1.0}],
        "Reshape": [{"target_shape": (5, 1)}, {"target_shape": (-1,)}],
        "Softmax": [{"axis": 1}],
        "UnitNormalization": [{}],
        "Discretization": [{"bin_boundaries": [-0.5, 0.0, 0.5]}],
    },
    IMAGE: {
        "AveragePooling2D": [{"pool_size": 2}, {"pool_size": 3, "strides": 2, "padding": "same"}],
        "CenterCrop": [{"height": 4, "width": 5}, {"height": 12, "width": 10}],
        "Conv2D": [
            {"filters": 4, "kernel_size": 3, "padding": "same", "groups": 2, "activation": "tanh"},
            {"filters": 3, "kernel_size": (2, 3), "dilation_rate": 2, "use_bias": False},
        ],
        "Conv2DTranspose": [
            {"filters": 3, "kernel_size": 3, "strides": 2},
            {"filters": 3, "kernel_size": 3, "strides": 2, "padding": "same", "output_padding": 1},
            {"filters": 3, "kernel_size": 2, "strides": 3, "padding": "same"},
        ],
        "Cropping2D": [{"cropping": ((1, 2), (0, 1))}],
        "DepthwiseConv2D": [{"kernel_size": 3, "depth_multiplier": 2, "padding": "same"}],
        "GlobalAveragePooling2D": [{"keepdims": True}],
        "GlobalMaxPooling2D": [{}],
        "GroupNormalization": [{"groups": 2}],
        "ConvLSTM1D": [{"filters": 2, "kernel_size": 3, "return_sequences": True, "activation": "relu"}],
        "MaxPooling2D": [{"pool_size": 3, "padding": "same"}],
        "Permute": [{"dims": (3, 1, 2)}],
        "RandomBrightness": [{"factor": 0.2}],
        "RandomContrast": [{"factor": 0.2}],
        "RandomFlip": [{"mode": "horizontal", "seed": 2}],
        "RandomRotation": [{"factor": 0.2, "fill_mode": "nearest"}],
        "RandomTranslation": [{"height_factor": 0.2, "width_factor": (-0.1, 0.2)}],
        "RandomZoom": [{"height_factor": 0.2}],
        "Resizing": [
            {"height": 4, "width": 6},
            {"height": 13, "width": 5, "interpolation": "nearest"},
            {"height": 4, "width": 4, "interpolation": "bicubic", "crop_to_aspect_ratio": True},
        ],
        "SeparableConv2D": [{"filters": 3, "kernel_size": 3, "depth_multiplier": 2, "strides": 2}],
        "SpatialDropout2D": [{"rate": 0.2}],
        "UpSampling2D": [{"interpolation": "bilinear", "size": (2, 3)}],
        "ZeroPadding2D": [{"padding": ((1, 0), (2, 1))}],
    },
    SERIES: {
        "AveragePooling1D": [{"pool_size": 2, "padding": "same"}],
        "Conv1D": [{"filters": 3, "kernel_size": 3, "padding": "causal", "dilation_rate": 2}],
        "Conv1DTranspose": [{"filters": 3, "kernel_size": 3, "strides": 2, "padding": "same"}],
        "Cropping1D": [{"cropping": (1, 2)}],
        "DepthwiseConv1D": [{"kernel_size": 3, "depth_multiplier": 2}],
        "EinsumDense": [{"equation": "abc,cd->abd", "output_shape": (None, 3), "bias_axes": "d", "activation": "relu"}],
        "GRU": [
            {"units": 3, "return_sequences": True, "reset_after": False},
            {"units": 3, "unroll": True, "recurrent_activation": "tanh", "use_cudnn": False},
        ],
        "GlobalAveragePooling1D": [{}],
        "GlobalMaxPooling1D": [{"keepdims": True}],
        "LSTM": [
            {"units": 3, "go_backwards": True, "return_sequences": True},
            {"units": 2, "use_bias": False, "activation": "relu", "dropout": 0.1, "recurrent_dropout": 0.2, "seed": 3},
        ],
        "MaxPooling1D": [{}],
        "SeparableConv1D": [{"filters": 3, "kernel_size": 3, "pointwise_regularizer": "l1"}],
        "SimpleRNN": [{"units": 3, "activation": "relu6"}, {"units": 3, "seed": 5, "dropout": 0.1}],
        "SpatialDropout1D": [{"rate": 0.2}],
        "UpSampling1D": [{"size": 3}],
        "ZeroPadding1D": [{"padding": (1, 2)}],
    },
    VOLUME: {
        "AveragePooling3D": [{"pool_size": 2}],
        "Conv3D": [{"filters": 3, "kernel_size": 2, "strides": 2}],
        "Conv3DTranspose": [{"filters": 3, "kernel_size": 2, "strides": 2}],
        "ConvLSTM2D": [{"filters": 2, "kernel_size": 3, "recurrent_activation": "sigmoid", "padding": "same"}],
        "Cropping3D": [{}],
        "GlobalAveragePooling3D": [{}],
        "GlobalMaxPooling3D": [{}],
        "MaxPooling3D": [{}],
        "SpatialDropout3D": [{"rate": 0.2}],
        "UpSampling3D": [{}],
        "ZeroPadding3D": [{"padding": (1, 2, 1)}],
    },
    (3, 4, 4, 4, 2): {"ConvLSTM3D": [{"filters": 2, "kernel_size": 3}]},
}

CASES = {
    f"{name}_{number}": one(lambda name=name, given=given: getattr(layers, name)(name="it", **given), shape)
    for shape, settings in SETTINGS.items()
    for name, cases in settings.items()
    for number, given in enumerate(cases)
}
for _merge in ("Add", "Average", "Concatenate", "Maximum", "Minimum", "Multiply", "Subtract"):
    graph(VECTOR, VECTOR)(type(_merge, (), {"__new__": lambda _, x, y, m=_merge: getattr(layers, m)()([x, y])}))
CASES |= {
    "Embedding": one(lambda: layers.Embedding(9, 3, embeddings_constraint="unit_norm"), (4,), "int32"),
    "CategoryEncoding": one(lambda: layers.CategoryEncoding(7, output_mode="multi_hot"), (4,), "int32"),
    "Hashing": one(lambda: layers.Hashing(5, salt=3), (4,), "int32"),
    "IntegerLookup": one(lambda: layers.IntegerLookup(vocabulary=[3, 5, 6], num_oov_indices=2), (4,), "int32"),
    "StringLookup": one(
        lambda: layers.StringLookup(vocabulary=["a", "b"], output_mode="multi_hot"), (2,), "string", [["a", "c"]] * 3
    ),
    "TextVectorization": one(
        lambda: layers.TextVectorization(vocabulary=["one", "two"], output_sequence_length=4),
        (1,),
        "string",
        [["One two!"], ["two three"], [""]],
    ),
}
ACTIVATIONS = [
    *("elu", "exponential", "gelu", "hard_sigmoid", "hard_silu", "hard_tanh", "leaky_relu", "linear", "log_sigmoid"),
    *("log_softmax", "mish", "relu", "relu6", "selu", "sigmoid", "silu", "softmax", "softplus", "softsign"),
    *("squareplus", "tanh", "tanh_shrink"),
]


@graph(VECTOR)
def activations(x):
    return [layers.Activation(kind)(x) for kind in ACTIVATIONS]


@graph(SERIES, SERIES)
def arithmetic(x, y):
    return [
        *(
            x + y,
            x - y,
            x * y,
            x / y,
            x // y,
            x % y,
            -x,
            2.0 - x,
            3 * x,
            1 / (y + 3),
            abs(x) ** 2.0,
            x @ ops.swapaxes(y, 1, 2),
        ),
        *(ops.maximum(x, y), ops.minimum(x, 0.5), ops.arctan2(x, y), ops.divide_no_nan(x, y), ops.sign(x)),
        *(x + np.arange(4, dtype="float32"), ops.subtract(np.ones(4, "float32"), x), ops.power(2.0, x)),
    ]


@graph(SERIES, SERIES)
def comparisons(x, y):
    both = [x > y, x >= y, x < y, x <= y, ops.equal(x, y), ops.not_equal(x, y), ops.greater(0.5, x), ops.isnan(x)]
    both += [ops.logical_and(x > 0, y > 0), ops.logical_or(x > 0, y > 0), ops.logical_xor(x > 0, y > 0)]
    both += [ops.logical_not(x > 0), ops.any(x > 1, axis=-1), ops.all(x > -1, axis=1, keepdims=True)]
    return [*(ops.cast(item, "float32") for item in both), ops.where(x > y, x, 0.0), ops.where(x > 0, 1, y)]


@graph(SERIES)
def unary_functions(x):
    names = (
        "abs exp expm1 sqrt square sin cos tan sinh cosh tanh arctan arcsinh floor ceil round negative reciprocal erf"
    )
    made = [getattr(ops, name)(ops.abs(x) + 0.1 if name == "sqrt" else x) for name in names.split()]
    made += [
        ops.log(ops.abs(x) + 1),
        ops.log1p(ops.abs(x)),
        ops.rsqrt(ops.abs(x) + 1),
        ops.arcsin(x / 3),
        ops.arccos(x / 3),
    ]
    names = (
        "relu relu6 sigmoid softplus softsign silu selu elu log_sigmoid hard_sigmoid hard_silu hard_tanh tanh_shrink"
    )
    made += [getattr(ops, name)(x) for name in names.split()]
    made += [ops.gelu(x), ops.gelu(x, approximate=False), ops.leaky_relu(x, 0.3), ops.softmax(x, 1), ops.log_softmax(x)]
    return [*made, ops.squareplus(x), ops.clip(x, -0.5, 1), ops.normalize(x, axis=-1), ops.stop_gradient(x) * 2.0]


@graph(SERIES)
def reductions(x):
    made = [getattr(ops, name)(x, axis=1) for name in ("sum", "mean", "max", "min", "prod", "std", "var", "logsumexp")]
    made += [ops.sum(x, axis=(1, 2)), ops.mean(x, axis=-1, keepdims=True), ops.norm(x, axis=-1), ops.cumsum(x, axis=1)]
    made += [ops.argmax(x, axis=-1), ops.argmin(x, axis=1, keepdims=True), *ops.top_k(x, 2)]
    return [*made, ops.sum(ops.cast(x > 0, "int32"), axis=1), ops.mean(ops.cast(x, "int32"), axis=1)]


@graph(SERIES, SERIES)
def shapes(x, y):
    made = [ops.reshape(x, (-1, 24)), ops.reshape(x, (-1, 2, 3, 4)), ops.transpose(x, (0, 2, 1)), ops.swapaxes(x, 1, 2)]
    made += [ops.moveaxis(x, 1, -1), ops.expand_dims(x, 1), ops.expand_dims(x, (1, -1)), ops.squeeze(x[:, :1], 1)]
    made += [
        ops.squeeze(x[:, :1]),
        ops.concatenate([x, y], axis=1),
        ops.stack([x, y], axis=-1),
        *ops.split(x, 2, axis=1),
    ]
    made += [*ops.split(x, [1, 3], axis=2), *ops.unstack(x, axis=2), ops.tile(x, (1, 2, 1)), ops.repeat(x, 2, axis=1)]
    made += [
        ops.flip(x, axis=1),
        ops.roll(x, 2, axis=1),
        ops.pad(x, ((0, 0), (1, 2), (0, 1))),
        ops.take(x, [0, 2], axis=1),
    ]
    made += [
        ops.pad(x, ((0, 0), (1, 2), (0, 0)), mode="reflect"),
        ops.pad(x, ((0, 0), (1, 2), (0, 0)), constant_values=2.0),
    ]
    made += [ops.tensordot(x, y, axes=((2,), (2,))), ops.matmul(x, ops.transpose(y, (0, 2, 1))), ops.zeros_like(x)]
    return [*made, ops.one_hot(ops.argmax(x, axis=-1), 4), ops.ones_like(x)]


@graph(SERIES)
def slices(x):
    return [x[:, 0], x[:, -1, :2], x[..., 1], x[..., ::2], x[:, None, 1:], x[:, ::-1, 1:3], x[:, 1:-1, None]]


@graph(VECTOR)
def mixed_dtypes(x):
    count = ops.cast(x, "int32")
    return [
        x * count,
        count + 2,
        count / 2,
        count + 1.5,
        ops.exp(count),
        ops.cast(x > 0, "float32") * count,
        count * 3 // 2,
    ]


@graph(IMAGE)
def images(x):
    return [ops.image.resize(x, (4, 5)), ops.image.resize(x, (12, 5), interpolation="nearest")]


@graph(SERIES, SERIES)
def dots(x, y):
    return [layers.Dot(axes=2, normalize=True)([x, y]), layers.Dot(axes=(1, 1))([x, y])]


@graph(SERIES, SERIES)
def attention(x, z):
    y = layers.MultiHeadAttention(2, 3, value_dim=2, dropout=0.1, name="mha")(x, z, use_causal_mask=True)
    y = layers.LayerNormalization()(layers.Add()([x, y]))
    y, scores = layers.MultiHeadAttention(2, 3, use_bias=False, output_shape=4)(
        query=y, value=x, key=z, return_attention_scores=True
    )
    z = layers.Attention(use_scale=True, score_mode="concat")([y, x])
    return [y, z, scores, layers.AdditiveAttention()([z, x]), layers.Attention()([x, z, y], use_causal_mask=True)]


@graph(SERIES)
def cells(x):
    y = layers.RNN([layers.LSTMCell(3), layers.GRUCell(4), layers.LSTMCell(2)], return_sequences=True)(x)
    y = layers.Bidirectional(layers.RNN(layers.SimpleRNNCell(2), return_sequences=True), merge_mode="sum")(y)
    z = layers.Bidirectional(layers.LSTM(2, name="there"), backward_layer=layers.GRU(3, go_backwards=True), name="two")(
        y
    )
    return [y, z, layers.TimeDistributed(layers.Dense(3, activation="relu"))(y)]


@graph(SERIES, VECTOR)
def states(x, start):
    start = layers.Dense(3)(start)
    y, *state = layers.LSTM(3, return_sequences=True, return_state=True)(x, initial_state=[start, start])
    both, *more = layers.Bidirectional(layers.GRU(3, return_state=True))(y, initial_state=[state[0], state[1]])
    return [both, *more, layers.GRU(3)(y, initial_state=state[1])]


@graph(VECTOR, VECTOR)
def nested_and_shared(x, y):
    inner_x = keras.Input(VECTOR, name="inner_x")
    inner = keras.Model(inner_x, layers.Dense(5, activation="tanh")(layers.Dense(4)(inner_x)) * 2.0, name="inner")
    tail = keras.Sequential([keras.Input(VECTOR), layers.Dense(3), layers.BatchNormalization(), layers.LeakyReLU()])
    shared = layers.Dense(5, name="shared")
    once = inner(x)
    return [tail(inner(once)), tail(shared(y)), shared(once), layers.Dense(2)(tail(y)), inner(y) + once]


@graph(VECTOR)
def frozen_inside(x):
    frozen = keras.Sequential([keras.Input(VECTOR), layers.Dense(4), layers.BatchNormalization(), layers.Dense(5)])
    frozen.trainable = False
    part = keras.Sequential([keras.Input(VECTOR), layers.Dense(4), layers.BatchNormalization(), layers.Dense(5)])
    part.layers[1].trainable = False
    outer_x = keras.Input(VECTOR)
    outer = keras.Model(outer_x, layers.BatchNormalization()(part(frozen(outer_x))), name="outer")
    again_x = keras.Input(VECTOR)
    again = keras.Model(again_x, layers.Dense(2)(layers.BatchNormalization(trainable=False)(again_x)), name="again")
    again.trainable = False
    return again(outer(x))


@graph(VECTOR)
def dict_of_outputs(x):
    return {"b": layers.Dense(2, name="right")(x), "a": layers.Dense(3, name="left")(x)}


def sequential():
    stack = [layers.Conv2D(4, 3, activation="relu"), layers.MaxPooling2D(), layers.Dropout(0.3), layers.Flatten()]
    return keras.Sequential([keras.Input(IMAGE), *stack, layers.Dense(3), layers.Softmax()], name="net"), data(IMAGE)


def sequential_without_input():
    model = keras.Sequential([layers.Dense(4), layers.Dense(2)])
    model.build((None, 5))
    return model, data(VECTOR)


def several_inputs_as_dict():
    given = {"right": keras.Input(VECTOR, name="right"), "left": keras.Input(VECTOR, name="left")}
    model = keras.Model(given, layers.Concatenate()([layers.Dense(2)(given["left"]), given["right"]]))
    left, right = data(VECTOR, VECTOR)
    return model, {"left": left, "right": right}


def masked():
    x = keras.Input((7,), dtype="int32", name="x")
    y = layers.Embedding(9, 4, mask_zero=True)(x)
    y = layers.Dropout(0.1)(layers.Bidirectional(layers.LSTM(3, return_sequences=True))(y))
    y = layers.TimeDistributed(layers.Dense(4))(y)
    z = layers.Add()([y, layers.LSTM(4, return_sequences=True)(y)])
    given = np.array([[1, 2, 3, 0, 0, 0, 0], [4, 5, 6, 7, 8, 0, 0]], "int32")
    attended = layers.MultiHeadAttention(2, 3)(z, z)
    return keras.Model(x, [layers.GRU(2)(z), layers.GlobalAveragePooling1D()(y), layers.LSTM(2)(attended)]), [given]


def masks_that_differ():
    """Layers that combine masks, or pass them on, by other rules than in Keras 2."""
    x, y = keras.Input((7,), dtype="int32", name="x"), keras.Input((7,), dtype="int32", name="y")
    one, two = (layers.Embedding(9, 4, mask_zero=True)(given) for given in (x, y))
    outputs = [
        layers.LSTM(2)(layers.Add()([one, two])),
        layers.LSTM(2)(layers.Concatenate()([one, two])),
        layers.LSTM(2)(layers.Rescaling(2.0)(one)),
    ]
    given = [[1, 2, 3, 0, 0, 0, 0], [4, 5, 6, 7, 8, 0, 0]], [[3, 0, 3, 0, 2, 0, 0], [4, 0, 0, 0, 0, 0, 0]]
    return keras.Model([x, y], outputs), [np.asarray(values, "int32") for values in given]


def ported_from_keras_2():
    """A model with the activation that porting from Keras 2 creates for its hard sigmoid."""
    x = keras.Input(SERIES, name="x")
    config = layers.LSTM(3).get_config() | {"recurrent_activation": hard_sigmoid()}
    dense = layers.Dense.from_config(layers.Dense(2).get_config() | {"activation": hard_sigmoid()})
    return keras.Model(x, dense(layers.LSTM.from_config(config)(x))), data(SERIES)


def adapted():
    layer = layers.Normalization(axis=-1)
    layer.adapt(data(VECTOR)[0])
    bins = layers.Discretization(num_bins=3)
    bins.adapt(data(VECTOR)[0])
    x = keras.Input(VECTOR, name="x")
    return keras.Model(x, [layer(x), bins(x)]), data(VECTOR)


def adapted_to_words():
    lines = ["a b c a", "b b d e", "\u00e4 c"]
    text = layers.TextVectorization(output_sequence_length=4)
    counts = layers.TextVectorization(output_mode="count", max_tokens=5, pad_to_max_tokens=True)
    words = layers.StringLookup(mask_token="", num_oov_indices=2)
    inner = keras.Sequential([keras.Input((1,), dtype="string"), layers.StringLookup(output_mode="multi_hot")])
    for layer, seen in ((text, lines), (counts, lines), (words, lines), (inner.layers[0], ["c", "a"])):
        layer.adapt(seen)
    x = keras.Input((1,), dtype="string", name="x")
    ids = layers.IntegerLookup()
    ids.adapt(np.asarray([1, 2, 2, 4]))
    found = text(x)
    return keras.Model(x, [found, counts(x), words(x), inner(x), ids(found)]), [
        np.asarray([["b a f"], ["c"], ["\u00e4"]])
    ]


def many_layers():
    """So many names that they do not fit into one attribute."""
    stack = [layers.Dense(1, name=f"{'long_' * 150}{number}") for number in range(120)]
    return keras.Sequential([keras.Input((1,)), *stack]), data((1,))


def policy(name):
    def build():
        x = keras.Input(IMAGE, name="x")
        y = layers.Conv2D(3, 3, dtype=name)(x)
        return keras.Model(x, layers.Dense(2, dtype="float32")(layers.Flatten(dtype=name)(y))), data(IMAGE)

    return build


def compiled(optimizer, loss="mse", metrics=("mae",)):
    def build():
        x = keras.Input(VECTOR, name="x")
        model = keras.Model(x, layers.Dense(1)(layers.BatchNormalization()(layers.Dense(4)(x))), name="net")
        model.compile(
            optimizer(), loss() if callable(loss) else loss, metrics=[m() if callable(m) else m for m in metrics]
        )
        given = data(VECTOR)
        model.train_on_batch(given[0], given[0][:, :1])
        return model, given

    return build


_optimizers, _schedules = keras.optimizers, keras.optimizers.schedules
COMPILED = {
    "compiled_adam": compiled(lambda: _optimizers.Adam(0.01, amsgrad=True, clipnorm=1.0), metrics=["mae", "accuracy"]),
    "compiled_sgd": compiled(lambda: _optimizers.SGD(0.1, momentum=0.9, nesterov=True, weight_decay=0.01)),
    "compiled_schedule": compiled(
        lambda: _optimizers.RMSprop(_schedules.CosineDecay(0.01, 10, warmup_target=0.1, warmup_steps=3), rho=0.8),
        keras.losses.Huber,  # without a delta, which Keras does not save
        [lambda: keras.metrics.MeanSquaredError(name="error")],
    ),
    "compiled_lion": compiled(lambda: _optimizers.Lion(0.01), "mae", [keras.metrics.RootMeanSquaredError]),
}
CASES |= {
    "sequential": sequential,
    "sequential_without_input": sequential_without_input,
    "several_inputs_as_dict": several_inputs_as_dict,
    "masked": masked,
    "masks_that_differ": masks_that_differ,
    "ported_from_keras_2": ported_from_keras_2,
    "adapted": adapted,
    "adapted_to_words": adapted_to_words,
    "many_layers": many_layers,
    "mixed_bfloat16": policy("mixed_bfloat16"),
    **COMPILED,
}
LIMITS = {"mixed_bfloat16": 0.02}
WITHOUT_ARCHIVE = {"many_layers"}


# The answers of tf_keras.


def load_with_tf_keras():
    """Load model files and call them; this runs in a process of its own."""
    import json
    import sys
    import traceback
    from pathlib import Path

    import numpy as np
    import tf_keras

    request = json.loads(Path(sys.argv[1]).read_text())
    answers = {}
    for name, path, inputs in request["jobs"]:
        arrays = {}
        tf_keras.backend.clear_session()
        try:
            model = tf_keras.models.load_model(path)
            with np.load(inputs, allow_pickle=False) as found:
                given = {key: found[key] for key in found.files}
            if set(given) == {str(number) for number in range(len(given))}:
                given = [given[str(number)] for number in range(len(given))]
                given = given if len(given) > 1 else given[0]
            if getattr(given, "dtype", None) is not None and given.dtype.kind == "U":
                import tensorflow as tf

                given = tf.constant(given)
            result = model(given, training=False)
            result = result if isinstance(result, dict | list | tuple) else [result]
            result = [result[key] for key in sorted(result)] if isinstance(result, dict) else list(result)
            arrays = {f"{number:03}": np.asarray(item) for number, item in enumerate(result)}
            arrays = {key: item.astype("float32") if item.dtype.kind == "V" else item for key, item in arrays.items()}
            answers[name] = {"names": [layer.name for layer in model.layers]}
            if model.optimizer is not None:
                evaluated = model.evaluate(given, given[:, :1], verbose=0, return_dict=True)
                trained = model.train_on_batch(given, given[:, :1])
                answers[name] |= {"evaluated": evaluated, "trained": str(trained)}
                config = model.optimizer.get_config()
                answers[name]["optimizer"] = json.loads(json.dumps(config, default=float))
        except Exception:  # noqa: BLE001  # the answer of tf_keras
            answers[name] = {"error": traceback.format_exc()[-1800:]}
        np.savez(f"{request['folder']}/{name}.npz", **arrays)
    Path(request["folder"], "answers.json").write_text(json.dumps(answers))


def save_and_port(name, build, folder):
    """Save one model of Keras 3 and port it in both formats; return what to expect, and the jobs for tf_keras."""
    jobs = []
    keras.utils.clear_session(free_memory=False)
    keras.utils.set_random_seed(1)
    model, given = build()
    rng = np.random.default_rng(7)
    for variable in model.weights if not model.compiled else ():
        if "float" in variable.dtype and "mean" not in variable.name and "variance" not in variable.name:
            variable.assign(rng.uniform(0.1, 0.6, variable.shape))
        elif "moving" in variable.name:
            variable.assign(rng.uniform(0.5, 1.5, variable.shape))
    saved = folder / f"{name}.source.keras"
    model.save(saved)
    ready = given if isinstance(given, dict) else given if len(given) > 1 else given[0]
    if not isinstance(ready, dict | list) and ready.dtype.kind == "U":
        import tensorflow as tf

        ready = tf.constant(ready)
    expected = model(ready, training=False)
    expected = expected if isinstance(expected, dict | list | tuple) else [expected]
    expected = [expected[key] for key in sorted(expected)] if isinstance(expected, dict) else expected
    expected = [ops.convert_to_numpy(ops.cast(item, "float32")) for item in expected]
    found = {"expected": expected, "names": [one.name for one in getattr(model, "operations", model.layers)]}
    if model.compiled:
        found["evaluated"] = model.evaluate(ready, ready[:, :1], verbose=0, return_dict=True)
    inputs = folder / f"{name}.inputs.npz"
    np.savez(inputs, **(given if isinstance(given, dict) else {str(i): item for i, item in enumerate(given)}))
    for kind in ("h5", "keras"):
        target = folder / f"{name}.{kind}"
        found[f"{kind} report"] = ramet.port(saved, target, to="tf_keras", isolated=False)
        jobs.append((f"{name}.{kind}", str(target), str(inputs)))
    return found, jobs


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """Port all models, and return for each the outputs of Keras 3, the reports, and what tf_keras says about both files."""
    folder = tmp_path_factory.mktemp("ported")
    jobs, found = [], {}
    for name, build in CASES.items():
        try:
            found[name], more = save_and_port(name, build, folder)
            jobs += more
        except Exception:  # noqa: BLE001  # a model that fails must not hide what happens to the others
            found[name] = {"error": traceback.format_exc()[-1800:]}
    request = folder / "request.json"
    request.write_text(json.dumps({"jobs": jobs, "folder": str(folder)}))
    code = inspect.getsource(load_with_tf_keras) + "\nload_with_tf_keras()"
    environment = {**os.environ, "TF_USE_LEGACY_KERAS": "1"}
    command = [sys.executable, "-c", code, str(request)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    for key, answer in json.loads((folder / "answers.json").read_text()).items():
        name, _, kind = key.rpartition(".")
        with np.load(folder / f"{key}.npz", allow_pickle=False) as arrays:
            answer["outputs"] = [arrays[number] for number in sorted(arrays.files)]
        found[name][kind] = answer
    return found


@pytest.mark.parametrize("kind", ["h5", "keras"])
@pytest.mark.parametrize("name", list(CASES))
def test_outputs_in_tf_keras_are_the_same(answers, name, kind):
    if kind == "keras" and name in WITHOUT_ARCHIVE:
        pytest.skip("about HDF5 only")
    answer = answers[name]
    assert "error" not in answer, answer.get("error")
    assert "error" not in answer[kind], answer[kind].get("error")
    outputs = answer[kind]["outputs"]
    assert len(outputs) == len(answer["expected"])
    for found, expected in zip(outputs, answer["expected"], strict=True):
        assert found.shape == expected.shape
        scale = max(float(np.abs(expected).max(initial=0)), 1.0)
        np.testing.assert_allclose(found, expected, atol=LIMITS.get(name, 1e-5) * scale, rtol=0)


@pytest.mark.parametrize("kind", ["h5", "keras"])
def test_names_of_layers_are_kept(answers, kind):
    for name, answer in answers.items():
        if (kind, name) == ("keras", "many_layers"):
            continue
        extra = [found for found in answer[kind]["names"] if found not in answer["names"]]
        assert set(answer["names"]) <= set(answer[kind]["names"]), name
        assert all("_step_" in found for found in extra), name


@pytest.mark.parametrize("kind", ["h5", "keras"])
@pytest.mark.parametrize("name", list(COMPILED))
def test_loss_and_metrics_in_tf_keras_are_the_same(answers, name, kind):
    answer = answers[name]
    found, expected = answer[kind]["evaluated"], answer["evaluated"]
    assert found["loss"] == pytest.approx(expected["loss"], rel=1e-5)
    assert sorted(found.values()) == pytest.approx(sorted(expected.values()), rel=1e-5)
    assert any("state of the optimizer" in str(note) for note in answer[f"{kind} report"].notes)


@pytest.mark.parametrize("kind", ["h5", "keras"])
def test_settings_of_the_optimizer_are_kept(answers, kind):
    adam, sgd = (answers[f"compiled_{name}"][kind]["optimizer"] for name in ("adam", "sgd"))
    assert (adam["learning_rate"], adam["amsgrad"], adam["clipnorm"]) == (pytest.approx(0.01), True, 1.0)
    assert (sgd["momentum"], sgd["nesterov"], sgd["weight_decay"]) == (0.9, True, 0.01)
    schedule = answers["compiled_schedule"][kind]["optimizer"]["learning_rate"]
    assert schedule["class_name"] == "CosineDecay"
    assert schedule["config"]["warmup_steps"] == 3


# What is refused or left out.


def refusals(layer, shape=VECTOR, **changes):
    """Return the reasons to refuse a model with one layer whose settings are changed."""
    config = json.loads(keras.Sequential([keras.Input(shape), layer]).to_json())
    config["config"]["layers"][-1]["config"] |= changes
    notes = Notes()
    keras_2_config(config, notes)
    return [str(refusal) for refusal in notes.refusals]


def settings_without_counterpart():
    newest = release_of(known_versions()[-1])
    for name, taken in LAYERS.items():
        found = newest.find(f"keras.layers.{name}")
        for key in found.settings if found is not None else ():
            if key not in taken | COMMON | {"*", "**", "autocast", "kwargs", "shape", "batch_shape", "batch_size"}:
                yield name, key


# Settings that do not change results, settings with another name, and arguments that are in no config.
HARMLESS = {"seed", "use_cudnn", "flash_attention"}
RENAMED = {("LeakyReLU", "negative_slope"), ("InputLayer", "optional"), ("InputLayer", "input_tensor")}


@pytest.mark.parametrize(("name", "key"), list(settings_without_counterpart()))
def test_setting_without_counterpart_is_refused(name, key):
    if (name, key) in RENAMED:
        pytest.skip("another test is about this setting")
    raw = {
        "module": "keras.layers",
        "class_name": name,
        "registered_name": None,
        "config": {"name": "it", key: "other"},
    }
    if name == "TextVectorization" or name.endswith("Lookup"):
        raw["config"]["vocabulary"] = ["a"]
    config = {"module": "keras", "class_name": "Sequential", "config": {"name": "net", "layers": [raw]}}
    notes = Notes()
    keras_2_config(config, notes)
    assert bool(notes.refusals) == (key not in HARMLESS)
    if key in HARMLESS:
        assert [note.kind for note in notes] == ["dropped"]
    else:
        assert repr(key) in str(notes.refusals[0])
        assert notes.refusals[0].path == "it"


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (layers.RMSNormalization, "RMSNormalization does not exist"),
        (lambda: layers.Dense(2, activation="hard_sigmoid"), "clip(x / 6 + 0.5)"),
        (lambda: layers.Dense(2, activation="celu"), "'celu' does not exist"),
        (lambda: layers.Lambda(lambda x: x), "its function cannot be translated"),
        (lambda: layers.Dense(2, dtype=keras.dtype_policies.DTypePolicyMap()), "no dtype policy 'DTypePolicyMap'"),
        (lambda: layers.SpectralNormalization(layers.Dense(2)), "the state of SpectralNormalization"),
    ],
)
def test_layer_without_counterpart_is_refused(make, reason):
    found = refusals(make())
    assert len(found) == 1, found
    assert reason in found[0]


def test_initializer_without_counterpart_is_refused():
    assert "STFT" in refusals(layers.Conv1D(4, 3, kernel_initializer=keras.initializers.STFT()), SERIES)[0]


@pytest.mark.parametrize(
    ("mode", "reason"), [("int", "the file has no vocabulary for it"), ("tf_idf", "the weights of its tokens")]
)
def test_vocabulary_that_tf_keras_cannot_get_is_refused(mode, reason):
    layer = layers.StringLookup(output_mode=mode)
    layer.adapt(["a", "b"])
    model = keras.Sequential([keras.Input((3,), dtype="string"), layer])
    members = {} if mode == "int" else {"assets/layers/string_lookup/vocabulary.txt": lambda: b"[UNK]\na\nb"}
    notes = Notes()
    keras_2_config(json.loads(model.to_json()), notes, members)
    assert [reason in str(refusal) for refusal in notes.refusals] == [True]


def test_optional_input_is_refused():
    x = keras.Input(VECTOR, optional=True, name="x")
    notes = Notes()
    keras_2_config(json.loads(keras.Model(x, layers.Dense(2)(x)).to_json()), notes)
    assert "optional inputs" in str(notes.refusals[0])


@pytest.mark.parametrize(
    ("make", "shape", "dtype", "reason"),
    [
        (lambda: layers.Resizing(2, 2), IMAGE, "uint8", "images of integers"),
        (lambda: layers.CategoryEncoding(5, output_mode="one_hot"), (3,), "int32", "one number per sample"),
    ],
)
@pytest.mark.parametrize("is_sequential", [False, True])
def test_inputs_that_tf_keras_treats_otherwise_are_refused(make, shape, dtype, reason, is_sequential):
    x = keras.Input(shape, dtype=dtype, name="x")
    model = keras.Sequential([x, make()]) if is_sequential else keras.Model(x, make()(x))
    notes = Notes()
    keras_2_config(json.loads(model.to_json()), notes)
    assert [reason in str(refusal) for refusal in notes.refusals] == [True]


def test_classes_of_the_user_keep_the_names_under_which_they_are_registered():
    model = keras.Sequential([keras.Input(VECTOR), layers.Dense(2, name="head")], name="net")
    config = json.loads(keras.Model(model.inputs, model.outputs).to_json())
    config |= {"module": "mine", "class_name": "Net", "registered_name": "mine>Net"}
    notes = Notes(frozenset(["mine>Net", "Net"]))
    _, written = keras_2_config(config, notes)
    assert notes.refusals == ()
    assert written["class_name"] == "mine>Net"
    archived = archive_config(written)
    assert (archived["class_name"], archived["registered_name"]) == ("Net", "mine>Net")


@pytest.mark.parametrize(
    ("operate", "reason"),
    [
        (lambda x: ops.einsum("bij,bkj->bik", x, x), "Einsum"),
        (lambda x: ops.median(x, axis=1), "Median"),
        (lambda x: ops.elu(x, alpha=0.5), "alpha is not 1"),
        (lambda x: ops.round(x, 1), "decimals"),
        (lambda x: ops.take(x, [-1], axis=1), "from the end"),
    ],
)
def test_operation_without_counterpart_is_refused_with_its_name(operate, reason):
    x = keras.Input(SERIES, name="x")
    notes = Notes()
    model = keras.Model(x, operate(x))
    keras_2_config(json.loads(model.to_json()), notes)
    assert len(notes.refusals) == 1
    assert reason in notes.refusals[0].reason
    assert notes.refusals[0].path


def masks(function):
    """Return the reasons to refuse a model that is made of a masked and an ordinary sequence."""
    x, y = keras.Input((7,), dtype="int32"), keras.Input((7,), dtype="int32")
    embedded = [layers.Embedding(9, 4, mask_zero=True)(given) for given in (x, y)]
    notes = Notes()
    keras_2_config(json.loads(keras.Model([x, y], function(*embedded)).to_json()), notes)
    return [refusal.reason for refusal in notes.refusals]


def test_mask_that_only_tf_keras_uses_is_refused():
    assert "uses masks in Keras 2" in masks(lambda x, y: layers.GroupNormalization(2)(x) + y)[0]


def test_masks_that_are_the_same_are_accepted():
    assert not masks(lambda x, y: layers.LSTM(2)(layers.Add()([x, layers.Dense(4)(x)])) + y[:, 0, :2])
    assert not masks(lambda x, y: layers.LSTM(2)(layers.Concatenate(axis=1)([x, y])))
    assert not masks(lambda x, y: layers.Flatten()(layers.Add()([x, y])))


@pytest.mark.parametrize(
    ("changes", "left"),
    [
        ({"optimizer": keras.optimizers.Lamb()}, "how the model was compiled"),
        ({"optimizer": keras.optimizers.Adam(gradient_accumulation_steps=2)}, "gradient_accumulation_steps"),
        ({"loss": keras.losses.Dice()}, "how the model was compiled"),
        ({"loss": keras.losses.MeanSquaredError(reduction="mean")}, "reduction"),
        ({"metrics": [keras.metrics.PearsonCorrelation()]}, "the metrics of the model"),
    ],
)
def test_training_that_tf_keras_does_not_know_is_left_out_with_a_note(changes, left):
    model = keras.Sequential([keras.Input(VECTOR), layers.Dense(2)])
    model.compile(**{"optimizer": "adam", "loss": "mse", **changes})
    notes = Notes()
    training = keras_2_compile(json.loads(json.dumps(model.get_compile_config())), notes)
    assert (training is None) == ("metrics" not in changes)
    assert [note.kind for note in notes] == ["left out"]
    assert left in str(next(iter(notes)))


EVALUATE = """
import json, sys
import numpy as np
import tf_keras

stored = np.load(sys.argv[1])
model = tf_keras.models.load_model(sys.argv[2])
print(json.dumps(model.evaluate(stored["x"], stored["y"], verbose=0, return_dict=True)))
"""


@pytest.mark.parametrize("kind", ["h5", "keras"])
def test_accuracy_and_overlap_of_classes_by_number_are_the_same(tmp_path, kind):
    model = keras.Sequential([keras.Input(VECTOR), layers.Dense(3, activation="softmax")])
    overlap = keras.metrics.MeanIoU(3, sparse_y_pred=False, name="overlap")
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy", overlap])
    x, y = np.random.default_rng(0).normal(size=(20, 5)), np.arange(20) % 3
    model.save(tmp_path / "model.keras")
    ramet.port(tmp_path / "model.keras", tmp_path / f"old.{kind}", to="tf_keras", isolated=False)
    np.savez(tmp_path / "data.npz", x=x, y=y)
    command = [sys.executable, "-c", EVALUATE, str(tmp_path / "data.npz"), str(tmp_path / f"old.{kind}")]
    done = subprocess.run(command, check=True, capture_output=True, text=True)

    # tf_keras would take `categorical_accuracy` for "accuracy", and fail on the integers with which Keras 3 counts.
    found = json.loads(done.stdout.splitlines()[-1])
    expected = model.evaluate(x, y, verbose=0, return_dict=True)
    assert found == pytest.approx(expected, rel=1e-5)


def test_weights_without_a_place_are_refused(tmp_path):
    model = keras.Sequential([keras.Input(VECTOR), layers.Dense(2)])
    notes = Notes()
    draft, _ = keras_2_config(json.loads(model.to_json()), notes)
    kernel = "layers/dense/vars/0"
    check_weights(draft, {kernel: Values((kernel,), (5, 2), "float32")}, Arrays(), notes)
    assert "no weights for its bias" in str(notes.refusals[0])
    notes = Notes()
    paths = [kernel, "layers/dense/vars/1", "layers/dense/vars/2"]
    check_weights(draft, {path: Values((path,), (), "float32") for path in paths}, Arrays(), notes)
    assert "no layer of the model needs" in str(notes.refusals[0])


def test_tables_name_settings_that_tf_keras_has(tmp_path):
    code = """
import inspect, json, sys, tf_keras
def parameters(cls):
    found = set()
    for one in cls.__mro__[:-1]:
        found |= set(inspect.signature(one.__init__).parameters)
    return sorted(found)
asked = json.load(open(sys.argv[1]))
def find(kind, name):
    return getattr(eval(f"tf_keras.{kind}"), name)
json.dump({kind: {name: parameters(find(kind, name)) for name in names} for kind, names in asked.items()}, open(sys.argv[1], "w"))
"""
    tables = {"layers": LAYERS, **OBJECTS}
    path = tmp_path / "tables.json"
    path.write_text(json.dumps({kind: list(classes) for kind, classes in tables.items()}))
    subprocess.run([sys.executable, "-c", code, str(path)], check=True, capture_output=True)
    known = json.loads(path.read_text())
    # From the arguments that a class passes on, or that its `from_config` takes.
    extra = {
        "zero_output_for_mask",
        "query_shape",
        "key_shape",
        "value_shape",
        "batch_input_shape",
        "name",
        "vocabulary_dtype",
    }
    for kind, classes in tables.items():
        for name, settings in classes.items():
            assert settings - extra <= set(known[kind][name]), name
