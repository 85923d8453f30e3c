"""Every op below a model, each with its path, told once; where it stands again, where it stood first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import keras

from ramet._keras import structure


@dataclass
class Place:
    """One place in the tree of ops.

    Attributes:
        op: The live op.
        id: Unique among its siblings.
        path: From below the root.
        called: The ops of its call graph, or the layers it holds if it has none.
        extras: What a model with a call graph holds besides.
        same_as: The path where the op stood first.
    """

    op: Any
    id: str
    path: str
    called: list[Place] = field(default_factory=list)
    extras: list[Place] = field(default_factory=list)
    same_as: str | None = None


def places_below(root: Any) -> list[Place]:
    """All places in the order of a reader, the root first. What is inside a place always comes after it."""
    first: dict[int, str] = {}
    top = Place(root, structure.name_of(root), "")
    found = []
    waiting = [top]
    while waiting:
        place = waiting.pop()
        found.append(place)
        if id(place.op) in first:
            place.same_as = first[id(place.op)]
            continue
        first[id(place.op)] = place.path
        called, extras = _inside(place.op)
        ids = _unique_ids([structure.name_of(op) for op in called + extras])
        children = [
            Place(op, name, f"{place.path}/{name}".lstrip("/")) for op, name in zip(called + extras, ids, strict=True)
        ]
        place.called, place.extras = children[: len(called)], children[len(called) :]
        waiting.extend(reversed(children))
    return found


def _inside(op: Any) -> tuple[list[Any], list[Any]]:
    function = structure.function_of(op)
    if function is None:
        held = structure.layers_of(op)
        if isinstance(op, keras.Sequential):
            return held, []
        return _once(held), []
    called = list(function.operations)
    known = {id(item) for item in called}
    return called, [layer for layer in _once(structure.layers_of(op)) if id(layer) not in known]


def _once(ops: list[Any]) -> list[Any]:
    return list({id(op): op for op in ops}.values())


def _unique_ids(names: list[str]) -> list[str]:
    """The names, with `#2` after the second of the same name."""
    taken: set[str] = set()
    ids = []
    for name in names:
        candidate, count = name, 1
        while candidate in taken:
            count += 1
            candidate = f"{name}#{count}"
        taken.add(candidate)
        ids.append(candidate)
    return ids


unique_ids = _unique_ids
