"""One of the two models that are compared: its ops and variables by path, and every object that it reaches."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from functools import cached_property
from typing import Any

import keras

from ramet._graph import Graph
from ramet._keras import OpLocation, capture_model, locations_below, pause_collector, structure, unique_ids
from ramet._verify.reach import Reached, reach

OPTIMIZER = "optimizer"
METRICS = "metrics"


class Side:
    """One of the two models, and the ids of objects that both models share on purpose."""

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
        return self.read_variables()

    @cached_property
    def names(self) -> dict[int, str]:
        """The paths of ops, variables, metrics, the optimizer and the model itself, by id."""
        names = {id(variable): path for path, variable in self.variables.items()}
        names |= {id(metric): f"{METRICS}/{name}" for metric, name in self._metrics()}
        if getattr(self.model, "optimizer", None) is not None:
            names[id(self.model.optimizer)] = OPTIMIZER
        names |= {id(location.op): location.path for location in self.locations if location.same_as is None}
        names[id(self.model)] = self.model.name
        return names

    @cached_property
    def reached(self) -> dict[int, Reached]:
        """Every object that can be reached from the model, except those shared on purpose."""
        with pause_collector():
            return reach([self.model], but=self._shared)

    @property
    def vocabularies(self) -> dict[str, list[str]]:
        """The vocabulary of each layer that has one, by path; the lookup table is not a variable."""
        found = {one.path: vocabulary_of(one.op) for one in self.locations if one.same_as is None}
        return {path: words for path, words in found.items() if words is not None}

    def read_variables(self) -> dict[str, Any]:
        """Return the variables that the model has now, each once, by the first path that leads to it."""
        found: dict[int, tuple[str, Any]] = {}
        for path, variable in self._all_variables():
            found.setdefault(id(variable), (path, variable))
        return dict(found.values())

    def _all_variables(self) -> Iterator[tuple[str, Any]]:
        for location in self.locations:
            if location.same_as is None:
                yield from _named(location.path, (variable for variable, _ in structure.variables_of(location.op)))
        for metric, name in self._metrics():
            yield from _named(f"{METRICS}/{name}", metric.variables)
        optimizer = getattr(self.model, "optimizer", None)
        if isinstance(optimizer, keras.optimizers.Optimizer):
            yield from _named(OPTIMIZER, optimizer.variables)

    def _metrics(self) -> Iterator[tuple[Any, str]]:
        metrics = list(getattr(self.model, "metrics", ()))
        yield from zip(metrics, unique_ids([metric.name for metric in metrics]), strict=True)


def _named(prefix: str, variables: Iterable[Any]) -> Iterator[tuple[str, Any]]:
    owned = list(variables)
    names = unique_ids([variable.name.replace("/", "_") for variable in owned])
    yield from ((f"{prefix}/{name}".lstrip("/"), variable) for name, variable in zip(names, owned, strict=True))


def ops_in_both(ours: Side, theirs: Side) -> list[tuple[Any, Any]]:
    """Return the ops of two models that have the same path."""
    others = {location.path: location.op for location in theirs.locations}
    return [(location.op, others[location.path]) for location in ours.locations if location.path in others]


def size_of(variable: Any) -> int:
    """Return the number of values in a variable; 0 before its shape is known."""
    return 0 if variable.shape is None else math.prod(variable.shape)


def vocabulary_of(op: Any) -> list[str] | None:
    """Return the vocabulary of a layer, or None if it has none (yet)."""
    read = getattr(op, "get_vocabulary", None)
    if not callable(read):
        return None
    try:
        return [str(word) for word in read()]
    except Exception:  # noqa: BLE001  # any class may have such a method
        return None
