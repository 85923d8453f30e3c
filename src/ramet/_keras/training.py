"""Where the values are while Keras' own loops run.

On JAX, `fit`, `evaluate` and `predict` take the values out of the variables and keep them beside the model until the
epoch ends. In a callback they can be read there; from another thread they cannot.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import keras

from ramet._keras import names

# Inside these, variables change one after the other; on TensorFlow, inside a compiled function.
_STEPS = frozenset({"train_step", "test_step", "predict_step", "one_step_on_data", "one_step_on_iterator"})
_LOOPS = frozenset({"fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch"})


def values_in_running_loops() -> dict[int, Any]:
    """The values that loops further up in this thread hold, by id of the variable."""
    values: dict[int, Any] = {}
    for model in models_in_running_loops():
        state = getattr(model, names.JAX_STATE, None)
        if not state or getattr(model, names.JAX_STATE_SYNCED, True):
            continue
        groups = {
            "trainable_variables": model.trainable_variables,
            "non_trainable_variables": model.non_trainable_variables,
            "optimizer_variables": getattr(getattr(model, "optimizer", None), "variables", ()),
            "metrics_variables": model.metrics_variables,
        }
        for group, variables in groups.items():
            arrays = state.get(group)
            if arrays:
                values.update(zip(map(id, variables), arrays, strict=False))
    return values


def models_running_elsewhere() -> list[tuple[Any, bool]]:
    """The models that other threads fit, evaluate or predict at this moment, and whether each is inside a step."""
    frames = sys._current_frames()
    # This function's own frame would hold itself, and all that is further up, until the next collection.
    del frames[threading.get_ident()]
    return [found for frame in frames.values() for found in _loops(frame)]


def models_in_running_loops() -> list[Any]:
    """The models whose loops run further up in this thread, the innermost first."""
    return [model for model, _ in _loops(sys._getframe())]


def _loops(frame: FrameType | None) -> Iterator[tuple[Any, bool]]:
    in_step = False
    while frame is not None:
        code = frame.f_code
        in_step = in_step or code.co_name in _STEPS or "polymorphic_function" in code.co_filename
        if code.co_name in _LOOPS:
            owner = frame.f_locals.get("self")
            if isinstance(owner, keras.Model):
                yield owner, in_step or code.co_name.endswith("_on_batch")
        frame = frame.f_back
