"""Ordinary models, at least one for every class that a Keras file can contain.

The tables below name each class of Keras' public namespaces. `missing` compares them with the installed Keras, so that
classes added by a new version are noticed.
"""

import inspect
from collections.abc import Callable
from dataclasses import dataclass

import keras
import numpy as np
from keras import layers as L  # noqa: N812  # a table of them reads better

TORCH_OPTIMIZERS = ("Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Lion", "Nadam", "RMSprop", "SGD")

# Models that Keras itself cannot write as `.h5`.
NO_H5 = {
    **dict.fromkeys(
        [f"layers.{name}" for name in ("RandomBrightness", "RandomColorDegeneration", "RandomPosterization")]
        + [f"layers.{name}" for name in ("RandomSaturation", "RandomSharpness", "Solarization")],
        "it tries to copy a module that the layer holds",
    ),
    "optimizers.Adafactor": "it gives two variables one name",
}
# Classes whose files are not clean, or that no file contains, with the reason.
NOT_CLEAN = {
    "layers.Lambda": "contains Python code",
    "layers.TFSMLayer": "loads a SavedModel from another location",
    "layers.TorchModuleWrapper": "contains a pickled torch module",
    "layers.JaxLayer": "calls functions of the user",
    "layers.FlaxLayer": "calls a module of the user",
    "layers.Layer": "base class; files contain subclasses of it",
    "layers.Wrapper": "base class; files contain subclasses of it",
    "layers.InputSpec": "not a layer, and never serialized",
    "losses.Loss": "base class",
    "metrics.Metric": "base class",
    "optimizers.Optimizer": "base class",
    "optimizers.schedules.LearningRateSchedule": "base class",
    "initializers.Initializer": "base class",
    "regularizers.Regularizer": "base class",
    "constraints.Constraint": "base class",
    "quantizers.Quantizer": "base class",
    "quantizers.QuantizationConfig": "base class",
    "distillation.DistillationLoss": "base class",
}

ROW, SEQUENCE, IMAGE, VOLUME = (4,), (6, 4), (16, 16, 3), (6, 6, 6, 2)
NAMESPACES = (
    "constraints",
    "distillation",
    "dtype_policies",
    "initializers",
    "layers",
    "losses",
    "metrics",
    "models",
    "optimizers",
    "optimizers.schedules",
    "quantizers",
    "random",
    "regularizers",
)


@dataclass(frozen=True)
class Sample:
    """One model of the corpus.

    Attributes:
        name: The class that it covers, below `keras`: `layers.Dense`; followed by a word if there are several.
        make: Builds the model.
        train: Returns one batch to train it with; None for a model that is only saved.
    """

    name: str
    make: Callable[[], keras.Model]
    train: Callable[[], tuple] | None = None


def _new(cls):
    return cls()


def train_if_possible(model):
    """Compile a model and train it for one step, if it is built, has trainable weights and was not compiled before."""
    if model.compiled or not model.built or not model.trainable_variables or getattr(model, "input", None) is None:
        return
    model.compile("adam", "mse", run_eagerly=True)
    inputs = keras.tree.map_structure(
        lambda tensor: np.ones([size or 2 for size in tensor.shape], tensor.dtype), model.input
    )
    targets = keras.tree.map_structure(lambda output: np.zeros(tuple(output.shape), "float32"), model(inputs))
    model.train_on_batch(inputs, targets)


# Models that cannot be trained, with the reason.
NOT_TRAINED = {
    "activations.threshold": "an Activation layer does not pass its two arguments",
    **(
        dict.fromkeys(
            ["dtype_policies.QuantizedFloat8DTypePolicy", "quantizers.Float8QuantizationConfig"],
            "Keras' own gradient of float8 layers fails eagerly on TensorFlow",
        )
        if keras.backend.backend() == "tensorflow"
        else {}
    ),
}


