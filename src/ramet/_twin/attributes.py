"""Objects made of attributes, copied many at a time.

A model holds many objects of one class, with the same attributes of the same kinds: the layers of a chain, their
trackers, variables and calls. So objects wait until there are several of a class, and are then filled attribute by
attribute, not object by object: what holds for the kind of an attribute is asked once for all of them.
"""

from __future__ import annotations

import functools
import itertools
import operator
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any, NamedTuple

from ramet._twin.atoms import ATOMS
from ramet._twin.copier import Copier
from ramet._twin.plan import Plan, Shell
from ramet._twin.values_by_name import Handler, replace_attributes, replace_these

# Fewer objects than this are filled one by one.
_FEW = 4
# And at most so many at a time: their attributes should stay near the processor while they are gone through.
_MANY = 64
# The attributes of an object: their names, and the classes of their values.
Names = tuple[str, ...]
Kinds = tuple[type, ...]


def slot_names(cls: type) -> list[str]:
    """The names that `__slots__` gave to instances, of all bases."""
    names = []
    for base in cls.__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name in ("__dict__", "__weakref__"):
                continue
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{base.__name__.lstrip('_')}{name}"
            names.append(name)
    return names


class AttributesPlan(Shell):
    """Attributes and slots, copied into a bare new object: no `__init__` runs, no `__setattr__` is called.

    Args:
        cls: The class.
        handlers: The attributes that need something else than a copy.
        at_once: Those of them whose handlers run no foreign code.
        is_state: Whether functions that reach such an object must be copied with it.
        topic: Under which the finish step finds these objects, if it has to.
    """

    def __init__(
        self,
        cls: type,
        handlers: dict[str, Handler] | None = None,
        *,
        at_once: Collection[str] = (),
        is_state: bool = False,
        topic: str | None = None,
    ) -> None:
        self.slots = slot_names(cls)
        # A class may be a list or dict besides; then it has items, too.
        self.base: Any = next((base for base in (dict, list, set) if issubclass(cls, base)), object)
        self.has_only_attributes = self.base is object and not self.slots and cls.__dictoffset__ != 0
        self.handlers = handlers or {}
        self.at_once = at_once
        self.is_state = is_state
        self.topic = topic

    def copy(self, old: Any, copier: Copier) -> Any:
        new = copier.memo[id(old)] = self.start(old, copier)
        if self.topic is not None:
            copier.records[self.topic].append((old, new))
        if self.has_only_attributes:
            copier.alike[self].append((old, new))
        else:
            copier.todo.append((self, old, new))
        return new

    def start(self, old: Any, copier: Copier) -> Any:
        return self.base.__new__(type(old))

    def copy_all(self, olds: Sequence[Any], copier: Copier) -> Sequence[Any] | None:
        if not self.has_only_attributes or not copier.are_new(olds):
            return copier.copy_each(olds)
        news = [self.start(old, copier) for old in olds]
        copier.memo.update(zip(map(id, olds), news, strict=True))
        pairs = list(zip(olds, news, strict=True))
        if self.topic is not None:
            copier.records[self.topic].extend(pairs)
        copier.alike[self].extend(pairs)
        return news

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        if self.base is dict:
            dict.update(new, {copier.copy(key): copier.copy(value) for key, value in dict.items(old)})
        elif self.base is not object:
            adopt = list.extend if self.base is list else set.update
            adopt(new, [copier.copy(item) for item in self.base.__iter__(old)])
        source = getattr(old, "__dict__", None)
        if source:
            target = new.__dict__
            target.update(source)  # one step for other threads, which may call the model meanwhile
            replace_attributes(old, target, self.handlers, copier)
        for name in self.slots:
            try:
                value = getattr(old, name)
            except AttributeError:  # a slot that was never filled
                continue
            object.__setattr__(new, name, copier.copy(value))
            copier.look_again(functools.partial(object.__setattr__, new, name), value)

    def fill_all(self, pairs: list[tuple[Any, Any]], copier: Copier) -> None:
        """Fill several objects of the class: those with the same attributes of the same kinds together."""
        if len(pairs) < _FEW:
            copier.todo.extend([(self, old, new) for old, new in pairs])
            return
        for start in range(0, len(pairs), _MANY):
            groups: dict[tuple[Names, Kinds], list[tuple[Any, Any]]] = {}
            names: Names = ()
            kinds: Kinds = ()
            group: list[tuple[Any, Any]] = []  # of the object before, which the next is most often like
            for pair in pairs[start : start + _MANY]:
                target = pair[1].__dict__
                target.update(pair[0].__dict__)
                own_names, own_kinds = tuple(target), tuple(map(type, target.values()))
                if own_kinds != kinds or own_names != names:
                    names, kinds = own_names, own_kinds
                    group = groups.setdefault((names, kinds), [])
                group.append(pair)
            for (names, kinds), group in groups.items():
                if len(group) < _FEW:
                    copier.todo.extend([(self, old, new) for old, new in group])
                else:
                    self._layout(names, kinds, copier).fill(group, copier)

    def _layout(self, names: Names, kinds: Kinds, copier: Copier) -> Layout:
        # Kept by the copier, not here: a plan lives on, and would keep every class alive that it ever saw.
        key = (self, names, kinds)
        layout: Layout | None = copier.layouts.get(key)
        if layout is None:
            layout = copier.layouts[key] = Layout(names, kinds, self.handlers, self.at_once)
        return layout


