"""Lists, dicts, sets, tuples and their subclasses.

Subclasses are filled through the builtin's own methods: `TrackedList.append` would track, a user's `__setitem__` might
do anything.
"""

from __future__ import annotations

import collections
import functools
import itertools
import types
from collections.abc import Iterable, Sequence
from typing import Any

from ramet._keras import names
from ramet._twin.atoms import ATOMS
from ramet._twin.copier import MISSING, SMALLEST_ID, Assembly, Copier, Shell
from ramet._twin.values_by_name import copy_attributes, copy_known_attributes, replace_values

# Whether values of these classes cannot change: asked of all items of a container in one step.
_are_atoms = ATOMS.issuperset
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
        if _are_atoms(map(type, items)) and copy_known_attributes(old, new, copier):
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
        if not _are_atoms(map(type, new)):
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


def hashes_by_identity(key: Any) -> bool:
    """Whether a shell can be hashed before it is filled."""
    return getattr(type(key), "__hash__", None) is object.__hash__


class DictPlan(Shell):
    """A dict or a subclass of it (`defaultdict`, `Counter`, Keras' tracked ones), keys copied too."""

    def copy_all(self, olds: Sequence[Any], copier: Copier) -> Sequence[Any] | None:
        return copy_tracked(self, dict, olds, copier)

    def copy(self, old: Any, copier: Copier) -> Any:
        new = copier.memo[id(old)] = self.start(old, copier)
        items = dict.copy(old)
        if (
            _are_atoms(map(type, items.values()))
            and _are_atoms(map(type, items))
            and copy_known_attributes(old, new, copier)
        ):
            self.put_all(new, items)
        else:
            copier.todo.append((self, old, new))
        return new

    def start(self, old: Any, copier: Copier) -> Any:
        return dict.__new__(type(old))

    def items(self, old: Any) -> dict[Any, Any]:
        """What is in it, as a plain dict."""
        return dict.copy(old)

    def put(self, new: Any, key: Any, value: Any) -> None:
        """One item, past what a subclass may do."""
        dict.__setitem__(new, key, value)

    def put_all(self, new: Any, items: dict[Any, Any]) -> None:
        """All items, past what a subclass may do."""
        dict.update(new, items)

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        copy_attributes(old, new, copier)
        items = self.items(old)
        if not _are_atoms(map(type, items)):
            if not all(self._can_be_hashed(key, copier) for key in items):
                # Keys that hash by content, and ints that may be ids, wait until their parts are filled.
                for key, value in items.items():
                    copier.copy(key)
                    copier.copy(value)
                copier.late.append((self, old, new))
                return
            items = {copier.copy(key): value for key, value in items.items()}
        replace_values(items, functools.partial(self.put, new), copier)
        self.put_all(new, items)

    def _can_be_hashed(self, key: Any, copier: Copier) -> bool:
        """Whether the twin of a key is known, or hashes by what it is and not by what it will hold."""
        if type(key) is int:
            return bool(key < SMALLEST_ID)
        return type(key) in ATOMS or hashes_by_identity(key) or copier.copy(key) is key

    def fill_late(self, old: Any, new: Any, copier: Copier) -> None:
        """Fill a dict whose keys could not be hashed, or not be told from ids, before everything else was there."""
        copier.finishers.append(lambda copier: self._fill_by_identity(old, new, copier))

    def _fill_by_identity(self, old: Any, new: Any, copier: Copier) -> None:
        for key, value in self.items(old).items():
            self.put(new, copier.copy(key), copier.copy(value))


class PlainDictPlan(DictPlan):
    """A dict: the common case, without the look at attributes."""

    is_plain = True

    def copy_all(self, olds: Sequence[Any], copier: Copier) -> Sequence[Any] | None:
        return copier.copy_each(olds)

    def copy(self, old: Any, copier: Copier) -> Any:
        new = copier.memo[id(old)] = old.copy()
        if not _are_atoms(map(type, new)):
            new.clear()  # its keys have twins, too
            copier.todo.append((self, old, new))
        elif not _are_atoms(map(type, new.values())):
            copier.todo.append((self, old, new))
        return new

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        if new:
            replace_values(new, new.__setitem__, copier)
        else:
            super().fill(old, new, copier)


