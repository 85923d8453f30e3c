"""Dicts of every kind, and read-only views of them."""

from __future__ import annotations

import collections
import functools
import gc
import types
from collections.abc import Iterable
from typing import Any

from ramet._copy.atoms import ATOMS, SMALLEST_ID, are_atoms
from ramet._copy.copier import Copier
from ramet._copy.plan import Assembly, Shell
from ramet._copy.values_by_name import copy_attributes, copy_known_attributes, replace_values


def hashes_by_identity(key: Any) -> bool:
    """Whether a shell can be hashed before it is filled."""
    return getattr(type(key), "__hash__", None) is object.__hash__


def plain_items(old: Any) -> dict[Any, Any]:
    """What is in a dict, past what a subclass may do: `dict.copy` asks an `__iter__` of its own."""
    return dict.copy(old) if type(old).__iter__ is dict.__iter__ else dict(dict.items(old))


class DictPlan(Shell):
    """A dict or a subclass of it (`defaultdict`, `Counter`, Keras' tracked ones), keys copied too."""

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
        """What is in it, as a plain dict."""
        return plain_items(old)

    def put(self, new: Any, key: Any, value: Any) -> None:
        """One item, past what a subclass may do."""
        dict.__setitem__(new, key, value)

    def put_all(self, new: Any, items: dict[Any, Any]) -> None:
        """All items, past what a subclass may do."""
        dict.update(new, items)

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        copy_attributes(old, new, copier)
        items = self.items(old)
        if not are_atoms(map(type, items)):
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

    form = "dict"

    def copy(self, old: Any, copier: Copier) -> Any:
        new = copier.memo[id(old)] = old.copy()
        if not are_atoms(map(type, new)):
            new.clear()  # its keys have twins, too
            copier.todo.append((self, old, new))
        elif not are_atoms(map(type, new.values())):
            copier.todo.append((self, old, new))
        return new

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        if new:
            replace_values(new, new.__setitem__, copier)
        else:
            super().fill(old, new, copier)


class DefaultDictPlan(DictPlan):
    """A `defaultdict`: what makes its missing values is copied, too."""

    form = "default dict"

    def start(self, old: Any, copier: Copier) -> Any:
        new = collections.defaultdict.__new__(type(old))
        new.default_factory = copier.copy(old.default_factory)
        return new


class OrderedDictPlan(DictPlan):
    """An `OrderedDict`, which keeps a list of its order that only its own methods keep up to date."""

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


class MappingProxyPlan(Assembly):
    """A read-only view of a dict: a view of the twin's dict."""

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        return [self._target(old)]

    def make(self, old: Any, copier: Copier) -> Any:
        return types.MappingProxyType(copier.copy(self._target(old)))

    def _target(self, old: Any) -> Any:
        # The only way Python offers to the mapping behind the view: `|` would copy it.
        return gc.get_referents(old)[0]
