"""Models of tf_keras, one per layer class and setting, and the files that tf_keras writes for them.

`CASES` maps a name to a case, whose model is built by a function without arguments. Run as a module with the path of a JSON
file, this builds the models, saves them in every format of the case and computes their outputs, all in one process:

    {"names": ["dense", ...], "folder": "/tmp/models"}

Each case gets a folder with `model.h5`, `model.keras` and so on, `inputs.npz`, and `outputs.npz`.
"""

# ruff: noqa: PLW0108  # the layers are not there yet when this file is imported

from __future__ import annotations

import json
import os
import sys
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

tf = k = L = None  # TensorFlow, tf_keras and its layers; loaded by `main` only: the tests read the names of the cases

BATCH = 3
WORDS = ["apple", "Banana pie", "cherry, apple", "unknown", "pie", ""]


@dataclass
class Case:
    """A model of tf_keras.

    Attributes:
        build: Builds it.
        formats: The formats in which it is saved: "h5", "keras", "json", "saved".
        refused: A part of the reason for which the port is refused, or None.
        inputs: Returns its inputs, a list; None for random ones.
        steps: How often it is called on them; the outputs of all calls are compared.
        elsewhere: Whether it is compared on JAX and torch, too.
        keep: Whether its weights stay as they are, instead of random ones.
        expected: Returns what to compare with, from the model and its inputs; None for the outputs of the model.
        tolerance: The largest relative difference of outputs.
        only: The backends that run it; None for all.
        alone: Whether the form of the model matters, so that it is not joined with others.
    """

    build: Callable[[], Any]
    formats: tuple[str, ...] = ("h5", "keras")
    refused: str | None = None
    inputs: Callable[[], list[Any]] | None = None
    steps: int = 1
    elsewhere: bool = False
    keep: bool = False
    expected: Callable[[Any, list[Any]], Any] | None = None
    tolerance: float = 1e-5
    only: tuple[str, ...] | None = None
    alone: bool = False

    @property
    def can_be_joined(self) -> bool:
        usual = (self.refused, self.expected, self.only, self.steps, self.keep) == (None, None, None, 1, False)
        return usual and not self.alone


CASES: dict[str, Case] = {}


def add(name, build, **options):
    assert name not in CASES, name
    CASES[name] = Case(build, **options)


def one(layer, *shapes, dtype=None, batch=None, **call):
    """Return a functional model with one layer, called on inputs without their batch axis."""
    dtypes = dtype if isinstance(dtype, list) else [dtype] * len(shapes)
    inputs = [k.Input(shape, batch_size=batch, dtype=kind) for shape, kind in zip(shapes, dtypes, strict=True)]
    given = inputs[0] if len(inputs) == 1 else inputs
    return k.Model(given, layer(given, **call))


def stack(*layers, shape=None, **options):
    """Return a Sequential model."""
    return k.Sequential([k.Input(shape, **options), *layers] if shape is not None else list(layers))


# Dense layers, activations, and what layers are built with.


def _dense():
    add("dense", lambda: one(L.Dense(3), (4,)), elsewhere=True, formats=("h5", "keras", "json", "saved"))
    add("dense without bias", lambda: one(L.Dense(3, use_bias=False, activation="relu"), (2, 4)))
    names = (
        "deserialize elu exponential gelu get hard_sigmoid leaky_relu linear mish relu relu6 selu sigmoid silu softmax"
    )
    for name in f"{names} softplus softsign swish tanh".split():
        if name in ("deserialize", "get", "leaky_relu"):
            continue
        near = name == "hard_sigmoid"
        add(f"dense {name}", lambda name=name: one(L.Dense(5, activation=name), (4,)), elsewhere=near)
        add(f"activation {name}", lambda name=name: one(L.Activation(name), (4, 5)))
    add("dense leaky_relu", lambda: one(L.Dense(5, activation="leaky_relu"), (4,)))
    add("dense activation function", lambda: one(L.Dense(5, activation=tf.nn.relu), (4,)))
    add("dense activation relu6", lambda: one(L.Dense(5, activation=tf.nn.relu6), (4,)))
    add("dense activation softmax of tf", lambda: one(L.Dense(5, activation=tf.nn.softmax), (4,)))
    add("dense activation sigmoid of tf", lambda: one(L.Dense(5, activation=tf.sigmoid), (4,)))
    add("dense activation log_softmax of tf", lambda: one(L.Dense(5, activation=tf.nn.log_softmax), (4,)))
    add("dense activation layer", lambda: one(L.Dense(5, activation=L.LeakyReLU(0.2, name="leak")), (4,)))
    add("dense activation elu layer", lambda: one(L.Dense(5, activation=L.ELU(0.7, name="elu")), (4,)))
    add("activation by function", lambda: one(L.Activation(tf.nn.tanh), (4,)))
    add("activation by keras function", lambda: one(L.Activation(k.activations.gelu), (4,)))
    add(
        "dense activation python function",
        lambda: one(L.Dense(5, activation=square), (4,)),
        refused="square",
        formats=("h5",),
    )
    for name, layer in {
        "leaky relu": lambda: L.LeakyReLU(),
        "leaky relu alpha": lambda: L.LeakyReLU(alpha=0.1),
        "elu layer": lambda: L.ELU(alpha=0.4),
        "relu layer": lambda: L.ReLU(),
        "relu settings": lambda: L.ReLU(max_value=1.0, negative_slope=0.1, threshold=0.2),
        "relu max": lambda: L.ReLU(max_value=0.5),
        "relu numpy": lambda: L.ReLU(max_value=np.float32(0.5)),
        "thresholded relu": lambda: L.ThresholdedReLU(),
        "thresholded relu theta": lambda: L.ThresholdedReLU(theta=0.3),
        "softmax layer": lambda: L.Softmax(),
        "softmax axis": lambda: L.Softmax(axis=1),
        "softmax axes": lambda: L.Softmax(axis=[1, 2]),
        "prelu": lambda: L.PReLU(),
        "prelu shared": lambda: L.PReLU(shared_axes=[1]),
        "prelu settings": lambda: L.PReLU("ones", "l2", "non_neg", shared_axes=[1, 2]),
        "identity": lambda: L.Identity(),
        "activity regularization": lambda: L.ActivityRegularization(0.1, 0.2),
        "unit normalization": lambda: L.UnitNormalization(),
        "unit normalization axis": lambda: L.UnitNormalization(axis=[1, 2]),
        "unit normalization first": lambda: L.UnitNormalization(axis=1),
        "dropout": lambda: L.Dropout(0.3, noise_shape=[None, 1, 5], seed=3),
        "alpha dropout": lambda: L.AlphaDropout(0.3, noise_shape=(None, 1, 5), seed=3),
        "gaussian dropout": lambda: L.GaussianDropout(0.3, seed=3),
        "gaussian noise": lambda: L.GaussianNoise(0.3, seed=2),
        "spatial dropout 1": lambda: L.SpatialDropout1D(0.3),
        "masking": lambda: L.Masking(mask_value=0.5),
        "flatten": lambda: L.Flatten(),
        "reshape": lambda: L.Reshape((5, 4)),
        "reshape unknown": lambda: L.Reshape((2, -1)),
        "permute": lambda: L.Permute((2, 1)),
        "rescaling": lambda: L.Rescaling(1 / 3, offset=-1),
        "rescaling list": lambda: L.Rescaling([0.1, 0.2, 0.3, 0.4, 0.5], offset=[1.0, 2.0, 3.0, 4.0, 5.0]),
        "layer normalization": lambda: L.LayerNormalization(),
        "layer normalization axes": lambda: L.LayerNormalization(axis=[1, 2]),
        "layer normalization first": lambda: L.LayerNormalization(axis=1, epsilon=0.01),
        "layer normalization without scale": lambda: L.LayerNormalization(scale=False),
        "layer normalization without center": lambda: L.LayerNormalization(center=False),
        "layer normalization bare": lambda: L.LayerNormalization(center=False, scale=False),
        "batch normalization": lambda: L.BatchNormalization(),
        "batch normalization first": lambda: L.BatchNormalization(axis=1, momentum=0.9, epsilon=0.1),
        "batch normalization list": lambda: L.BatchNormalization(axis=[2]),
        "batch normalization without scale": lambda: L.BatchNormalization(scale=False),
        "batch normalization without center": lambda: L.BatchNormalization(center=False),
        "batch normalization bare": lambda: L.BatchNormalization(center=False, scale=False),
        "batch normalization frozen": lambda: L.BatchNormalization(trainable=False),
        "batch normalization synchronized": lambda: L.BatchNormalization(synchronized=True),
        "batch normalization settings": lambda: L.BatchNormalization(
            beta_initializer="ones", gamma_regularizer=k.regularizers.L2(0.1), beta_constraint="non_neg"
        ),
        "group normalization": lambda: L.GroupNormalization(groups=5),
        "group normalization one": lambda: L.GroupNormalization(groups=-1),
        "group normalization axis": lambda: L.GroupNormalization(groups=2, axis=1),
        "group normalization without scale": lambda: L.GroupNormalization(groups=1, scale=False),
        "einsum dense": lambda: L.EinsumDense("abc,cd->abd", output_shape=(None, 6), bias_axes="d"),
        "einsum dense without bias": lambda: L.EinsumDense("abc,cd->abd", output_shape=(4, 6), activation="tanh"),
        "einsum dense dots": lambda: L.EinsumDense("...x,xy->...y", output_shape=6, bias_axes="y"),
        "global average 1": lambda: L.GlobalAveragePooling1D(),
        "global average 1 keepdims": lambda: L.GlobalAveragePooling1D(keepdims=True),
        "global average 1 first": lambda: L.GlobalAveragePooling1D(data_format="channels_first"),
        "global max 1": lambda: L.GlobalMaxPooling1D(),
        "global max 1 first": lambda: L.GlobalMaxPooling1D(data_format="channels_first", keepdims=True),
        "dense time distributed": lambda: L.TimeDistributed(L.Dense(3)),
        "spectral normalization": lambda: L.SpectralNormalization(L.Dense(3)),
        "spectral normalization iterations": lambda: L.SpectralNormalization(L.Conv1D(3, 2), power_iterations=3),
    }.items():
        fixed = name in (
            "prelu shared",
            "leaky relu alpha",
            "batch normalization without scale",
            "thresholded relu theta",
        )
        add(name, lambda layer=layer: one(layer(), (4, 5)), elsewhere=fixed or name == "spectral normalization")
    add(
        "spectral normalization embedding",
        lambda: one(L.SpectralNormalization(L.Embedding(6, 4)), (5,), dtype="int32"),
        refused="Embedding",
    )
    add(
        "batch normalization axes",
        lambda: one(L.BatchNormalization(axis=[1, 2]), (4, 5)),
        refused="one axis",
        formats=("h5",),
    )
    add("batch normalization renorm", lambda: one(old_normalization(renorm=True), (4, 5)))
    add("batch normalization v1", lambda: one(old_normalization(fused=False), (4, 5)))
    add(
        "batch normalization virtual",
        lambda: one(old_normalization(virtual_batch_size=3, fused=False), (4, 5)),
        refused="virtual_batch_size",
        formats=("h5",),
    )
    add("sync batch normalization", lambda: one(L.experimental.SyncBatchNormalization(), (4, 5)))
    add("repeat vector", lambda: one(L.RepeatVector(3), (4,)))
    add("flatten first", lambda: one(L.Flatten("channels_first"), (2, 3, 4)))
    add("flatten scalar", lambda: one(L.Flatten(), ()))
    add("reshape to vector", lambda: one(L.Reshape((-1,)), (2, 3, 4)))
    add("permute 3", lambda: one(L.Permute((3, 1, 2)), (2, 3, 4)))
    for name in [
        "Constant",
        "GlorotNormal",
        "GlorotUniform",
        "HeNormal",
        "HeUniform",
        "LecunNormal",
        "LecunUniform",
        "Ones",
        "Orthogonal",
        "RandomNormal",
        "RandomUniform",
        "TruncatedNormal",
        "VarianceScaling",
        "Zeros",
    ]:
        add(f"initializer {name}", lambda name=name: one(L.Dense(3, kernel_initializer=name), (4,)))
    add("initializer Identity", lambda: one(L.Dense(3, kernel_initializer=k.initializers.Identity(2.0)), (4,)))
    add(
        "initializer settings",
        lambda: one(
            L.Dense(
                3,
                kernel_initializer=k.initializers.VarianceScaling(2.0, "fan_out", "untruncated_normal", seed=3),
                bias_initializer=k.initializers.Constant(0.2),
            ),
            (4,),
        ),
    )
    add("initializer v1", lambda: one(L.Dense(3, kernel_initializer=tf.compat.v1.keras.initializers.he_normal()), (4,)))
    add("initializer v1 normal", lambda: one(L.Dense(3, kernel_initializer=v1_initializers().RandomNormal(0.1)), (4,)))
    for name, made in {
        "l1": lambda: "l1",
        "l2": lambda: k.regularizers.L2(0.1),
        "l1_l2": lambda: k.regularizers.L1L2(0.1, 0.2),
        "orthogonal": lambda: k.regularizers.OrthogonalRegularizer(0.1, "columns"),
    }.items():
        add(
            f"regularizer {name}",
            lambda made=made: one(
                L.Dense(3, kernel_regularizer=made(), bias_regularizer="l2", activity_regularizer="l1"), (4,)
            ),
        )
    for name, made in {
        "max_norm": lambda: k.constraints.MaxNorm(3, axis=[0, 1]),
        "min_max_norm": lambda: k.constraints.MinMaxNorm(0.1, 2.0, rate=0.5),
        "non_neg": lambda: "non_neg",
        "unit_norm": lambda: k.constraints.UnitNorm(axis=1),
        "radial": lambda: k.constraints.RadialConstraint(),
    }.items():
        add(
            f"constraint {name}",
            lambda made=made: one(L.Conv2D(3, 2, kernel_constraint=made()), (4, 4, 2)),
            refused="RadialConstraint" if name == "radial" else None,
        )
    add("embedding", lambda: one(L.Embedding(6, 4), (5,), dtype="int32"), elsewhere=True)
    add(
        "embedding mask",
        lambda: stack(L.Embedding(6, 4, mask_zero=True, input_length=5), L.GlobalAveragePooling1D()),
        inputs=_ids,
    )
    add(
        "embedding input length",
        lambda: stack(L.Embedding(6, 4, input_length=5, embeddings_constraint="unit_norm"), L.Flatten()),
        inputs=_ids,
    )
    add("embedding of long numbers", lambda: one(L.Embedding(6, 4), (5,), dtype="int64"))
    add(
        "embedding of floats",
        lambda: one(L.Embedding(6, 4), (5,)),
        inputs=lambda: [np.array([[0.0, 1, 5, 3, 2]], "float32")],
    )


