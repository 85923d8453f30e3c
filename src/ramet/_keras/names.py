"""Keras' private attribute names, each with what it holds.

The same in Keras 3.12 to 3.15; tests/test_private_names.py keeps them out of every other room.
"""

from __future__ import annotations

from typing import Any

# Calls. A call is a `Node` in Keras' words. An op lists every call it ever had, from every model it was used in.
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

# Seed generators and initialisers.
INITIAL_SEED = "_initial_seed"
INIT_SEED = "_init_seed"

# Trackers: ids of what stands in each store.
STORED_IDS = "stored_ids"
STORES = "config"  # name of a store -> (what belongs there, the store)

# Optimizers: where a variable stands, keyed by its id (JAX, torch) or its TensorFlow name.
VARIABLE_INDICES = "_trainable_variables_indices"
OPTIMIZED = "_trainable_variables"
VARIABLE_KEY = "_var_key"
LEARNING_RATE = "_learning_rate"

# What a running or compiled original needs and a twin must make for itself: name -> value in a twin.
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
TOLD_LOSS = ("_user_loss", "_user_loss_weights")
COMPILE_METRICS = "_compile_metrics"
TOLD_METRICS = ("_user_metrics", "_user_weighted_metrics")
COMPILED_TRAINABLE = "_compiled_trainable_state"
JAX_STATE_SYNCED = "_jax_state_synced"

# What `compile()` leaves on a model: name -> value in a model that was never compiled, or ABSENT.
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
# `compile()` makes these on every backend; before it they stand at None where the backend's trainer has them.

# In configs read from a file: the address of an object of another program. A number like any other by now.
FOREIGN_ID = "shared_object_id"

# TensorFlow: what a checkpoint of a layer or optimizer refers to, by attribute name.
TF_DEPENDENCIES = "_self_unconditional_checkpoint_dependencies"
TF_DEPENDENCY_NAMES = "_self_unconditional_dependency_names"