def _on(shape, make=_new, *, dtype="float32"):
    """Return a function that puts a layer on one input."""

    def model(cls):
        value = keras.Input(shape, dtype=dtype)
        return keras.Model(value, make(cls)(value))

    return model


def _on_two(shape, make=_new, *, listed=True):
    """Return a function that puts a layer on two inputs, in a list or as two arguments."""

    def model(cls):
        pair = [keras.Input(shape), keras.Input(shape)]
        return keras.Model(pair, make(cls)(pair) if listed else make(cls)(*pair))

    return model


def _on_labeled(make=_new):
    """Return a function for a preprocessing layer that takes images together with their labels."""

    def model(cls):
        inputs = {"images": keras.Input(IMAGE, name="images"), "labels": keras.Input((5,), name="labels")}
        return keras.Model(inputs, make(cls)(inputs))

    return model


def _adapted(data, shape, make=_new):
    def model(cls):
        layer = make(cls)
        layer.adapt(data)
        value = keras.Input(shape)
        return keras.Model(value, layer(value))

    return model


def _unbuilt(make=_new):
    """Return a function for a model that holds a layer and is never called: only its config matters."""
    return lambda cls: keras.Sequential([make(cls)])


# How to make a model of each class, by its name.
LAYERS = {
    "Activation": _on(ROW, lambda cls: cls("gelu")),
    "ActivityRegularization": _on(ROW, lambda cls: cls(0.1, 0.2)),
    "Add": _on_two(ROW),
    "AdditiveAttention": _on_two(SEQUENCE),
    "AlphaDropout": _on(ROW, lambda cls: cls(0.1)),
    "Attention": _on_two(SEQUENCE, lambda cls: cls(use_scale=True, score_mode="concat", dropout=0.1)),
    "AugMix": _on(IMAGE),
    "AutoContrast": _on(IMAGE),
    "Average": _on_two(ROW),
    "BatchNormalization": _on(ROW),
    "Bidirectional": _on(SEQUENCE, lambda cls: cls(L.GRU(3), merge_mode="sum")),
    "CategoryEncoding": _on(ROW, lambda cls: cls(4, "multi_hot"), dtype="int32"),
    "CenterCrop": _on(IMAGE, lambda cls: cls(8, 8)),
    "Concatenate": _on_two(ROW),
    "ContrastLimitedAdaptiveHistogramEqualization": _on(IMAGE),
    "Cropping1D": _on(SEQUENCE),
    "Cropping2D": _on(IMAGE),
    "Cropping3D": _on(VOLUME),
    "CutMix": _on_labeled(),
    "Dense": _on(ROW, lambda cls: cls(3, activation="relu", kernel_regularizer="l2", bias_constraint="non_neg")),
    "Discretization": _adapted(np.arange(9.0), ROW, lambda cls: cls(num_bins=3)),
    "Dot": _on_two(ROW, lambda cls: cls(axes=1, normalize=True)),
    "Dropout": _on(ROW, lambda cls: cls(0.1, seed=3)),
    "ELU": _on(ROW, lambda cls: cls(0.5)),
    "EinsumDense": _on(SEQUENCE, lambda cls: cls("abc,cd->abd", (None, 3), bias_axes="d")),
    "Embedding": _on((6,), lambda cls: cls(7, 3, mask_zero=True), dtype="int32"),
    "Equalization": _unbuilt(),  # its output would be its input
    "Flatten": _on(SEQUENCE),
    "GRU": _on(SEQUENCE, lambda cls: cls(3, dropout=0.1, recurrent_dropout=0.1)),
    "GRUCell": _on(SEQUENCE, lambda _: L.RNN(L.GRUCell(3))),
    "GaussianDropout": _on(ROW, lambda cls: cls(0.1)),
    "GaussianNoise": _on(ROW, lambda cls: cls(0.1)),
    "GroupNormalization": _on(IMAGE, lambda cls: cls(3)),
    "GroupQueryAttention": _on_two(SEQUENCE, lambda cls: cls(2, 4, 2, dropout=0.1), listed=False),
    "HashedCrossing": _unbuilt(lambda cls: cls(5)),
    "Hashing": _unbuilt(lambda cls: cls(5, salt=133)),
    "Identity": _on(ROW),
    "InputLayer": lambda cls: keras.Sequential([cls(shape=ROW), L.Dense(2)]),
    "IntegerLookup": _on(ROW, lambda cls: cls(vocabulary=[3, 4, 5]), dtype="int32"),
    "LSTM": _on(SEQUENCE, lambda cls: cls(3, return_sequences=True, unroll=True)),
    "LSTMCell": _on(SEQUENCE, lambda _: L.RNN(L.LSTMCell(3))),
    "LayerNormalization": _on(ROW),
    "LeakyReLU": _on(ROW),
    "Masking": _on(SEQUENCE),
    "MaxNumBoundingBoxes": _unbuilt(lambda cls: cls(4)),
    "Maximum": _on_two(ROW),
    "MelSpectrogram": _on((512,), lambda cls: cls(fft_length=64, num_mel_bins=8)),
    "Minimum": _on_two(ROW),
    "MixUp": _on_labeled(),
    "MultiHeadAttention": _on_two(SEQUENCE, lambda cls: cls(2, 2, dropout=0.1), listed=False),
    "Multiply": _on_two(ROW),
    "Normalization": _adapted(np.arange(12.0).reshape(3, 4), ROW),
    "PReLU": _on(ROW, lambda cls: cls(alpha_constraint="max_norm")),
    "Permute": _on(SEQUENCE, lambda cls: cls((2, 1))),
    "Pipeline": _on(IMAGE, lambda cls: cls([L.RandomFlip(), L.Rescaling(0.5)])),
    "RMSNormalization": _on(ROW),
    "RNN": _on(SEQUENCE, lambda cls: cls([L.LSTMCell(3), L.GRUCell(2)], stateful=False)),
    "RandAugment": _on(IMAGE),
    "RandomBrightness": _on(IMAGE, lambda cls: cls(0.1)),
    "RandomColorDegeneration": _on(IMAGE, lambda cls: cls(0.1)),
    "RandomColorJitter": _on(IMAGE, lambda cls: cls((0.0, 1.0), 0.1, 0.1, 0.1)),
    "RandomContrast": _on(IMAGE, lambda cls: cls(0.1)),
    "RandomCrop": _on(IMAGE, lambda cls: cls(8, 8)),
    "RandomElasticTransform": _on(IMAGE),
    "RandomErasing": _on(IMAGE),
    "RandomFlip": _on(IMAGE),
    "RandomGaussianBlur": _on(IMAGE),
    "RandomGrayscale": _on(IMAGE),
    "RandomHue": _on(IMAGE, lambda cls: cls(0.1)),
    "RandomInvert": _on(IMAGE),
    "RandomPerspective": _on(IMAGE),
    "RandomPosterization": _on(IMAGE, lambda cls: cls(4)),
    "RandomRotation": _on(IMAGE, lambda cls: cls(0.1)),
    "RandomSaturation": _on(IMAGE, lambda cls: cls(0.1)),
    "RandomSharpness": _on(IMAGE, lambda cls: cls(0.1)),
    "RandomShear": _on(IMAGE, lambda cls: cls(0.1, 0.1)),
    "RandomTranslation": _on(IMAGE, lambda cls: cls(0.1, 0.1)),
    "RandomZoom": _on(IMAGE, lambda cls: cls(0.1)),
    "ReLU": _on(ROW),
    "RepeatVector": _on(ROW, lambda cls: cls(2)),
    "Rescaling": _on(ROW, lambda cls: cls([0.1, 0.2, 0.3, 0.4], [1, 2, 3, 4])),
    "Reshape": _on(ROW, lambda cls: cls((2, 2))),
    "Resizing": _on(IMAGE, lambda cls: cls(8, 8)),
    "ReversibleEmbedding": _on((6,), lambda cls: cls(7, 3, tie_weights=False), dtype="int32"),
    "STFTSpectrogram": _on((64, 1), lambda cls: cls(frame_length=8, frame_step=4, fft_length=8)),
    "SimpleRNN": _on(SEQUENCE, lambda cls: cls(3)),
    "SimpleRNNCell": _on(SEQUENCE, lambda _: L.RNN(L.SimpleRNNCell(3))),
    "Softmax": _on(ROW),
    "Solarization": _on(IMAGE),
    "SpatialDropout1D": _on(SEQUENCE, lambda cls: cls(0.1)),
    "SpatialDropout2D": _on(IMAGE, lambda cls: cls(0.1)),
    "SpatialDropout3D": _on(VOLUME, lambda cls: cls(0.1)),
    "SpectralNormalization": _on(ROW, lambda cls: cls(L.Dense(3))),
    "StackedRNNCells": _on(SEQUENCE, lambda _: L.RNN(L.StackedRNNCells([L.LSTMCell(3), L.SimpleRNNCell(2)]))),
    "StringLookup": _unbuilt(lambda cls: cls(vocabulary=["/etc/passwd", "http://a", ".."])),
    "Subtract": _on_two(ROW),
    "TextVectorization": _unbuilt(lambda cls: cls(vocabulary=["a", "b"], output_sequence_length=3)),
    "TimeDistributed": _on(SEQUENCE, lambda cls: cls(L.Dense(3))),
    "UnitNormalization": _on(ROW),
    "UpSampling1D": _on(SEQUENCE),
    "UpSampling2D": _on(IMAGE, lambda cls: cls(interpolation="bilinear")),
    "UpSampling3D": _on(VOLUME),
    "ZeroPadding1D": _on(SEQUENCE),
    "ZeroPadding2D": _on(IMAGE),
    "ZeroPadding3D": _on(VOLUME),
}
for _rank, _shape in enumerate((SEQUENCE, IMAGE, VOLUME), 1):
    for _name in ("Conv{}D", "Conv{}DTranspose", "SeparableConv{}D"):
        LAYERS[_name.format(_rank)] = _on(_shape, lambda cls: cls(3, 2))
    LAYERS[f"ConvLSTM{_rank}D"] = _on((2, *_shape), lambda cls: cls(3, 2))
    LAYERS[f"DepthwiseConv{_rank}D"] = _on(_shape, lambda cls: cls(2))
    for _name in ("GlobalMaxPooling{}D", "GlobalAveragePooling{}D"):
        LAYERS[_name.format(_rank)] = _on(_shape)
    for _name in ("MaxPooling{}D", "AveragePooling{}D", "AdaptiveMaxPooling{}D", "AdaptiveAveragePooling{}D"):
        LAYERS[_name.format(_rank)] = _on(_shape, lambda cls: cls(2))


