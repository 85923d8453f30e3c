"""The tree of ops below a model: every op with its path, and with its first path if it occurs again."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import keras

from ramet._keras import structure


@dataclass
class OpLocation:
    """One location in the tree of ops.

    Attributes:
        op: The live op.
        id: Unique among its siblings.
        path: From below the root.
        called: The ops of its call graph, or the layers it holds if it has none.
        extras: Other layers that a model with a call graph holds.
        same_as: The first path of the op, if it occurred before.
    """

    op: Any
    id: str
    path: str
    called: list[OpLocation] = field(default_factory=list)
    extras: list[OpLocation] = field(default_factory=list)
    same_as: str | None = None


def locations_below(root: Any) -> list[OpLocation]:
    """Return all locations in reading order, the root first. The inside of an op always comes after it."""
    first: dict[int, str] = {}
    top = OpLocation(root, structure.name_of(root), "")
    found = []
    waiting = [top]
    while waiting:
        location = waiting.pop()
        found.append(location)
        if id(location.op) in first:
            location.same_as = first[id(location.op)]
            continue
        first[id(location.op)] = location.path
        called, extras = _inside(location.op)
        ids = unique_ids([structure.name_of(op) for op in called + extras])
        children = [
            OpLocation(op, name, f"{location.path}/{name}".lstrip("/"))
            for op, name in zip(called + extras, ids, strict=True)
        ]
        location.called, location.extras = children[: len(called)], children[len(called) :]
        waiting.extend(reversed(children))
    return found


def _inside(op: Any) -> tuple[list[Any], list[Any]]:
    function = structure.function_of(op)
    held = structure.layers_of(op)
    if function is None:
        return held if isinstance(op, keras.Sequential) else structure.once(held), []
    called = list(function.operations)
    known = {id(item) for item in called}
    return called, [layer for layer in structure.once(held) if id(layer) not in known]


def variables_at(location: OpLocation) -> list[tuple[str, Any, bool]]:
    """Return the variables that an op owns, each with its id and whether it is a weight; none where the op occurs again."""
    owned = [] if location.same_as is not None else list(structure.variables_of(location.op))
    ids = unique_ids([variable.name.replace("/", "_") for variable, _ in owned])
    return [(own_id, variable, is_weight) for own_id, (variable, is_weight) in zip(ids, owned, strict=True)]


def unique_ids(names: list[str]) -> list[str]:
    """Return the names, with `#2` appended to the second of the same name."""
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
