"""Names of new layers: in one graph no name may stand twice."""

from __future__ import annotations

import re
from typing import Any

from ramet._keras import rewire, structure
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