class DefaultDictPlan(DictPlan):
    """A `defaultdict`: what makes its missing values is copied, too."""

    def copy_all(self, olds: Sequence[Any], copier: Copier) -> Sequence[Any] | None:
        return copier.copy_each(olds)

    def start(self, old: Any, copier: Copier) -> Any:
        new = collections.defaultdict.__new__(type(old))
        new.default_factory = copier.copy(old.default_factory)
        return new


class OrderedDictPlan(DictPlan):
    """An `OrderedDict`, which keeps a list of its order that only its own methods keep up to date."""

    is_plain = True

    def copy_all(self, olds: Sequence[Any], copier: Copier) -> Sequence[Any] | None:
        return copier.copy_each(olds)

    def copy(self, old: Any, copier: Copier) -> Any:
        new = copier.memo[id(old)] = collections.OrderedDict.__new__(type(old))
        if dict.__len__(old) or not copy_known_attributes(old, new, copier):
            copier.todo.append((self, old, new))
        return new

    def items(self, old: Any) -> dict[Any, Any]:
        return dict(list(collections.OrderedDict.items(old)))

    def put(self, new: Any, key: Any, value: Any) -> None:
        collections.OrderedDict.__setitem__(new, key, value)

    def put_all(self, new: Any, items: dict[Any, Any]) -> None:
        for key, value in items.items():
            collections.OrderedDict.__setitem__(new, key, value)


class SetPlan(Shell):
    """A set or a subclass of it. Filled at once where nothing in it can change."""

    is_plain = True

    def copy_all(self, olds: Sequence[Any], copier: Copier) -> Sequence[Any] | None:
        return copier.copy_each(olds) if type(olds[0]) is set else copy_tracked(self, set, olds, copier)

    def copy(self, old: Any, copier: Copier) -> Any:
        new = copier.memo[id(old)] = set.__new__(type(old))
        items = set.copy(old)
        if _are_atoms(map(type, items)) and copy_known_attributes(old, new, copier):
            set.update(new, items)
        else:
            copier.todo.append((self, old, new))
        return new

    def start(self, old: Any, copier: Copier) -> Any:
        return set.__new__(type(old))

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        copy_attributes(old, new, copier)
        items = list(set.copy(old))
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
        items = list(set.copy(old))
        copier.finishers.append(lambda copier: set.update(new, [copier.copy(item) for item in items]))


class TuplePlan(Assembly):
    """A tuple or a subclass of it, named tuples included. Shared where none of its items changed."""

    def copy_all(self, olds: Sequence[Any], copier: Copier) -> Sequence[Any] | None:
        if type(olds[0]) is not tuple or not copier.are_new(olds):
            return None
        for item in itertools.chain.from_iterable(olds):
            if type(item) not in ATOMS and (type(item) is not int or item >= SMALLEST_ID):
                return None
        return olds

    def copy(self, old: Any, copier: Copier) -> Any:
        if type(old) is not tuple:
            return copier.assemble(old)
        memo, plans = copier.memo, copier.plans
        items = []
        changed = False
        for item in old:
            kind = type(item)
            if kind not in ATOMS and (kind is not int or item >= SMALLEST_ID):
                twin = memo.get(id(item), MISSING)
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


class MappingProxyPlan(Assembly):
    """A read-only view of a dict: a view of the twin's dict."""

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        return [self._target(old)]

    def make(self, old: Any, copier: Copier) -> Any:
        return types.MappingProxyType(copier.copy(self._target(old)))

    def _target(self, old: Any) -> Any:
        # The only way Python offers to the mapping behind the view: `|` would copy it.
        import gc

        return gc.get_referents(old)[0]


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