def _ids():
    return [_random.integers(0, 6, (BATCH, 5)).astype("float32")]


def square(x):
    return x * x


def old_normalization(**options):
    return tf_keras_v1("normalization.batch_normalization_v1", "BatchNormalization")(**options)


def v1_initializers():
    from tf_keras.src.initializers import initializers_v1

    return initializers_v1


# Convolutions, pooling, padding.


def _convolutions():
    settings = {
        1: ((9, 4), 3),
        2: ((9, 8, 4), (3, 2)),
        3: ((6, 7, 5, 4), (2, 3, 2)),
    }
    for rank, (shape, size) in settings.items():
        conv = f"Conv{rank}D"
        for name, options in {
            "": {},
            " same": {"padding": "same", "strides": 2, "activation": "relu"},
            " dilated": {"dilation_rate": 2, "use_bias": False},
            " groups": {"groups": 2, "padding": "same"},
        }.items():
            add(
                f"conv {rank}{name}",
                lambda conv=conv, options=options, shape=shape, size=size: one(
                    getattr(L, conv)(6, size, **options), shape
                ),
                elsewhere=rank == 2 and not name,
            )
        for name, options in {
            "": {},
            " same": {"padding": "same", "strides": 2},
            " stride": {"strides": 3, "use_bias": False, "activation": "tanh"},
            " output padding": {"strides": 2, "padding": "same", "output_padding": 1},
            " output padding valid": {"strides": 3, "output_padding": 2 if rank == 1 else (0,) * (rank - 1) + (1,)},
            " dilated": {"dilation_rate": 2},
        }.items():
            if name == " dilated":
                continue  # TensorFlow runs it on GPUs only
            add(
                f"conv transpose {rank}{name}",
                lambda conv=conv, options=options, shape=shape, size=size: one(
                    getattr(L, f"{conv}Transpose")(3, size, **options), shape
                ),
                elsewhere=name in (" same", " output padding") and rank == 2,
            )
        for kind in ("Max", "Average"):
            for name, options in {
                "": {},
                " same": {"padding": "same", "strides": 1},
                " strides": {"pool_size": 3, "strides": 2},
            }.items():
                add(
                    f"{kind.lower()} pooling {rank}{name}",
                    lambda kind=kind, rank=rank, options=options, shape=shape: one(
                        getattr(L, f"{kind}Pooling{rank}D")(**options), shape
                    ),
                )
            if rank > 1:
                for name, options in {
                    "": {},
                    " first": {"data_format": "channels_first"},
                    " keepdims": {"keepdims": True},
                }.items():
                    add(
                        f"global {kind.lower()} {rank}{name}",
                        lambda kind=kind, rank=rank, options=options, shape=shape: one(
                            getattr(L, f"Global{kind}Pooling{rank}D")(**options), shape
                        ),
                    )
        last = (1, 2)
        add(f"zero padding {rank}", lambda rank=rank, shape=shape: one(getattr(L, f"ZeroPadding{rank}D")(2), shape))
        add(f"cropping {rank}", lambda rank=rank, shape=shape: one(getattr(L, f"Cropping{rank}D")(1), shape))
        uneven = last if rank == 1 else tuple((number, 2) for number in range(rank))
        add(
            f"zero padding {rank} uneven",
            lambda rank=rank, shape=shape, uneven=uneven: one(getattr(L, f"ZeroPadding{rank}D")(uneven), shape),
        )
        add(
            f"cropping {rank} uneven",
            lambda rank=rank, shape=shape, uneven=uneven: one(getattr(L, f"Cropping{rank}D")(uneven), shape),
        )
        add(f"up sampling {rank}", lambda rank=rank, shape=shape: one(getattr(L, f"UpSampling{rank}D")(), shape))
        if rank > 1:
            for layer in ("ZeroPadding", "Cropping"):
                add(
                    f"{layer} {rank} first",
                    lambda layer=layer, rank=rank, shape=shape: one(
                        getattr(L, f"{layer}{rank}D")(1, data_format="channels_first"), shape
                    ),
                )
            add(
                f"spatial dropout {rank}",
                lambda rank=rank, shape=shape: one(
                    getattr(L, f"SpatialDropout{rank}D")(0.2, data_format="channels_first"), shape
                ),
            )
    add("zero padding 2 symmetric", lambda: one(L.ZeroPadding2D((1, 2)), (9, 8, 4)))
    add("up sampling 2 first", lambda: one(L.UpSampling2D((2, 3), data_format="channels_first"), (4, 5, 6)))
    add("up sampling 3 sizes", lambda: one(L.UpSampling3D((1, 2, 3)), (2, 3, 4, 2)))
    for mode in ("area", "bicubic", "bilinear", "gaussian", "lanczos3", "lanczos5", "mitchellcubic", "nearest"):
        add(
            f"up sampling {mode}",
            lambda mode=mode: one(L.UpSampling2D((2, 3), interpolation=mode), (5, 6, 4)),
            only=("tensorflow",),
            refused=mode if mode in ("gaussian", "mitchellcubic") else None,
        )
        for ratio in (False, True):
            add(
                f"resizing {mode}{' crop' * ratio}",
                lambda mode=mode, ratio=ratio: one(L.Resizing(7, 9, mode, crop_to_aspect_ratio=ratio), (5, 6, 4)),
                only=("tensorflow",),
                refused=mode if mode in ("gaussian", "mitchellcubic") else None,
            )
    add("resizing down", lambda: one(L.Resizing(3, 4), (8, 9, 3)))
    add("center crop", lambda: one(L.CenterCrop(4, 5), (7, 8, 3)))
    add("center crop larger", lambda: one(L.CenterCrop(9, 5), (7, 8, 3)))
    add("conv 1 causal", lambda: one(L.Conv1D(3, 2, padding="causal", dilation_rate=2), (9, 4)), elsewhere=True)
    add("conv 2 strides list", lambda: one(L.Conv2D(3, [2, 2], strides=[2, 1]), (9, 8, 4)))
    for rank, shape in {1: (9, 4), 2: (9, 8, 4)}.items():
        for kind, first in (("Depthwise", ()), ("Separable", (5,))):
            for name, options in {
                "": {},
                " same": {"padding": "same", "strides": 2, "depth_multiplier": 3, "activation": "relu"},
                " dilated": {"dilation_rate": 2, "use_bias": False},
                " constrained": {"depthwise_regularizer": "l2", "depthwise_constraint": "non_neg"},
            }.items():
                add(
                    f"{kind.lower()} conv {rank}{name}",
                    lambda kind=kind, rank=rank, first=first, options=options, shape=shape: one(
                        getattr(L, f"{kind}Conv{rank}D")(*first, 3, **options), shape
                    ),
                    elsewhere=rank == 2 and name == " same",
                )
    add("separable conv 1 causal", lambda: one(L.SeparableConv1D(5, 3, padding="causal"), (9, 4)), refused="causal")
    add(
        "locally connected 1",
        lambda: one(L.LocallyConnected1D(5, 3), (9, 4)),
        refused="LocallyConnected1D",
        formats=("h5",),
    )
    add("locally connected 2", lambda: one(L.LocallyConnected2D(5, 3), (9, 8, 4)), refused="LocallyConnected2D")
    for rank in (1, 2, 3):
        axes = tuple(range(2, rank + 2))
        shape = (4, *(6, 7, 5)[:rank])

        def build(make, rank=rank, shape=shape):
            return lambda: one(make(data_format="channels_first"), shape)

        for name, make in {
            f"conv {rank}": lambda rank=rank, **o: getattr(L, f"Conv{rank}D")(5, 2, strides=2, **o),
            f"conv transpose {rank}": lambda rank=rank, **o: getattr(L, f"Conv{rank}DTranspose")(5, 2, strides=2, **o),
            f"depthwise conv {rank}": lambda rank=rank, **o: getattr(L, f"DepthwiseConv{rank}D")(2, **o),
            f"separable conv {rank}": lambda rank=rank, **o: getattr(L, f"SeparableConv{rank}D")(5, 2, **o),
            f"max pooling {rank}": lambda rank=rank, **o: getattr(L, f"MaxPooling{rank}D")(2, **o),
            f"average pooling {rank}": lambda rank=rank, **o: getattr(L, f"AveragePooling{rank}D")(2, **o),
        }.items():
            if rank == 3 and name.startswith(("depthwise", "separable")):
                continue
            # TensorFlow has no such kernels for processors: the same layer computes it with the channels last.
            add(
                f"{name} channels first",
                build(make),
                expected=lambda model, xs, make=make, axes=axes: _last(model, xs, make, axes),
                only=("jax", "torch"),
                elsewhere=True,
            )


