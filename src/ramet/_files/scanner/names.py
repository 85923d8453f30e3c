"""The names of classes and functions that a model file may contain, resolved as Keras resolves them.

The names of Keras itself are data (`keras_names.json`, written by `tools/keras_names.py` and compared with the installed
Keras by a test). They are read when the first name is looked up.
"""

from __future__ import annotations

import builtins
import functools
import json
import sys
from dataclasses import dataclass
from pathlib import Path

from ramet._files.keras_layers import snake_case

KERAS_PACKAGES = frozenset({"keras", "tf_keras"})
# Packages that Keras itself imports when a config names them.
ADDED_PACKAGES = frozenset({"keras_cv", "keras_hub", "keras_nlp"})

# On torch, classes with these names replace those of `keras.optimizers`, and files name them.
TORCH_OPTIMIZERS = ("Adadelta", "Adagrad", "Adam", "AdamW", "Adamax", "Lion", "Nadam", "RMSprop", "SGD")

_SHORT_NAMES = frozenset(
    """
    accuracy acc bce BCE ce cosine_proximity crossentropy hard_swish normal one uniform zero l1 l2 l1_l2 max_norm
    min_max_norm non_neg unit_norm maxnorm nonneg unitnorm orthogonal auto none swish gaussian laplacian
    """.split()  # noqa: SIM905  # reads better than quoted names
)
# TensorFlow functions that functional models of Keras 2 contain as layers. None of them reads, writes or calls anything.
_OPERATIONS = frozenset(
    """
    abs acos acosh add add_n argmax argmin argsort asin asinh atan atan2 atanh batch_to_space batch_to_space_nd
    bitcast boolean_mask broadcast_to cast clip_by_norm clip_by_value complex concat constant convert_to_tensor cos
    cosh cumsum debugging.assert_all_finite debugging.check_numerics div divide dtypes.complex dynamic_partition
    dynamic_stitch edit_distance eig eigvals einsum ensure_shape equal exp expand_dims eye fill fingerprint floor
    floor_div gather gather_nd greater greater_equal histogram_fixed_width identity identity_n io.decode_base64
    io.decode_bmp io.decode_compressed io.decode_csv io.decode_gif io.decode_image io.decode_jpeg io.decode_png
    io.decode_raw less less_equal linspace logical_and logical_not logical_or matmul matrix_square_root maximum
    meshgrid minimum multiply negative norm not_equal one_hot ones ones_like pad parallel_stack pow range rank
    realdiv reduce_all reduce_any reduce_logsumexp reduce_max reduce_mean reduce_min reduce_prod reduce_sum repeat
    reshape reverse reverse_sequence roll round saturate_cast scalar_mul scatter_nd searchsorted sequence_mask shape
    shape_n sigmoid sign sin sinh size slice sort space_to_batch space_to_batch_nd split sqrt square squeeze stack
    stop_gradient strided_slice subtract tan tanh tensor_scatter_nd_add tensor_scatter_nd_max tensor_scatter_nd_min
    tensor_scatter_nd_sub tensor_scatter_nd_update tensordot tile transpose truediv truncatediv truncatemod unique
    unique_with_counts unravel_index unstack where zeros zeros_like
    """.split()  # noqa: SIM905  # reads better than quoted names
)
# Functions of the backend module of Keras 2 that only compute.
_BACKEND = frozenset(
    """
    abs all any arange argmax argmin batch_dot batch_flatten batch_normalization bias_add binary_crossentropy cast
    categorical_crossentropy clip concatenate constant conv1d conv2d conv2d_transpose conv3d cos cumprod cumsum
    depthwise_conv2d dot dropout elu equal exp expand_dims eye flatten gather greater greater_equal hard_sigmoid
    in_top_k l2_normalize less less_equal log max maximum mean min minimum not_equal one_hot ones_like
    permute_dimensions pool2d pool3d pow prod random_bernoulli random_binomial random_normal random_uniform relu
    repeat repeat_elements reshape resize_images resize_volumes reverse round separable_conv2d shape sigmoid sign
    sin softmax softplus softsign sparse_categorical_crossentropy spatial_2d_padding spatial_3d_padding sqrt square
    squeeze stack std stop_gradient sum switch tanh temporal_padding tile transpose truncated_normal var zeros_like
    """.split()  # noqa: SIM905  # reads better than quoted names
)
# Properties and methods of ragged and sparse tensors.
_MEMBERS = frozenset(
    """
    bounding_shape dense_shape dtype flat_values from_nested_row_lengths from_nested_row_splits from_row_lengths
    from_row_limits from_row_splits from_row_starts from_sparse from_tensor from_uniform_row_length
    from_value_rowids indices nested_flat_values nested_row_lengths nested_row_splits nested_value_rowids nrows
    row_lengths row_limits row_splits row_starts shape to_sparse to_tensor uniform_row_length value_rowids values
    with_flat_values with_values
    """.split()  # noqa: SIM905  # reads better than quoted names
)
# Classes of TensorFlow that describe a tensor, as files name them.
_TENSOR_TYPES = frozenset(
    {
        "tensorflow.python.framework.sparse_tensor.SparseTensorSpec",
        "tensorflow.python.framework.tensor.TensorSpec",
        "tensorflow.python.framework.tensor_spec.TensorSpec",
        "tensorflow.python.ops.ragged.ragged_tensor.RaggedTensorSpec",
    }
)