def _batch():
    """Return four rows, and a label for each as one of four classes."""
    random = np.random.default_rng(3)
    return random.random((4, 4), "float32"), np.eye(4, dtype="float32")


def _numbered_batch():
    return _batch()[0], np.arange(4)


def _compiled(**options):
    """Return a function for a small compiled model. It runs eagerly, which makes no difference to the file."""
    value = keras.Input(ROW)
    model = keras.Model(value, L.Dense(4, activation="softmax")(value))
    model.compile(run_eagerly=True, **{"optimizer": "sgd", "loss": "mse", **options})
    return model


OPTIMIZERS = {
    **{name: lambda cls: cls(0.01, clipnorm=1.0) for name in (*TORCH_OPTIMIZERS, "Adafactor", "Ftrl", "Lamb")},
    "ScheduleFreeAdamW": lambda cls: cls(0.01),
    "Muon": lambda cls: cls(0.01),
    "LossScaleOptimizer": lambda cls: cls(keras.optimizers.Adam(0.01)),
    "MultiOptimizer": lambda cls: cls(_optimizer_map()),
    "OptimizerMap": lambda _: keras.optimizers.MultiOptimizer(_optimizer_map()),
}


def _optimizer_map():
    return keras.optimizers.OptimizerMap(keras.optimizers.SGD(0.1), {".*kernel": keras.optimizers.Adam(0.1)})


