"""The classes of tf_keras 2.15 and later with the settings that they share with Keras 3.

A setting of Keras 3 that is not listed here does not exist in tf_keras. A test compares the tables with the installed
tf_keras.
"""

from __future__ import annotations

# Settings that every layer takes.
COMMON = frozenset({"name", "trainable", "dtype", "activity_regularizer"})


def _roles(*variables: str) -> str:
    """Return the names of initializer, regularizer and constraint of some variables."""
    return " ".join(f"{name}_{role}" for name in variables for role in ("initializer", "regularizer", "constraint"))


_KERNEL, _BIAS = _roles("kernel"), "use_bias " + _roles("bias")
_CONV = f"filters kernel_size strides padding data_format dilation_rate activation {_BIAS}"
_DEPTHWISE = f"kernel_size strides padding data_format dilation_rate depth_multiplier activation {_BIAS}"
_CELL = f"activation dropout recurrent_dropout {_KERNEL} {_BIAS} {_roles('recurrent')}"
_LOOP = "return_sequences return_state go_backwards stateful unroll zero_output_for_mask"
_SCALED = f"axis epsilon center scale {_roles('beta', 'gamma')}"
_POOL = "pool_size strides padding data_format"
_LOOKUP = (
    "max_tokens num_oov_indices mask_token oov_token vocabulary vocabulary_dtype idf_weights invert output_mode sparse "
    "pad_to_max_tokens"
)
_FILLED = "fill_mode fill_value interpolation seed"

_LAYERS = {
    "Activation": "activation",
    "ActivityRegularization": "l1 l2",
    "Add": "",
    "AdditiveAttention": "use_scale dropout seed",
    "AlphaDropout": "rate noise_shape seed",
    "Attention": "use_scale score_mode dropout seed",
    "Average": "",
    "BatchNormalization": f"momentum moving_mean_initializer moving_variance_initializer synchronized {_SCALED}",
    "Bidirectional": "layer backward_layer merge_mode",
    "CategoryEncoding": "num_tokens output_mode sparse",
    "CenterCrop": "height width",
    "Concatenate": "axis",
    "Cropping1D": "cropping",
    "Cropping2D": "cropping data_format",
    "Cropping3D": "cropping data_format",
    "Dense": f"units activation {_KERNEL} {_BIAS}",
    "Discretization": "bin_boundaries num_bins epsilon output_mode sparse",
    "Dot": "axes normalize",
    "Dropout": "rate noise_shape seed",
    "ELU": "alpha",
    "EinsumDense": f"equation output_shape activation bias_axes {_KERNEL} {_roles('bias')}",
    "Embedding": f"input_dim output_dim mask_zero {_roles('embeddings')}",
    "Flatten": "data_format",
    "GRU": f"units recurrent_activation reset_after seed {_CELL} {_LOOP}",
    "GRUCell": f"units recurrent_activation reset_after seed {_CELL}",
    "GaussianDropout": "rate seed",
    "GaussianNoise": "stddev seed",
    "GroupNormalization": f"groups {_SCALED}",
    "HashedCrossing": "num_bins output_mode sparse",
    "Hashing": "num_bins mask_value salt output_mode sparse",
    "Identity": "",
    "InputLayer": "batch_input_shape sparse ragged",
    "IntegerLookup": _LOOKUP,
    "LSTM": f"units recurrent_activation unit_forget_bias seed {_CELL} {_LOOP}",
    "LSTMCell": f"units recurrent_activation unit_forget_bias seed {_CELL}",
    "LayerNormalization": _SCALED,
    "LeakyReLU": "alpha",
    "Masking": "mask_value",
    "Maximum": "",
    "Minimum": "",
    "MultiHeadAttention": (
        f"query_shape key_shape value_shape num_heads key_dim value_dim dropout output_shape attention_axes {_KERNEL} {_BIAS}"
    ),
    "Multiply": "",
    "Normalization": "axis mean variance invert",
    "PReLU": f"shared_axes {_roles('alpha')}",
    "Permute": "dims",
    "RNN": f"cell {_LOOP}",
    "RandomBrightness": "factor value_range seed",
    "RandomContrast": "factor seed",
    "RandomFlip": "mode seed",
    "RandomRotation": f"factor {_FILLED}",
    "RandomTranslation": f"height_factor width_factor {_FILLED}",
    "RandomZoom": f"height_factor width_factor {_FILLED}",
    "ReLU": "max_value negative_slope threshold",
    "RepeatVector": "n",
    "Rescaling": "scale offset",
    "Reshape": "target_shape",
    "Resizing": "height width interpolation crop_to_aspect_ratio",
    "SimpleRNN": f"units {_CELL} {_LOOP}",
    "SimpleRNNCell": f"units seed {_CELL}",
    "Softmax": "axis",
    "SpatialDropout1D": "rate seed",
    "SpatialDropout2D": "rate data_format seed",
    "SpatialDropout3D": "rate data_format seed",
    "StackedRNNCells": "cells",
    "StringLookup": f"encoding {_LOOKUP}",
    "Subtract": "",
    "TextVectorization": (
        "max_tokens standardize split ngrams output_mode output_sequence_length pad_to_max_tokens vocabulary idf_weights "
        "sparse ragged encoding"
    ),
    "TimeDistributed": "layer",
    "UnitNormalization": "axis",
    "UpSampling1D": "size",
    "UpSampling2D": "size data_format interpolation",
    "UpSampling3D": "size data_format",
    "ZeroPadding1D": "padding",
    "ZeroPadding2D": "padding data_format",
    "ZeroPadding3D": "padding data_format",
    **{f"{kind}Pooling{rank}D": _POOL for kind in ("Average", "Max") for rank in (1, 2, 3)},
    **{f"Global{kind}Pooling{rank}D": "data_format keepdims" for kind in ("Average", "Max") for rank in (1, 2, 3)},
    **{f"Conv{rank}D": f"groups {_CONV} {_KERNEL}" for rank in (1, 2, 3)},
    **{f"Conv{rank}DTranspose": f"output_padding {_CONV} {_KERNEL}" for rank in (1, 2, 3)},
    **{f"DepthwiseConv{rank}D": f"{_DEPTHWISE} {_roles('depthwise')}" for rank in (1, 2)},
    **{f"SeparableConv{rank}D": f"filters {_DEPTHWISE} {_roles('depthwise', 'pointwise')}" for rank in (1, 2)},
    **{
        f"ConvLSTM{rank}D": f"recurrent_activation unit_forget_bias {_CONV} {_CELL} {_LOOP}".replace(
            " activation", "", 1
        )
        for rank in (1, 2, 3)
    },
}
LAYERS: dict[str, frozenset[str]] = {name: frozenset(keys.split()) for name, keys in _LAYERS.items()}

