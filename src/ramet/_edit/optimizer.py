"""The optimizer of an edited model: slots follow their variables, new ones get fresh slots, frozen ones lose theirs."""

from __future__ import annotations

from typing import Any

import keras

from ramet._keras import names_untouched, optimizers, rewire, structure


def renew_optimizer(model: Any, successors: dict[int, Any], slot_fits: dict[int, Any] | None = None) -> None:
    """Build the optimizer for the variables that the model trains now, with the slots of those it had.

    Args:
        model: The edited model.
        successors: By the id of a variable, the one whose slots it takes, if not its own; None for fresh ones.
        slot_fits: By the id of a variable that was made to fit, what makes the same of an array of the old shape.
    """
    optimizer = getattr(model, "optimizer", None) if getattr(model, "compiled", False) else None
    if optimizer is None:
        return
    if not optimizer.built:
        rewire.set_optimizer(model, optimizer)
        return
    now = list(model.trainable_variables)
    same = [id(v) for v in structure.optimized_variables(optimizer)] == [id(v) for v in now]
    if same and not any(id(v) in successors for v in now):
        rewire.set_optimizer(model, optimizer)
        return
    with names_untouched():
        new = optimizers.made_again(optimizer)
        new.build(now)
    for old, fresh, variable in optimizers.slot_pairs(optimizer, new, successors):
        fit = (slot_fits or {}).get(id(variable))
        before = None if fit is None else tuple(successors[id(variable)].shape)
        if fit is not None and tuple(old.shape) == before and tuple(fresh.shape) == tuple(variable.shape):
            fresh.assign(keras.ops.cast(fit(keras.ops.convert_to_numpy(old)), fresh.dtype))
        elif tuple(old.shape) == tuple(fresh.shape) and fit is None:
            fresh.assign(keras.ops.cast(old.value, fresh.dtype))
    rewire.set_optimizer(model, new)