SCHEDULES = {
    "CosineDecay": lambda cls: cls(0.1, 10, warmup_target=0.2, warmup_steps=2),
    "CosineDecayRestarts": lambda cls: cls(0.1, 10),
    "ExponentialDecay": lambda cls: cls(0.1, 10, 0.9),
    "InverseTimeDecay": lambda cls: cls(0.1, 10, 0.9),
    "PiecewiseConstantDecay": lambda cls: cls([1, 2], [0.1, 0.2, 0.3]),
    "PolynomialDecay": lambda cls: cls(0.1, 10),
}
LOSSES = {
    **dict.fromkeys(
        [
            "BinaryCrossentropy",
            "BinaryFocalCrossentropy",
            "CategoricalCrossentropy",
            "CategoricalFocalCrossentropy",
            "CategoricalHinge",
            "CosineSimilarity",
            "Dice",
            "Hinge",
            "Huber",
            "KLDivergence",
            "LogCosh",
            "MeanAbsoluteError",
            "MeanAbsolutePercentageError",
            "MeanSquaredError",
            "MeanSquaredLogarithmicError",
            "Poisson",
            "SquaredHinge",
            "Tversky",
        ],
        _new,
    ),
    "CategoricalGeneralizedCrossEntropy": _new,
    "Circle": _new,
    "CTC": _new,
    "SparseCategoricalCrossentropy": lambda cls: cls(ignore_class=1),
}
_NUMBERED = {"CategoricalGeneralizedCrossEntropy", "Circle", "SparseCategoricalCrossentropy"}
METRICS = {
    **dict.fromkeys(
        [
            "AUC",
            "Accuracy",
            "BinaryAccuracy",
            "BinaryCrossentropy",
            "CategoricalAccuracy",
            "CategoricalCrossentropy",
            "CategoricalHinge",
            "ConcordanceCorrelation",
            "CosineSimilarity",
            "F1Score",
            "FBetaScore",
            "FalseNegatives",
            "FalsePositives",
            "Hinge",
            "KLDivergence",
            "LogCoshError",
            "Mean",
            "MeanAbsoluteError",
            "MeanAbsolutePercentageError",
            "MeanSquaredError",
            "MeanSquaredLogarithmicError",
            "PearsonCorrelation",
            "Poisson",
            "Precision",
            "R2Score",
            "Recall",
            "RootMeanSquaredError",
            "SparseCategoricalAccuracy",
            "SparseCategoricalCrossentropy",
            "SquaredHinge",
            "Sum",
            "TrueNegatives",
            "TruePositives",
        ],
        _new,
    ),
    "BinaryIoU": lambda cls: cls(threshold=0.3),
    "IoU": lambda cls: cls(4, [0, 1]),
    "MeanIoU": lambda cls: cls(4),
    "MeanMetricWrapper": lambda cls: cls(keras.losses.mean_squared_error, name="wrapped"),
    "OneHotIoU": lambda cls: cls(4, [0, 1]),
    "OneHotMeanIoU": lambda cls: cls(4),
    "SparseTopKCategoricalAccuracy": lambda cls: cls(k=2),
    "TopKCategoricalAccuracy": lambda cls: cls(k=2),
    **{
        name: lambda cls: cls(0.5)
        for name in ("PrecisionAtRecall", "RecallAtPrecision", "SensitivityAtSpecificity", "SpecificityAtSensitivity")
    },
}
INITIALIZERS = {
    **dict.fromkeys(
        [
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
        ],
        _new,
    ),
    "Constant": lambda cls: cls(0.5),
    "Identity": lambda cls: cls(2.0),
    "STFT": lambda cls: cls("real"),
}
REGULARIZERS = {
    "L1": _new,
    "L1L2": lambda cls: cls(0.1, 0.2),
    "L2": _new,
    "OrthogonalRegularizer": lambda cls: cls(0.1, "columns"),
}
CONSTRAINTS = dict.fromkeys(("MaxNorm", "MinMaxNorm", "NonNeg", "UnitNorm"), _new)