def _last(model, inputs, make, axes):
    twin = one(make(), (*[None] * len(axes), inputs[0].shape[1]))
    twin.set_weights(model.get_weights())
    made = twin(np.moveaxis(inputs[0], 1, -1), training=False).numpy()
    return np.moveaxis(made, -1, 1)


# Recurrent layers.


def _recurrent():
    shape = (4, 3)
    for kind in ("LSTM", "GRU", "SimpleRNN"):
        for name, options in {
            "": {},
            " sequences": {"return_sequences": True},
            " state": {"return_state": True},
            " sequences and state": {"return_sequences": True, "return_state": True},
            " backwards": {"go_backwards": True, "return_sequences": True},
            " unrolled": {"unroll": True},
            " dropout": {"dropout": 0.2, "recurrent_dropout": 0.3},
            " without bias": {"use_bias": False},
            " frozen": {"trainable": False},
            " regularized": {"kernel_regularizer": "l2", "recurrent_constraint": "non_neg", "bias_initializer": "ones"},
            " activity": {"activity_regularizer": "l2"},
        }.items():
            add(
                f"{kind} {name.strip() or 'plain'}",
                lambda kind=kind, options=options: one(getattr(L, kind)(3, **options), shape),
                elsewhere=name in ("", " sequences and state"),
                formats=("h5", "keras", "saved") if name in ("", " without bias") else ("h5", "keras"),
            )
        for activation in ("relu", "sigmoid", "hard_sigmoid", "linear", "elu", "softsign", None):
            add(
                f"{kind} {activation}",
                lambda kind=kind, activation=activation: one(getattr(L, kind)(3, activation=activation), shape),
            )
        add(
            f"{kind} stateful",
            lambda kind=kind: one(getattr(L, kind)(3, stateful=True), shape, batch=BATCH),
            steps=3,
            elsewhere=kind == "LSTM",
        )
        add(
            f"{kind} time major",
            lambda kind=kind: one(getattr(L, kind)(3, time_major=True), shape),
            refused="time_major",
            formats=("h5",),
        )
        add(
            f"{kind} zero output",
            lambda kind=kind: one(getattr(L, kind)(3, zero_output_for_mask=True, return_sequences=True), shape),
            refused=None,
        )
        add(f"{kind} initial state", lambda kind=kind: _initial_state(kind), elsewhere=kind == "GRU")
        add(f"{kind} masked", lambda kind=kind: stack(L.Masking(0.0), getattr(L, kind)(3), shape=shape), inputs=_masked)
        add(
            f"{kind} masked sequences",
            lambda kind=kind: stack(
                L.Masking(0.0), getattr(L, kind)(3, return_sequences=True), getattr(L, kind)(2), shape=shape
            ),
            inputs=_masked,
        )
        add(f"{kind} cell", lambda kind=kind: one(L.RNN(getattr(L, f"{kind}Cell")(3)), shape))
        add(
            f"{kind} cell settings",
            lambda kind=kind: one(
                L.RNN(
                    getattr(L, f"{kind}Cell")(3, activation="relu", use_bias=False, dropout=0.1),
                    return_sequences=True,
                    go_backwards=True,
                    return_state=True,
                ),
                shape,
            ),
        )
        add(f"{kind} bidirectional", lambda kind=kind: one(L.Bidirectional(getattr(L, kind)(3)), shape), elsewhere=True)
        add(
            f"{kind} bidirectional state",
            lambda kind=kind: one(
                L.Bidirectional(getattr(L, kind)(3, return_state=True, return_sequences=True)), shape
            ),
        )
        add(
            f"{kind} any length",
            lambda kind=kind: one(getattr(L, kind)(3), (None, 3)),
            inputs=lambda: [_floats(BATCH, 5, 3)],
        )
        add(f"{kind} tensor mask", lambda kind=kind: _mask_argument(getattr(L, kind)(3)))
    add("constant masks", lambda: _constant_mask())
    for activation in ("hard_sigmoid", "relu", "tanh", "linear", "softmax"):
        for kind in ("LSTM", "GRU"):
            add(
                f"{kind} gates {activation}",
                lambda kind=kind, activation=activation: one(
                    getattr(L, kind)(3, recurrent_activation=activation), shape
                ),
                elsewhere=activation == "hard_sigmoid",
            )
    add("LSTM implementation 1", lambda: one(L.LSTM(3, implementation=1), shape))
    add("GRU implementation 1", lambda: one(L.GRU(3, implementation=1), shape))
    add("LSTM without forget bias", lambda: one(L.LSTM(3, unit_forget_bias=False), shape))
    add("GRU reset before", lambda: one(L.GRU(3, reset_after=False), shape), elsewhere=True)
    add("GRU reset before without bias", lambda: one(L.GRU(3, reset_after=False, use_bias=False), shape))
    add("LSTM v1", lambda: one(tf_keras_v1("rnn.lstm_v1", "LSTM")(3), shape))
    add("GRU v1", lambda: one(tf_keras_v1("rnn.gru_v1", "GRU")(3), shape))
    add(
        "GRU cell reset before",
        lambda: one(L.RNN(L.GRUCell(3, reset_after=False, recurrent_activation="hard_sigmoid")), shape),
    )
    for mode in ("sum", "mul", "concat", "ave", None):
        add(
            f"bidirectional {mode}",
            lambda mode=mode: one(L.Bidirectional(L.LSTM(3, return_sequences=True), merge_mode=mode), shape),
        )
    add(
        "bidirectional backward layer",
        lambda: one(
            L.Bidirectional(
                L.LSTM(3, return_sequences=True, name="there"),
                backward_layer=L.LSTM(3, return_sequences=True, go_backwards=True, activation="relu", name="back"),
            ),
            shape,
        ),
        elsewhere=True,
    )
    add(
        "bidirectional two classes",
        lambda: one(L.Bidirectional(L.LSTM(3), backward_layer=L.GRU(3, go_backwards=True)), shape),
    )
    add("bidirectional rnn", lambda: one(L.Bidirectional(L.RNN(L.LSTMCell(3))), shape))
    add("bidirectional stateful", lambda: one(L.Bidirectional(L.LSTM(3, stateful=True)), shape, batch=BATCH), steps=2)
    add("bidirectional frozen", lambda: one(L.Bidirectional(L.LSTM(3), trainable=False), shape))
    add(
        "bidirectional stack",
        lambda: stack(L.Bidirectional(L.LSTM(3, return_sequences=True)), L.Bidirectional(L.LSTM(3)), shape=shape),
    )
    add(
        "bidirectional hard sigmoid",
        lambda: one(L.Bidirectional(L.GRU(3, recurrent_activation="hard_sigmoid", reset_after=False)), shape),
    )
    add(
        "bidirectional masked",
        lambda: stack(L.Masking(0.0), L.Bidirectional(L.LSTM(3, return_sequences=True)), shape=shape),
        inputs=_masked,
    )
    add(
        "bidirectional masked backwards",
        lambda: stack(L.Masking(0.0), L.Bidirectional(L.LSTM(3)), shape=shape),
        inputs=_masked,
    )
    add("bidirectional initial state", _bidirectional_state)
    add("bidirectional conv lstm", lambda: one(L.Bidirectional(L.ConvLSTM2D(2, 2)), (3, 4, 4, 2)))
    cells = lambda: [L.LSTMCell(4), L.GRUCell(3), L.SimpleRNNCell(2), L.LSTMCell(4)]  # noqa: E731
    add("stacked cells", lambda: one(L.RNN(cells()), shape), elsewhere=True, formats=("h5", "keras", "saved"))
    add("stacked cells state", lambda: one(L.RNN(L.StackedRNNCells(cells()), return_state=True), shape))
    add("stacked cells bidirectional", lambda: one(L.Bidirectional(L.RNN(cells())), shape))
    add("stacked cells stateful", lambda: one(L.RNN(cells(), stateful=True), shape, batch=BATCH), steps=2)
    add("stacked cells equal", lambda: one(L.RNN([L.LSTMCell(3), L.LSTMCell(3)]), shape))
    for rank, space in {1: (5,), 2: (4, 5), 3: (3, 4, 3)}.items():
        for name, options in {
            "": {},
            " settings": {"padding": "same", "return_sequences": True, "activation": "relu", "dropout": 0.1},
            " state": {"return_state": True, "use_bias": False, "go_backwards": True},
            " strides": {"strides": 2, "recurrent_activation": "sigmoid"},
        }.items():
            add(
                f"conv lstm {rank}{name}",
                lambda rank=rank, space=space, options=options: one(
                    getattr(L, f"ConvLSTM{rank}D")(2, 2, **options), (3, *space, 2)
                ),
                elsewhere=rank == 2 and not name,
            )
    add("conv lstm dilated", lambda: one(L.ConvLSTM2D(2, 2, dilation_rate=2), (3, 5, 5, 2)))
    add("conv lstm stateful", lambda: one(L.ConvLSTM2D(2, 2, stateful=True), (3, 5, 5, 2), batch=BATCH), steps=2)
    add("time distributed conv", lambda: one(L.TimeDistributed(L.Conv2D(3, 2, name="inner")), (4, 5, 5, 2)))
    add("time distributed norm", lambda: one(L.TimeDistributed(L.BatchNormalization()), (4, 5)))
    add("time distributed lstm", lambda: one(L.TimeDistributed(L.LSTM(3)), (2, 4, 3)))
    add("time distributed twice", lambda: one(L.TimeDistributed(L.TimeDistributed(L.Dense(2))), (2, 4, 3)))
    add(
        "time distributed sequential",
        lambda: one(L.TimeDistributed(stack(L.Dense(2), L.Dense(3), shape=(5,))), (4, 5)),
        elsewhere=True,
    )
    add(
        "time distributed unbuilt sequential",
        lambda: one(L.TimeDistributed(stack(L.Conv2D(2, 2), L.Flatten(), L.Dense(3))), (4, 5, 5, 1)),
    )
    add("time distributed functional", lambda: one(L.TimeDistributed(_branches((5,))), (4, 5)))
    add("time distributed first", lambda: stack(L.TimeDistributed(L.Dense(3), input_shape=(4, 5)), L.LSTM(2)))
    add("time distributed flatten", lambda: stack(L.TimeDistributed(L.Flatten()), L.GRU(2), shape=(4, 3, 2)))
    add("time distributed frozen inside", _frozen_inside)
    add("cell of your own", lambda: one(L.RNN(cell_class()(3)), shape), refused="OwnCell", formats=("h5",))
    add("rnn constants", _constants, refused="constants", formats=("h5",))


def tf_keras_v1(module, name):
    import importlib

    return getattr(importlib.import_module(f"tf_keras.src.layers.{module}"), name)


def cell_class():
    class OwnCell(L.SimpleRNNCell):
        pass

    return OwnCell


def _constants():
    class Cell(L.SimpleRNNCell):
        def call(self, inputs, states, constants=None, training=None):
            return super().call(inputs + constants[0], states, training)

    x, c = k.Input((4, 3)), k.Input((3,))
    return k.Model([x, c], L.RNN(Cell(3))(x, constants=[c]))


def _masked():
    values = _floats(BATCH, 4, 3)
    values[0, 2:] = 0
    values[1, 3:] = 0
    return [values]


