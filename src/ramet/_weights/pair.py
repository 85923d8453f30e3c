"""Two models whose weights belong together by path: found once, and found again when a variable was replaced."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

from ramet._keras import Place, names, quantization
from ramet._weights.derived import needs_refresh
from ramet._weights.policy import is_inexact
from ramet._weights.variable import Weight, places_of, weights_at
from ramet.errors import ArgumentError, WeightsDoNotFitError

__all__ = ["Pair", "pair_of"]

_STORES = (names.OWN_TRAINABLE, names.OWN_NON_TRAINABLE, names.LAYERS)


@dataclass(frozen=True, slots=True)
class Pair:
    """The variables of two models, side by side. It keeps neither models nor variables alive.

    Attributes:
        sources: The variables to read.
        targets: The variables to write, each once.
        derived: Layers of the target that make constants from their weights.
        quantised: The path of a layer that holds quantised weights, on either side.
        watched: Each layer of both models, with the ids of what it held.
        compiled: What a backend keeps for this pair.
    """

    sources: tuple[weakref.ref[Any], ...]
    targets: tuple[weakref.ref[Any], ...]
    derived: tuple[weakref.ref[Any], ...]
    quantised: str | None
    watched: tuple[tuple[weakref.ref[Any], list[list[int]]], ...]
    compiled: dict[str, Any] = field(default_factory=dict)

    def variables(self) -> tuple[list[Any], list[Any]] | None:
        """The variables, or None if the models are not what they were."""
        sources, targets = [ref() for ref in self.sources], [ref() for ref in self.targets]
        # An id says nothing about an object that is gone: first whether all are there, then whether they are the same.
        if None in map(_there, sources) or None in map(_there, targets):
            return None
        for ref, held in self.watched:
            op = ref()
            if op is None or _held(op) != held:
                return None
        return sources, targets


def _there(found: Any) -> bool | None:
    # `None in variables` would compare tensors.
    return None if found is None else True


_pairs: dict[tuple[int, int], tuple[weakref.ref[Any], weakref.ref[Any], Pair]] = {}


def pair_of(source: Any, target: Any) -> tuple[Pair, list[Any], list[Any]]:
    """The pair of two models, and its variables."""
    key = id(source), id(target)
    known = _pairs.get(key)
    if known is not None and known[0]() is source and known[1]() is target:
        variables = known[2].variables()
        if variables is not None:
            return known[2], *variables
    pair = _find(source, target)
    # When either model dies, what was kept for both goes.
    forget = lambda _: _pairs.pop(key, None)  # noqa: E731
    _pairs[key] = weakref.ref(source, forget), weakref.ref(target, forget), pair
    variables = pair.variables()
    assert variables is not None, "both models are alive"
    return pair, *variables


def _find(source: Any, target: Any) -> Pair:
    if source is target:
        raise ArgumentError(
            f"Cannot sync '{target.name}' with itself: source and target are one object.",
            fix="make a target first, target = ramet.clone(model).",
        )
    there, here = places_of(source, "sync"), places_of(target, "sync")
    ours = {weight.slot.path: weight for weight in weights_at(there)}
    theirs = {weight.slot.path: weight for weight in weights_at(here)}
    _check_alike(ours, theirs, source.name, target.name)
    _check_modes(there, here, source.name, target.name)
    chosen: dict[int, tuple[Any, Any, str]] = {}
    for path, weight in theirs.items():
        mine, variable = ours[path].variable, weight.variable
        first = chosen.setdefault(id(variable), (mine, variable, path))
        if first[0] is not mine:
            raise _misfit(source.name, target.name, [f"'{path}' is tied to '{first[2]}' in the target only"], path)
    pairs = [(mine, variable) for mine, variable, _ in chosen.values() if mine is not variable]
    return Pair(
        tuple(weakref.ref(mine) for mine, _ in pairs),
        tuple(weakref.ref(variable) for _, variable in pairs),
        tuple(weakref.ref(place.op) for place in here if place.same_as is None and needs_refresh(place.op)),
        next((place.path for place in there + here if getattr(place.op, "quantization_mode", None)), None),
        tuple((weakref.ref(place.op), _held(place.op)) for place in _layers(there + here)),
    )


def _layers(places: list[Place]) -> list[Place]:
    return [place for place in places if place.same_as is None and hasattr(place.op, names.LAYERS)]


def _held(op: Any) -> list[list[int]]:
    return [list(map(id, getattr(op, store))) for store in _STORES]


def _check_alike(ours: dict[str, Weight], theirs: dict[str, Weight], source: str, target: str) -> None:
    missing = [f"'{path}' is in the source only" for path in ours if path not in theirs]
    missing += [f"'{path}' is in the target only" for path in theirs if path not in ours]
    first = next((path for path in (*ours, *theirs) if (path in ours) != (path in theirs)), None)
    for path, weight in theirs.items():
        if path not in ours:
            continue
        mine, yours = ours[path].slot, weight.slot
        alike = mine.dtype == yours.dtype or (is_inexact(mine.dtype) and is_inexact(yours.dtype))
        if mine.shape != yours.shape:
            missing.append(f"'{path}' is {mine.shape} in the source and {yours.shape} in the target")
        elif not alike:
            missing.append(f"'{path}' is {mine.dtype} in the source and {yours.dtype} in the target")
        else:
            continue
        first = first or path
    if missing:
        raise _misfit(source, target, missing, first)


def _check_modes(there: list[Place], here: list[Place], source: str, target: str) -> None:
    """The same bytes mean other weights where layers are quantised in other ways."""
    ours, theirs = ({place.path: quantization.mode_of(place.op) for place in places} for places in (there, here))
    other = [path for path, mode in theirs.items() if mode != ours.get(path, mode)]
    if other:
        told = [
            f"'{path}' is {ours[path] or 'float'} in the source and {theirs[path] or 'float'} in the target"
            for path in other
        ]
        raise _misfit(source, target, told, other[0])


def _misfit(source: str, target: str, problems: list[str], path: str | None) -> WeightsDoNotFitError:
    more = f"; and {len(problems) - 3} more" if len(problems) > 3 else ""
    return WeightsDoNotFitError(
        f"Cannot sync '{source}' and '{target}': their weights are not the same by path.",
        found="; ".join(problems[:3]) + more,
        fix="make the target with ramet.clone(model), or bring weights over once with ramet.transfer.",
        path=path,
    )
