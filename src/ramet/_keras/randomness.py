"""The random generators of the program: Python's, NumPy's, those of the backends, and the one Keras keeps for itself."""

from __future__ import annotations

import contextlib
import random
import sys
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

_GLOBAL_GENERATOR = "global_seed_generator"


@contextlib.contextmanager
def randomness_untouched() -> Iterator[None]:
    """Whatever is drawn inside, the next random numbers are the ones that would have come."""
    python, numpy, torch, tensorflow = random.getstate(), np.random.get_state(), _torch_state(), _tensorflow_state()
    generator = global_generator()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        _set_torch_state(torch)
        _set_tensorflow_state(tensorflow)
        global_state("set_global_attribute")(_GLOBAL_GENERATOR, generator)


@contextlib.contextmanager
def drawn_from(seed: int) -> Iterator[None]:
    """Whatever is drawn inside from any of the generators comes from this seed; afterwards they are as they were."""
    with randomness_untouched():
        start_alike(seed)
        torch = sys.modules.get("torch")
        if torch is not None and hasattr(torch, "manual_seed"):
            torch.manual_seed(seed)
        if keras.backend.backend() == "tensorflow":
            sys.modules["tensorflow"].random.set_seed(seed)
        # Keras makes another when it needs one, and takes its seed from Python's generator.
        global_state("set_global_attribute")(_GLOBAL_GENERATOR, None)
        yield


def start_alike(seed: int) -> None:
    """Let the next run draw the same numbers as every other run that started so."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch = sys.modules.get("torch")
    if torch is not None and keras.backend.backend() == "torch":
        torch.manual_seed(seed)


def global_generator() -> Any:
    """The generator of `keras.random` functions that are given no seed, or None before its first use."""
    return global_state("get_global_attribute")(_GLOBAL_GENERATOR)


def global_state(function: str) -> Any:
    """One of the functions that read and write Keras' global table, by name."""
    # The table lives in a module without a public name; a public function of that module knows it.
    found = keras.utils.clear_session
    return getattr(found, "__wrapped__", found).__globals__[function]


def _torch_state() -> Any:
    torch = sys.modules.get("torch")
    if torch is None or not hasattr(torch, "get_rng_state"):
        return None
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_initialized() else None
    return torch.get_rng_state(), cuda


def _set_torch_state(state: Any) -> None:
    if state is not None:
        torch = sys.modules["torch"]
        torch.set_rng_state(state[0])
        if state[1] is not None:
            torch.cuda.set_rng_state_all(state[1])


def _tensorflow_state() -> Any:
    """The context of eager TensorFlow, its seed, and the generator that numbers the ops drawing from it."""
    if keras.backend.backend() != "tensorflow":
        return None
    context = sys.modules["tensorflow.python.eager.context"].context()
    return context, context.__dict__.get("_seed"), context.__dict__.get("_rng")


def _set_tensorflow_state(state: Any) -> None:
    if state is not None:
        context, seed, generator = state
        context.__dict__["_seed"], context.__dict__["_rng"] = seed, generator