def _with_policy(policy):
    """Return a model with a layer of a dtype policy, and a layer that contains layers."""
    value = keras.Input(SEQUENCE)
    inside = L.Dense(4, dtype=policy)(value)
    return keras.Model(value, L.MultiHeadAttention(2, 2, dtype=policy)(inside, inside))


POLICIES = {
    "DTypePolicy": lambda cls: _with_policy(cls("mixed_bfloat16")),
    "FloatDTypePolicy": lambda _: _with_policy("mixed_float16"),
    "DTypePolicyMap": lambda cls: _with_policy(cls("float32", {".*query": keras.DTypePolicy("bfloat16")})),
    "QuantizedDTypePolicy": lambda _: _quantized("int8"),
    "QuantizedFloat8DTypePolicy": lambda _: _quantized("float8"),
    "Int4DTypePolicy": lambda _: _quantized("int4"),
    "GPTQDTypePolicy": lambda cls: keras.Sequential([L.Dense(4, dtype=cls("gptq/4/-1", "float32"))]),
    "AWQDTypePolicy": lambda cls: keras.Sequential([L.Dense(4, dtype=cls("awq/4/-1", "float32"))]),
}


def _quantized(mode=None, **options):
    value = keras.Input((6,), dtype="int32")
    rows = L.Embedding(8, 4)(value) if mode != "float8" else L.Rescaling(1.0)(value)
    rows = L.Dense(4)(rows) if mode != "float8" else L.Dense(4)(L.Reshape((6, 1))(rows))
    model = keras.Model(value, L.EinsumDense("abc,cd->abd", (None, 4), bias_axes="d")(rows))
    model.quantize(mode, **options)
    return model