def _initial_state(kind):
    count = 2 if kind == "LSTM" else 1
    x = k.Input((4, 3))
    states = [k.Input((5,)) for number in range(count)]
    made = getattr(L, kind)(5, return_state=True)(x, initial_state=states)
    again = getattr(L, kind)(5)(L.RepeatVector(2)(made[0]), initial_state=made[1:])
    return k.Model([x, *states], [again, *made])


def _bidirectional_state():
    x = k.Input((4, 3))
    states = [k.Input((5,)) for number in range(4)]
    return k.Model([x, *states], L.Bidirectional(L.LSTM(5))(x, initial_state=states))


def _mask_argument(layer):
    x, mask = k.Input((4, 3)), k.Input((4,), dtype="bool")
    return k.Model([x, mask], layer(x, mask=mask))


def _constant_mask():
    x = k.Input((4, 3))
    mask = tf.constant([[True, True, False, True], [False, True, True, False], [True, False, False, False]])
    y = L.LSTM(3, return_sequences=True)(x, mask=mask)
    return k.Model(x, [L.GRU(2)(y), L.GlobalAveragePooling1D()(x, mask=mask)])


def _frozen_inside():
    inner = stack(L.Dense(3), L.BatchNormalization(), L.Dense(3), shape=(5,))
    inner.layers[0].trainable = False
    return one(L.TimeDistributed(inner), (4, 5))


# Merging and attention.


def _merging():
    for name in ("Add", "Subtract", "Multiply", "Average", "Maximum", "Minimum"):
        add(f"merge {name}", lambda name=name: one(getattr(L, name)(), (4, 5), (4, 5)))
    add("merge broadcast", lambda: one(L.Add(), (4, 5), (1, 5), (5,)))
    # With these sizes, Keras 3 on TensorFlow would take the second input for a bias of another axis.
    add("merge column as long as a row", lambda: one(L.Add(), (BATCH,), (1,)), alone=True)
    add("average with a column", lambda: one(L.Average(), (5, 1), (1,), batch=BATCH), alone=True)
    add("average with a row", lambda: one(L.Average(), (1, BATCH), (1, 1)), alone=True)
    add("concatenate", lambda: one(L.Concatenate(), (4, 5), (4, 2), (4, 1)))
    add("concatenate axis", lambda: one(L.Concatenate(axis=1), (4, 5), (2, 5)))
    add("merge functions", lambda: _merge_functions())
    add("concatenate masked", _concatenate_masked, alone=True)
    for name, options, shapes in [
        ("dot", {"axes": 1}, ((4,), (4,))),
        ("dot axes", {"axes": (2, 1)}, ((3, 4), (4, 5))),
        ("dot negative", {"axes": -1, "normalize": True}, ((3, 4), (2, 4))),
        ("dot normalized", {"axes": [1, 2], "normalize": True}, ((4, 3), (5, 4))),
    ]:
        add(name, lambda options=options, shapes=shapes: one(L.Dot(**options), *shapes), elsewhere=name == "dot axes")
    for name, layer in {
        "attention": lambda: L.Attention(),
        "attention scale": lambda: L.Attention(use_scale=True),
        "attention concat": lambda: L.Attention(score_mode="concat"),
        "attention concat scale": lambda: L.Attention(score_mode="concat", use_scale=True, dropout=0.1),
        "additive attention": lambda: L.AdditiveAttention(),
        "additive attention without scale": lambda: L.AdditiveAttention(use_scale=False),
    }.items():
        add(name, lambda layer=layer: one(layer(), (4, 5), (3, 5)), elsewhere=name.endswith("concat scale"))
        size = 5 if name.startswith("additive") else 6
        add(f"{name} key", lambda layer=layer, size=size: one(layer(), (4, 5), (3, size), (3, 5)), formats=("h5",))
        add(f"{name} causal", lambda layer=layer: one(layer(), (4, 5), (4, 5), use_causal_mask=True))
        add(f"{name} scores", lambda layer=layer: one(layer(), (4, 5), (3, 5), return_attention_scores=True))
        add(f"{name} masks", lambda layer=layer: _attention_masks(layer()))
    for name, options, call in [
        ("", {"num_heads": 2, "key_dim": 3}, {}),
        (" value dim", {"num_heads": 2, "key_dim": 3, "value_dim": 4, "dropout": 0.1}, {}),
        (" output shape", {"num_heads": 2, "key_dim": 3, "output_shape": 7}, {}),
        (" output shapes", {"num_heads": 2, "key_dim": 3, "output_shape": (2, 3)}, {}),
        (" without bias", {"num_heads": 2, "key_dim": 3, "use_bias": False}, {}),
        (" scores", {"num_heads": 2, "key_dim": 3}, {"return_attention_scores": True}),
        (" causal", {"num_heads": 2, "key_dim": 3}, {"use_causal_mask": True}),
        (" settings", {"num_heads": 1, "key_dim": 3, "kernel_regularizer": "l2", "bias_constraint": "non_neg"}, {}),
        (" frozen", {"num_heads": 2, "key_dim": 3, "trainable": False}, {}),
    ]:
        add(
            f"multi head{name}",
            lambda options=options, call=call: _multi_head(options, call, (4, 5), (3, 6)),
            elsewhere=name in ("", " value dim"),
            formats=("h5", "keras", "saved") if name in ("", " output shape") else ("h5", "keras"),
        )
    add("multi head self", lambda: _self_attention())
    add("multi head constant mask", lambda: _multi_head_constant_mask())
    add(
        "multi head axes",
        lambda: _multi_head({"num_heads": 2, "key_dim": 3, "attention_axes": (2, 3)}, {}, (2, 3, 4, 5), (2, 3, 4, 5)),
    )
    add(
        "multi head axis",
        lambda: _multi_head({"num_heads": 2, "key_dim": 3, "attention_axes": (2,)}, {}, (2, 3, 5), (2, 3, 5)),
    )
    add("multi head key", lambda: _multi_head_key())
    add("multi head mask", lambda: _multi_head_mask())
    add("multi head embedding mask", lambda: _multi_head_embedding())


def _merge_functions():
    a, b = k.Input((4,)), k.Input((4,))
    made = [
        k.layers.add([a, b]),
        k.layers.concatenate([a, b], axis=-1),
        k.layers.dot([a, b], 1),
        k.layers.multiply([a, b]),
    ]
    return k.Model([a, b], made)


def _concatenate_masked():
    a, b = k.Input((4, 3)), k.Input((4, 3))
    joined = L.Concatenate(axis=-1, name="concatenate")([L.Masking(0.0)(a), L.Masking(0.0)(b)])
    return k.Model([a, b], L.Concatenate(name="concatenate_1")([L.LSTM(3)(joined), L.Flatten()(b)]))


def _attention_masks(layer):
    q, v = k.Input((4, 5)), k.Input((3, 5))
    masks = [k.Input((4,), dtype="bool"), k.Input((3,), dtype="bool")]
    return k.Model([q, v, *masks], layer([q, v], mask=masks))


def _multi_head(options, call, query, value):
    q, v = k.Input(query), k.Input(value)
    return k.Model([q, v], L.MultiHeadAttention(**options)(q, v, **call))


def _multi_head_key():
    q, v, key = k.Input((4, 5)), k.Input((3, 6)), k.Input((3, 7))
    return k.Model([q, v, key], L.MultiHeadAttention(2, 3)(q, v, key))


def _self_attention():
    x = k.Input((4, 6))
    y = L.LayerNormalization()(x + L.MultiHeadAttention(2, 3, name="first")(x, x))
    y = L.LayerNormalization()(y + L.MultiHeadAttention(2, 3, name="second")(y, y, use_causal_mask=True))
    return k.Model(x, L.Add()([y, L.Dense(6)(L.Dense(9, activation="gelu")(y))]))


def _multi_head_mask():
    q, v, m = k.Input((4, 5)), k.Input((3, 6)), k.Input((4, 3), dtype="bool")
    return k.Model([q, v, m], L.MultiHeadAttention(2, 3)(q, v, attention_mask=m))


def _multi_head_constant_mask():
    q, v = k.Input((4, 5)), k.Input((3, 6))
    rows = [[True, False, True], [True, True, False], [False, True, True], [True, True, True]]
    return k.Model([q, v], L.MultiHeadAttention(2, 3)(q, v, attention_mask=tf.constant([rows])))


def _multi_head_embedding():
    x = k.Input((5,), dtype="int32")
    y = L.Embedding(6, 4, mask_zero=True)(x)
    return k.Model(x, L.GlobalAveragePooling1D()(L.MultiHeadAttention(2, 3)(y, y)))


# Preprocessing.


def _adapted(layer, data):
    layer.adapt(data)
    return layer


def _words():
    return [np.array([[word] for word in WORDS])]


def _constants_for_layers():
    words = k.Input((6,), dtype="int32")
    positions = tf.range(tf.shape(words)[1])
    x = L.Embedding(9, 4)(words) + L.Embedding(6, 4)(positions)
    scale = tf.cast(tf.shape(words)[0], tf.float32) / 2.0
    return k.Model(words, L.Dense(3)(x) * L.Rescaling(0.5)(tf.sqrt(scale)))


