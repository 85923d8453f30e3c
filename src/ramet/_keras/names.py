"""Keras' private attribute names, each with what it holds, and the check of the Keras version they belong to.

They are the same in Keras 3.12 to 3.15; tests/test_private_names.py keeps them out of every other room.
"""

from __future__ import annotations

import functools
import types
import warnings
from typing import Any

import keras

from ramet.errors import UnsupportedKerasError, UntestedKerasWarning

# Calls. A call is a `Node` in Keras. An op lists every call it ever had, from every model it was used in.
INBOUND = "_inbound_nodes"
OUTBOUND = "_outbound_nodes"
HISTORY = "_keras_history"  # on a tensor: (op, position in the op's INBOUND list, index among the outputs)
MASK = "_keras_mask"  # on a tensor: the mask that travels with it
# Function and Functional. NODES is a set of strings made from `id(op)` and a position in the op's INBOUND list.
NODES = "_nodes"
NODE_MARK = "_ib-"
NODES_BY_DEPTH = "_nodes_by_depth"
INPUTS = "_inputs_struct"
OUTPUTS = "_outputs_struct"
FUNCTIONAL = "_functional"  # on a Sequential: the functional model that runs it
INPUT_TENSOR = "_input_tensor"  # on an input layer: its output
NNX_OPS = "_nnx_op_mapping"
# Layers.
LOSS_IDS = "_loss_ids"  # ids of loss tensors
PATH = "_path"
PARENT_PATH = "_parent_path"
LAYERS = "_layers"
TRACKER = "_tracker"
OWN_TRAINABLE = "_trainable_variables"
OWN_NON_TRAINABLE = "_non_trainable_variables"
AUTO_CONFIG = "_auto_config"
BUILD_SHAPES = "_build_shapes_dict"
CALL_SIGNATURE = "_call_signature"
LOCK = "_lock"
REMAT = "_remat_mode"
SEED_GENERATORS = "_seed_generators"
TORCH_PARAMS = "_torch_params"  # torch: a ParameterDict keyed by variable path
# Layers around a reloaded SavedModel (TensorFlow).
RELOADED = "_reloaded_obj"
# Variables.
VALUE = "_value"
INITIALIZER = "_initializer"
NAME = "_name"
# Seed generators and initializers.
INITIAL_SEED = "_initial_seed"
INIT_SEED = "_init_seed"
# Trackers: the ids of the objects in each store.
STORED_IDS = "stored_ids"
STORES = "config"  # name of a store -> (what belongs there, the store)
# Optimizers: the position of a variable, keyed by its id (JAX, torch) or its TensorFlow name.
VARIABLE_INDICES = "_trainable_variables_indices"
OPTIMIZED = "_trainable_variables"
VARIABLE_KEY = "_var_key"
LEARNING_RATE = "_learning_rate"
# State of a running or compiled original, which a twin must create for itself: name -> value in a twin.
RUNNING: dict[str, Any] = {
    "train_function": None,
    "test_function": None,
    "predict_function": None,
    "_jax_state": None,
    "_jax_state_synced": True,
    "_eval_epoch_iterator": None,
}
JAX_STATE = "_jax_state"
COMPILE_CONFIG = "_compile_config"
COMPILE_LOSS = "_compile_loss"
USER_LOSS = ("_user_loss", "_user_loss_weights")
COMPILE_METRICS = "_compile_metrics"
USER_METRICS = ("_user_metrics", "_user_weighted_metrics")
COMPILED_TRAINABLE = "_compiled_trainable_state"
JAX_STATE_SYNCED = "_jax_state_synced"
# Attributes that `compile()` sets on a model: name -> value in a model that was never compiled, or ABSENT.
ABSENT: Any = object()
COMPILED: dict[str, Any] = {
    "compiled": False,
    "loss": None,
    "steps_per_execution": 1,
    "optimizer": ABSENT,
    "stop_training": ABSENT,
    "_run_eagerly": False,
    "_jit_compile": None,
    "_compile_loss": None,
    "_compile_metrics": None,
    "_loss_tracker": None,
    "_compile_config": ABSENT,
    "_compiled_trainable_state": ABSENT,
}
# `compile()` sets these on every backend; before it, they are None if the backend's trainer has them.

