"""State of the process that must not change while ramet works: name counters, random generators, garbage collector."""

from __future__ import annotations

import contextlib
import gc
import random
import sys
import threading
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np


@contextlib.contextmanager
def keep_name_counters() -> Iterator[None]:
    """Restore Keras' name counters afterwards.

    A temporary layer must not change the automatic names of the user's next layers.
    """
    counters = _counters()
    before = dict(counters)
    try:
        yield
    finally:
        counters.clear()
        counters.update(before)


def _counters() -> Any:
    keras.backend.get_uid("ramet")  # creates the table if there is none yet
    counters = keras_global("get_global_attribute")("object_name_uids")
    counters["ramet"] -= 1
    if counters["ramet"] == 0:
        del counters["ramet"]
    return counters


_GLOBAL_GENERATOR = "global_seed_generator"


@contextlib.contextmanager
def keep_random_state() -> Iterator[None]:
    """Restore all random generators, so that the next random numbers are the same as if nothing had been drawn."""
    python, numpy, torch, tensorflow = random.getstate(), np.random.get_state(), _torch_state(), _tensorflow_state()
    generator = global_generator()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        _set_torch_state(torch)
        _set_tensorflow_state(tensorflow)
        keras_global("set_global_attribute")(_GLOBAL_GENERATOR, generator)


@contextlib.contextmanager
def draw_from_seed(seed: int) -> Iterator[None]:
    """Draw everything inside from one seed, whichever generator is used, and restore the generators."""
    with keep_random_state():
        seed_generators(seed)
        torch = sys.modules.get("torch")
        if torch is not None and hasattr(torch, "manual_seed"):
            torch.manual_seed(seed)
        if keras.backend.backend() == "tensorflow":
            sys.modules["tensorflow"].random.set_seed(seed)
        # Keras creates a new one when needed, seeded by Python's generator.
        keras_global("set_global_attribute")(_GLOBAL_GENERATOR, None)
        yield


def seed_generators(seed: int) -> None:
    """Seed the global generators, so that runs that start with the same seed draw the same numbers."""
    random.seed(seed)
    np.random.seed(seed % 2**32)
    torch = sys.modules.get("torch")
    if torch is not None and keras.backend.backend() == "torch":
        torch.manual_seed(seed)


def global_generator() -> Any:
    """Return the generator of `keras.random` functions without a seed, or None before its first use."""
    return keras_global("get_global_attribute")(_GLOBAL_GENERATOR)


def keras_global(function: str) -> Any:
    """Return one of the functions that read and write Keras' table of globals, by name."""
    # The table is in a module without a public name; a public function of that module leads to it.
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
    """Return the context of eager TensorFlow, its seed, and the generator that numbers the ops drawing from it."""
    if keras.backend.backend() != "tensorflow":
        return None
    context = sys.modules["tensorflow.python.eager.context"].context()
    return context, context.__dict__.get("_seed"), context.__dict__.get("_rng")


def _set_tensorflow_state(state: Any) -> None:
    if state is not None:
        context, seed, generator = state
        context.__dict__["_seed"], context.__dict__["_rng"] = seed, generator


_lock = threading.Lock()
_pauses = 0
_was_enabled = False


@contextlib.contextmanager
def pause_collector() -> Iterator[None]:
    """Pause the garbage collector until the last thread inside has left.

    A walk over a model makes many objects and no garbage, and the collector would visit all of them again and again. That
    took a fifth of the time of a clone.
    """
    global _pauses, _was_enabled  # noqa: PLW0603  # the collector is global, so is how many threads paused it
    with _lock:
        if _pauses == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _pauses += 1
    try:
        yield
    finally:
        with _lock:
            _pauses -= 1
            if _pauses == 0 and _was_enabled:
                gc.enable()


@contextlib.contextmanager
def bound_collections() -> Iterator[None]:
    """Make forced garbage collections skip all objects that already exist.

    Keras forces a collection whenever a layer deletes a variable. In a process with a large heap each takes 0.2 s, and
    quantizing deletes one or two variables per layer.
    """
    if gc.get_freeze_count():  # the user froze objects, and unfreezing would release those as well
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