# Older Keras versions quantize without configs, so no file can contain one.
_WRITES_CONFIGS = hasattr(keras.quantizers, "Int8QuantizationConfig")
QUANTIZERS = {
    "AbsMaxQuantizer": lambda cls: (
        _quantized_dense(keras.quantizers.Int8QuantizationConfig(cls(axis=0), cls(axis=-1)))
        if _WRITES_CONFIGS
        else _quantized("int8")
    ),
    "Int8QuantizationConfig": lambda cls: _quantized(config=cls()),
    "Int4QuantizationConfig": lambda cls: _quantized(config=cls(block_size=2)),
    "Float8QuantizationConfig": lambda cls: _quantized("float8", config=cls()),
    "GPTQConfig": lambda cls: (
        keras.Sequential([L.Dense(4, dtype="gptq/4/-1_from_float32", quantization_config=cls(None, None))])
        if _WRITES_CONFIGS
        else _quantized("int8")
    ),
    "AWQConfig": lambda cls: keras.Sequential(
        [L.Dense(4, dtype="awq/4/-1_from_float32", quantization_config=cls(None, None))]
    ),
}


def _quantized_dense(config):
    model = keras.Sequential([keras.Input(ROW), L.Dense(4)])
    model.quantize(config=config)
    return model


def _distiller(loss):
    def model(cls):
        teacher, student = (keras.Sequential([keras.Input(ROW), L.Dense(4, name="d")]) for _ in range(2))
        return keras.distillation.Distiller(teacher, student, loss(cls))

    return model


DISTILLATION = {
    "Distiller": _distiller(lambda _: keras.distillation.LogitsDistillation(temperature=2.0)),
    "LogitsDistillation": _distiller(_new),
    "FeatureDistillation": _distiller(lambda cls: cls(teacher_layer_name="d", student_layer_name="d")),
}


