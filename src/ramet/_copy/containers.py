"""Lists, dicts, sets, tuples and their subclasses.

Subclasses are filled through the methods of the builtin class: `TrackedList.append` would track, and a user's
`__setitem__` might do anything.
"""

from __future__ import annotations

import collections
import functools
import gc
import types
from collections.abc import Iterable
from typing import Any

from ramet._copy.atoms import ATOMS, SMALLEST_ID, are_atoms
from ramet._copy.attributes import copy_attributes, copy_known_attributes, copy_slots, replace_values
from ramet._copy.copier import Copier
from ramet._copy.rule import MISSING, AssemblyRule, ShellRule


def copy_items(old: list[Any], new: Any, copier: Copier) -> None:
    """Extend a list by the twins of the items."""
    rules, met = copier.rules, copier.large_ints
    list.extend(
        new,
        [
            item
            if type(item) in ATOMS or (type(item) is int and item < SMALLEST_ID)
            else rules[type(item)].copy(item, copier)
            if (twin := copier.find(item, MISSING)) is MISSING
            else twin
            for item in old
        ],
    )
    if copier.large_ints != met:
        for index, item in enumerate(old):
            copier.replace_id_later(functools.partial(list.__setitem__, new, index), item)


class ListRule(ShellRule):
    """A subclass of list. It is filled immediately if none of its items can change."""

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


class PlainListRule(ShellRule):
    """A list: the common case, without looking at attributes."""

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


class DequeRule(ShellRule):
    """A deque, with its maximum length."""

    def start(self, old: Any, copier: Copier) -> Any:
        new = collections.deque.__new__(type(old))
        collections.deque.__init__(new, (), old.maxlen)
        return new

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        collections.deque.extend(new, [copier.copy(item) for item in list(old)])
        copy_attributes(old, new, copier)


def hashes_by_identity(key: Any) -> bool:
    """Return whether a key can be hashed before it is filled."""
    return getattr(type(key), "__hash__", None) is object.__hash__


def plain_items(old: Any) -> dict[Any, Any]:
    """Return the items of a dict, bypassing overridden methods: `dict.copy` uses the `__iter__` of a subclass."""
    return dict.copy(old) if type(old).__iter__ is dict.__iter__ else dict(dict.items(old))


class DictRule(ShellRule):
    """A dict or a subclass of it (`defaultdict`, `Counter`, Keras' tracked dicts). Keys are copied as well."""

    form = "dict subclass"

    def copy(self, old: Any, copier: Copier) -> Any:
        new = copier.memo[id(old)] = self.start(old, copier)
        items = plain_items(old)
        if (
            are_atoms(map(type, items.values()))
            and are_atoms(map(type, items))
            and copy_known_attributes(old, new, copier)
        ):
            self.put_all(new, items)
        else:
            copier.todo.append((self, old, new))
        return new

    def start(self, old: Any, copier: Copier) -> Any:
        return dict.__new__(type(old))

    def items(self, old: Any) -> dict[Any, Any]:
        """Return the items as a plain dict."""
        return plain_items(old)

    def put(self, new: Any, key: Any, value: Any) -> None:
        """Set one item, bypassing overridden methods."""
        dict.__setitem__(new, key, value)

    def put_all(self, new: Any, items: dict[Any, Any]) -> None:
        """Set all items, bypassing overridden methods."""
        dict.update(new, items)

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        copy_attributes(old, new, copier)
        items = self.items(old)
        if not are_atoms(map(type, items)):
            if not all(self._can_be_hashed(key, copier) for key in items):
                # Keys that hash by content, and ints that may be ids, wait until everything is filled.
                for key, value in items.items():
                    copier.copy(key)
                    copier.copy(value)
                copier.late.append((self, old, new))
                return
            items = {copier.copy(key): value for key, value in items.items()}
        replace_values(items, functools.partial(self.put, new), copier)
        self.put_all(new, items)

    def _can_be_hashed(self, key: Any, copier: Copier) -> bool:
        """Return whether the twin of a key is known, or its hash does not depend on its contents."""
        if type(key) is int:
            return bool(key < SMALLEST_ID)
        return type(key) in ATOMS or hashes_by_identity(key) or copier.copy(key) is key

    def fill_late(self, old: Any, new: Any, copier: Copier) -> None:
        """Fill a dict whose keys could not be hashed, or may be ids, before everything else was copied."""
        copier.finishers.append(lambda copier: self._fill_by_identity(old, new, copier))

    def _fill_by_identity(self, old: Any, new: Any, copier: Copier) -> None:
        for key, value in self.items(old).items():
            self.put(new, copier.copy(key), copier.copy(value))