_FAN = {f"{name}{kind}": "seed" for name in ("Glorot", "He", "Lecun") for kind in ("Normal", "Uniform")}
_OBJECTS = {
    "initializers": {
        **_FAN,
        "Constant": "value",
        "Identity": "gain",
        "Ones": "",
        "Orthogonal": "gain seed",
        "RandomNormal": "mean stddev seed",
        "RandomUniform": "minval maxval seed",
        "TruncatedNormal": "mean stddev seed",
        "VarianceScaling": "scale mode distribution seed",
        "Zeros": "",
    },
    "regularizers": {"L1": "l1", "L1L2": "l1 l2", "L2": "l2", "OrthogonalRegularizer": "factor mode"},
    "constraints": {
        "MaxNorm": "max_value axis",
        "MinMaxNorm": "min_value max_value rate axis",
        "NonNeg": "",
        "UnitNorm": "axis",
    },
}

_STEP = (
    "name learning_rate weight_decay clipnorm clipvalue global_clipnorm use_ema ema_momentum ema_overwrite_frequency"
)
_BETAS = "beta_1 beta_2"
_FOCAL = "alpha gamma from_logits label_smoothing axis"
_MEAN = ("Absolute", "AbsolutePercentage", "Squared", "SquaredLogarithmic")
_POINTS = "thresholds"
_AT = "num_thresholds class_id"
_IOU = "num_classes ignore_class axis"
_TRAINING = {
    "optimizers": {
        "Adadelta": f"rho epsilon {_STEP}",
        "Adafactor": f"beta_2_decay epsilon_1 epsilon_2 clip_threshold relative_step {_STEP}",
        "Adagrad": f"initial_accumulator_value epsilon {_STEP}",
        "Adam": f"{_BETAS} epsilon amsgrad {_STEP}",
        "AdamW": f"{_BETAS} epsilon amsgrad {_STEP}",
        "Adamax": f"{_BETAS} epsilon {_STEP}",
        "Ftrl": (
            "learning_rate_power initial_accumulator_value l1_regularization_strength l2_regularization_strength "
            f"l2_shrinkage_regularization_strength beta {_STEP}"
        ),
        "Lion": f"{_BETAS} {_STEP}",
        "Nadam": f"{_BETAS} epsilon {_STEP}",
        "RMSprop": f"rho momentum epsilon centered {_STEP}",
        "SGD": f"momentum nesterov {_STEP}",
    },
    "optimizers.schedules": {
        "CosineDecay": "initial_learning_rate decay_steps alpha warmup_target warmup_steps name",
        "CosineDecayRestarts": "initial_learning_rate first_decay_steps t_mul m_mul alpha name",
        "ExponentialDecay": "initial_learning_rate decay_steps decay_rate staircase name",
        "InverseTimeDecay": "initial_learning_rate decay_steps decay_rate staircase name",
        "PiecewiseConstantDecay": "boundaries values name",
        "PolynomialDecay": "initial_learning_rate decay_steps end_learning_rate power cycle name",
    },
    "losses": {
        "BinaryCrossentropy": "from_logits label_smoothing axis",
        "BinaryFocalCrossentropy": f"apply_class_balancing {_FOCAL}",
        "CategoricalCrossentropy": "from_logits label_smoothing axis",
        "CategoricalFocalCrossentropy": _FOCAL,
        "CategoricalHinge": "",
        "CosineSimilarity": "axis",
        "Hinge": "",
        "Huber": "delta",
        "KLDivergence": "",
        "LogCosh": "",
        "Poisson": "",
        "SparseCategoricalCrossentropy": "from_logits ignore_class",
        "SquaredHinge": "",
        **{f"Mean{kind}Error": "" for kind in _MEAN},
    },
    "metrics": {
        "AUC": "num_thresholds curve summation_method thresholds multi_label num_labels label_weights from_logits",
        "Accuracy": "",
        "BinaryAccuracy": "threshold",
        "BinaryCrossentropy": "from_logits label_smoothing",
        "BinaryIoU": "target_class_ids threshold",
        "CategoricalAccuracy": "",
        "CategoricalCrossentropy": "from_logits label_smoothing axis",
        "CategoricalHinge": "",
        "CosineSimilarity": "axis",
        "F1Score": "average threshold",
        "FBetaScore": "average beta threshold",
        "Hinge": "",
        "IoU": f"target_class_ids sparse_y_true sparse_y_pred {_IOU}",
        "KLDivergence": "",
        "LogCoshError": "",
        "Mean": "",
        "MeanIoU": f"sparse_y_true sparse_y_pred {_IOU}",
        "OneHotIoU": f"target_class_ids sparse_y_pred {_IOU}",
        "OneHotMeanIoU": f"sparse_y_pred {_IOU}",
        "Poisson": "",
        "Precision": f"{_POINTS} top_k class_id",
        "PrecisionAtRecall": f"recall {_AT}",
        "R2Score": "class_aggregation num_regressors",
        "Recall": f"{_POINTS} top_k class_id",
        "RecallAtPrecision": f"precision {_AT}",
        "RootMeanSquaredError": "",
        "SensitivityAtSpecificity": f"specificity {_AT}",
        "SparseCategoricalAccuracy": "",
        "SparseCategoricalCrossentropy": "from_logits ignore_class axis",
        "SparseTopKCategoricalAccuracy": "k",
        "SpecificityAtSensitivity": f"sensitivity {_AT}",
        "SquaredHinge": "",
        "Sum": "",
        "TopKCategoricalAccuracy": "k",
        **{f"Mean{kind}Error": "" for kind in _MEAN},
        **{f"{truth}{kind}": _POINTS for truth in ("True", "False") for kind in ("Positives", "Negatives")},
    },
}
# Settings by kind and class: `OBJECTS["initializers"]["Constant"]`.
OBJECTS: dict[str, dict[str, frozenset[str]]] = {
    kind: {name: frozenset(keys.split()) for name, keys in classes.items()}
    for kind, classes in {**_OBJECTS, **_TRAINING}.items()
}
# Names of functions with the same meaning in both.
LOSSES = frozenset(
    """
    binary_crossentropy binary_focal_crossentropy categorical_crossentropy categorical_focal_crossentropy
    categorical_hinge cosine_similarity hinge huber kl_divergence mean_absolute_error mean_absolute_percentage_error
    mean_squared_error mean_squared_logarithmic_error poisson sparse_categorical_crossentropy squared_hinge mse mae mape
    msle
    """.split()  # noqa: SIM905  # a list of quoted names would be several times as long
)
METRICS = LOSSES | {
    "accuracy",
    "acc",
    "binary_accuracy",
    "categorical_accuracy",
    "crossentropy",
    "ce",
    "sparse_categorical_accuracy",
    "sparse_top_k_categorical_accuracy",
    "top_k_categorical_accuracy",
}
