"""Names of new layers: in one graph no name may stand twice."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from typing import Any

import keras

from ramet._edit.order import inside_first
from ramet._keras import policies, rewire, structure
from ramet.errors import EditError


def settle(layer: Any, taken: set[str], path: str) -> None:
    """Give a new layer a name that is free, if Keras chose the one it has; it is taken from then on."""
    if not isinstance(layer.name, str):
        rewire.rename(layer, free_name(structure.name_of(layer), taken))
    elif layer.name in taken:
        if not chosen_by_keras(layer):
            raise EditError(
                f"Cannot put '{layer.name}' at '{path}': the graph has an op of that name.",
                found=f"a new {type(layer).__name__} called '{layer.name}'",
                fix="give the new layer another name, or none: then a free one is found.",
                path=path,
            )
        rewire.rename(layer, free_name(re.sub(r"_\d+$", "", layer.name), taken))
    taken.add(layer.name)


def free_name(base: str, taken: set[str]) -> str:
    """The name, with the first number that makes it one of its own."""
    name, number = base, 0
    while name in taken:
        number += 1
        name = f"{base}_{number}"
    return name


def chosen_by_keras(layer: Any) -> bool:
    """Whether a name looks like one that Keras makes of the class and a number."""
    words = re.sub(
        r"\W+", "", re.sub("([a-z])([A-Z])", r"\1_\2", re.sub("(.)([A-Z][a-z0-9]+)", r"\1_\2", type(layer).__name__))
    )
    return re.fullmatch(rf"{re.escape(words.lower())}(_\d+)?", structure.name_of(layer)) is not None


@contextlib.contextmanager
def policies_follow(root: Any) -> Iterator[None]:
    """Let maps of dtype policies follow layers that get other names inside: their keys are paths of layers."""
    layers = [op for op in inside_first(root) if isinstance(op, keras.Layer)]
    holders = [layer for layer in layers if policies.is_map(policies.held_policy(layer))]
    before = {id(layer): str(layer.path or "") for layer in layers} if holders else {}
    yield
    moved = [(before[id(layer)], layer.path) for layer in layers if holders and layer.path]
    moved = [(old, new) for old, new in moved if old and old != new]
    made: dict[int, tuple[Any, Any]] = {}  # one map may stand in several layers, and does so afterwards
    for holder in holders if moved else ():
        old = policies.held_policy(holder)
        new = made.setdefault(id(old), (old, policies.moved_map(old, moved)))[1]
        for layer in inside_first(holder):
            if isinstance(layer, keras.Layer) and before[id(layer)]:
                _check_same_policy(old, before[id(layer)], new, layer.path)
        policies.put_policy(holder, new)


def _check_same_policy(old: Any, old_path: str, new: Any, new_path: str) -> None:
    expected, found = policies.in_map(old, old_path), policies.in_map(new, new_path)
    if getattr(expected, "name", None) != getattr(found, "name", None):
        raise EditError(
            f"Cannot rename '{old_path}': a DTypePolicyMap finds its policy by its path.",
            expected=f"the policy {getattr(expected, 'name', None)!r} for '{new_path}', too",
            found=repr(getattr(found, "name", None)),
            fix="name the layer by its whole path in the map instead of a pattern, or keep its name.",
            path=old_path,
        )