@dataclass(frozen=True, slots=True)
class KerasNames:
    """The names in Keras.

    Attributes:
        classes: Classes with their modules: `keras.layers.Dense`.
        functions: Functions with their modules: `keras.activations.relu`.
        tensorflow: Functions of TensorFlow that only compute: `math.multiply`.
        class_names: Classes without a module, as Keras 2 writes them: `Dense`.
        short_names: Everything that users may pass to Keras as a string: "relu", "GlorotUniform", "adam", "mse".
        no_classes: What the reader of `.h5` files finds among the layers besides classes: `deserialize`.
    """

    classes: frozenset[str]
    functions: frozenset[str]
    tensorflow: frozenset[str]
    class_names: frozenset[str]
    short_names: frozenset[str]
    no_classes: frozenset[str]


@functools.cache
def keras_names() -> KerasNames:
    """Return the names in all supported releases of Keras."""
    data = json.loads(Path(__file__).with_name("keras_names.json").read_text(encoding="utf-8"))
    classes, functions, tensorflow = (
        frozenset(f"{module}.{name}" for module, names in data[kind].items() for name in names.split())
        for kind in ("classes", "functions", "tensorflow")
    )
    class_names = frozenset(name.rpartition(".")[2] for name in classes) | {"Policy", "PolicyV1"}
    of_models = ("keras.activations", "keras.losses", "keras.metrics")
    function_names = frozenset(name for module in of_models for name in data["functions"][module].split())
    lower = frozenset(name.lower() for name in class_names) | frozenset(map(snake_case, class_names))
    return KerasNames(
        classes,
        functions,
        tensorflow,
        class_names,
        function_names | _SHORT_NAMES | class_names | lower,
        frozenset(data["legacy"].split()) - class_names,
    )


def is_class(module: str, name: str) -> bool:
    """Return whether a module of Keras has a class of this name that model files may contain."""
    return f"{_of_keras(module)}.{name}" in keras_names().classes


def is_function(module: str, name: str) -> bool:
    """Return whether a module of Keras has a function of this name that model files may contain."""
    return f"{_of_keras(module)}.{name}" in keras_names().functions


def is_class_name(name: str) -> bool:
    """Return whether Keras has a class of this name that model files may contain, in any module."""
    return name in keras_names().class_names


def is_known_name(name: str) -> bool:
    """Return whether Keras can resolve a name without a module: `relu`, `GlorotUniform`, `adam`, `mse`."""
    return name in keras_names().short_names


def is_no_class_of_keras(name: str) -> bool:
    """Return whether the reader of `.h5` files would find something other than a class under this name: `deserialize`."""
    return name in keras_names().no_classes


def is_tensorflow_operation(name: str) -> bool:
    """Return whether a function of TensorFlow only computes: `math.multiply`, `concat`, `__operators__.getitem`."""
    own = name.removeprefix("compat.v1.")
    in_backend = own.startswith("keras.backend.") and own.removeprefix("keras.backend.") in _BACKEND
    return own in _OPERATIONS or own in keras_names().tensorflow or in_backend


def is_tensor_member(name: str) -> bool:
    """Return whether a property or method of tensors only computes: `row_lengths`, `to_tensor`."""
    return name in _MEMBERS


def is_tensor_type(module: str, name: str) -> bool:
    """Return whether a class of TensorFlow only describes a tensor: its shape and dtype."""
    return f"{module}.{name}" in _TENSOR_TYPES


def is_python_builtin(name: str) -> bool:
    """Return whether Python has a function or class of this name: `exec`, `eval`, `open`."""
    return hasattr(builtins, name)


def is_standard_library(module: str) -> bool:
    """Return whether a module comes with Python: `os`, `subprocess`, `builtins`."""
    return module.partition(".")[0] in sys.stdlib_module_names


def _of_keras(module: str) -> str:
    """Return the module as it is on the list: tf_keras treats its own name and that of Keras as the same."""
    return module.removeprefix("tf_") if module == "tf_keras" or module.startswith("tf_keras.") else module
