"""Ways to copy a model: `ramet.clone`, the alternatives, and a bare copy of the arrays as the lower bound."""

from __future__ import annotations

import copy
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras

import ramet
from bench.case import variables_of

RAMET = "ramet.clone"
CLONE_MODEL = "clone_model + set_weights"
DEEPCOPY = "deepcopy"
SAVE_AND_LOAD = "save + load"
BARE = "bare copy"


def clone_model_and_set_weights(model: Any) -> Any:
    """Copy a model the usual way, which loses the state of the optimizer."""
    clone = keras.models.clone_model(model)
    clone.set_weights(model.get_weights())
    return clone


def save_and_load(model: Any) -> Any:
    """Copy a model through a file, in memory if the system has a folder for that."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        return keras.models.load_model(path)


def copy_arrays(model: Any) -> Any:
    """Copy the arrays of all variables, and nothing else."""
    arrays = [variable.value for variable in variables_of(model)]
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        return jax.device_put(arrays, may_alias=False)
    if backend == "torch":
        return [array.detach().clone() for array in arrays]
    import tensorflow as tf

    return [tf.raw_ops.DeepCopy(x=array) for array in arrays]


def wait_for(copied: Any) -> None:
    """Wait until the arrays have been computed: JAX and CUDA work in the background."""
    backend = keras.backend.backend()
    if backend == "jax":
        import jax

        arrays = copied if isinstance(copied, list) else [variable.value for variable in variables_of(copied)]
        jax.block_until_ready(arrays)
    elif backend == "torch":
        import torch

        if torch.cuda.is_available():
            torch.cuda.synchronize()


ALTERNATIVES: dict[str, Callable[[Any], Any]] = {
    RAMET: ramet.clone,
    BARE: copy_arrays,
    CLONE_MODEL: clone_model_and_set_weights,
    DEEPCOPY: copy.deepcopy,
    SAVE_AND_LOAD: save_and_load,
}
