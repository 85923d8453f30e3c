"""The weights of a live model by path, with the op that owns each."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import keras

from ramet._keras import Place, check_version, places_below, structure, unique_ids
from ramet._weights.match import Slot, automatic_stem
from ramet.errors import ArgumentError, NotAModelError

__all__ = ["Weight", "places_of", "weights_at"]


@dataclass(frozen=True, slots=True)
class Weight:
    """A variable that counts as a weight: trained, or a statistic. Random, RNN and metric states are none."""

    slot: Slot
    variable: Any


def places_of(root: Any, verb: str) -> list[Place]:
    """Every place below a built model or layer, the root first."""
    check_version()
    if not isinstance(root, keras.Layer):
        raise NotAModelError(
            f"Cannot {verb} the weights of an object of class {type(root).__name__}: it is no model.",
            expected="a keras model or layer",
            fix="pass a model or a layer.",
        )
    places = places_below(root)
    if not root.built:
        raise ArgumentError(
            f"Cannot {verb} the weights of '{root.name}': it has none before it is built.",
            fix=f"call '{root.name}' once, or build it with the shape of its inputs.",
        )
    return places


def weights_at(places: list[Place]) -> list[Weight]:
    """The weights in the order of the places. A tied variable comes at each of its places, a shared layer once."""
    stems: dict[str, str] = {}
    found = []
    for place in places:
        parent, _, own_name = place.path.rpartition("/")
        part = automatic_stem(own_name) if _named_by_keras(place) else own_name
        # What is inside a place comes after it: the stem of the parent is known.
        stems[place.path] = f"{stems.get(parent, '')}/{part}".lstrip("/") if place.path else ""
        if place.same_as is not None:
            continue
        owned = list(structure.variables_of(place.op))
        ids = unique_ids([variable.name.replace("/", "_") for variable, _ in owned])
        for (variable, is_weight), own in zip(owned, ids, strict=True):
            if is_weight:
                kind = type(place.op).__name__
                slot = Slot(place.path, own, tuple(variable.shape), str(variable.dtype), kind, stems[place.path])
                found.append(Weight(slot, variable))
    return found


def _named_by_keras(place: Place) -> bool:
    """Whether the op has the name that Keras gives: that of its class, and a number."""
    stem = automatic_stem(structure.name_of(place.op)).removesuffix("_#")
    return stem.replace("_", "") == "".join(filter(str.isalnum, type(place.op).__name__)).lower()
