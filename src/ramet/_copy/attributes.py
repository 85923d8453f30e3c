"""Objects made of attributes."""

from __future__ import annotations

from typing import Any

from ramet._copy.classes import has_bare_new, slot_names
from ramet._copy.copier import Copier
from ramet._copy.plan import Shell
from ramet._copy.values_by_name import Handler, copy_slots, replace_attributes


class AttributesPlan(Shell):
    """Attributes and slots, copied into a bare new object: no `__init__` runs, no `__setattr__` is called.

    Args:
        cls: The class.
        handlers: The attributes that need something else than a copy.
        is_state: Whether functions that reach such an object must be copied with it.
        topic: Under which the finish step finds these objects, if it has to.
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
        # A class may be a list or dict besides; then it has items, too.
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
            target.update(source)  # one step for other threads, which may call the model meanwhile
            replace_attributes(old, target, self.handlers, copier)
        copy_slots(old, new, self.slots, copier)
        if self.wants_after:
            copier.filled[self].append((old, new))

    def after(self, pairs: list[tuple[Any, Any]], copier: Copier) -> None:
        """What is to be done when several were filled; called from time to time, with those filled since."""
        raise NotImplementedError
