"""The hot loop: values under names, most of which cannot change.

A layer has some sixty attributes, of which fifty are texts, flags and None. So all are taken over in one step, and only
the others looked at one by one.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ramet._copy.atoms import ATOMS, SMALLEST_ID
from ramet._copy.copier import Copier
from ramet._copy.plan import MISSING
from ramet._keras import names

# Given the old value: put what the twin gets into the target, or take the name out of it.
Handler = Callable[[Any, dict[str, Any], str, Any, Copier], None]
Put = Callable[[Any, Any], None]


def replace_values(values: dict[Any, Any], put: Put, copier: Copier) -> None:
    """In a dict with values of the original, put their twins in their place.

    Args:
        values: A plain dict of the twin's.
        put: Puts a value under a name where the twin keeps it for good, for ids that are known only in the finish step.
        copier: The walk.
    """
    plans = copier.plans
    for name, value in [(name, value) for name, value in values.items() if type(value) not in ATOMS]:
        new = copier.find(value, MISSING)
        if new is MISSING:
            kind = type(value)
            if kind is int:
                if value >= SMALLEST_ID and name != names.FOREIGN_ID:
                    copier.look_again(functools.partial(put, name), value)
                continue
            new = plans[kind].copy(value, copier)
        values[name] = new


def replace_attributes(old: Any, target: dict[str, Any], handlers: dict[str, Handler], copier: Copier) -> None:
    """As `replace_values`, for attributes of which some need something else than a copy."""
    waiting = [(name, value) for name, value in target.items() if type(value) not in ATOMS]
    waiting += [(name, target[name]) for name in handlers if type(target.get(name, waiting)) in ATOMS]
    plans = copier.plans
    for name, value in waiting:
        if name in handlers:
            handlers[name](old, target, name, value, copier)
            continue
        new = copier.find(value, MISSING)
        if new is MISSING:
            kind = type(value)
            if kind is int:
                if value >= SMALLEST_ID:
                    copier.look_again(functools.partial(target.__setitem__, name), value)
                continue
            new = plans[kind].copy(value, copier)
        target[name] = new


def copy_attributes(old: Any, new: Any, copier: Copier) -> None:
    """The instance attributes of `old` into `new`, where the class gives instances a `__dict__`."""
    attributes = getattr(old, "__dict__", None)
    if attributes:
        target = new.__dict__
        target.update(attributes)
        replace_values(target, target.__setitem__, copier)


def copy_slots(old: Any, new: Any, slots: list[str], copier: Copier) -> None:
    """What `__slots__` keeps outside of `__dict__`."""
    for name in slots:
        try:
            value = getattr(old, name)
        except AttributeError:  # a slot that was never filled
            continue
        object.__setattr__(new, name, copier.copy(value))
        copier.look_again(functools.partial(object.__setattr__, new, name), value)


def copy_known_attributes(old: Any, new: Any, copier: Copier) -> bool:
    """As `copy_attributes`, if the twins of all values are known already; else nothing is done. Answers whether it was."""
    attributes = getattr(old, "__dict__", None)
    if not attributes:
        return True
    known = attributes.copy()
    for name, value in known.items():
        if type(value) not in ATOMS:
            new_value = copier.find(value, MISSING)
            if new_value is MISSING:
                return False
            known[name] = new_value
    new.__dict__.update(known)
    return True