class Layout(Plan):
    """What objects of a class with certain attributes of certain kinds have in common."""

    def __init__(self, names: Names, kinds: Kinds, handlers: dict[str, Handler], at_once: Collection[str]) -> None:
        self.handlers = handlers
        columns: dict[type, list[str]] = {}
        for name, kind in zip(names, kinds, strict=True):
            if kind not in ATOMS and name not in handlers:
                columns.setdefault(kind, []).append(name)
        # Containers last: those of Keras refer to a tracker, which then has a twin already.
        by_kind = sorted(columns.items(), key=lambda column: issubclass(column[0], list | dict | set))
        self.columns = [Columns(kind, tuple(own), operator.itemgetter(*own)) for kind, own in by_kind]
        handled = [name for name in names if name in handlers]
        self.at_once = [name for name in handled if name in at_once]
        self.waiting = [name for name in handled if name not in at_once]

    def fill(self, group: Any, copier: Copier) -> None:
        """Put the twins of the attributes into objects that have the originals' so far.

        What may run foreign code, which may look at what is there, waits for its turn in the worklist.
        """
        targets = [new.__dict__ for _, new in group]
        later = self.waiting.copy()
        for columns in self.columns:
            if not columns.fill(targets, copier):
                later.extend(columns.names)
        for name in self.at_once:
            handler = self.handlers[name]
            for (old, _), target in zip(group, targets, strict=True):
                handler(old, target, name, target[name], copier)
        if later:
            rest = Rest(later, self.handlers)
            copier.todo.extend([(rest, old, new) for old, new in group])


class Columns(NamedTuple):
    """The attributes of one kind: of several objects, they are copied in one go."""

    kind: type
    names: Names
    get: Callable[[dict[str, Any]], Any]

    def fill(self, targets: list[dict[str, Any]], copier: Copier) -> bool:
        """Put the twins where the originals are; False if they must be copied one by one."""
        values = list(map(self.get, targets))
        if len(self.names) > 1:
            values = list(itertools.chain.from_iterable(values))
        twins = copier.plans[self.kind].copy_all(values, copier)
        if twins is None:
            return False
        if twins is not values:
            rest = iter(twins)
            for target in targets:
                target.update(zip(self.names, rest))  # noqa: B905  # takes as many of the rest as there are names
        return True


class Rest(Plan):
    """The attributes of an object that are left when the others were filled together with those of its like."""

    def __init__(self, names: Iterable[str], handlers: dict[str, Handler]) -> None:
        self.names = names
        self.handlers = handlers

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        """Each by its handler, or by the plan of its class."""
        target = new.__dict__
        replace_these([(name, target[name]) for name in self.names], old, target, self.handlers, copier)
