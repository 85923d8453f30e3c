"""Objects made of attributes: which attributes a class gives its instances, and how they are copied.

This is the hot loop of the Python copier. A layer has about sixty attributes, and about fifty of them are strings, flags
and None. So all attributes are copied in one step, and only the remaining ones are then handled individually.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

from ramet._copy.atoms import ATOMS, HEAP_TYPE, SMALLEST_ID
from ramet._copy.rule import MISSING, ShellRule
from ramet._keras import names

if TYPE_CHECKING:
    from ramet._copy.copier import Copier


def slot_names(cls: type) -> list[str]:
    """Return the names that `__slots__` gives to instances, of all bases."""
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


def has_bare_new(cls: type, base: type = object) -> bool:
    """Return whether `base.__new__` makes a complete instance, without data that Python cannot see.

    This is decided by instance size, as in pickle. Creating an instance to find out would run a user's `__del__` on an empty
    object.
    """
    if cls is base:
        return True
    slots = len(slot_names(cls))
    word = tuple.__itemsize__
    seen = base.__basicsize__ + word * (slots + bool(cls.__dictoffset__) + bool(cls.__weakrefoffset__))
    holds_anything = bool(cls.__dictoffset__) or slots > 0 or cls.__basicsize__ == base.__basicsize__
    return bool(cls.__flags__ & HEAP_TYPE) and holds_anything and cls.__basicsize__ <= seen


def hides_attributes(cls: type) -> bool:
    """Return whether `__dict__` is a property of the class instead of the storage of its instances."""
    found = next((base.__dict__["__dict__"] for base in cls.__mro__ if "__dict__" in base.__dict__), None)
    return found is not None and type(found) is not types.GetSetDescriptorType


_NONE: dict[str, Any] = {}


class FillLater:
    """Handler of an attribute that the finish step sets. The name is reserved now, so that attributes keep their order."""

    def __call__(self, old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
        target[name] = None


class EmptyContainer:
    """Handler that makes an empty container of the same class: its items are identities, or calls of other models.

    Args:
        base: The builtin base class of the container.
        kept_empty: Attributes of the container that hold a list of the items as well.
    """

    def __init__(self, base: Any, kept_empty: tuple[str, ...] = ()) -> None:
        self.base = base
        self.kept_empty = kept_empty

    def __call__(self, old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
        target[name] = self.twin(value, copier)

    def twin(self, value: Any, copier: Copier) -> Any:
        """Return the empty container, which is the twin of `value` from now on."""
        return copier.memo[id(value)] if id(value) in copier.memo else self.fresh(value, copier)

    def fresh(self, value: Any, copier: Copier) -> Any:
        """Return a new empty container, even if a twin already exists."""
        new = copier.memo[id(value)] = self.base.__new__(type(value))
        for name, part in getattr(value, "__dict__", _NONE).items():
            object.__setattr__(new, name, [] if name in self.kept_empty else copier.copy(part))
        return new


class Value:
    """Handler of the value of a variable: copied now, or recorded to be copied later together with others."""

    def __call__(self, old: Any, target: dict[str, Any], name: str, value: Any, copier: Copier) -> None:
        if value is None or copier.rules[type(value)].is_batched:
            target[name] = None
            copier.records["values"].append((old, target))
        else:
            target[name] = copier.copy(value)


# Sets or removes one attribute in `target`: (original, target, name, old value, copier).
Handler: TypeAlias = "Callable[[Any, dict[str, Any], str, Any, Copier], None]"
Put = Callable[[Any, Any], None]


def replace_values(values: dict[Any, Any], put: Put, copier: Copier) -> None:
    """Replace the values of the original in a dict by their twins.

    Args:
        values: A plain dict that belongs to the twin.
        put: Sets a value in the twin itself, for ids that are known only in the finish step.
        copier: The walk.
    """
    rules = copier.rules
    for name, value in [(name, value) for name, value in values.items() if type(value) not in ATOMS]:
        new = copier.find(value, MISSING)
        if new is MISSING:
            kind = type(value)
            if kind is int:
                if value >= SMALLEST_ID and name != names.FOREIGN_ID:
                    copier.replace_id_later(functools.partial(put, name), value)
                continue
            new = rules[kind].copy(value, copier)
        values[name] = new


def replace_attributes(old: Any, target: dict[str, Any], handlers: dict[str, Handler], copier: Copier) -> None:
    """Replace attribute values like `replace_values`, with handlers for attributes that are not simply copied."""
    waiting = [(name, value) for name, value in target.items() if type(value) not in ATOMS]
    waiting += [(name, target[name]) for name in handlers if type(target.get(name, waiting)) in ATOMS]
    rules = copier.rules
    for name, value in waiting:
        if name in handlers:
            handlers[name](old, target, name, value, copier)
            continue
        new = copier.find(value, MISSING)
        if new is MISSING:
            kind = type(value)
            if kind is int:
                if value >= SMALLEST_ID:
                    copier.replace_id_later(functools.partial(target.__setitem__, name), value)
                continue
            new = rules[kind].copy(value, copier)
        target[name] = new


def copy_attributes(old: Any, new: Any, copier: Copier) -> None:
    """Copy the instance attributes of `old` to `new`, if the class gives instances a `__dict__`."""
    attributes = getattr(old, "__dict__", None)
    if attributes:
        target = new.__dict__
        target.update(attributes)
        replace_values(target, target.__setitem__, copier)


def copy_slots(old: Any, new: Any, slots: list[str], copier: Copier) -> None:
    """Copy the attributes that `__slots__` keeps outside of `__dict__`."""
    for name in slots:
        try:
            value = getattr(old, name)
        except AttributeError:  # a slot that was never set
            continue
        object.__setattr__(new, name, copier.copy(value))
        copier.replace_id_later(functools.partial(object.__setattr__, new, name), value)


def copy_known_attributes(old: Any, new: Any, copier: Copier) -> bool:
    """Copy the attributes if all their twins are known already; otherwise do nothing. Return whether it was done."""
    attributes = getattr(old, "__dict__", None)
    if not attributes:
        return True
    known = attributes.copy()
    for name, value in known.items():
        if type(value) not in ATOMS:
            new_value = copier.find(value, MISSING)
            if new_value is MISSING:
                return False
            known[name] = new_value
    new.__dict__.update(known)
    return True


class AttributesRule(ShellRule):
    """Copy attributes and slots into a bare new object: no `__init__` runs, and no `__setattr__` is called.

    Args:
        cls: The class.
        handlers: Handlers of attributes that are not simply copied.
        is_state: Whether functions that reach such an object must be copied with it.
        topic: The key in `copier.records` under which the finish step finds these objects.
    """

    form = "attributes"
    wants_after = False  # whether `after` is called with the pairs that were filled

    def __init__(
        self,
        cls: type,
        handlers: dict[str, Handler] | None = None,
        *,
        is_state: bool = False,
        topic: str | None = None,
    ) -> None:
        self.slots = slot_names(cls)
        # The class may also be a list or dict, which has items as well.
        self.base: Any = next((base for base in (dict, list, set) if issubclass(cls, base)), object)
        self.is_bare = self.base is object and has_bare_new(cls)
        self.handlers = handlers or {}
        self.is_state = is_state
        self.topic = topic

    def copy(self, old: Any, copier: Copier) -> Any:
        new = super().copy(old, copier)
        if self.topic is not None:
            copier.records[self.topic].append((old, new))
        return new

    def start(self, old: Any, copier: Copier) -> Any:
        return self.base.__new__(type(old))

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        if self.base is dict:
            dict.update(new, {copier.copy(key): copier.copy(value) for key, value in dict.items(old)})
        elif self.base is not object:
            adopt = list.extend if self.base is list else set.update
            adopt(new, [copier.copy(item) for item in self.base.__iter__(old)])
        source = getattr(old, "__dict__", None)
        if source:
            target = new.__dict__
            target.update(source)  # a single step, because other threads may call the model at the same time
            replace_attributes(old, target, self.handlers, copier)
        copy_slots(old, new, self.slots, copier)
        if self.wants_after:
            copier.filled[self].append((old, new))

    def after(self, pairs: list[tuple[Any, Any]], copier: Copier) -> None:
        """Complete objects after they were filled; called from time to time with the new pairs."""
        raise NotImplementedError
