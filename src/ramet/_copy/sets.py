"""Sets and frozen sets."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ramet._copy.atoms import ATOMS, SMALLEST_ID, are_atoms
from ramet._copy.copier import Copier
from ramet._copy.dicts import hashes_by_identity
from ramet._copy.plan import Assembly, Shell
from ramet._copy.values_by_name import copy_attributes, copy_known_attributes


class SetPlan(Shell):
    """A set or a subclass of it. Filled at once where nothing in it can change."""

    form = "set"

    def copy(self, old: Any, copier: Copier) -> Any:
        new = copier.memo[id(old)] = set.__new__(type(old))
        items = set().union(old)
        if are_atoms(map(type, items)) and copy_known_attributes(old, new, copier):
            set.update(new, items)
        else:
            copier.todo.append((self, old, new))
        return new

    def start(self, old: Any, copier: Copier) -> Any:
        return set.__new__(type(old))

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        copy_attributes(old, new, copier)
        items = list(set().union(old))
        waits = False
        for item in items:
            kind = type(item)
            if kind is int:
                waits = waits or item >= SMALLEST_ID
            elif kind not in ATOMS:
                twin = copier.copy(item)
                waits = waits or not (twin is item or hashes_by_identity(item))
        if waits:
            copier.late.append((self, old, new))
        else:
            set.update(new, [copier.copy(item) for item in items])

    def fill_late(self, old: Any, new: Any, copier: Copier) -> None:
        """As for dicts: items that hash by content, and ints that may be ids."""
        items = list(set().union(old))
        copier.finishers.append(lambda copier: set.update(new, [copier.copy(item) for item in items]))


class FrozenSetPlan(Assembly):
    """A frozenset or a subclass of it."""

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        return list(frozenset.__iter__(old))

    def make(self, old: Any, copier: Copier) -> Any:
        items = [copier.copy(item) for item in frozenset.__iter__(old)]
        copier.frozen_ids.update(item for item in items if type(item) is int and item >= SMALLEST_ID)
        if all(twin is item for twin, item in zip(items, frozenset.__iter__(old), strict=True)):
            return old
        if not all(map(hashes_by_identity, items)):
            copier.settle()
        new = frozenset.__new__(type(old), items)
        copy_attributes(old, new, copier)
        return new

    def shares(self, old: Any, copier: Copier) -> bool:
        return all(copier.shares(item) for item in frozenset.__iter__(old))