# In configs read from a file: the address of an object of another process, so an ordinary number here.
FOREIGN_ID = "shared_object_id"
# TensorFlow: what a checkpoint of a layer or optimizer refers to, by attribute name.
TF_DEPENDENCIES = "_self_unconditional_checkpoint_dependencies"
TF_DEPENDENCY_NAMES = "_self_unconditional_dependency_names"
OLDEST = (3, 12)
NEWEST_TESTED = (3, 15)
_checked: set[str] = set()


def check_version(version: str | None = None) -> None:
    """Refuse a Keras older than the oldest supported one; warn once about one newer than any tested."""
    version = keras.__version__ if version is None else version
    if version in _checked:
        return
    release = _release(version)
    if release < OLDEST:
        raise UnsupportedKerasError(
            f"Cannot use Keras {version}: ramet needs Keras {_dotted(OLDEST)} or newer.",
            fix=f'pip install "keras>={_dotted(OLDEST)}".',
        )
    _checked.add(version)
    if release > NEWEST_TESTED:
        warnings.warn(
            f"Keras {version} is newer than the newest version ramet was tested with ({_dotted(NEWEST_TESTED)}). "
            "Cloning works as usual, but check a twin with ramet.verify before you rely on it.",
            UntestedKerasWarning,
            stacklevel=2,
        )


def _release(version: str) -> tuple[int, int]:
    major, minor = version.split(".")[:2]
    return int(major), int("".join(digit for digit in minor if digit.isdigit()) or 0)


def _dotted(release: tuple[int, int]) -> str:
    return ".".join(map(str, release))


# Attributes that differ between any two models, or depend on how one was run: addresses, caches, locks, calls.
IDENTITY_ATTRIBUTES = frozenset(
    {
        *("_nodes", "stored_ids", "_loss_ids", "_trainable_variables_indices", "_unique_id", "_handle"),
        *("_shared_name", "_resource_handle_value", "_self_update_uid", "_nnx_op_mapping", "_inbound_nodes"),
        *("_outbound_nodes", "_keras_history", "_self_unconditional_checkpoint_dependencies"),
        *("_self_unconditional_dependency_names", "_self_last_wrapped_dict_snapshot", "train_function"),
        *("test_function", "predict_function", "_jax_state", "_jax_state_synced", "_eval_epoch_iterator"),
        *("_called", "_lock", "_tracker", "_auto_config", "_call_context_args", "_compiled_trainable_state"),
        *("_losses", "_build_shapes_dict", "__wrapped__", "_initial_epoch", "_epoch_iterator"),
        *("_object_identifier", "history", "_is_hf_initialized", "_obj_reference_counts_dict", "stop_predicting"),
        "stop_evaluating",
    }
)
# The suffix of arguments of `build()` that are named after those of `call()`.
SHAPE_ARGUMENT_SUFFIX = "_shape"
_LIBRARIES = ("keras", "torch", "tensorflow", "jax")


def is_library_attribute(cls: type, name: str) -> bool:
    """Return whether library code in a class or one of its bases uses an attribute of this name."""
    return name in _names_used(cls)


@functools.cache
def _names_used(cls: type) -> frozenset[str]:
    found: set[str] = set()
    for base in cls.__mro__:
        if base.__module__.partition(".")[0] in _LIBRARIES:
            for member in base.__dict__.values():
                for function in (
                    member,
                    *(getattr(member, name, None) for name in ("fget", "fset", "__func__", "__wrapped__")),
                ):
                    if isinstance(function, types.FunctionType):
                        found.update(function.__code__.co_names)
    return frozenset(found)
