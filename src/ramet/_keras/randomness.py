"""The random generators of the program: Python's, NumPy's, torch's and the one Keras keeps for itself."""

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
    python, numpy, torch = random.getstate(), np.random.get_state(), _torch_state()
    generator = global_generator()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        _set_torch_state(torch)
        global_state("set_global_attribute")(_GLOBAL_GENERATOR, generator)


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
