"""Models of all kinds, as `build() -> (model, inputs)` by name: what is ported to other releases of Keras."""

import keras
import numpy as np
from keras import layers, ops

from ramet._port.settings import hard_sigmoid

IMAGE, SERIES, VECTOR = (8, 8, 4), (6, 4), (5,)


def _data(*shapes):
    rng = np.random.default_rng(0)
    return [rng.uniform(-1, 1, (2, *shape)).astype("float32") for shape in shapes]


def _one(make, shape=VECTOR, dtype="float32"):
    def build():
        given = _data(shape)
        if dtype == "int32":
            given = [np.arange(2 * np.prod(shape)).reshape(2, *shape).astype("int32") % 7]
        x = keras.Input(shape, dtype=dtype, name="x")
        return keras.Model(x, make()(x), name="net"), given

    return build


def _many(make, *shapes):
    def build():
        inputs = [keras.Input(shape, name=f"x{number}") for number, shape in enumerate(shapes)]
        return keras.Model(inputs, make(inputs), name="net"), _data(*shapes)

    return build


# Every layer of Keras that can be called with one array: its settings, and the shape of the array.
_LAYERS = {
    VECTOR: {
        "Activation": {"activation": "gelu"},
        "ActivityRegularization": {"l1": 0.1},
        "AlphaDropout": {"rate": 0.2},
        "BatchNormalization": {},
        "Dense": {"units": 3, "activation": "selu", "kernel_regularizer": "l2", "bias_constraint": "non_neg"},
        "Dropout": {"rate": 0.2},
        "ELU": {},
        "Flatten": {},
        "GaussianDropout": {"rate": 0.2},
        "GaussianNoise": {"stddev": 0.2},
        "Identity": {},
        "LayerNormalization": {},
        "LeakyReLU": {"negative_slope": 0.2},
        "Masking": {},
        "Normalization": {"mean": 1.0, "variance": 2.0},
        "PReLU": {},
        "RMSNormalization": {},
        "ReLU": {"max_value": 0.5},
        "RepeatVector": {"n": 3},
        "Rescaling": {"scale": 0.5, "offset": 1.0},
        "Reshape": {"target_shape": (5, 1)},
        "Softmax": {},
        "UnitNormalization": {},
        "Discretization": {"bin_boundaries": [-0.5, 0.0, 0.5]},
    },
    IMAGE: {
        "AutoContrast": {},
        "AveragePooling2D": {"pool_size": 2},
        "CenterCrop": {"height": 4, "width": 4},
        "Conv2D": {"filters": 3, "kernel_size": 3, "padding": "same"},
        "Conv2DTranspose": {"filters": 3, "kernel_size": 3, "strides": 2},
        "ConvLSTM1D": {"filters": 2, "kernel_size": 3},
        "Cropping2D": {},
        "DepthwiseConv2D": {"kernel_size": 3},
        "GlobalAveragePooling2D": {},
        "GlobalMaxPooling2D": {},
        "GroupNormalization": {"groups": 2},
        "MaxPooling2D": {},
        "Permute": {"dims": (3, 1, 2)},
        "RandomBrightness": {"factor": 0.2},
        "RandomContrast": {"factor": 0.2},
        "RandomCrop": {"height": 4, "width": 4},
        "RandomFlip": {},
        "RandomRotation": {"factor": 0.2},
        "RandomTranslation": {"height_factor": 0.2, "width_factor": 0.2},
        "RandomZoom": {"height_factor": 0.2},
        "Resizing": {"height": 4, "width": 6},
        "SeparableConv2D": {"filters": 3, "kernel_size": 3},
        "SpatialDropout2D": {"rate": 0.2},
        "UpSampling2D": {"interpolation": "bilinear"},
        "ZeroPadding2D": {},
    },
    SERIES: {
        "AveragePooling1D": {"pool_size": 2},
        "Conv1D": {"filters": 3, "kernel_size": 3, "padding": "causal"},
        "Conv1DTranspose": {"filters": 3, "kernel_size": 3},
        "Cropping1D": {},
        "DepthwiseConv1D": {"kernel_size": 3},
        "EinsumDense": {"equation": "abc,cd->abd", "output_shape": (None, 3), "bias_axes": "d"},
        "GRU": {"units": 3, "return_sequences": True},
        "GlobalAveragePooling1D": {},
        "GlobalMaxPooling1D": {},
        "LSTM": {"units": 3, "go_backwards": True},
        "MaxPooling1D": {},
        "SeparableConv1D": {"filters": 3, "kernel_size": 3},
        "SimpleRNN": {"units": 3},
        "SpatialDropout1D": {"rate": 0.2},
        "UpSampling1D": {},
        "ZeroPadding1D": {},
    },
    (4, 6, 6, 2): {
        "AveragePooling3D": {"pool_size": 2},
        "Conv3D": {"filters": 3, "kernel_size": 2},
        "Conv3DTranspose": {"filters": 3, "kernel_size": 2},
        "ConvLSTM2D": {"filters": 2, "kernel_size": 3},
        "Cropping3D": {},
        "GlobalAveragePooling3D": {},
        "GlobalMaxPooling3D": {},
        "MaxPooling3D": {},
        "SpatialDropout3D": {"rate": 0.2},
        "UpSampling3D": {},
        "ZeroPadding3D": {},
    },
    (3, 4, 4, 4, 2): {"ConvLSTM3D": {"filters": 2, "kernel_size": 3}},
}
_MERGES = {
    **{name: {} for name in ("Add", "Average", "Concatenate", "Maximum", "Minimum", "Multiply", "Subtract")},
    "Dot": {"axes": 1},
}
_OPTIMIZERS = {
    **{name: {} for name in ("Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Ftrl", "Lamb", "Lion")},
    "Nadam": {},
    "RMSprop": {"momentum": 0.5, "centered": True},
    "SGD": {"momentum": 0.9, "nesterov": True},
}


