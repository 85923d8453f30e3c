"""Weak references: to a part of the model, the twin's part; to anything else, refused.

Whether a target is part of the model is known only when the walk is over, and a reference cannot be changed once it is
made. So a reference that comes before its target is noted, and the walk starts again knowing the answer.
"""

from __future__ import annotations

import weakref
from typing import Any

from ramet._copy.copier import Copier
from ramet._copy.plan import Plan, Shell


class WeakReferencePlan(Plan):
    """A `weakref.ref`, or a `WeakMethod`."""

    def copy(self, old: Any, copier: Copier) -> Any:
        target = _target(old)
        if target is None or copier.shares(target):
            return old
        if id(target) not in copier.memo and id(old) not in copier.forced:
            copier.record("weak").append((old, target))
            copier.memo[id(old)] = old
            return old
        copier.copy(target)
        callback = (copier.copy(old.__callback__),) if old.__callback__ else ()
        new = copier.memo[id(old)] = type(old)(copier.copy(old()), *callback)
        copier.kept.append(new)
        return new

    def shares(self, old: Any, copier: Copier) -> bool:
        target = _target(old)
        return target is None or copier.shares(target)


def _target(reference: Any) -> Any:
    target = reference()
    return target.__self__ if isinstance(reference, weakref.WeakMethod) and target is not None else target


def unsettled_references(copier: Copier) -> set[int]:
    """References to parts of the model that were met before the part; refuse those to anything else."""
    again = set()
    for reference, target in copier.record("weak"):
        if id(target) not in copier.memo:
            copier.refuse(
                reference,
                f"it refers weakly to an object of class {type(target).__name__} that is not part of what is cloned",
                "clone both together, ramet.clone([a, b]), or keep the target out with share=[target]",
            )
        again.add(id(reference))
    return again


class WeakContainerPlan(Shell):
    """A `WeakSet`, `WeakKeyDictionary` or `WeakValueDictionary`: its entries that are part of the twin.

    An entry that nothing else holds may go at any time; in the twin, nothing holds the others.
    """

    def start(self, old: Any, copier: Copier) -> Any:
        return type(old)()

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        copier.finishers.append(lambda copier: self._fill(old, new, copier))

    def _fill(self, old: Any, new: Any, copier: Copier) -> None:
        def belongs(value: Any) -> bool:
            return id(value) in copier.memo or copier.shares(value)

        if isinstance(old, weakref.WeakSet):
            new.update([copier.copy(item) for item in list(old) if belongs(item)])
            return
        for key, value in list(old.items()):
            weak, strong = (key, value) if isinstance(old, weakref.WeakKeyDictionary) else (value, key)
            if belongs(weak):
                copier.copy(strong)
                copier.run()
                new[copier.copy(key)] = copier.copy(value)


def weak_plan(cls: type) -> Plan | None:
    """The plan for a class of weak references, or None."""
    if issubclass(cls, weakref.ReferenceType):
        return WeakReferencePlan()
    if issubclass(cls, weakref.WeakSet | weakref.WeakKeyDictionary | weakref.WeakValueDictionary):
        return WeakContainerPlan()
    return None
