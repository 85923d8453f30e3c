"""`select=`: which weights of the target are meant."""

from __future__ import annotations

from fnmatch import fnmatchcase
from typing import Any

from ramet._weights.match import Slot
from ramet.errors import ArgumentError

__all__ = ["selected_paths"]


def selected_paths(target: Any, slots: list[Slot], select: Any) -> set[str]:
    """The paths of the weights that are meant; all of them without a selection.

    Args:
        target: The live model, for selectors that look at layers.
        slots: Its weights.
        select: A glob over paths of weights or ops (one without `/` is about the last part), or a selector of ops.
    """
    if select is None:
        return {slot.path for slot in slots}
    if isinstance(select, str):
        found = {slot.path for slot in slots if _fits(slot, select)}
    else:
        chosen = _ops(target, select)
        found = {slot.path for slot in slots if any(owner in chosen for owner in _owners(slot))}
    if not found:
        raise ArgumentError(
            f"Cannot transfer to '{target.name}': select={select!r} finds no weight of it.",
            fix="list the paths with print(ramet.capture(model)).",
        )
    return found


def _fits(slot: Slot, glob: str) -> bool:
    paths = [slot.path, *_owners(slot)]
    return any(fnmatchcase(path if "/" in glob else path.rpartition("/")[2], glob) for path in paths)


def _owners(slot: Slot) -> list[str]:
    """The op of a weight, and those it stands in."""
    owner, found = slot.owner, []
    while owner:
        found.append(owner)
        owner = owner.rpartition("/")[0]
    return found


def _ops(target: Any, selector: Any) -> set[str]:
    """The paths of the ops that a selector finds."""
    from ramet._keras import capture, places_below
    from ramet._select import find

    live = {place.path: place.op for place in places_below(target)}
    return {one.path for one in find(capture(target), selector, live)}
