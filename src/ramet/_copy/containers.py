"""Lists, dicts, sets, tuples and their subclasses: which plan is whose.

Subclasses are filled through the builtin's own methods: `TrackedList.append` would track, a user's `__setitem__` might
do anything.
"""

from __future__ import annotations

import collections
import types
from typing import Any

from ramet._copy.copier import Copier
from ramet._copy.dicts import DefaultDictPlan, DictPlan, MappingProxyPlan, OrderedDictPlan, PlainDictPlan
from ramet._copy.lists import DequePlan, ListPlan, PlainListPlan
from ramet._copy.plan import Shell
from ramet._copy.sets import FrozenSetPlan, SetPlan
from ramet._copy.tuples import TuplePlan
from ramet._copy.values_by_name import copy_slots


class SlottedPlan(Shell):
    """A container of a class with `__slots__`: copied as its like, and what stands in the slots later. Not for what cannot change."""

    def __init__(self, plan: Any, slots: list[str]) -> None:
        self.plan = plan
        self.slots = slots

    def copy(self, old: Any, copier: Copier) -> Any:
        new = self.plan.copy(old, copier)
        copier.todo.append((self, old, new))
        return new

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        copy_slots(old, new, self.slots, copier)


CONTAINER_PLANS: dict[type, Any] = {
    list: PlainListPlan(),
    collections.OrderedDict: OrderedDictPlan(),
    tuple: TuplePlan(),
    dict: PlainDictPlan(),
    set: SetPlan(),
    frozenset: FrozenSetPlan(),
    types.MappingProxyType: MappingProxyPlan(),
}

# In this order: the first that fits.
CONTAINER_BASES: tuple[tuple[type, Any], ...] = (
    (collections.OrderedDict, OrderedDictPlan()),
    (collections.defaultdict, DefaultDictPlan()),
    (dict, DictPlan()),
    (list, ListPlan()),
    (set, SetPlan()),
    (tuple, TuplePlan()),
    (frozenset, FrozenSetPlan()),
    (collections.deque, DequePlan()),
)
