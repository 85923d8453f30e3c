"""Compiling and training: compile settings, optimizers, and values while Keras' loops run.

On JAX, `fit`, `evaluate` and `predict` take the values out of the variables and keep them outside of the model until
the epoch ends. A callback can read them there; another thread cannot.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import keras

from ramet._keras import names, structure

# Inside these, variables change one after the other; on TensorFlow, inside a compiled function.
_STEPS = frozenset({"train_step", "test_step", "predict_step", "one_step_on_data", "one_step_on_iterator"})
_LOOPS = frozenset({"fit", "evaluate", "predict", "train_on_batch", "test_on_batch", "predict_on_batch"})


def values_in_running_loops() -> dict[int, Any]:
    """Return the values that loops further up in this thread hold, by the id of the variable."""
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
    """Return the models that other threads fit, evaluate or predict right now, and whether each is inside a step."""
    frames = sys._current_frames()
    # A reference to the frame of this function would keep it, and all frames above it, alive until the next collection.
    del frames[threading.get_ident()]
    return [found for frame in frames.values() for found in _loops(frame)]


def models_in_running_loops() -> list[Any]:
    """Return the models whose loops run further up in this thread, the innermost first."""
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


# The arguments of `compile()` that may be a dict keyed by the names of outputs.
_KEYED = ("loss", "loss_weights", "metrics", "weighted_metrics")


def compile_settings(model: Any) -> dict[str, Any] | None:
    """Return the arguments of `compile()`, and the flags that can be set later; None for a model that is not compiled."""
    if not getattr(model, "compiled", False):
        return None
    settings = getattr(model.__dict__.get(names.COMPILE_CONFIG), "config", None) or {}
    now = {name: getattr(model, name, None) for name in ("jit_compile", "run_eagerly", "steps_per_execution")}
    return {**settings, "optimizer": getattr(model, "optimizer", None), "loss": getattr(model, "loss", None), **now}


def follow_output_names(model: Any, before: list[str] | None) -> None:
    """Rename losses and metrics that are keyed by output names, after outputs of a compiled model were renamed.

    Everything that Keras derived from losses and metrics is recreated, as by `compile()`; the metrics themselves stay.
    """
    after = getattr(model, "output_names", None)
    if not getattr(model, "compiled", False) or not before or not after or len(before) != len(after):
        return
    new_names = {old: new for old, new in zip(before, after, strict=True) if old != new}
    if not new_names or isinstance(getattr(model, names.OUTPUTS), dict):  # a dict of outputs has its own keys
        return

    def renamed(value: Any) -> Any:
        return {new_names.get(key, key): part for key, part in value.items()} if isinstance(value, dict) else value

    for attribute, arguments in ((names.COMPILE_LOSS, names.USER_LOSS), (names.COMPILE_METRICS, names.USER_METRICS)):
        derived = getattr(model, attribute, None)
        if derived is not None:
            settings = [renamed(getattr(derived, name)) for name in arguments]
            setattr(model, attribute, type(derived)(*settings, output_names=after))
    model.loss = renamed(model.loss)
    config = getattr(model.__dict__.get(names.COMPILE_CONFIG), "config", None) or {}
    config.update({name: renamed(config[name]) for name in _KEYED if name in config})


# Set by exclude_from_weight_decay(), and not in any config. The first holds ids of variables.
_EXCLUDED = "_exclude_from_weight_decay"
_EXCLUDED_PATTERN = "_exclude_from_weight_decay_pattern"


def recreate_optimizer(optimizer: Any) -> Any:
    """Return an unbuilt optimizer of the same class and settings."""
    parts = _parts(optimizer)
    scope = {type(part).__name__: type(part) for part in [*parts, *map(structure.learning_rate_variable, parts)]}
    with keras.saving.custom_object_scope(scope):
        new = type(optimizer).from_config(optimizer.get_config())
    for old_part, new_part in zip(parts, _parts(new), strict=False):
        for name in (_EXCLUDED, _EXCLUDED_PATTERN):
            if name in old_part.__dict__:
                new_part.__dict__[name] = old_part.__dict__[name]
    return new


def slot_pairs(old: Any, new: Any, successors: dict[int, Any]) -> Iterator[tuple[Any, Any, Any]]:
    """Yield pairs of variables of two optimizers that correspond, with the owner of the slot.

    Args:
        old: A built optimizer.
        new: One of the same class, built for other variables.
        successors: By the id of a variable of the new one, the variable of the old one that it continues.
    """
    for ours, theirs in zip(_parts(old), _parts(new), strict=False):
        positions = {id(variable): position for position, variable in enumerate(structure.optimized_variables(ours))}
        owners = structure.optimized_variables(theirs)
        wanted = [positions.get(id(successors.get(id(v), v))) for v in owners]
        for name, held in ours.__dict__.items():
            counterpart = theirs.__dict__.get(name)
            if name == names.OPTIMIZED:
                continue
            if isinstance(held, keras.Variable) and isinstance(counterpart, keras.Variable):
                yield held, counterpart, None
            elif _lists_slots(held, len(positions)) and _lists_slots(counterpart, len(wanted)):
                for slot, position, owner in zip(counterpart, wanted, owners, strict=True):
                    earlier = None if position is None else held[position]
                    if isinstance(slot, keras.Variable) and isinstance(earlier, keras.Variable):
                        yield earlier, slot, owner


def _lists_slots(held: Any, count: int) -> bool:
    """Return whether an attribute lists one slot for each variable."""
    return isinstance(held, list) and len(held) == count and any(isinstance(item, keras.Variable) for item in held)


def _parts(optimizer: Any) -> list[Any]:
    """Return the optimizer and those inside it."""

    def inner(part: Any) -> list[Any]:
        held = [part.__dict__.get("inner_optimizer"), *(getattr(part, "optimizers", None) or ())]
        return [other for other in held if isinstance(other, keras.optimizers.Optimizer)]

    return structure.reachable([optimizer], inner)


def set_optimizer(model: Any, optimizer: Any) -> None:
    """Replace the optimizer of a compiled model, also in its settings, and drop compiled functions."""
    model.optimizer = optimizer
    settings = getattr(model.__dict__.get(names.COMPILE_CONFIG), "config", None)
    if settings is not None:
        settings["optimizer"] = optimizer
    state = {layer: layer.trainable for layer in structure.layer_tree(model)}
    model.__dict__[names.COMPILED_TRAINABLE] = state
    for name, value in names.RUNNING.items():
        if name in model.__dict__:
            model.__dict__[name] = value


def take_compiled(model: Any, old: Any) -> None:
    """Move everything that `compile()` set on one model to another; the first is no longer used."""
    for name in names.COMPILED:
        if name in old.__dict__:
            setattr(model, name, old.__dict__[name])
