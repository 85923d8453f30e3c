"""Lists, dicts, sets, tuples and their subclasses: which plan is whose.

Subclasses are filled through the builtin's own methods: `TrackedList.append` would track, a user's `__setitem__` might
do anything.
"""

from __future__ import annotations

import collections
import types
from typing import Any

from ramet._twin.dicts import DefaultDictPlan, DictPlan, MappingProxyPlan, OrderedDictPlan, PlainDictPlan
from ramet._twin.lists import DequePlan, ListPlan, PlainListPlan
from ramet._twin.sets import FrozenSetPlan, SetPlan
from ramet._twin.tuples import TuplePlan

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