def _build_layers():
    found = {}
    for shape, settings in _LAYERS.items():
        for name, given in settings.items():
            if hasattr(layers, name):
                found[name] = _one(lambda name=name, given=given: getattr(layers, name)(name="it", **given), shape)
    for name, given in _MERGES.items():
        found[name] = _many(
            lambda x, name=name, given=given: getattr(layers, name)(name="it", **given)(x), VECTOR, VECTOR
        )
    return found


def _operations():
    x = keras.Input(SERIES, name="x")
    # torch has no negative steps.
    turned = ops.flip(x, axis=1) if keras.backend.backend() == "torch" else x[:, ::-1]
    mixed = ops.concatenate([x * 2.0 + 1, turned], axis=-1)
    mixed = ops.relu(mixed - ops.mean(mixed, axis=1, keepdims=True))
    mixed = ops.reshape(ops.transpose(mixed, (0, 2, 1)), (-1, 48))
    top = ops.top_k(mixed, 3)[0]
    total = ops.sum(ops.exp(-mixed), axis=-1, keepdims=True) / 3
    close = ops.cast(ops.isclose(mixed, mixed), "float32")
    picked = ops.where(mixed > 0.5, mixed, ops.zeros_like(mixed))
    made = [top, total, close, ops.softmax(picked), ops.einsum("bij,bkj->bik", x, x)]
    made += [ops.logsumexp(mixed, axis=-1), ops.logsumexp(x, axis=(1, 2)), ops.ones_like(x, dtype="int32")]
    return keras.Model(x, made), _data(SERIES)


def _operations_beside_layers():
    """Name operations and layers of the same class alike, which older releases do if they name operations on their own."""
    x, y = keras.Input(VECTOR, name="x"), keras.Input(VECTOR, name="y")
    joined = layers.Concatenate()([x, y])
    again = ops.concatenate([joined, x], axis=-1)
    return keras.Model([x, y], ops.concatenate([again, layers.Concatenate()([again, y])], axis=-1)), _data(
        VECTOR, VECTOR
    )


