"""Every variable of a model by its path: weights, random and RNN states, metrics, optimizer."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import keras

from ramet._keras import Place, places_below, structure, unique_ids

OPTIMIZER = "optimizer"
METRICS = "metrics"


def variables_by_path(model: Any, places: list[Place] | None = None) -> dict[str, Any]:
    """The variables, each once, at the first place where it stands."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for path, variable in _all(model, places or places_below(model)):
        if id(variable) not in seen:
            seen.add(id(variable))
            found[path] = variable
    return found


def size_of(variable: Any) -> int:
    """How many numbers a variable holds; none before its shape is known."""
    return 0 if variable.shape is None else math.prod(variable.shape)


def _all(model: Any, places: list[Place]) -> Iterator[tuple[str, Any]]:
    for place in places:
        if place.same_as is None:
            owned = [variable for variable, _ in structure.variables_of(place.op)]
            yield from _named(place.path, owned)
    for metric, name in _metrics(model):
        yield from _named(f"{METRICS}/{name}", metric.variables)
    optimizer = getattr(model, "optimizer", None)
    if isinstance(optimizer, keras.optimizers.Optimizer):
        yield from _named(OPTIMIZER, optimizer.variables)


def _named(prefix: str, variables: Any) -> Iterator[tuple[str, Any]]:
    owned = list(variables)
    names = unique_ids([variable.name.replace("/", "_") for variable in owned])
    yield from ((f"{prefix}/{name}".lstrip("/"), variable) for name, variable in zip(names, owned, strict=True))


def _metrics(model: Any) -> Iterator[tuple[Any, str]]:
    metrics = list(getattr(model, "metrics", ()))
    yield from zip(metrics, unique_ids([metric.name for metric in metrics]), strict=True)


def named_objects(model: Any, places: list[Place] | None = None) -> dict[int, str]:
    """The names of what has one, by id: ops, variables, metrics, the optimizer and the model itself."""
    places = places or places_below(model)
    names = {id(variable): path for path, variable in variables_by_path(model, places).items()}
    names |= {id(metric): f"{METRICS}/{name}" for metric, name in _metrics(model)}
    if getattr(model, "optimizer", None) is not None:
        names[id(model.optimizer)] = OPTIMIZER
    names |= {id(place.op): place.path for place in places if place.same_as is None}
    names[id(model)] = model.name
    return names
