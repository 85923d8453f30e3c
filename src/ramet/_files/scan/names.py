"""The names of what models are made of, in Keras and in Python: all that a config may name without a finding."""

from __future__ import annotations

import builtins
import sys

from ramet._files.known import LAYERS, snake_case

__all__ = [
    "ADDED_PACKAGES",
    "KERAS_PACKAGES",
    "MODEL_CLASSES",
    "MODEL_FUNCTIONS",
    "TORCH_OPTIMIZERS",
    "is_known_name",
    "is_model_module",
    "is_python_builtin",
    "is_standard_library",
]

KERAS_PACKAGES = frozenset({"keras", "tf_keras"})
# Packages that Keras itself imports when a config names them.
ADDED_PACKAGES = frozenset({"keras_cv", "keras_hub", "keras_nlp"})

# Below `keras.` and `keras.src.`: where the classes of models, and of what trains them, live.
_CLASS_MODULES = frozenset(
    {
        "",
        "constraints",
        "distillation",
        "dtype_policies",
        "engine",
        "initializers",
        "layers",
        "losses",
        "metrics",
        "mixed_precision",
        "models",
        "ops",
        "optimizers",
        "quantizers",
        "random",
        "regularizers",
        "trainers",
    }
)
TORCH_OPTIMIZERS = ("Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Lion", "Nadam", "RMSprop", "SGD")
# Classes of models in modules that hold much else besides.
_CLASSES_ELSEWHERE = frozenset(
    {
        ("applications", "CustomScaleLayer"),
        ("applications", "LayerScale"),
        ("applications", "StochasticDepth"),
        ("utils", "FeatureSpace"),
    }
)
# Classes by module and name. On torch, the first ones stand in for those of `keras.optimizers`, and files name them.
_EXACT_CLASSES = frozenset(
    [
        *((f"keras.src.backend.torch.optimizers.torch_{name.lower()}", name) for name in TORCH_OPTIMIZERS),
        *(
            ("keras._legacy.layers", name)
            for name in ("AlphaDropout", "RandomHeight", "RandomWidth", "ThresholdedReLU")
        ),
    ]
)
_FUNCTION_MODULES = frozenset({"activations", "losses", "metrics", "ops", "random"})

# What lives in modules of functions, and makes or reads objects of any class.
_MAKERS = frozenset({"deserialize", "get", "serialize"})