def _patches():
    x = keras.Input(IMAGE, name="x")
    return keras.Model(x, [ops.image.extract_patches(x, 2), ops.image.extract_patches(x, (2, 4))]), _data(IMAGE)


def _scores():
    x = keras.Input(SERIES, name="x")
    return keras.Model(x, layers.Attention()([x, x], return_attention_scores=True)), _data(SERIES)


def _norm_operation():
    x = keras.Input(SERIES, name="x")
    return keras.Model(x, ops.rms_normalization(x)), _data(SERIES)


def _slices():
    x = keras.Input(SERIES, batch_size=2, name="x")
    return keras.Model(x, ops.slice(x, (0, 1, 0), (2, 2, 3)) * 2.0), _data(SERIES)


def _nested():
    inner_x = keras.Input(VECTOR, name="inner_x")
    inner = keras.Model(inner_x, layers.Dense(5, activation="tanh")(layers.Dense(4)(inner_x)), name="inner")
    tail = keras.Sequential([keras.Input(VECTOR), layers.Dense(3), layers.BatchNormalization()], name="tail")
    x = keras.Input(VECTOR, name="x")
    return keras.Model(x, [tail(inner(inner(x))), tail(x)], name="net"), _data(VECTOR)


def _sequential():
    stack = [layers.Conv2D(4, 3, activation="relu"), layers.MaxPooling2D(), layers.Flatten(), layers.Dense(3)]
    return keras.Sequential([keras.Input(IMAGE), *stack, layers.Softmax()], name="net"), _data(IMAGE)


def _masked():
    x = keras.Input((7,), dtype="int32", name="x")
    y = layers.Embedding(9, 4, mask_zero=True)(x)
    y = layers.Bidirectional(layers.LSTM(3, return_sequences=True))(y)
    y = layers.TimeDistributed(layers.Dense(4))(y)
    given = np.array([[1, 2, 3, 0, 0, 0, 0], [4, 5, 6, 7, 8, 0, 0]], "int32")
    return keras.Model(x, layers.GRU(2)(y)), [given]


def _cells():
    x = keras.Input(SERIES, name="x")
    y = layers.RNN([layers.LSTMCell(3), layers.GRUCell(4)], return_sequences=True)(x)
    y = layers.Bidirectional(layers.RNN(layers.SimpleRNNCell(2)), merge_mode="sum")(y)
    return keras.Model(x, y), _data(SERIES)


def _attention():
    x = keras.Input(SERIES, name="x")
    y = layers.MultiHeadAttention(2, 3, value_dim=2, dropout=0.1)(x, x, use_causal_mask=True)
    y = layers.LayerNormalization()(layers.Add()([x, y]))
    z = layers.Attention(use_scale=True)([y, x])
    return keras.Model(x, [y, z, layers.AdditiveAttention()([z, x])]), _data(SERIES)


def _grouped_attention():
    x = keras.Input(SERIES, name="x")
    return keras.Model(x, layers.GroupQueryAttention(4, 4, 2)(x, x)), _data(SERIES)


def _gates_of_keras_2():
    """A model with the activation that porting from Keras 2 creates for its hard sigmoid."""
    x, video = keras.Input(SERIES, name="x"), keras.Input((3, 5, 5, 2), name="video")
    old = {"recurrent_activation": hard_sigmoid()}
    y = layers.LSTM.from_config(layers.LSTM(3, return_sequences=True, dropout=0.1).get_config() | old)(x)
    y = layers.Bidirectional(layers.GRU.from_config(layers.GRU(2, return_sequences=True).get_config() | old))(y)
    y = layers.RNN(layers.GRUCell.from_config(layers.GRUCell(2, reset_after=False).get_config() | old))(y)
    inner = keras.Sequential([layers.ConvLSTM2D.from_config(layers.ConvLSTM2D(2, 3).get_config() | old)])
    return keras.Model([x, video], [y, inner(video)]), _data(SERIES, (3, 5, 5, 2))