def samples():
    """Return every model of the corpus that the installed Keras can create."""
    for space, table in (
        ("layers", LAYERS),
        ("dtype_policies", POLICIES),
        ("quantizers", QUANTIZERS),
        ("distillation", DISTILLATION),
    ):
        for name, cls, make in _installed(space, table):
            yield Sample(f"{space}.{name}", lambda make=make, cls=cls: make(cls))
    for name, cls, make in _installed("optimizers", OPTIMIZERS):
        yield Sample(f"optimizers.{name}", lambda make=make, cls=cls: _compiled(optimizer=make(cls)), _batch)
    for name, cls, make in _installed("optimizers.schedules", SCHEDULES):
        yield Sample(f"optimizers.schedules.{name}", lambda make=make, cls=cls: _scheduled(make(cls)), _batch)
    for name, cls, make in _installed("losses", LOSSES):
        batch = _numbered_batch if name in _NUMBERED else _batch
        model = _sequence_model if name == "CTC" else _compiled
        batch = _sequence_batch if name == "CTC" else batch
        yield Sample(f"losses.{name}", lambda make=make, cls=cls, model=model: model(loss=make(cls)), batch)
    for name, cls, make in _installed("metrics", METRICS):
        sparse = name.startswith("Sparse")
        loss, batch = ("sparse_categorical_crossentropy", _numbered_batch) if sparse else ("mse", _batch)
        yield Sample(
            f"metrics.{name}",
            lambda make=make, cls=cls, loss=loss: _compiled(loss=loss, metrics=[make(cls)]),
            # Keras calls a compiled metric with labels and predictions, which these two do not take.
            batch if name not in ("Mean", "Sum") else None,
        )
    for space, table, key in (
        ("initializers", INITIALIZERS, "kernel_initializer"),
        ("regularizers", REGULARIZERS, "kernel_regularizer"),
        ("constraints", CONSTRAINTS, "kernel_constraint"),
    ):
        for name, cls, make in _installed(space, table):
            yield Sample(f"{space}.{name}", lambda make=make, cls=cls, key=key: _with_kernel(**{key: make(cls)}))
    yield from _others()


def _others():
    """Return models of features without a class, and of common combinations."""
    for name in sorted(vars(keras.activations)):
        if inspect.isfunction(getattr(keras.activations, name)) and name not in ("deserialize", "get", "serialize"):
            yield Sample(f"activations.{name}", lambda name=name: _activated(getattr(keras.activations, name)))
    legacy_layers = keras._tf_keras.keras.layers
    for name, shape, value in (
        ("AlphaDropout", ROW, 0.1),
        ("RandomHeight", IMAGE, 0.1),
        ("RandomWidth", IMAGE, 0.1),
        ("ThresholdedReLU", ROW, 0.5),
    ):
        cls = getattr(legacy_layers, name)
        yield Sample(f"_legacy.layers.{name}", lambda cls=cls, shape=shape, value=value: _on(shape)(lambda: cls(value)))
    for name in TORCH_OPTIMIZERS:
        cls = getattr(keras.optimizers, name)
        yield Sample(
            f"optimizers.{name}, scaled",
            lambda cls=cls: _compiled(optimizer=keras.optimizers.LossScaleOptimizer(cls(0.01, use_ema=True))),
            _batch,
        )
    for name, make in COMBINATIONS.items():
        yield Sample(name, make, _batch if "trained" in name else None)


def _scheduled(schedule):
    return _compiled(optimizer=keras.optimizers.Adam(schedule, gradient_accumulation_steps=2, weight_decay=0.1))


def _activated(function):
    value = keras.Input(ROW)
    return keras.Model(value, L.Activation(function)(L.Dense(4)(value)))


def _with_kernel(**options):
    # Never called: an initializer that needs another shape would raise.
    return keras.Sequential([L.Dense(4, **options)])


def _sequence_model(loss):
    value = keras.Input(SEQUENCE)
    model = keras.Model(value, L.Dense(5)(value))
    model.compile("sgd", loss, run_eagerly=True)
    return model