class PlainDictRule(DictRule):
    """A dict: the common case, without looking at attributes."""

    form = "dict"

    def copy(self, old: Any, copier: Copier) -> Any:
        new = copier.memo[id(old)] = old.copy()
        if not are_atoms(map(type, new)):
            new.clear()  # its keys need twins as well
            copier.todo.append((self, old, new))
        elif not are_atoms(map(type, new.values())):
            copier.todo.append((self, old, new))
        return new

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        if new:
            replace_values(new, new.__setitem__, copier)
        else:
            super().fill(old, new, copier)


class DefaultDictRule(DictRule):
    """A `defaultdict`: the factory of missing values is copied as well."""

    form = "default dict"

    def start(self, old: Any, copier: Copier) -> Any:
        new = collections.defaultdict.__new__(type(old))
        new.default_factory = copier.copy(old.default_factory)
        return new


class OrderedDictRule(DictRule):
    """An `OrderedDict`. It keeps a separate list of its order that only its own methods update."""

    form = "ordered dict"

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


class MappingProxyRule(AssemblyRule):
    """A read-only view of a dict: a view of the twin's dict."""

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        return [self._target(old)]

    def make(self, old: Any, copier: Copier) -> Any:
        return types.MappingProxyType(copier.copy(self._target(old)))

    def _target(self, old: Any) -> Any:
        # There is no other way to get the mapping behind the view: `|` would copy it.
        return gc.get_referents(old)[0]


class SetRule(ShellRule):
    """A set or a subclass of it. It is filled immediately if none of its items can change."""

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
        """Fill a set with items that hash by content, or with ints that may be ids."""
        items = list(set().union(old))
        copier.finishers.append(lambda copier: set.update(new, [copier.copy(item) for item in items]))


class FrozenSetRule(AssemblyRule):
    """A frozenset or a subclass of it."""

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        return list(frozenset.__iter__(old))

    def make(self, old: Any, copier: Copier) -> Any:
        items = [copier.copy(item) for item in frozenset.__iter__(old)]
        copier.frozen_ids.update(item for item in items if type(item) is int and item >= SMALLEST_ID)
        is_same = all(twin is item for twin, item in zip(items, frozenset.__iter__(old), strict=True))
        if is_same and not getattr(old, "__dict__", None):
            return old
        if not is_same and not all(map(hashes_by_identity, items)):
            copier.fill_waiting()
        new = copier.memo[id(old)] = frozenset.__new__(
            type(old), items
        )  # known already: an attribute may lead back here
        copy_attributes(old, new, copier)
        return new

    def shares(self, old: Any, copier: Copier) -> bool:
        return not getattr(old, "__dict__", None) and all(copier.shares(item) for item in frozenset.__iter__(old))


class TupleRule(AssemblyRule):
    """A tuple or a subclass of it, such as a named tuple. Shared if none of its items changed."""

    form = "tuple"

    def copy(self, old: Any, copier: Copier) -> Any:
        if type(old) is not tuple:
            return copier.assemble(old)
        memo, rules = copier.memo, copier.rules
        items = []
        changed = False
        for item in old:
            kind = type(item)
            if kind not in ATOMS and (kind is not int or item >= SMALLEST_ID):
                twin = copier.find(item, MISSING)
                if twin is MISSING:
                    rule = rules[kind]
                    if rule.is_assembly or kind is int:
                        return copier.assemble(old)  # which does not recurse
                    twin = rule.copy(item, copier)
                if twin is not item:
                    changed = True
                    item = twin
            items.append(item)
        new = memo[id(old)] = tuple(items) if changed else old
        copier.kept_alive.append(old)
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


class SlottedRule(ShellRule):
    """A mutable container of a class with `__slots__`: copied like its base class; its slots are filled later."""

    def __init__(self, rule: Any, slots: list[str]) -> None:
        self.rule = rule
        self.slots = slots

    def copy(self, old: Any, copier: Copier) -> Any:
        new = self.rule.copy(old, copier)
        copier.todo.append((self, old, new))
        return new

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        copy_slots(old, new, self.slots, copier)


CONTAINER_RULES: dict[type, Any] = {
    list: PlainListRule(),
    collections.OrderedDict: OrderedDictRule(),
    tuple: TupleRule(),
    dict: PlainDictRule(),
    set: SetRule(),
    frozenset: FrozenSetRule(),
    types.MappingProxyType: MappingProxyRule(),
}
# The first base class that matches decides.
CONTAINER_BASES: tuple[tuple[type, Any], ...] = (
    (collections.OrderedDict, OrderedDictRule()),
    (collections.defaultdict, DefaultDictRule()),
    (dict, DictRule()),
    (list, ListRule()),
    (set, SetRule()),
    (tuple, TupleRule()),
    (frozenset, FrozenSetRule()),
    (collections.deque, DequeRule()),
)