def _policy(name):
    def build():
        x = keras.Input(IMAGE, name="x")
        y = layers.Conv2D(3, 3, dtype=name)(x)
        return keras.Model(x, layers.Dense(2, dtype="float32")(layers.Flatten(dtype=name)(y))), _data(IMAGE)

    return build


def _spectral():
    x = keras.Input(IMAGE, name="x")
    return keras.Model(x, layers.SpectralNormalization(layers.Conv2D(3, 3))(x)), _data(IMAGE)


def _initializers():
    x = keras.Input(VECTOR, name="x")
    kinds = [
        "he_normal",
        "identity",
        "lecun_uniform",
        "orthogonal",
        "random_normal",
        "truncated_normal",
        "variance_scaling",
    ]
    y = [layers.Dense(5, kernel_initializer=kind, kernel_constraint="max_norm")(x) for kind in kinds]
    return keras.Model(x, layers.Add()(y)), _data(VECTOR)


def _activations():
    x = keras.Input(VECTOR, name="x")
    kinds = ["elu", "exponential", "gelu", "hard_sigmoid", "leaky_relu", "mish", "relu6", "selu", "sigmoid", "silu"]
    kinds += ["softmax", "softplus", "softsign", "tanh", "linear", "relu", "log_softmax", "hard_silu"]
    return keras.Model(x, [layers.Activation(kind)(x) for kind in kinds]), _data(VECTOR)


def _trained(name, settings, loss="mse", metrics=("mae",)):
    def build():
        x = keras.Input(VECTOR, name="x")
        y = layers.Dense(1)(layers.BatchNormalization()(layers.Dense(4, activation="relu")(x)))
        model = keras.Model(x, y, name="net")
        model.compile(getattr(keras.optimizers, name)(**settings), loss, metrics=list(metrics), jit_compile=False)
        given = _data(VECTOR)
        for _ in range(3):
            model.train_on_batch(given[0], given[0][:, :1])
        return model, given

    return build


def _scheduled():
    schedule = keras.optimizers.schedules.CosineDecay(0.01, 10, warmup_target=0.1, warmup_steps=3)
    return _trained(
        "Adam", {"learning_rate": schedule, "use_ema": True}, keras.losses.Huber(), [keras.metrics.MeanSquaredError()]
    )()


MODELS = {
    **_build_layers(),
    "Embedding": _one(lambda: layers.Embedding(9, 3), (4,), "int32"),
    "CategoryEncoding": _one(lambda: layers.CategoryEncoding(7, output_mode="multi_hot"), (4,), "int32"),
    "operations": _operations,
    "operations_beside_layers": _operations_beside_layers,
    "patches": _patches,
    "scores": _scores,
    "norm_operation": _norm_operation,
    "slices": _slices,
    "nested": _nested,
    "sequential": _sequential,
    "masked": _masked,
    "cells": _cells,
    "attention": _attention,
    "grouped_attention": _grouped_attention,
    "gates_of_keras_2": _gates_of_keras_2,
    "mixed": _policy("mixed_bfloat16"),
    "half": _policy("mixed_float16"),
    "spectral": _spectral,
    "initializers": _initializers,
    "activations": _activations,
    "scheduled": _scheduled,
    **{f"trained_{name}": _trained(name, settings) for name, settings in _OPTIMIZERS.items()},
    "trained_Nadam_average": _trained("Nadam", {"use_ema": True}),
    "trained_Nadam_both": _trained("Nadam", {"use_ema": True, "gradient_accumulation_steps": 2}),
    "trained_SGD_both": _trained("SGD", {"momentum": 0.5, "use_ema": True, "gradient_accumulation_steps": 2}),
}
