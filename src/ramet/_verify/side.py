"""One of the two models that are compared, and every variable of a model by its path."""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import cached_property
from typing import Any

import keras

from ramet._graph import Graph
from ramet._keras import OpLocation, capture_model, locations_below, pause_collector, structure, unique_ids
from ramet._verify.reach import Reached, reach

OPTIMIZER = "optimizer"
METRICS = "metrics"


class Side:
    """One of the two models.

    Args:
        model: The model.
        shared: The ids of objects that both models share on purpose.
    """

    def __init__(self, model: Any, shared: frozenset[int] = frozenset()) -> None:
        self.model, self._shared = model, shared

    @cached_property
    def locations(self) -> list[OpLocation]:
        """Every op in the model."""
        return locations_below(self.model)

    @cached_property
    def graph(self) -> Graph:
        """The model as data."""
        return capture_model(self.model)

    @cached_property
    def variables(self) -> dict[str, Any]:
        """Every variable by path."""
        return variables_by_path(self.model, self.locations)

    @cached_property
    def names(self) -> dict[int, str]:
        """The paths of ops, variables, metrics and the optimizer, by id."""
        return named_objects(self.model, self.locations)

    @cached_property
    def reached(self) -> dict[int, Reached]:
        """Every object that can be reached from the model, except those shared on purpose."""
        with pause_collector():
            return reach([self.model], but=self._shared)


def variables_by_path(model: Any, locations: list[OpLocation] | None = None) -> dict[str, Any]:
    """Return the variables of a model, each once, by the first path that leads to it."""
    found: dict[str, Any] = {}
    seen: set[int] = set()
    for path, variable in _all(model, locations or locations_below(model)):
        if id(variable) not in seen:
            seen.add(id(variable))
            found[path] = variable
    return found


def size_of(variable: Any) -> int:
    """Return the number of values in a variable; 0 before its shape is known."""
    return 0 if variable.shape is None else math.prod(variable.shape)


def _all(model: Any, locations: list[OpLocation]) -> Iterator[tuple[str, Any]]:
    for location in locations:
        if location.same_as is None:
            owned = [variable for variable, _ in structure.variables_of(location.op)]
            yield from _named(location.path, owned)
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


def named_objects(model: Any, locations: list[OpLocation] | None = None) -> dict[int, str]:
    """Return the paths of ops, variables, metrics, the optimizer and the model itself, by id."""
    locations = locations or locations_below(model)
    names = {id(variable): path for path, variable in variables_by_path(model, locations).items()}
    names |= {id(metric): f"{METRICS}/{name}" for metric, name in _metrics(model)}
    if getattr(model, "optimizer", None) is not None:
        names[id(model.optimizer)] = OPTIMIZER
    names |= {id(location.op): location.path for location in locations if location.same_as is None}
    names[id(model)] = model.name
    return names