MODEL_FUNCTIONS = frozenset(
    """
    celu elu exponential gelu glu hard_shrink hard_sigmoid hard_silu hard_swish hard_tanh leaky_relu linear log_sigmoid
    log_softmax mish relu relu6 selu sigmoid silu soft_shrink softmax softplus softsign sparse_plus sparse_sigmoid
    sparsemax squareplus swish tanh tanh_shrink threshold binary_accuracy binary_crossentropy binary_focal_crossentropy
    categorical_accuracy categorical_crossentropy categorical_focal_crossentropy categorical_generalized_cross_entropy
    categorical_hinge circle concordance_correlation cosine_similarity ctc dice hinge huber kl_divergence log_cosh
    mean_absolute_error mean_absolute_percentage_error mean_squared_error mean_squared_logarithmic_error
    pearson_correlation poisson sparse_categorical_accuracy sparse_categorical_crossentropy
    sparse_top_k_categorical_accuracy squared_hinge top_k_categorical_accuracy tversky
    """.split()  # noqa: SIM905  # reads better than quoted names
)
_SHORT_NAMES = frozenset(
    """
    accuracy acc bce BCE ce cosine_proximity crossentropy kld KLD kullback_leibler_divergence logcosh mae MAE mape MAPE
    mse MSE msle MSLE normal one uniform zero l1 l2 l1_l2 L1L2 max_norm min_max_norm non_neg unit_norm maxnorm nonneg
    unitnorm orthogonal glorot_normal glorot_uniform he_normal he_uniform identity lecun_normal lecun_uniform
    auto none
    """.split()  # noqa: SIM905  # reads better than quoted names
)
MODEL_CLASSES = (
    frozenset(
        """
    Functional Model Sequential Variable Constant GlorotNormal GlorotUniform HeNormal HeUniform Identity
    IdentityInitializer LecunNormal LecunUniform Ones Orthogonal OrthogonalInitializer RandomNormal RandomUniform STFT
    STFTInitializer TruncatedNormal VarianceScaling Zeros L1 L1L2 L2 OrthogonalRegularizer MaxNorm MinMaxNorm NonNeg
    UnitNorm Adadelta Adafactor Adagrad Adam AdamW Adamax Ftrl Lamb Lion LossScaleOptimizer MultiOptimizer Muon Nadam
    RMSprop SGD ScheduleFreeAdamW CosineDecay CosineDecayRestarts ExponentialDecay InverseTimeDecay
    PiecewiseConstantDecay PolynomialDecay BinaryCrossentropy BinaryFocalCrossentropy CTC CategoricalCrossentropy
    CategoricalFocalCrossentropy CategoricalGeneralizedCrossEntropy CategoricalHinge Circle CosineSimilarity Dice Hinge
    Huber KLDivergence LogCosh MeanAbsoluteError MeanAbsolutePercentageError MeanSquaredError
    MeanSquaredLogarithmicError Poisson SparseCategoricalCrossentropy SquaredHinge Tversky AUC Accuracy BinaryAccuracy
    BinaryIoU CategoricalAccuracy ConcordanceCorrelation F1Score FBetaScore FalseNegatives FalsePositives IoU
    LogCoshError Mean MeanIoU MeanMetricWrapper OneHotIoU OneHotMeanIoU PearsonCorrelation Precision PrecisionAtRecall
    R2Score Recall RecallAtPrecision RootMeanSquaredError SensitivityAtSpecificity SparseCategoricalAccuracy
    SparseTopKCategoricalAccuracy SpecificityAtSensitivity Sum TopKCategoricalAccuracy TrueNegatives TruePositives
    DTypePolicy DTypePolicyMap FloatDTypePolicy GPTQDTypePolicy AWQDTypePolicy Int4DTypePolicy QuantizedDTypePolicy
    QuantizedFloat8DTypePolicy Policy AbsMaxQuantizer AWQConfig Float8QuantizationConfig GPTQConfig
    Int4QuantizationConfig Int8QuantizationConfig SeedGenerator Distiller FeatureDistillation LogitsDistillation
    """.split()  # noqa: SIM905  # reads better than quoted names
    )
    | LAYERS
)

_KNOWN = MODEL_FUNCTIONS | _SHORT_NAMES | MODEL_CLASSES
_LOWER = frozenset(name.lower() for name in MODEL_CLASSES) | frozenset(map(snake_case, MODEL_CLASSES))


def is_known_name(name: str) -> bool:
    """Whether Keras knows what a name in a config stands for: `relu`, `GlorotUniform`, `adam`, `mse`."""
    return name in _KNOWN or name in _LOWER


def is_model_module(module: str, name: str, *, functions: bool) -> bool:
    """Whether a module of Keras holds what models are made of, and not what loads, saves, downloads or configures.

    Args:
        module: `keras.layers`, `keras.src.ops.numpy`.
        name: of the class or function in it.
        functions: whether a function is meant.
    """
    below = module.partition(".")[2].removeprefix("src.").removeprefix("src")
    room = below.partition(".")[0]
    if functions:
        return room in _FUNCTION_MODULES and name not in _MAKERS
    return room in _CLASS_MODULES or (room, name) in _CLASSES_ELSEWHERE or (module, name) in _EXACT_CLASSES


def is_python_builtin(name: str) -> bool:
    """Whether Python has a function or class of this name: `exec`, `eval`, `open`."""
    return hasattr(builtins, name)


def is_standard_library(module: str) -> bool:
    """Whether a module comes with Python: `os`, `subprocess`, `builtins`."""
    return module.partition(".")[0] in sys.stdlib_module_names
