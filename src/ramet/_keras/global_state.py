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
    keras.backend.get_uid("ramet")  # creates the table if there is none yet
    counters = keras_global("get_global_attribute")("object_name_uids")
    counters["ramet"] -= 1
    if counters["ramet"] == 0:
        del counters["ramet"]
    before = dict(counters)
    try:
        yield
    finally:
        counters.clear()
        counters.update(before)


_GLOBAL_GENERATOR = "global_seed_generator"


@contextlib.contextmanager
def keep_random_state() -> Iterator[None]:
    """Restore all random generators, so that the next random numbers are the same as if nothing had been drawn."""
    with contextlib.ExitStack() as restore:
        restore.callback(keras_global("set_global_attribute"), _GLOBAL_GENERATOR, global_generator())
        restore.callback(random.setstate, random.getstate())
        restore.callback(np.random.set_state, np.random.get_state())
        torch = sys.modules.get("torch")
        if torch is not None and hasattr(torch, "get_rng_state"):
            restore.callback(torch.set_rng_state, torch.get_rng_state())
            if torch.cuda.is_initialized():
                restore.callback(torch.cuda.set_rng_state_all, torch.cuda.get_rng_state_all())
        if keras.backend.backend() == "tensorflow":
            # The seed of eager TensorFlow, and the generator that numbers the ops drawing from it.
            context = sys.modules["tensorflow.python.eager.context"].context().__dict__
            restore.callback(context.update, {name: context.get(name) for name in ("_seed", "_rng")})
        yield


@contextlib.contextmanager
def draw_from_seed(seed: int | None) -> Iterator[None]:
    """Draw everything inside from one seed, whichever generator is used, and restore all generators; None changes nothing."""
    if seed is None:
        yield
        return
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
