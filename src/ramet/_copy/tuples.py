"""Tuples, named ones included."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from ramet._copy.atoms import ATOMS, SMALLEST_ID
from ramet._copy.copier import Copier
from ramet._copy.plan import MISSING, Assembly
from ramet._copy.values_by_name import copy_attributes


class TuplePlan(Assembly):
    """A tuple or a subclass of it, named tuples included. Shared where none of its items changed."""

    form = "tuple"

    def copy(self, old: Any, copier: Copier) -> Any:
        if type(old) is not tuple:
            return copier.assemble(old)
        memo, plans = copier.memo, copier.plans
        items = []
        changed = False
        for item in old:
            kind = type(item)
            if kind not in ATOMS and (kind is not int or item >= SMALLEST_ID):
                twin = copier.find(item, MISSING)
                if twin is MISSING:
                    plan = plans[kind]
                    if plan.is_assembly or kind is int:
                        return copier.assemble(old)  # which does without recursion
                    twin = plan.copy(item, copier)
                if twin is not item:
                    changed = True
                    item = twin
            items.append(item)
        new = memo[id(old)] = tuple(items) if changed else old
        copier.kept.append(old)
        return new

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        return [item for item in tuple.__iter__(old) if type(item) not in ATOMS]

    def make(self, old: Any, copier: Copier) -> Any:
        copy = copier.copy
        changed = False
        items = []
        for item in tuple.__iter__(old):
            twin = item if type(item) in ATOMS or (type(item) is int and item < SMALLEST_ID) else copy(item)
            if twin is item and type(item) is int and item >= SMALLEST_ID:
                copier.frozen_ids.add(item)
            changed = changed or twin is not item
            items.append(twin)
        if not changed and not getattr(old, "__dict__", None):
            return old
        new = tuple.__new__(type(old), items)
        copy_attributes(old, new, copier)
        return new

    def shares(self, old: Any, copier: Copier) -> bool:
        return not getattr(old, "__dict__", None) and all(
            type(item) in ATOMS or copier.shares(item) for item in tuple.__iter__(old)
        )