def _sequence_batch():
    return np.ones((4, *SEQUENCE), "float32"), np.full((4, 2), 1)


def _lora():
    value = keras.Input((6,), dtype="int32")
    rows = L.Embedding(8, 4, lora_rank=2)(value)
    rows = L.Dense(4, lora_rank=2, lora_alpha=3)(rows)
    rows = L.Conv1D(4, 2, lora_rank=2)(rows)
    return keras.Model(value, L.EinsumDense("abc,cd->abd", (None, 4), lora_rank=2)(rows))


def _quantized_lora():
    value = keras.Input(ROW)
    model = keras.Model(value, L.Dense(4, name="d")(value))
    model.quantize("int8")
    model.get_layer("d").enable_lora(2)
    return model


def _nested():
    inner = keras.Sequential([keras.Input(SEQUENCE), L.Bidirectional(L.LSTM(3, return_sequences=True)), L.Dense(4)])
    value = keras.Input(SEQUENCE)
    shared = L.TimeDistributed(inner)
    twice = inner(inner(value))
    return keras.Model(value, [twice, shared(L.Reshape((1, *SEQUENCE))(value)), keras.ops.sum(twice, axis=1)])


def _two_losses():
    value = keras.Input(ROW)
    model = keras.Model(value, {"a": L.Dense(4, name="a")(value), "b": L.Dense(4, name="b")(value)})
    model.compile(
        keras.optimizers.AdamW(0.1),
        loss={"a": keras.losses.Huber(reduction="sum"), "b": keras.losses.mean_absolute_error},
        loss_weights={"a": 0.1, "b": 2.0},
        metrics={"a": ["mae", keras.metrics.AUC(num_thresholds=5)], "b": [keras.metrics.mean_squared_error]},
        weighted_metrics={"a": ["mse"]},
        run_eagerly=True,
    )
    model.train_on_batch(_batch()[0], {"a": _batch()[1], "b": _batch()[1]})
    return model


def _seeded():
    initializer = keras.initializers.GlorotNormal(seed=keras.random.SeedGenerator(3))
    return keras.Sequential([keras.Input(ROW), L.Dense(4, kernel_initializer=initializer), L.Dropout(0.1, seed=3)])


def _strings_only(model):
    model.compile("adam", "categorical_crossentropy", metrics=["accuracy", "mse", "auc"], run_eagerly=True)
    return model


def _mixed():
    value = keras.Input(ROW)
    model = keras.Model(value, L.Dense(4, dtype="float32")(L.Dense(4, dtype="mixed_float16")(value)))
    model.compile(keras.optimizers.RMSprop(0.1), "mse", auto_scale_loss=True, run_eagerly=True)
    return model


COMBINATIONS = {
    "models.Model": _nested,
    "models.Sequential, trained": lambda: _strings_only(keras.Sequential([keras.Input(ROW), L.Dense(4)])),
    "random.SeedGenerator": _seeded,
    "LoRA": _lora,
    "LoRA on int8": _quantized_lora,
    "a loss for each output": _two_losses,
    "mixed precision, trained": _mixed,
}


def _installed(space, table):
    """Yield name, class and maker for each row of a table whose class the installed Keras has."""
    home = _namespace(space)
    return [(name, getattr(home, name), make) for name, make in sorted(table.items()) if hasattr(home, name)]


def _namespace(space):
    found = keras
    for part in space.split("."):
        found = getattr(found, part, None)
    return found


def missing():
    """Return the public classes of the installed Keras that neither a sample nor `NOT_CLEAN` covers."""
    known = {sample.name.partition(",")[0] for sample in samples()} | set(NOT_CLEAN)
    found = []
    for space in NAMESPACES:
        by_class = {}
        for name, value in vars(_namespace(space) or keras.random).items():
            if inspect.isclass(value):
                by_class.setdefault(value, []).append(f"{space}.{name}")
        found += [names[0] for names in by_class.values() if not known.intersection(names)]
    return sorted(found)
