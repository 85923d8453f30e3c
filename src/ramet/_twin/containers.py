"""Lists, dicts, sets, tuples and their subclasses.

Subclasses are filled through the builtin's own methods: `TrackedList.append` would track, a user's `__setitem__` might
do anything.
"""

from __future__ import annotations

import collections
import functools
import types
from collections.abc import Iterable
from typing import Any

from ramet._keras import names
from ramet._twin.atoms import ATOMS
from ramet._twin.copier import SMALLEST_ID, Assembly, Copier, Shell


def copy_attributes(old: Any, new: Any, copier: Copier) -> None:
    """The instance attributes of `old` into `new`, where the class gives instances a `__dict__`."""
    attributes = getattr(old, "__dict__", None)
    if attributes:
        target = new.__dict__
        for name, value in attributes.copy().items():
            target[name] = value if type(value) in ATOMS else copier.copy(value)
            copier.look_again(functools.partial(target.__setitem__, name), value)


def copy_items(old: list[Any], new: Any, copier: Copier) -> None:
    """The twins of the items into a list."""
    copy, met = copier.copy, copier.large_ints
    list.extend(
        new,
        [item if type(item) in ATOMS or (type(item) is int and item < SMALLEST_ID) else copy(item) for item in old],
    )
    if copier.large_ints != met:
        for index, item in enumerate(old):
            copier.look_again(functools.partial(list.__setitem__, new, index), item)


class ListPlan(Shell):
    """A list or a subclass of it."""

    def start(self, old: Any, copier: Copier) -> Any:
        return list.__new__(type(old))

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        copy_items(list.copy(old), new, copier)
        copy_attributes(old, new, copier)


class PlainListPlan(Shell):
    """A list: the common case, without the look at attributes."""

    def start(self, old: Any, copier: Copier) -> Any:
        return []

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
    """A dict or a subclass of it (`OrderedDict`, `defaultdict`, `Counter`, Keras' tracked ones), keys copied too."""

    def __init__(self, base: type[dict[Any, Any]] = dict) -> None:
        self.base = base

    def start(self, old: Any, copier: Copier) -> Any:
        new = self.base.__new__(type(old))
        if isinstance(old, collections.defaultdict):
            new.default_factory = copier.copy(old.default_factory)
        return new

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        copy, setitem = copier.copy, self.base.__setitem__
        copy_attributes(old, new, copier)
        items = list(self.base.items(old))
        for key, _ in items:
            kind = type(key)
            if kind is int and key >= SMALLEST_ID:
                break
            if kind not in ATOMS and kind is not int and not hashes_by_identity(key) and copy(key) is not key:
                break
        else:
            met = copier.large_ints
            for key, value in items:
                if type(key) not in ATOMS:
                    key = copy(key)
                setitem(new, key, value if type(value) in ATOMS or key == names.FOREIGN_ID else copy(value))
            if copier.large_ints != met:
                for key, value in items:
                    if key == names.FOREIGN_ID:
                        continue
                    copier.look_again(functools.partial(setitem, new, copy(key)), value)
            return
        # Keys that hash by content, and ints that may be ids, wait until their parts are filled.
        for key, value in items:
            copy(key)
            copy(value)
        copier.late.append((self, old, new))

    def fill_late(self, old: Any, new: Any, copier: Copier) -> None:
        """Fill a dict whose keys could not be hashed, or not be told from ids, before everything else was there."""
        copier.finishers.append(lambda copier: self._fill_by_identity(old, new, copier))

    def _fill_by_identity(self, old: Any, new: Any, copier: Copier) -> None:
        for key, value in list(self.base.items(old)):
            self.base.__setitem__(new, copier.copy(key), copier.copy(value))


class SetPlan(Shell):
    """A set or a subclass of it."""

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
    tuple: TuplePlan(),
    dict: DictPlan(),
    set: SetPlan(),
    frozenset: FrozenSetPlan(),
    types.MappingProxyType: MappingProxyPlan(),
}

# In this order: `OrderedDict` keeps its own order list, which only its own methods keep up to date.
CONTAINER_BASES: tuple[tuple[type, Any], ...] = (
    (collections.OrderedDict, DictPlan(collections.OrderedDict)),
    (collections.defaultdict, DictPlan(collections.defaultdict)),
    (dict, DictPlan()),
    (list, ListPlan()),
    (set, SetPlan()),
    (tuple, TuplePlan()),
    (frozenset, FrozenSetPlan()),
    (collections.deque, DequePlan()),
)
