"""The containers that Keras tracks: lists, dicts and sets with one attribute, the tracker."""

from __future__ import annotations

import gc
from collections.abc import Callable, Container, Sequence
from typing import Any

from ramet._keras import names
from ramet._twin.atoms import are_constant
from ramet._twin.copier import Copier
from ramet._twin.plan import MISSING, Shell

_NONE: dict[str, Any] = {}


def empty_like(old: Any, base: Any, copier: Copier, emptied: Container[str] = ()) -> Any:
    """An empty container of the same class, with the twins of the attributes: the twin of `old` from now on.

    Of the `emptied` attributes, which are lists, it has empty ones.
    """
    new = copier.memo[id(old)] = base.__new__(type(old))
    for name, value in getattr(old, "__dict__", _NONE).items():
        object.__setattr__(new, name, [] if name in emptied else copier.copy(value))
    return new


def copy_tracked(
    plan: Shell, base: Any, put_all: Callable[[Any, Any], None], olds: Sequence[Any], copier: Copier
) -> Sequence[Any]:
    """The twins of several containers of a subclass, with a short way for those whose tracker has a twin.

    Most of them are empty, or hold texts and flags.
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
            else:
                new = memo[id(old)] = make(cls)
                put(new, names.CONTAINER_TRACKER, tracker)
                if base.__len__(old):
                    items = base.copy(old)
                    if are_constant(gc.get_referents(items)):
                        put_all(new, items)
                    else:
                        copier.todo.append((plan, old, new))
        news.append(new)
    return news
