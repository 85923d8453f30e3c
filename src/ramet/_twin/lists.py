"""Lists, deques, and the short way for the containers that Keras tracks."""

from __future__ import annotations

import collections
import functools
from collections.abc import Sequence
from typing import Any

from ramet._keras import names
from ramet._twin.atoms import ATOMS, are_atoms
from ramet._twin.copier import Copier
from ramet._twin.plan import MISSING, SMALLEST_ID, Shell
from ramet._twin.values_by_name import copy_attributes, copy_known_attributes

_NONE: dict[str, Any] = {}


def copy_items(old: list[Any], new: Any, copier: Copier) -> None:
    """The twins of the items into a list."""
    memo, plans, met = copier.memo, copier.plans, copier.large_ints
    list.extend(
        new,
        [
            item
            if type(item) in ATOMS or (type(item) is int and item < SMALLEST_ID)
            else plans[type(item)].copy(item, copier)
            if (twin := memo.get(id(item), MISSING)) is MISSING
            else twin
            for item in old
        ],
    )
    if copier.large_ints != met:
        for index, item in enumerate(old):
            copier.look_again(functools.partial(list.__setitem__, new, index), item)


class ListPlan(Shell):
    """A list or a subclass of it. Filled at once where nothing in it can change."""

    def copy_all(self, olds: Sequence[Any], copier: Copier) -> Sequence[Any] | None:
        return copy_tracked(self, list, olds, copier)

    def copy(self, old: Any, copier: Copier) -> Any:
        new = copier.memo[id(old)] = list.__new__(type(old))
        items = list.copy(old)
        if are_atoms(map(type, items)) and copy_known_attributes(old, new, copier):
            list.extend(new, items)
        else:
            copier.todo.append((self, old, new))
        return new

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        copy_items(list.copy(old), new, copier)
        copy_attributes(old, new, copier)


def copy_tracked(plan: Shell, base: Any, olds: Sequence[Any], copier: Copier) -> Sequence[Any]:
    """The twins of several containers of a subclass, with a short way for Keras' own empty ones.

    These have one attribute, the tracker.
    """
    memo, cls, make, put = copier.memo, type(olds[0]), base.__new__, object.__setattr__
    news = []
    for old in olds:
        new = memo.get(id(old), MISSING)
        if new is MISSING:
            attributes = getattr(old, "__dict__", _NONE)
            tracker = memo.get(id(attributes.get(names.CONTAINER_TRACKER, old)), MISSING)
            if tracker is MISSING or len(attributes) > 1:
                new = plan.copy(old, copier)
            elif base.__len__(old) == 0:
                new = memo[id(old)] = make(cls)
                put(new, names.CONTAINER_TRACKER, tracker)
            else:
                new = plan.copy(old, copier)
        news.append(new)
    return news


class PlainListPlan(Shell):
    """A list: the common case, without the look at attributes."""

    is_plain = True

    def copy_all(self, olds: Sequence[Any], copier: Copier) -> Sequence[Any] | None:
        return copier.copy_each(olds)

    def copy(self, old: Any, copier: Copier) -> Any:
        new = old.copy()
        copier.memo[id(old)] = new
        if not are_atoms(map(type, new)):
            new.clear()
            copier.todo.append((self, old, new))
        return new

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        copy_items(old.copy(), new, copier)


class DequePlan(Shell):
    """A deque, with its maximal length."""

    def start(self, old: Any, copier: Copier) -> Any:
        new = collections.deque.__new__(type(old))
        collections.deque.__init__(new, (), old.maxlen)
        return new

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        collections.deque.extend(new, [copier.copy(item) for item in list(old)])
        copy_attributes(old, new, copier)
