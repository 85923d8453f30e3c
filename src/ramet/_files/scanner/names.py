"""The names of classes and functions that a model file may contain, resolved as Keras resolves them.

The names of Keras itself are data (`keras_names.json`, written by `tools/keras_names.py` and compared with the installed
Keras by a test), and so are those of TensorFlow (`tensorflow_names.json`). They are read when the first is looked up.
"""

from __future__ import annotations

import builtins
import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
# Classes that Keras exports under a name that is not their own.
_OWN_NAMES = {"GroupQueryAttention": "GroupedQueryAttention"}
_MORE_LAYERS = frozenset(
    {
        "BatchNormalizationV1",
        "BatchNormalizationV2",
        "ConvLSTMCell",
        "CuDNNGRU",
        "CuDNNLSTM",
        "FeatureSpace",
        "GroupedQueryAttention",
    }
)
# Layers of TensorFlow 1 that Keras 2.12 and newer write into `.keras` files under this name, although they are not there.
_LAYERS_OF_TENSORFLOW_1 = frozenset({"keras.layers.CuDNNGRU", "keras.layers.CuDNNLSTM"})
_NO_LAYERS = frozenset({"AbstractRNNCell", "DenseFeatures", "InputSpec", "LocallyConnected1D", "LocallyConnected2D"})
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
    """The names in Keras, and in the parts of TensorFlow that models of Keras 2 contain.

    Attributes:
        classes: Classes with their modules: `keras.layers.Dense`.
        functions: Functions with their modules: `keras.activations.relu`.
        tensorflow: Functions of TensorFlow that only compute: `math.multiply`, `concat`, `keras.backend.relu`.
        tensor_members: Properties and methods of tensors that only compute: `row_lengths`, `to_tensor`.
        class_names: Classes without a module, as Keras 2 writes them: `Dense`.
        short_names: Everything that users may pass to Keras as a string: "relu", "GlorotUniform", "adam", "mse".
        no_classes: What the reader of `.h5` files finds among the layers besides classes: `deserialize`.
    """

    classes: frozenset[str]
    functions: frozenset[str]
    tensorflow: frozenset[str]
    tensor_members: frozenset[str]
    class_names: frozenset[str]
    short_names: frozenset[str]
    no_classes: frozenset[str]


@functools.cache
def _read(name: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(Path(__file__).with_name(name).read_text(encoding="utf-8"))
    return found


@functools.cache
def keras_names() -> KerasNames:
    """Return the names in all supported releases of Keras."""
    data, by_hand = _read("keras_names.json"), _read("tensorflow_names.json")
    classes, functions, tensorflow = (
        frozenset(f"{module}.{name}" for module, names in data[kind].items() for name in names.split())
        for kind in ("classes", "functions", "tensorflow")
    )
    in_backend = frozenset(f"keras.backend.{name}" for name in by_hand["backend"].split())
    class_names = frozenset(name.rpartition(".")[2] for name in classes) | {"Policy", "PolicyV1"}
    of_models = ("keras.activations", "keras.losses", "keras.metrics")
    function_names = frozenset(name for module in of_models for name in data["functions"][module].split())
    lower = frozenset(name.lower() for name in class_names) | frozenset(map(snake_case, class_names))
    return KerasNames(
        classes,
        functions,
        tensorflow | in_backend | frozenset(by_hand["functions"].split()),
        frozenset(by_hand["members"].split()),
        class_names,
        function_names | _SHORT_NAMES | class_names | lower,
        frozenset(data["legacy"].split()) - class_names,
    )


@functools.cache
def layer_classes() -> frozenset[str]:
    """Return the layers of Keras 3, and those of Keras 2 that have become others."""
    return (frozenset(_read("keras_names.json")["classes"]["keras.layers"].split()) | _MORE_LAYERS) - _NO_LAYERS


def own_name(class_name: str) -> str:
    """Return the name that a class gives itself, which configs do not always contain."""
    return _OWN_NAMES.get(class_name, class_name)


def snake_case(class_name: str) -> str:
    """Return the name that Keras derives from the name of a class."""
    name = re.sub(r"\W+", "", own_name(class_name))
    name = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub("([a-z])([A-Z])", r"\1_\2", name).lower()


def is_class(module: str, name: str) -> bool:
    """Return whether a module of Keras has a class of this name that model files may contain."""
    full_name = f"{_of_keras(module)}.{name}"
    return full_name in keras_names().classes or full_name in _LAYERS_OF_TENSORFLOW_1


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
    """Return whether a function of TensorFlow, or a member of its tensors, only computes: `math.multiply`, `to_tensor`."""
    names = keras_names()
    return (
        name.removeprefix("compat.v1.") in names.tensorflow
        or name.removeprefix("RaggedTensor.") in names.tensor_members
    )


def is_tensor_type(module: str, name: str) -> bool:
    """Return whether a class of TensorFlow only describes a tensor: its shape and dtype."""
    return f"{module}.{name}" in _TENSOR_TYPES


def is_python_builtin(name: str) -> bool:
    """Return whether Python has a function or class of this name: `exec`, `eval`, `open`."""
    return hasattr(builtins, name)


def _of_keras(module: str) -> str:
    """Return the module as it is on the list: tf_keras treats its own name and that of Keras as the same."""
    return module.removeprefix("tf_") if module == "tf_keras" or module.startswith("tf_keras.") else module
