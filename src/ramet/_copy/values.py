"""The values of variables: read together, copied together, and checked to belong together.

While another thread trains the model, values read one after the other may come from different steps. Nothing is
returned unless all of them were in place at one moment.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ramet._copy.copier import Copier, UnsettledError
from ramet._keras import names, training
from ramet.errors import StateElsewhereError

_FIX = "wait until the loop is over, or clone in a callback, where the state can be read."


def start_copying(copier: Copier) -> None:
    """Copy the values that are in place. The device works on it while the walk goes on."""
    waiting = copier.record("values")
    present, absent = [], []
    for old, target in waiting:
        value = old.__dict__.get(names.VALUE)
        if value is None or value.is_deleted():
            absent.append((old, target))
        else:
            present.append((old, target, value))
    waiting[:] = absent
    _copy_batch(present)
    copier.record("copied").extend(present)


def copy_values(copier: Copier) -> None:
    """Give every variable whose value waited a value of its own, and make sure that all were in place at one moment."""
    start_copying(copier)
    elsewhere = training.values_in_running_loops() if copier.record("values") else {}
    present = []
    for old, target in copier.record("values"):
        value = elsewhere.get(id(old))
        if value is not None and not value.is_deleted():
            present.append((old, target, value))
        elif value is not None or old.__dict__.get(names.INITIALIZER) is None:
            raise _without_value(old)
    _copy_batch(present)
    now = [old.__dict__.get(names.VALUE) for old, _, _ in present]
    moved = any(held is not None and held is not value for held, (_, _, value) in zip(now, present, strict=True))
    if moved or any(old.__dict__.get(names.VALUE) is not value for old, _, value in copier.record("copied")):
        raise UnsettledError


def _copy_batch(present: list[tuple[Any, dict[str, Any], Any]]) -> None:
    if not present:
        return
    from ramet._copy.jax_plans import copy_arrays

    try:
        copies = copy_arrays([value for _, _, value in present])
    except RuntimeError as error:  # donated to a train step of another thread while it was copied
        raise UnsettledError from error
    for (_, target, _), copy in zip(present, copies, strict=True):
        target[names.VALUE] = copy


def _without_value(variable: Any) -> StateElsewhereError:
    return StateElsewhereError(
        f"Cannot clone: the variable '{variable.path}' has no value right now.",
        found="a fit, evaluate or predict in another thread; on JAX, Keras keeps the values beside the model meanwhile",
        fix=_FIX,
        path=variable.path,
    )


def check_nothing_moved(copier: Copier) -> None:
    """Where another thread runs the model, make sure that it was between two steps, and nothing changed meanwhile.

    Inside a step, variables change one after the other: all values of one moment may still be those of two steps.
    """
    for model, in_step in training.models_running_elsewhere():
        theirs = {id(variable) for variable in _variables(model)}
        common = [(old, new) for old, new in copier.record("variables") if id(old) in theirs]
        if common and (in_step or not all(_same_bits(old, new) for old, new in common)):
            raise UnsettledError


def _variables(model: Any) -> list[Any]:
    optimizer = getattr(model, "optimizer", None)
    return [*model.variables, *model.metrics_variables, *(optimizer.variables if optimizer else ())]


def _same_bits(old: Any, new: Any) -> bool:
    if old.__dict__.get(names.VALUE) is None:
        return True  # JAX: what was read was checked when it was read
    try:
        before, after = np.asarray(old), np.asarray(new)
    except RuntimeError as error:  # JAX: donated to a step of another thread between the two
        raise UnsettledError from error
    return before.tobytes() == after.tobytes()


def moving(tries: int) -> StateElsewhereError:
    """The error when the values never held still."""
    return StateElsewhereError(
        "Cannot clone: the model's variables change while they are copied.",
        found=f"another thread trains the model; {tries} tries gave values of different steps",
        fix=_FIX,
    )