def _sizes_as_outputs():
    x = k.Input((None, 4))
    shape = tf.shape(x)
    outputs = [shape, shape[1] // 2, shape[1] / 2, tf.cast(shape[2], tf.float32) + 1.5, tf.range(shape[2])]
    return k.Model(x, [*outputs, L.Dense(2)(tf.reshape(x, [shape[0], -1, 2]))])


def _two(first, second, form, shape, dtype):
    """Return a functional or a Sequential model of two layers."""
    if form == "sequential":
        return stack(first, second, shape=shape, dtype=dtype)
    given = k.Input(shape, dtype=dtype)
    return k.Model(given, second(first(given)))


def _preprocessing():
    everywhere = ("keras", "saved")
    tensorflow = ("tensorflow",)

    def of_words(name, layer, **options):
        add(
            name,
            lambda: one(layer(), (1,), dtype="string"),
            inputs=_words,
            formats=everywhere,
            only=tensorflow,
            **options,
        )

    def of_numbers(name, layer, formats=everywhere, dtype="int64", **options):
        values = lambda: [np.array([[3, -1], [7, 3], [100, 0], [4, 5]], dtype)]  # noqa: E731
        add(
            name,
            lambda: one(layer(), (2,), dtype=dtype),
            inputs=values,
            formats=formats,
            **{"only": tensorflow} | options,
        )

    of_words("string lookup", lambda: L.StringLookup(vocabulary=["apple", "pie"]))
    of_words("string lookup adapted", lambda: _adapted(L.StringLookup(), [["apple"], ["pie"], ["pie"]]))
    of_words("string lookup oov", lambda: L.StringLookup(vocabulary=["apple", "pie"], num_oov_indices=2))
    of_words("string lookup without oov", lambda: L.StringLookup(vocabulary=["", *WORDS[:5]], num_oov_indices=0))
    of_words("string lookup mask", lambda: L.StringLookup(vocabulary=["apple", "pie"], mask_token="", oov_token="?"))
    of_words("string lookup one hot", lambda: L.StringLookup(vocabulary=["apple", "pie"], output_mode="one_hot"))
    of_words("string lookup multi hot", lambda: L.StringLookup(vocabulary=["apple", "pie"], output_mode="multi_hot"))
    of_words("string lookup count", lambda: L.StringLookup(vocabulary=["apple", "pie"], output_mode="count"))
    of_words(
        "string lookup tf idf",
        lambda: L.StringLookup(vocabulary=["apple", "pie"], idf_weights=[0.5, 0.7], output_mode="tf_idf"),
    )
    of_words(
        "string lookup tf idf adapted",
        lambda: _adapted(L.StringLookup(output_mode="tf_idf"), [["apple"], ["pie"], ["pie"]]),
    )
    of_words(
        "string lookup padded",
        lambda: L.StringLookup(vocabulary=["apple"], output_mode="count", pad_to_max_tokens=True, max_tokens=9),
    )
    add(
        "string lookup inverted",
        lambda: one(L.StringLookup(vocabulary=["apple", "pie"], invert=True), (2,), dtype="int64"),
        inputs=lambda: [np.array([[0, 1], [2, 9]])],
        formats=everywhere,
        only=tensorflow,
    )
    of_numbers("integer lookup", lambda: L.IntegerLookup(vocabulary=[3, 7, -1]))
    of_numbers("integer lookup adapted", lambda: _adapted(L.IntegerLookup(), [[3], [7], [7]]))
    of_numbers(
        "integer lookup settings",
        lambda: L.IntegerLookup(vocabulary=[3, 7], num_oov_indices=2, mask_token=0, oov_token=-9),
    )
    of_numbers("integer lookup multi hot", lambda: L.IntegerLookup(vocabulary=[3, 7], output_mode="multi_hot"))
    of_numbers("integer lookup inverted", lambda: L.IntegerLookup(vocabulary=[30, 40, 50], invert=True))
    for name, options in {
        "": {},
        " length": {"output_sequence_length": 3},
        " multi hot": {"output_mode": "multi_hot"},
        " count": {"output_mode": "count"},
        " tf idf": {"output_mode": "tf_idf"},
        " ngrams": {"ngrams": 2},
        " ngrams pair": {"ngrams": (1, 3)},
        " characters": {"split": "character", "standardize": "lower"},
        " plain": {"standardize": None, "split": None},
        " strip": {"standardize": "strip_punctuation", "max_tokens": 5},
    }.items():
        of_words(
            f"text vectorization{name}",
            lambda options=options: _adapted(L.TextVectorization(**options), ["apple pie", "cherry, Apple"]),
        )
    of_words(
        "text vectorization vocabulary",
        lambda: L.TextVectorization(vocabulary=["apple", "pie"], output_mode="multi_hot"),
    )
    for name, after in {
        "dense": lambda: L.Dense(2),
        "batch normalization": lambda: L.BatchNormalization(),
        "layer normalization": lambda: L.LayerNormalization(),
        "softmax": lambda: L.Softmax(),
        "convolution": lambda: k.Sequential([L.Reshape((-1, 1)), L.Conv1D(2, 2)]),
    }.items():
        for kind, layer in {
            "string lookup": lambda: L.StringLookup(vocabulary=["apple", "pie"], output_mode="multi_hot"),
            "text vectorization": lambda: L.TextVectorization(vocabulary=["apple", "pie"], output_mode="count"),
        }.items():
            for form in ("functional", "sequential"):
                add(
                    f"{kind} before {name} {form}",
                    lambda after=after, layer=layer, form=form: _two(layer(), after(), form, (1,), "string"),
                    inputs=_words,
                    formats=("keras",),
                    only=tensorflow,
                )
    of_words(
        "text vectorization function",
        lambda: L.TextVectorization(standardize=own_lower, vocabulary=["apple"]),
        refused="own_lower",
    )
    of_words("hashing", lambda: L.Hashing(5))
    of_words("hashing salt", lambda: L.Hashing(5, salt=[133, 137], mask_value=""))
    of_words("hashing number salt", lambda: L.Hashing(5, salt=7, output_mode="one_hot"))
    of_numbers("hashing numbers", lambda: L.Hashing(5, output_mode="multi_hot"), formats=("h5", "keras"))
    add(
        "hashed crossing",
        lambda: one(L.HashedCrossing(7, output_mode="one_hot"), (1,), (1,), dtype="string"),
        inputs=lambda: [*_words(), *_words()],
        formats=("h5", "keras"),
        only=tensorflow,
    )
    counted = {"formats": ("h5", "keras"), "only": None}
    small = lambda: [np.array([[3, 1], [0, 3], [2, 0]])]  # noqa: E731
    for mode in ("multi_hot", "count", "one_hot"):
        size = 1 if mode == "one_hot" else 2
        add(
            f"category encoding {mode}",
            lambda mode=mode, size=size: one(L.CategoryEncoding(4, mode), (size,), dtype="int64"),
            inputs=lambda size=size: [small()[0][:, :size]],
            formats=("h5", "keras"),
        )
    add(
        "category encoding weights",
        lambda: _weighted_encoding(),
        inputs=lambda: [*small(), _floats(BATCH, 2)],
        formats=("h5", "keras"),
    )
    of_numbers("discretization", lambda: L.Discretization([0.0, 3.5, 7.0]), dtype="float32", **counted)
    of_numbers(
        "discretization one hot",
        lambda: L.Discretization([0.0, 3.5], output_mode="multi_hot"),
        dtype="float32",
        **counted,
    )
    of_numbers(
        "discretization adapted",
        lambda: _adapted(L.Discretization(num_bins=3, epsilon=0.1), np.arange(12.0).reshape(6, 2)),
        dtype="float32",
    )
    data = np.arange(24.0).reshape(3, 4, 2) ** 1.5
    formats = ("h5", "keras", "saved")
    for name, make in {
        "normalization": lambda: _adapted(L.Normalization(), data),
        "normalization none": lambda: _adapted(L.Normalization(axis=None), data),
        "normalization axes": lambda: _adapted(L.Normalization(axis=(1, 2)), data),
        "normalization given": lambda: L.Normalization(mean=[1.0, 2.0], variance=[3.0, 4.0]),
        "normalization scalar": lambda: L.Normalization(mean=1.5, variance=4.0, axis=None),
        "normalization array": lambda: L.Normalization(mean=np.array([1.0, 2.0]), variance=np.array([3.0, 4.0])),
        "normalization shapes": lambda: L.Normalization(mean=[1.0, 2.0], variance=4.0),
        "normalization rows": lambda: L.Normalization(
            axis=(1, 2), mean=[[1.0], [2.0], [0.5], [3.0]], variance=[3.0, 4.0]
        ),
        "normalization more axes": lambda: L.Normalization(mean=[[1.0, 2.0]], variance=[[3.0, 4.0]]),
        "normalization inverted": lambda: _adapted(L.Normalization(invert=True), data),
    }.items():
        add(name, lambda make=make: one(make(), (4, 2)), formats=formats, keep=True, elsewhere=name == "normalization")
    image = (8, 9, 3)
    for name, make in {
        "random flip": lambda: L.RandomFlip("horizontal", seed=3),
        "random rotation": lambda: L.RandomRotation((-0.1, 0.2), fill_mode="nearest", interpolation="nearest"),
        "random zoom": lambda: L.RandomZoom(0.1, width_factor=(0.1, 0.2), fill_value=0.3),
        "random translation": lambda: L.RandomTranslation(0.1, (-0.2, 0.1), fill_mode="wrap"),
        "random contrast": lambda: L.RandomContrast((0.1, 0.3)),
        "random brightness": lambda: L.RandomBrightness(0.2, value_range=(0, 1)),
    }.items():
        add(
            name,
            lambda make=make: one(make(), image),
            formats=("h5", "keras", "saved") if name == "random flip" else ("h5", "keras"),
        )
    add("random crop", lambda: one(L.RandomCrop(5, 6), image), refused="RandomCrop")
    add("random height", lambda: one(L.RandomHeight(0.2), image), refused="RandomHeight")
    add("random width", lambda: one(L.RandomWidth(0.2), image), refused="RandomWidth")
    add(
        "augmentation",
        lambda: stack(
            stack(L.RandomFlip(), L.RandomRotation(0.1)),
            L.Rescaling(1 / 255),
            L.Conv2D(3, 2),
            L.Flatten(),
            L.Dense(2),
            shape=image,
        ),
    )


def own_lower(text):
    return tf.strings.lower(text)


def _weighted_encoding():
    x, w = k.Input((2,), dtype="int64"), k.Input((2,))
    return k.Model([x, w], L.CategoryEncoding(4, "count")(x, count_weights=w))


# Lambda layers.


def _lambdas():
    add("lambda", lambda: one(L.Lambda(lambda x: x * 2), (4,)), refused="Python code")
    # Keras 2 saves the code of any Python function.
    add("lambda named by python", lambda: one(L.Lambda(square), (4,)), refused="Python code", formats=("h5",))
    add(
        "lambda in sequential",
        lambda: stack(L.Dense(3), L.Lambda(lambda x: x * 2, name="double"), shape=(4,)),
        refused="Python code",
    )


# Graphs.


def _branches(shape, units=4):
    x = k.Input(shape)
    a, b, c = (L.Dense(units)(x) for _ in range(3))
    return k.Model(x, L.Dense(units)(L.Subtract()([L.Multiply()([a, b]), c])))


def _graphs():
    add("branches", lambda: _branches((5,)), elsewhere=True, formats=("h5", "keras", "saved", "json"))
    add("branches of unequal depth", _unequal, elsewhere=True, formats=("h5", "keras", "saved"))
    add("branches crossed", _crossed, elsewhere=True)
    add("branches with shared layer", _shared_depths, elsewhere=True, formats=("h5", "keras", "saved"))
    add("branches reversed", _reversed_branches)
    add("inputs in another order", _other_inputs)
    add("nested", lambda: _nested(False), elsewhere=True, formats=("h5", "keras", "saved", "json"))
    add("nested sequential", lambda: _nested(True), elsewhere=True, formats=("h5", "keras", "saved"))
    add("nested three levels", _three_levels, elsewhere=True, formats=("h5", "keras", "saved"))
    add("nested twice", _twice, elsewhere=True, formats=("h5", "keras", "saved"))
    add("nested output", _nested_output, elsewhere=True)
    add("nested outputs", _nested_outputs)
    add("nested output twice", _nested_output_twice)
    add("nested unused output", _unused_output)
    add("nested equal", _nested_equal, elsewhere=True)
    add("nested dict", _nested_dict)
    # tf_keras does not load these two itself.
    add("layers of a model", _layers_of_model, elsewhere=True, formats=("h5", "keras", "json", "saved"))
    add(
        "layers of a nested model",
        lambda: _layers_of_model(nested=True),
        inputs=lambda: [np.asarray([[1, 2, 0], [0, 3, 0]])],
    )
    add(
        "sequential first",
        lambda: stack(stack(L.Dense(3, input_shape=(4,)), L.BatchNormalization()), L.Dense(2)),
        elsewhere=True,
        formats=("h5", "keras", "json", "saved"),
    )
    add("sequential first of three", lambda: stack(stack(stack(L.Dense(3, input_shape=(4,))), L.Dense(3)), L.Dense(2)))
    add("functional first", lambda: stack(_branches((5,)), L.Dense(2), L.Dropout(0.2)), elsewhere=True)
    add("sequential input shape", lambda: stack(L.Dense(3, input_shape=(4,)), L.Dense(3)))
    add(
        "sequential batch input shape",
        lambda: stack(L.LSTM(3, batch_input_shape=(BATCH, 4, 3), stateful=True)),
        steps=2,
    )
    add("sequential input dim", lambda: stack(L.Dense(3, input_dim=4), L.Dense(3)))
    add(
        "sequential embedding first",
        lambda: stack(L.Embedding(6, 3, input_length=5), L.Flatten(), L.Dense(3)),
        inputs=_ids,
    )
    add("sequential bidirectional first", lambda: stack(L.Bidirectional(L.LSTM(3), input_shape=(4, 3)), L.Dense(3)))
    add("sequential built by shape", lambda: _built(stack(L.Dense(3), L.Dense(2)), (None, 4)))
    add("sequential built by call", lambda: _called(stack(L.Dense(3), L.Dense(2)), (2, 4)))
    add("sequential with one layer", lambda: stack(L.Flatten(), shape=(2, 3)))
    add("dict inputs", _dict_inputs, elsewhere=True)
    add("dict outputs", _dict_outputs, elsewhere=True)
    add("list of one output", lambda: _list_of_one())
    add("input is output", _input_is_output)
    add("slash in name", _slash, elsewhere=True, formats=("h5", "keras"))
    add("names with numbers", _numbers, elsewhere=True)
    add("odd names", _odd_names)
    add("frozen nested", _frozen_nested, elsewhere=True, formats=("h5", "keras", "saved", "json"))
    add("frozen nested model", _frozen_model, elsewhere=True, formats=("h5", "keras", "saved"))
    add("frozen last of nested", _frozen_last, formats=("h5", "keras", "saved"))
    add("frozen all", _frozen_all)
    add("frozen layer with norm", lambda: _frozen_norm(), elsewhere=True)
    add(
        "frozen time distributed",
        lambda: one(
            L.TimeDistributed(_freeze(stack(L.Dense(3), L.BatchNormalization(), L.Dense(3), shape=(5,)), 2)), (4, 5)
        ),
    )
    add("frozen bidirectional direction", _frozen_direction)
    add("shared by two models", _shared_by_two, elsewhere=True, formats=("h5",))
    add("shared layer in nested and outside", _shared_outside, formats=("h5",))
    # tf_keras cannot load these files itself: a shared layer has weights in one of its places only.
    add("shared by two models in archive", _shared_by_two, refused="no weights", formats=("keras",))
    add("shared layer outside in archive", _shared_outside, refused="kernel", formats=("keras",))
    add("layer called twice", _layer_twice, elsewhere=True)
    add("operation called twice", _operation_twice)
    add("masks through layers", _masks, elsewhere=True)
    add("masks through nested model", _masks_nested)
    add("mixed precision", lambda: _with_policy("mixed_float16"), tolerance=2e-3)
    add("mixed bfloat16", lambda: _with_policy("mixed_bfloat16"), tolerance=2e-2)
    add(
        "float16 output layer",
        lambda: stack(L.Dense(3, dtype="mixed_float16"), L.Dense(2, dtype="float32"), shape=(4,)),
        tolerance=2e-3,
    )
    add("float64", lambda: _with_policy("float64"), only=("tensorflow", "torch"))
    add(
        "float64 layers",
        lambda: stack(L.Dense(3, dtype="float64"), L.Dense(2, dtype="float32"), shape=(4,), dtype="float64"),
        only=("tensorflow", "torch"),
    )
    add(
        "policy object",
        lambda: stack(L.Dense(3, dtype=k.mixed_precision.Policy("mixed_bfloat16")), shape=(4,)),
        tolerance=2e-2,
    )
    add("int input", lambda: stack(L.Rescaling(1 / 255), L.Dense(3), shape=(4,), dtype="uint8"))
    add("int input to dense", lambda: one(L.Dense(3), (4,), dtype="int32"))
    for name, layer in {
        "resizing": lambda: L.Resizing(5, 4),
        "center crop": lambda: L.CenterCrop(3, 4),
        "random flip": lambda: L.RandomFlip(),
        "smooth up sampling": lambda: L.UpSampling2D(interpolation="bilinear"),
        "layer normalization": lambda: L.LayerNormalization(),
        "unit normalization": lambda: L.UnitNormalization(),
        "average": lambda: L.GlobalAveragePooling2D(),
    }.items():
        for form in ("functional", "sequential"):
            add(
                f"int input to {name} {form}",
                lambda layer=layer, form=form: _two(L.ZeroPadding2D(1), layer(), form, (8, 9, 3), "uint8"),
                refused="averages of integers" if name == "average" else None,
                formats=("h5", "keras"),
            )
    for name, build in {"layer": _constants_for_layers, "output": _sizes_as_outputs}.items():
        add(f"known values as {name}", build, elsewhere=True)
    add("bool input", lambda: stack(L.Dense(3), shape=(4,), dtype="bool"), only=("tensorflow",))
    add("operators", _operators, formats=("h5", "keras", "saved"), elsewhere=True)
    add("operators between equal branches", _operators_branches, elsewhere=True)
    add("operator in nested model", _operator_nested)
    add("batch size", lambda: one(L.Dense(3), (4,), batch=BATCH))
    add("sizes unknown", lambda: one(L.Conv2D(3, 2), (None, None, 3)), inputs=lambda: [_floats(2, 5, 6, 3)])
    add("subclassed functional", _subclassed)
    add("multi output layer", _multi_output)
    add("residual", _residual, formats=("h5", "keras", "saved"))
    add("many layers", _many, formats=("h5", "keras"))
    add("ragged input", _ragged, refused="ragged", formats=("h5",), inputs=list)


def _unequal():
    x = k.Input((4,), name="x")
    long = L.Dense(4, name="c")(L.Dense(4, name="b")(L.Dense(4, name="a")(x)))
    short = L.Dense(4, name="z")(x)
    last = L.Dense(4, name="y")(short)
    return k.Model(x, [L.Subtract(name="s")([last, long]), L.Dense(4, name="d")(long), short])


def _crossed():
    a, b = k.Input((4,), name="a"), k.Input((4,), name="b")
    one_, two, three, four = (L.Dense(4, name=name) for name in ("one", "two", "three", "four"))
    p, q = one_(b), two(a)
    r, s = three(q), four(p)
    return k.Model([a, b], [L.Subtract()([s, r]), L.Subtract()([q, p])])


def _reversed_branches():
    x = k.Input((4,), name="x")
    made = [L.Dense(4, name=f"d{number}")(x) for number in range(12)]
    return k.Model(x, [L.Concatenate()(made[::-1]), made[3], made[1]])


def _other_inputs():
    a, b, c = (k.Input((4,), name=name) for name in "abc")
    merged = L.Subtract()([L.Dense(3, name="p")(c), L.Dense(3, name="q")(a)])
    return k.Model([b, a, c], L.Multiply()([merged, L.Dense(3, name="r")(b)]))


def _shared_depths():
    x = k.Input((4,), name="x")
    shared, other = L.Dense(4, name="shared"), L.Dense(4, name="other")
    near = shared(x)
    far = shared(other(L.Dense(4, name="before")(near)))
    return k.Model(x, [L.Subtract()([near, far]), other(x), L.Dense(4, name="after")(far)])


def _nested(sequential):
    inner = stack(L.Dense(4), L.BatchNormalization(), L.Dense(4)) if sequential else _branches((4,))
    x = k.Input((5,), name="x")
    return k.Model(x, L.Dense(2)(inner(L.Dense(4)(x))))


def _three_levels():
    x = k.Input((4,))
    first = k.Model(x, L.Dense(4)(_branches((4,))(x)), name="first")
    y = k.Input((4,))
    second = k.Model(y, stack(L.Dense(4), first, L.Dense(4), shape=(4,))(L.Dense(4)(y)), name="second")
    z = k.Input((4,))
    return k.Model(z, L.Dense(4)(second(L.Dense(4)(z))))


def _twice():
    inner = _branches((4,))
    sequence = stack(L.Dense(4), L.Dense(4))
    a, b = k.Input((4,), name="a"), k.Input((4,), name="b")
    p, q = inner(a), inner(sequence(b))
    return k.Model([a, b], [L.Subtract()([p, q]), sequence(p), inner(q)])


def _nested_output():
    inner = _branches((4,))
    middle_in = k.Input((4,))
    middle = k.Model(middle_in, inner(middle_in))
    x = k.Input((4,), name="x")
    return k.Model(x, middle(x))


def _nested_outputs():
    x = k.Input((4,))
    inner = k.Model(x, [L.Dense(3)(x), L.Dense(3)(x)])
    y = k.Input((4,))
    outer = k.Model(y, inner(y))
    z = k.Input((4,))
    a, b = outer(z)
    return k.Model(z, [b, L.Dense(2)(a), a])


def _nested_output_twice():
    inner = stack(L.Dense(4), L.Dense(4), shape=(4,))
    functional = _branches((4,))
    x = k.Input((4,), name="x")
    once = functional(inner(x))
    return k.Model(x, [functional(inner(once)), inner(once), once])


def _unused_output():
    x = k.Input((4,))
    inner = k.Model(x, [L.Dense(3)(x), L.Dense(5)(x)])
    y = k.Input((4,))
    return k.Model(y, L.Dense(2)(inner(y)[1]))


def _nested_equal():
    x = k.Input((4,), name="x")
    a, b = _branches((4,)), _branches((4,))
    c, d = stack(L.Dense(4)), stack(L.Dense(4))
    return k.Model(x, [L.Subtract()([b(x), a(x)]), L.Subtract()([d(a(x)), c(b(x))])])


def _nested_dict():
    ins = {"p": k.Input((4,), name="p"), "q": k.Input((4,), name="q")}
    inner = k.Model(ins, {"u": L.Dense(3)(ins["q"]), "v": L.Subtract()([ins["p"], ins["q"]])})
    a, b = k.Input((4,), name="a"), k.Input((4,), name="b")
    made = inner({"p": b, "q": a})
    return k.Model([a, b], [made["v"], made["u"]])


def _layers_of_model(*, nested=False):
    """Return a model that calls all layers of another, the input layer included; nested, with integers and a mask."""
    if not nested:
        y = x = k.Input((4,), name="x")
        given = k.Input((4,), name="given")
        inner = k.Model(given, L.Dense(2)(L.Dense(3, activation="relu")(given)))
        for layer in inner.layers:
            y = layer(y)
        return k.Model(x, y)
    a, b = k.Input((3,), dtype="int32", name="a"), k.Input((3, 4), name="b")
    x = k.Input((3,), dtype="int32", name="x")
    first, second = k.Model(a, L.Embedding(5, 4, mask_zero=True)(a)), k.Model(b, L.LSTM(2)(b))
    y = x
    for layer in [*first.layers, *second.layers]:
        y = layer(y)
    z = k.Input((3,), dtype="int32", name="z")
    return k.Model(z, L.Dense(2)(k.Model(x, y)(z)))


def _built(model, shape):
    model.build(shape)
    return model


def _called(model, shape):
    model(np.zeros(shape, "float32"))
    return model


def _dict_inputs():
    inputs = {"b": k.Input((4,), name="b"), "a": k.Input((3,), name="a")}
    return k.Model(inputs, L.Concatenate()([L.Dense(2)(inputs["a"]), L.Dense(2)(inputs["b"])]))


def _dict_outputs():
    x = k.Input((4,), name="x")
    return k.Model(x, {"z": L.Dense(2, name="first")(x), "a": L.Dense(2, name="second")(x)})


def _list_of_one():
    x = k.Input((4,), name="x")
    return k.Model([x], [L.Dense(2)(x)])


def _input_is_output():
    x, y = k.Input((4,), name="x"), k.Input((4,), name="y")
    return k.Model([x, y], [x, L.Dense(2)(y)])


def _slash():
    x = k.Input((4,), name="x")
    y = L.Dense(4, name="block/dense")(x)
    z = L.Dense(4, name="block/other/dense")(y)
    return k.Model(x, L.Subtract(name="block_dense")([z, y]))


def _numbers():
    x = k.Input((4,), name="x")
    made = x
    for number in (10, 9, 2, 1, 11, 0):
        made = L.Dense(4, name=f"dense_{number}")(made)
    return k.Model(x, made)


def _odd_names():
    x = k.Input((4,), name="x")
    return k.Model(x, L.Dense(4, name="kernel")(L.Dense(4, name="dense.1")(L.Dense(4, name="Dense-1")(x))))


def _freeze(model, *numbers):
    for number in numbers:
        model.layers[number].trainable = False
    return model


def _frozen_nested():
    inner = _freeze(stack(L.Dense(4), L.BatchNormalization(), L.Dense(4), L.Dense(4), shape=(4,)), 0, 1)
    return stack(L.Dense(4), inner, L.Dense(4), shape=(4,))


def _frozen_model():
    inner = stack(L.Dense(4), L.BatchNormalization(), L.Dense(4), shape=(4,))
    inner.trainable = False
    x = k.Input((4,), name="x")
    return k.Model(x, L.Dense(4)(inner(x)))


def _frozen_last():
    deepest = _freeze(stack(L.Dense(4), L.BatchNormalization(), L.Dense(4), shape=(4,)), 2)
    inner = stack(L.Dense(4, input_shape=(4,)), deepest, L.BatchNormalization())
    return stack(inner, L.Dense(4))


def _frozen_all():
    model = _branches((5,))
    model.trainable = False
    return model


def _frozen_norm():
    x = k.Input((4, 4, 3), name="x")
    made = L.Conv2D(3, 2)(x)
    made = L.BatchNormalization(trainable=False)(made)
    inner = stack(L.Conv2D(3, 2), L.BatchNormalization(trainable=False), L.BatchNormalization())
    return k.Model(x, inner(made))


def _frozen_direction():
    layer = L.Bidirectional(L.LSTM(3))
    model = one(layer, (4, 3))
    layer.forward_layer.trainable = False
    return model


def _shared_by_two():
    shared = L.Dense(4, name="shared")
    x, y = k.Input((4,)), k.Input((4,))
    first = k.Model(x, L.Dense(4)(shared(x)), name="first")
    second = k.Model(y, shared(L.Dense(4)(y)), name="second")
    z = k.Input((4,), name="z")
    return k.Model(z, L.Subtract()([first(z), second(z)]))


def _shared_outside():
    shared = L.Dense(4, name="shared")
    inner = stack(L.Dense(4), shared, shape=(4,))
    z = k.Input((4,), name="z")
    return k.Model(z, L.Dense(2)(shared(inner(z))))


def _layer_twice():
    a, b = k.Input((4, 3), name="a"), k.Input((4, 3), name="b")
    shared = L.LSTM(3, name="shared")
    dense = L.Dense(3, name="dense")
    return k.Model([a, b], [L.Subtract()([shared(a), shared(b)]), dense(shared(a)), dense(dense(shared(b)))])


def _operation_twice():
    a, b = k.Input((4, 3), name="a"), k.Input((4, 3), name="b")
    multiply, split = k.Model(a, a * 2.0).layers[-1], k.Model(a, tf.split(a, 2, axis=1)).layers[-1]
    doubled, tripled = multiply(a, 2.0), multiply(b, 3.0)
    return k.Model([a, b], [L.Subtract()([tripled, a]), doubled, split(a, 2, axis=1)[1], split(tripled, 4, axis=1)[2]])


def _masks():
    x = k.Input((5,), dtype="int32", name="x")
    y = L.Embedding(6, 4, mask_zero=True)(x)
    y = L.Dropout(0.2)(L.Dense(4)(y))
    y = L.Bidirectional(L.GRU(3, return_sequences=True))(y)
    y = L.TimeDistributed(L.Dense(3))(y)
    return k.Model(x, [L.LSTM(2)(y), L.GlobalAveragePooling1D()(y)])


def _masks_nested():
    inner = stack(L.Embedding(6, 4, mask_zero=True), L.Dense(4))
    x = k.Input((5,), dtype="int32", name="x")
    return k.Model(x, L.LSTM(2)(inner(x)))


def _with_policy(name):
    before = k.mixed_precision.global_policy()
    k.mixed_precision.set_global_policy(name)
    try:
        dtype = "float64" if name == "float64" else "float32"
        x = k.Input((6, 4), name="x", dtype=dtype)
        y = L.LSTM(3, return_sequences=True)(L.Conv1D(4, 2)(x))
        y = L.BatchNormalization()(y)
        y = stack(L.Dense(3, activation="relu"), L.Dense(3))(y)
        return k.Model(x, L.Dense(2, dtype=dtype)(L.Flatten()(y)))
    finally:
        k.mixed_precision.set_global_policy(before)


def _operators():
    x = k.Input((4, 4), name="x")
    y = tf.nn.relu(x) * 2.0 + 1.0
    y = tf.reshape(y[:, 1:3], [-1, 8])
    y = tf.concat([y, tf.reduce_mean(x, axis=1)], axis=-1)
    return k.Model(x, L.Dense(3)(y) / 2.0)


def _operators_branches():
    x = k.Input((4,), name="x")
    a, b, c = (L.Dense(4, name=name) for name in "abc")
    p = tf.abs(a(x)) + 1.0
    q = b(p) * c(x)
    return k.Model(x, [L.Dense(4, name="d")(q) - L.Dense(4, name="e")(p), tf.exp(p)])


def _operator_nested():
    x = k.Input((4,))
    inner = k.Model(x, tf.clip_by_value(L.Dense(4)(x), -0.5, 0.5) * 3.0)
    y = k.Input((4,), name="y")
    return k.Model(y, [L.Dense(2)(inner(y)), inner(inner(y))])


def _subclassed():
    class Mine(k.Model):
        pass

    x = k.Input((4,), name="x")
    return Mine(x, L.Dense(2)(x))


def _multi_output():
    x = k.Input((4, 3), name="x")
    sequence, hidden, cell = L.LSTM(3, return_sequences=True, return_state=True)(x)
    return k.Model(x, [L.Dense(2)(cell), L.Dense(2)(hidden), L.GRU(2)(sequence)])


def _residual():
    x = k.Input((8, 8, 3), name="x")
    made = L.Conv2D(4, 3, padding="same", name="stem")(x)
    for number in range(3):
        inner = L.BatchNormalization()(L.Conv2D(4, 3, padding="same", use_bias=False)(made))
        inner = L.BatchNormalization()(L.Conv2D(4, 3, padding="same", use_bias=False)(L.ReLU()(inner)))
        if number == 1:
            made = L.Conv2D(4, 1)(made)
        made = L.ReLU()(L.Add()([inner, made]))
    return k.Model(x, L.Dense(3, activation="softmax")(L.GlobalAveragePooling2D()(made)))


def _many():
    return stack(*[layer for _ in range(12) for layer in (L.Dense(4), L.BatchNormalization(), L.ReLU())], shape=(4,))


def _ragged():
    x = k.Input((None, 3), ragged=True, name="x")
    return k.Model(x, L.LSTM(3)(x))


for _part in (_dense, _convolutions, _recurrent, _merging, _preprocessing, _lambdas):
    _part()
_layer_cases = len(CASES)
_graphs()
for _case in list(CASES.values())[_layer_cases:]:
    _case.alone = True


def _bundles():
    """Join cases of the same kind, by name: a model with all of their inputs and outputs takes less time than one for each."""
    kinds: dict[Any, list[str]] = {}
    for name, case in CASES.items():
        if case.can_be_joined:
            kinds.setdefault((case.elsewhere, case.formats), []).append(name)
    joined = {}
    for (elsewhere, formats), names in kinds.items():
        for start in range(0, len(names), SIZE):
            part = names[start : start + SIZE]
            kind = "everywhere" if elsewhere else "layers"
            joined[f"{kind} {'+'.join(formats)} {start // SIZE}"] = part
    return joined


SIZE = 20
BUNDLES: dict[str, list[str]] = _bundles()


# How models were compiled.


@dataclass
class Compiled:
    """A compiled model: its optimizer, and what else `compile` gets."""

    optimizer: Callable[[], Any] = lambda: "sgd"
    options: Callable[[], dict[str, Any]] = lambda: {"loss": "mse"}
    outputs: int = 1
    left_out: str | None = None
    formats: tuple[str, ...] = ("h5", "keras")


COMPILED: dict[str, Compiled] = {}


def _compiled():
    settings = {
        "Adadelta": {"rho": 0.9, "epsilon": 1e-5},
        "Adafactor": {"beta_2_decay": -0.7},
        "Adagrad": {"initial_accumulator_value": 0.2},
        "Adam": {"beta_1": 0.8, "amsgrad": True},
        "AdamW": {"weight_decay": 0.01},
        "Adamax": {"beta_2": 0.98},
        "Ftrl": {"l1_regularization_strength": 0.1, "beta": 0.2},
        "Lion": {"beta_1": 0.8},
        "Nadam": {"epsilon": 1e-5},
        "RMSprop": {"rho": 0.8, "momentum": 0.1, "centered": True},
        "SGD": {"momentum": 0.9, "nesterov": True},
    }
    for name, options in settings.items():
        COMPILED[f"optimizer {name}"] = Compiled(lambda name=name: getattr(k.optimizers, name)())
        COMPILED[f"optimizer {name} with settings"] = Compiled(
            lambda name=name, options=options: getattr(k.optimizers, name)(learning_rate=0.02, **options)
        )
        if name not in ("Adafactor", "AdamW", "Lion"):
            COMPILED[f"legacy {name}"] = Compiled(
                lambda name=name, options=options: getattr(k.optimizers.legacy, name)(learning_rate=0.02, **options)
            )
    COMPILED["optimizer clipped"] = Compiled(lambda: k.optimizers.Adam(0.1, clipnorm=1.0))
    COMPILED["optimizer clipped by value"] = Compiled(lambda: k.optimizers.SGD(0.1, clipvalue=0.5))
    COMPILED["optimizer averaged"] = Compiled(lambda: k.optimizers.Adam(0.1, use_ema=True, ema_momentum=0.9))
    COMPILED["legacy lr"] = Compiled(lambda: k.optimizers.legacy.SGD(lr=0.3))
    COMPILED["legacy decay"] = Compiled(lambda: k.optimizers.legacy.Adam(0.1, decay=0.01))
    COMPILED["loss scale"] = Compiled(
        lambda: k.mixed_precision.LossScaleOptimizer(k.optimizers.Adam(0.1)), formats=("h5",)
    )
    schedules = {
        "ExponentialDecay": (0.1, 100, 0.9),
        "InverseTimeDecay": (0.1, 100, 0.9),
        "PolynomialDecay": (0.1, 100, 0.01, 2.0),
        "PiecewiseConstantDecay": ([10, 20], [0.3, 0.2, 0.1]),
        "CosineDecay": (0.1, 100, 0.1),
        "CosineDecayRestarts": (0.1, 100),
    }
    for name, values in schedules.items():
        COMPILED[f"schedule {name}"] = Compiled(
            lambda name=name, values=values: k.optimizers.Adam(getattr(k.optimizers.schedules, name)(*values))
        )
    losses = (
        "mse mae mape msle mean_squared_error binary_crossentropy categorical_crossentropy cosine_similarity hinge "
        "huber kl_divergence kullback_leibler_divergence logcosh log_cosh poisson squared_hinge categorical_hinge"
    )
    for name in losses.split():
        COMPILED[f"loss {name}"] = Compiled(options=lambda name=name: {"loss": name})
    for name, made in {
        "class": lambda: k.losses.CategoricalCrossentropy(label_smoothing=0.1),
        "smoothed": lambda: k.losses.BinaryCrossentropy(label_smoothing=0.2),
        "sum": lambda: k.losses.MeanSquaredError(reduction="sum"),
        "huber delta": lambda: k.losses.Huber(delta=0.3),
        "function": lambda: k.losses.mean_absolute_error,
        "focal": lambda: k.losses.BinaryFocalCrossentropy(gamma=3.0),
        "log cosh class": lambda: k.losses.LogCosh(),
        "cosine class": lambda: k.losses.CosineSimilarity(axis=1),
    }.items():
        COMPILED[f"loss {name}"] = Compiled(options=lambda made=made: {"loss": made()})
    COMPILED["loss of your own"] = Compiled(options=lambda: {"loss": own_loss}, left_out="own_loss", formats=("h5",))
    names = (
        "accuracy acc mse mae mape cosine_similarity binary_accuracy categorical_accuracy top_k_categorical_accuracy"
    )
    COMPILED["metrics by name"] = Compiled(options=lambda: {"loss": "mse", "metrics": names.split()})
    COMPILED["metrics by class"] = Compiled(
        options=lambda: {
            "loss": "categorical_crossentropy",
            "metrics": [
                k.metrics.AUC(num_thresholds=20, name="area"),
                k.metrics.Precision(0.4),
                k.metrics.Recall(top_k=1),
                k.metrics.F1Score(average="macro"),
                k.metrics.TopKCategoricalAccuracy(k=2),
                k.metrics.MeanSquaredError(name="other"),
                k.metrics.RootMeanSquaredError(),
                k.metrics.CategoricalAccuracy(),
            ],
        }
    )
    COMPILED["metrics weighted"] = Compiled(options=lambda: {"loss": "mse", "weighted_metrics": ["mae", "accuracy"]})
    COMPILED["metric of your own"] = Compiled(
        options=lambda: {"loss": "mse", "metrics": ["mae", own_loss]}, left_out="own_loss", formats=("h5",)
    )
    COMPILED["several outputs"] = Compiled(
        options=lambda: {
            "loss": ["mse", "categorical_crossentropy"],
            "loss_weights": [0.3, 0.7],
            "metrics": [["mae"], ["accuracy", "mse"]],
        },
        outputs=2,
    )
    COMPILED["several outputs by name"] = Compiled(
        options=lambda: {
            "loss": {"first": "mse", "second": k.losses.CategoricalCrossentropy()},
            "loss_weights": {"first": 0.3, "second": 0.7},
            "metrics": {"second": ["accuracy"]},
        },
        outputs=2,
    )
    COMPILED["one loss for several outputs"] = Compiled(options=lambda: {"loss": "mse"}, outputs=2)


def own_loss(y, z):
    return tf.reduce_mean(tf.abs(y - z))


_compiled()


def make_compiled(name, folder):
    """Write the files of a compiled model after one step of training, and what tf_keras computes with it."""
    case = COMPILED[name]
    k.backend.clear_session()
    folder.mkdir(parents=True)
    x = k.Input((4,), name="x")
    hidden = L.Dense(4, name="hidden")(x)
    made = [L.Dense(3, "softmax", name=each)(hidden) for each in ("first", "second")[: case.outputs]]
    model = k.Model(x, made[0] if case.outputs == 1 else made)
    model.compile(case.optimizer(), run_eagerly=True, **case.options())
    _randomize(model)
    generator = np.random.default_rng(3)
    inputs = generator.normal(size=(6, 4)).astype("float32")
    labels = [np.eye(3, dtype="float32")[generator.integers(0, 3, 6)] for _ in made]
    y = labels[0] if case.outputs == 1 else labels
    model.train_on_batch(inputs, y)
    results = model.test_on_batch(inputs, y, return_dict=True)
    optimizer = model.optimizer
    settings = {key: value for key, value in optimizer.get_config().items() if isinstance(value, bool | float | int)}
    rate = getattr(optimizer, "inner_optimizer", optimizer).get_config()["learning_rate"]
    rate = rate if isinstance(rate, dict) else float(rate)
    write(model, folder, case.formats)
    np.savez(folder / "inputs.npz", **_arrays([inputs, *labels]))
    facts = {"results": results, "class": type(optimizer).__name__, "settings": settings, "rate": rate}
    (folder / "facts.json").write_text(json.dumps(facts, default=float))


# Random models: a list of steps on tensors of the shape (6, 4), in which any two weights could be exchanged.

SIMPLE = {
    "dense": lambda: L.Dense(4, activation="tanh"),
    "lstm": lambda: L.LSTM(4, return_sequences=True),
    "gru": lambda: L.GRU(4, return_sequences=True, recurrent_activation="hard_sigmoid"),
    "both": lambda: L.Bidirectional(L.LSTM(2, return_sequences=True)),
    "conv": lambda: L.Conv1D(4, 2, padding="same"),
    "separable": lambda: L.SeparableConv1D(4, 2, padding="same"),
    "layer norm": lambda: L.LayerNormalization(),
    "batch norm": lambda: L.BatchNormalization(),
    "prelu": lambda: L.PReLU(shared_axes=[1]),
    "leaky": lambda: L.LeakyReLU(0.2),
    "each": lambda: L.TimeDistributed(L.Dense(4)),
    "cells": lambda: L.RNN([L.GRUCell(4), L.LSTMCell(4)], return_sequences=True),
    "sequential": lambda: stack(L.Dense(4), L.BatchNormalization(), L.Dense(4)),
    "permuted": lambda: stack(L.Permute((2, 1)), L.Dense(6), L.Permute((2, 1))),
}
MERGES = ("Add", "Subtract", "Multiply", "Average", "Maximum")


def random_model(steps, outputs):
    """Return a model of tf_keras.

    Args:
        steps: For each step what it does (a key of `SIMPLE`, a merge, "attention", "again", "operator", "nested",
            "frozen"), and two numbers that choose its inputs or an earlier layer.
        outputs: How many of the last tensors are outputs.
    """
    x = k.Input((6, 4), name="x")
    made, used = [x], []
    for what, first, second in steps:
        a, b = made[first % len(made)], made[second % len(made)]
        if what in MERGES:
            made.append(getattr(L, what)()([a, b]))
        elif what == "attention":
            made.append(L.MultiHeadAttention(2, 2)(a, b))
        elif what == "operator":
            made.append(tf.tanh(a * 0.5 + b))
        elif what == "again" and used:
            made.append(used[first % len(used)](b))
        elif what == "nested":
            y = k.Input((6, 4))
            inner = k.Model(y, L.Add()([L.Dense(4)(y), stack(L.Dense(4))(L.LayerNormalization()(y))]))
            used.append(inner)
            made.append(L.Subtract()([inner(a), inner(b)]))
        elif what == "frozen":
            layer = stack(L.Dense(4, trainable=False), L.BatchNormalization(), L.Dense(4))
            used.append(layer)
            made.append(layer(a))
        else:
            layer = SIMPLE.get(what, SIMPLE["dense"])()
            used.append(layer)
            made.append(layer(a))
    model = k.Model(x, made[-outputs:] if outputs > 1 else made[-1])
    _randomize(model)
    return model


# Running the cases.

_random = np.random.default_rng(11)


def _floats(*shape):
    return _random.normal(size=shape).astype("float32")


def _random_inputs(model):
    found = []
    for tensor in _flat(model.input):
        shape = [BATCH if number == 0 else size or 5 for number, size in enumerate(tensor.shape)]
        dtype = tensor.dtype.as_numpy_dtype
        if np.issubdtype(dtype, np.floating):
            found.append(_random.normal(size=shape).astype(dtype))
        elif dtype == np.bool_:
            values = _random.integers(0, 2, shape).astype(bool)
            values[..., 0] = True
            found.append(values)
        else:
            found.append(_random.integers(0, 6, shape).astype(dtype))
    return found


def _flat(value):
    import tensorflow

    return tensorflow.nest.flatten(value)


def _randomize(model):
    """Give all weights random values, so that no two are exchanged unnoticed."""
    generator = np.random.default_rng(5)
    for weight in model.weights:
        if not hasattr(weight, "assign") or not weight.dtype.is_floating or not weight.shape.is_fully_defined():
            continue
        values = generator.normal(size=weight.shape.as_list()) * 0.6
        if "variance" in weight.name:
            values = np.abs(values) + 0.5
        weight.assign(values.astype(weight.dtype.as_numpy_dtype))


def _plain(array):
    """Return an array of a dtype that NumPy can save."""
    if array.dtype == object:
        return np.array([[item.decode() for item in row] for row in array])
    return array.astype("float32") if str(array.dtype) == "bfloat16" else array


def _arrays(values):
    return {f"a{number:02}": value for number, value in enumerate(values)}


def make(name, folder):
    """Write the files of one case, or of one bundle."""
    k.backend.clear_session()
    folder.mkdir(parents=True)
    names = BUNDLES.get(name, [name])
    cases = [CASES[one_name] for one_name in names]
    models = [case.build() for case in cases]
    model = models[0] if len(models) == 1 else k.Model([m.inputs for m in models], [_flat(m.outputs) for m in models])
    if not cases[0].keep:
        _randomize(model)
    write(model, folder, cases[0].formats)
    inputs = [value for case, one_model in zip(cases, models, strict=True) for value in inputs_of(case, one_model)]
    np.savez(folder / "inputs.npz", **_arrays(inputs))
    if cases[0].refused is not None:
        return
    if cases[0].expected is not None:
        outputs = [cases[0].expected(model, inputs)]
    else:
        given = tf.nest.pack_sequence_as(model.input, [tf.constant(value) for value in inputs])
        outputs = [out for _ in range(cases[0].steps) for out in _flat(model(given, training=False))]
        outputs = [out.to_tensor() if hasattr(out, "to_tensor") else out for out in outputs]
    np.savez(folder / "outputs.npz", **_arrays(_plain(np.asarray(out)) for out in outputs))
    counts = [len(_flat(one_model.outputs)) for one_model in models]
    owners = [owner for owner, count in zip(names, counts, strict=True) for _ in range(count)] * cases[0].steps
    weights = sorted(weight.name for weight in model.weights if hasattr(weight, "assign"))
    (folder / "facts.json").write_text(json.dumps({"owners": owners, "weights": weights}))


def inputs_of(case, model):
    return case.inputs() if case.inputs is not None else _random_inputs(model)


def write(model, folder, formats):
    """Save a model in several formats."""
    for kind in formats:
        if kind in ("h5", "keras"):
            model.save(folder / f"model.{kind}")
        elif kind == "json":
            (folder / "model.json").write_text(model.to_json())
            model.save_weights(folder / "model.weights.h5")
        else:
            # Tracing the call of each layer takes most of the time, and Keras does not need it to load the model.
            model.save(folder / "saved", save_format="tf", save_traces=False)


def load_tf_keras():
    """Import TensorFlow and tf_keras, without which no model can be built."""
    global tf, k, L  # the names of the cases are needed without them
    import tensorflow
    import tf_keras

    tf, k, L = tensorflow, tf_keras, tf_keras.layers
    tf.get_logger().setLevel("ERROR")


def main(request):
    load_tf_keras()
    asked = json.loads(Path(request).read_text())
    folder = Path(asked["folder"])
    failed = {}
    for name in asked["names"]:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                (make_compiled if name in COMPILED else make)(name, folder / folder_name(name))
        except Exception:  # noqa: BLE001  # the test of this case shows it
            failed[name] = traceback.format_exc()[-2500:]
    (folder / "failed.json").write_text(json.dumps(failed))


def folder_name(name):
    return name.replace(" ", "_")


if __name__ == "__main__":
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "-1")
    os.environ["TF_USE_LEGACY_KERAS"] = "1"  # a few layers of tf_keras use tf.keras
    main(sys.argv[1])
