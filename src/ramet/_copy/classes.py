"""What a class tells about its objects: where they keep what they hold."""

from __future__ import annotations

import types

from ramet._copy.atoms import HEAP_TYPE


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


def has_bare_new(cls: type, base: type = object) -> bool:
    """Whether `base.__new__` makes a whole one: the class has no data beyond that of `base` that Python code cannot see.

    Told by size, as pickle does it. Making one to see would run the user's `__del__` on an empty object.
    """
    if cls is base:
        return True
    slots = len(slot_names(cls))
    word = tuple.__itemsize__
    seen = base.__basicsize__ + word * (slots + bool(cls.__dictoffset__) + bool(cls.__weakrefoffset__))
    holds_anything = bool(cls.__dictoffset__) or slots > 0 or cls.__basicsize__ == base.__basicsize__
    return bool(cls.__flags__ & HEAP_TYPE) and holds_anything and cls.__basicsize__ <= seen


def hides_attributes(cls: type) -> bool:
    """Whether `__dict__` is a property of the class, and not what its objects hold."""
    found = next((base.__dict__["__dict__"] for base in cls.__mro__ if "__dict__" in base.__dict__), None)
    return found is not None and type(found) is not types.GetSetDescriptorType
