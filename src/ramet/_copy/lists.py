"""Lists and deques."""

from __future__ import annotations

import collections
import functools
from typing import Any

from ramet._copy.atoms import ATOMS, SMALLEST_ID, are_atoms
from ramet._copy.copier import Copier
from ramet._copy.plan import MISSING, Shell
from ramet._copy.values_by_name import copy_attributes, copy_known_attributes


def copy_items(old: list[Any], new: Any, copier: Copier) -> None:
    """The twins of the items into a list."""
    plans, met = copier.plans, copier.large_ints
    list.extend(
        new,
        [
            item
            if type(item) in ATOMS or (type(item) is int and item < SMALLEST_ID)
            else plans[type(item)].copy(item, copier)
            if (twin := copier.find(item, MISSING)) is MISSING
            else twin
            for item in old
        ],
    )
    if copier.large_ints != met:
        for index, item in enumerate(old):
            copier.look_again(functools.partial(list.__setitem__, new, index), item)


class ListPlan(Shell):
    """A subclass of list. Filled at once where nothing in it can change."""

    form = "list subclass"

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


class PlainListPlan(Shell):
    """A list: the common case, without the look at attributes."""

    form = "list"

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
