"""An optimizer made again, and which of its slots belongs to which variable."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras

from ramet._keras import names, structure

# Set by exclude_from_weight_decay(); no config tells. The ids in the first are those of variables.
_EXCLUDED = "_exclude_from_weight_decay"
_EXCLUDED_PATTERN = "_exclude_from_weight_decay_pattern"


def made_again(optimizer: Any) -> Any:
    """An optimizer of the same class and settings that is not built yet."""
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
    """Each variable of an optimizer that one built for other variables goes on with, its counterpart, and whose slot it is.

    Args:
        old: An optimizer that was built.
        new: One of the same class, built for other variables.
        successors: By the id of a variable of the new one, the variable it stands for.
    """
    for ours, theirs in zip(_parts(old), _parts(new), strict=False):
        yield from _own_pairs(ours, theirs, successors)


def _own_pairs(old: Any, new: Any, successors: dict[int, Any]) -> Iterator[tuple[Any, Any, Any]]:
    places = {id(variable): place for place, variable in enumerate(structure.optimized_variables(old))}
    owners = structure.optimized_variables(new)
    wanted = [places.get(id(successors.get(id(v), v))) for v in owners]
    for name, held in old.__dict__.items():
        if name == names.OPTIMIZED:
            continue
        counterpart = new.__dict__.get(name)
        if isinstance(held, keras.Variable) and isinstance(counterpart, keras.Variable):
            yield held, counterpart, None
        elif _lists_slots(held, len(places)) and _lists_slots(counterpart, len(wanted)):
            for slot, place, owner in zip(counterpart, wanted, owners, strict=True):
                if place is not None and isinstance(slot, keras.Variable) and isinstance(held[place], keras.Variable):
                    yield held[place], slot, owner


def _lists_slots(held: Any, count: int) -> bool:
    """Whether an attribute lists one slot for each variable."""
    if not isinstance(held, list) or len(held) != count:
        return False
    return any(isinstance(item, keras.Variable) for item in held)


def _parts(optimizer: Any) -> list[Any]:
    """The optimizer, and those inside it."""
    found, waiting = [], [optimizer]
    while waiting:
        part = waiting.pop()
        found.append(part)
        inner = [part.__dict__.get("inner_optimizer"), *(getattr(part, "optimizers", None) or ())]
        waiting.extend(other for other in inner if isinstance(other, keras.optimizers.Optimizer))
    return found
