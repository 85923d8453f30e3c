"""The values of variables: read together, copied together, and checked for consistency.

While another thread trains the model, values read one after the other may come from different steps. No twin
is returned unless all of them were in place at the same time. On JAX, the arrays of many variables are copied in one call,
started as soon as the variables are known, so that the device works while the walk continues.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ramet._copy.copier import Copier
from ramet._copy.refusal import ValuesChangedError
from ramet._keras import names, training
from ramet.errors import StateElsewhereError

_FIX = "wait until the loop has finished, or clone in a callback, where the values can be read."


def start_copying(copier: Copier) -> None:
    """Start copying the values that are in place, while the walk continues."""
    waiting = copier.records["values"]
    present, absent = [], []
    for old, target in waiting:
        value = old.__dict__.get(names.VALUE)
        if value is None or value.is_deleted():
            absent.append((old, target))
        else:
            present.append((old, target, value))
    waiting[:] = absent
    _copy_batch(present)
    copier.records["copied"].extend(present)


def copy_values(copier: Copier) -> None:
    """Set the values that are copied together, and check that all of them were in place at the same time."""
    start_copying(copier)
    elsewhere = training.values_in_running_loops() if copier.records["values"] else {}
    present = []
    for old, target in copier.records["values"]:
        value = elsewhere.get(id(old))
        if value is not None and not value.is_deleted():
            present.append((old, target, value))
        elif value is not None or old.__dict__.get(names.INITIALIZER) is None:
            raise _without_value(old)
    _copy_batch(present)
    now = [old.__dict__.get(names.VALUE) for old, _, _ in present]
    moved = any(held is not None and held is not value for held, (_, _, value) in zip(now, present, strict=True))
    if moved or any(old.__dict__.get(names.VALUE) is not value for old, _, value in copier.records["copied"]):
        raise ValuesChangedError


def _copy_batch(present: list[tuple[Any, dict[str, Any], Any]]) -> None:
    if not present:
        return
    from ramet._copy.jax_rules import copy_arrays

    try:
        copies = copy_arrays([value for _, _, value in present])
    except RuntimeError as error:  # donated to a train step of another thread in the meantime
        raise ValuesChangedError from error
    for (_, target, _), copy in zip(present, copies, strict=True):
        target[names.VALUE] = copy


def _without_value(variable: Any) -> StateElsewhereError:
    return StateElsewhereError(
        f"Cannot clone: the variable '{variable.path}' has no value at the moment.",
        found="fit, evaluate or predict running in another thread; on JAX, Keras then keeps the values outside of the model",
        fix=_FIX,
        path=variable.path,
    )


def check_unchanged(copier: Copier) -> None:
    """If another thread runs the model, check that it was between two steps, and that nothing changed during the copy.

    Inside a step, variables change one after the other: values read at one moment may belong to two steps.
    """
    for model, in_step in training.models_running_elsewhere():
        theirs = {id(variable) for variable in _variables(model)}
        common = [(old, new) for old, new in copier.records["variables"] if id(old) in theirs]
        if common and (in_step or not all(_same_bits(old, new) for old, new in common)):
            raise ValuesChangedError


def _variables(model: Any) -> list[Any]:
    optimizer = getattr(model, "optimizer", None)
    return [*model.variables, *model.metrics_variables, *(optimizer.variables if optimizer else ())]


def _same_bits(old: Any, new: Any) -> bool:
    if old.__dict__.get(names.VALUE) is None:
        return True  # JAX: checked when it was read
    try:
        before, after = np.asarray(old), np.asarray(new)
    except RuntimeError as error:  # JAX: donated to a step of another thread in between
        raise ValuesChangedError from error
    return before.tobytes() == after.tobytes()


def values_keep_changing(attempts: int) -> StateElsewhereError:
    """Return the error for values that changed in every attempt."""
    return StateElsewhereError(
        "Cannot clone: the variables change while they are copied.",
        found=f"another thread trains the model; {attempts} attempts read values of different steps",
        fix=_FIX,
    )
