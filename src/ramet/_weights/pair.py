"""Two models whose weights correspond by path: found once, and found again after a variable was replaced."""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from typing import Any

from ramet._keras import OpLocation, names, quantization
from ramet._report import joined
from ramet._weights.policy import is_inexact
from ramet._weights.variables import ModelWeight, locations_in, needs_refresh, weights_at
from ramet.errors import ArgumentError, WeightsDoNotFitError

_STORES = (names.OWN_TRAINABLE, names.OWN_NON_TRAINABLE, names.LAYERS)


@dataclass(frozen=True, slots=True)
class Pair:
    """The variables of two models, side by side. It keeps neither models nor variables alive.

    Attributes:
        sources: The variables to read.
        targets: The variables to write, each once.
        derived: Layers of the target that derive constants from their weights.
        quantized: The path of a layer with quantized weights, in either model.
        watched: Each layer of both models, with the ids of its variables and layers.
        compiled: Compiled functions of a backend for this pair.
    """

    sources: tuple[weakref.ref[Any], ...]
    targets: tuple[weakref.ref[Any], ...]
    derived: tuple[weakref.ref[Any], ...]
    quantized: str | None
    watched: tuple[tuple[weakref.ref[Any], list[list[int]]], ...]
    compiled: dict[str, Any] = field(default_factory=dict)

    def variables(self) -> tuple[list[Any], list[Any]] | None:
        """Return the variables, or None if the models changed."""
        sources, targets = [ref() for ref in self.sources], [ref() for ref in self.targets]
        # The id of an object that is gone may be reused: first check that all are alive, then compare ids.
        if any(variable is None for variable in (*sources, *targets)):
            return None
        for ref, ids in self.watched:
            op = ref()
            if op is None or _ids_held(op) != ids:
                return None
        return sources, targets


_pairs: dict[tuple[int, int], tuple[weakref.ref[Any], weakref.ref[Any], Pair]] = {}


def pair_of(source: Any, target: Any) -> tuple[Pair, list[Any], list[Any]]:
    """Return the pair of two models, and its variables."""
    key = id(source), id(target)
    known = _pairs.get(key)
    if known is not None and known[0]() is source and known[1]() is target:
        variables = known[2].variables()
        if variables is not None:
            return known[2], *variables
    pair = _find(source, target)
    # The entry is removed when either model is collected.
    forget = lambda _: _pairs.pop(key, None)  # noqa: E731
    _pairs[key] = weakref.ref(source, forget), weakref.ref(target, forget), pair
    variables = pair.variables()
    assert variables is not None, "both models are alive"
    return pair, *variables


def _find(source: Any, target: Any) -> Pair:
    if source is target:
        raise ArgumentError(
            f"Cannot sync '{target.name}' with itself: source and target are the same object.",
            fix="make a target first, target = ramet.clone(model).",
        )
    there, here = locations_in(source, "sync"), locations_in(target, "sync")
    ours = {weight.info.path: weight for weight in weights_at(there)}
    theirs = {weight.info.path: weight for weight in weights_at(here)}
    _check_alike(ours, theirs, source.name, target.name)
    _check_modes(there, here, source.name, target.name)
    chosen: dict[int, tuple[Any, Any, str]] = {}
    for path, weight in theirs.items():
        mine, variable = ours[path].variable, weight.variable
        first = chosen.setdefault(id(variable), (mine, variable, path))
        if first[0] is not mine:
            raise _misfit(source.name, target.name, [f"'{path}' is tied to '{first[2]}' in the target only"], path)
    pairs = [(mine, variable) for mine, variable, _ in chosen.values() if mine is not variable]
    layers = [one for one in there + here if one.same_as is None and hasattr(one.op, names.LAYERS)]
    return Pair(
        tuple(weakref.ref(mine) for mine, _ in pairs),
        tuple(weakref.ref(variable) for _, variable in pairs),
        tuple(weakref.ref(one.op) for one in here if one.same_as is None and needs_refresh(one.op)),
        next((one.path for one in there + here if getattr(one.op, "quantization_mode", None)), None),
        tuple((weakref.ref(one.op), _ids_held(one.op)) for one in layers),
    )


def _ids_held(op: Any) -> list[list[int]]:
    return [list(map(id, getattr(op, store))) for store in _STORES]


def _check_alike(ours: dict[str, ModelWeight], theirs: dict[str, ModelWeight], source: str, target: str) -> None:
    problems = [f"'{path}' is in the source only" for path in ours if path not in theirs]
    problems += [f"'{path}' is in the target only" for path in theirs if path not in ours]
    first = next((path for path in (*ours, *theirs) if (path in ours) != (path in theirs)), None)
    for path, weight in theirs.items():
        if path not in ours:
            continue
        mine, yours = ours[path].info, weight.info
        alike = mine.dtype == yours.dtype or (is_inexact(mine.dtype) and is_inexact(yours.dtype))
        if mine.shape != yours.shape:
            problems.append(f"'{path}' is {mine.shape} in the source and {yours.shape} in the target")
        elif not alike:
            problems.append(f"'{path}' is {mine.dtype} in the source and {yours.dtype} in the target")
        else:
            continue
        first = first or path
    if problems:
        raise _misfit(source, target, problems, first)


def _check_modes(there: list[OpLocation], here: list[OpLocation], source: str, target: str) -> None:
    """Raise if layers are quantized in different ways, because the same bytes then encode different weights."""
    ours, theirs = ({one.path: quantization.mode_of(one.op) for one in locations} for locations in (there, here))
    different = [path for path, mode in theirs.items() if mode != ours.get(path, mode)]
    if different:
        problems = [
            f"'{path}' is {ours[path] or 'float'} in the source and {theirs[path] or 'float'} in the target"
            for path in different
        ]
        raise _misfit(source, target, problems, different[0])


def _misfit(source: str, target: str, problems: list[str], path: str | None) -> WeightsDoNotFitError:
    return WeightsDoNotFitError(
        f"Cannot sync '{source}' and '{target}': their weights differ.",
        found=joined(problems, 3, "; "),
        fix="make the target with ramet.clone(model), or copy the weights once with ramet.transfer.",
        path=path,
    )
