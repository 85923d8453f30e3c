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
from ramet._copy.rule import MISSING, AssemblyRule, CopyRule, ShellRule


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


def has_final_hash(key: Any, copier: Copier) -> bool:
    """Return whether the twin of a key can be hashed already. An int may still turn out to be an id."""
    if type(key) is int:
        return bool(key < SMALLEST_ID)
    return type(key) in ATOMS or hashes_by_identity(key) or copier.copy(key) is key


class DictRule(ShellRule):
    """A dict or a subclass of it (`defaultdict`, `Counter`, Keras' tracked dicts). Keys are copied as well."""

    form = "dict subclass"
    put: Any = staticmethod(dict.__setitem__)  # sets one item, bypassing overridden methods

    def start(self, old: Any, copier: Copier) -> Any:
        return dict.__new__(type(old))

    def items(self, old: Any) -> dict[Any, Any]:
        """Return the items as a plain dict, bypassing overridden methods: `dict.copy` uses the `__iter__` of a subclass."""
        return dict.copy(old) if type(old).__iter__ is dict.__iter__ else dict(dict.items(old))

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        copy_attributes(old, new, copier)
        items = self.items(old)
        if not are_atoms(map(type, items)):
            if not all(has_final_hash(key, copier) for key in items):
                # Keys that hash by content, and ints that may be ids, wait until everything is filled.
                for pair in items.items():
                    copier.copy_each(pair)
                copier.finishers.append(lambda copier: self._put_twins(items, new, copier))
                return
            items = {copier.copy(key): value for key, value in items.items()}
        replace_values(items, functools.partial(self.put, new), copier)
        for key, value in items.items():
            self.put(new, key, value)

    def _put_twins(self, items: dict[Any, Any], new: Any, copier: Copier) -> None:
        for key, value in items.items():
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
    put = staticmethod(collections.OrderedDict.__setitem__)

    def copy(self, old: Any, copier: Copier) -> Any:
        new = copier.memo[id(old)] = collections.OrderedDict.__new__(type(old))
        if dict.__len__(old) or getattr(old, "__dict__", None):
            copier.todo.append((self, old, new))
        return new

    def items(self, old: Any) -> dict[Any, Any]:
        return dict(list(collections.OrderedDict.items(old)))


class MappingProxyRule(AssemblyRule):
    """A read-only view of a dict: a view of the twin's dict."""

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        # There is no other way to get the mapping behind the view: `|` would copy it.
        return gc.get_referents(old)

    def make(self, old: Any, copier: Copier) -> Any:
        return types.MappingProxyType(copier.copy(gc.get_referents(old)[0]))


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

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        copy_attributes(old, new, copier)
        items = list(set().union(old))  # bypasses an overridden `__iter__`
        twins = copier.copy_each(items)
        if all(has_final_hash(item, copier) for item in items):
            set.update(new, twins)
        else:
            copier.finishers.append(lambda copier: set.update(new, copier.copy_each(items)))


class FrozenRule(AssemblyRule):
    """A frozenset, a tuple or a subclass of one. Shared if none of its items changed."""

    base: Any = frozenset

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        return list(self.base.__iter__(old))

    def make(self, old: Any, copier: Copier) -> Any:
        items = copier.copy_each(list(self.base.__iter__(old)))
        copier.frozen_ids.update(item for item in items if type(item) is int and item >= SMALLEST_ID)
        same = all(twin is item for twin, item in zip(items, self.base.__iter__(old), strict=True))
        if same and not getattr(old, "__dict__", None):
            return old
        if self.base is frozenset and not all(map(hashes_by_identity, items)):
            copier.fill_waiting()
        new = self.base.__new__(type(old), items)
        copy_attributes(old, new, copier)
        return new

    def shares(self, old: Any, copier: Copier) -> bool:
        return not getattr(old, "__dict__", None) and all(map(copier.shares, self.base.__iter__(old)))


class TupleRule(FrozenRule):
    """A tuple or a subclass of it, such as a named tuple."""

    form = "tuple"
    base = tuple

    def copy(self, old: Any, copier: Copier) -> Any:
        if type(old) is not tuple:
            return copier.assemble(old)
        items = []
        changed = False
        for item in old:
            kind = type(item)
            if kind not in ATOMS and (kind is not int or item >= SMALLEST_ID):
                twin = copier.find(item, MISSING)
                if twin is MISSING:
                    rule = copier.rules[kind]
                    if rule.is_assembly or kind is int:
                        return copier.assemble(old)  # which does not recurse
                    twin = rule.copy(item, copier)
                if twin is not item:
                    changed = True
                    item = twin
            items.append(item)
        new = copier.memo[id(old)] = tuple(items) if changed else old
        copier.kept_alive.append(old)
        return new


class SlottedRule(ShellRule):
    """A mutable container of a class with `__slots__`: copied like its base class; its slots are filled later."""

    def __init__(self, rule: CopyRule, slots: list[str]) -> None:
        self.rule = rule
        self.slots = slots

    def copy(self, old: Any, copier: Copier) -> Any:
        new = self.rule.copy(old, copier)
        copier.todo.append((self, old, new))
        return new

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        copy_slots(old, new, self.slots, copier)


CONTAINER_RULES: dict[type, CopyRule] = {
    list: PlainListRule(),
    dict: PlainDictRule(),
    types.MappingProxyType: MappingProxyRule(),
}
# The first base class that matches decides.
CONTAINER_BASES: tuple[tuple[type, CopyRule], ...] = (
    (collections.OrderedDict, OrderedDictRule()),
    (collections.defaultdict, DefaultDictRule()),
    (dict, DictRule()),
    (list, ListRule()),
    (set, SetRule()),
    (tuple, TupleRule()),
    (frozenset, FrozenRule()),
    (collections.deque, DequeRule()),
)
