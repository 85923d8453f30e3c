"""Two live models compared: their graphs, the values of their variables, their compile settings."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import keras
import numpy as np

from ramet._graph import FrozenDict
from ramet._keras import structure
from ramet._keras.arguments import freeze_argument
from ramet._keras.counters import names_untouched
from ramet._keras.training import values_in_running_loops
from ramet._keras.tree import places_below, unique_ids

__all__ = ["LiveVariables", "LiveWeights", "frozen_compile_settings"]

# Settings of `compile()` that a model has as attributes, too.
_FLAGS = ("jit_compile", "run_eagerly", "steps_per_execution")


class LiveVariables:
    """Live variables by their paths, brought from the device one at a time."""

    def __init__(self, variables: dict[str, Any]) -> None:
        # While Keras trains on JAX, the values are not in the variables.
        self._elsewhere = values_in_running_loops()
        self._variables = variables

    def paths(self) -> Iterable[str]:
        """The paths of all variables that have a value."""
        return [path for path, variable in self._variables.items() if self._value(variable) is not None]

    def read(self, path: str) -> np.ndarray[Any, np.dtype[Any]]:
        """What the variable at this path holds."""
        return np.asarray(keras.ops.convert_to_numpy(self._value(self._variables[path])))

    def _value(self, variable: Any) -> Any:
        found = self._elsewhere.get(id(variable))
        return found if found is not None or structure.value_of(variable) is None else variable


class LiveWeights(LiveVariables):
    """The variables of a live model, and the states of its random generators."""

    def __init__(self, model: Any) -> None:
        found: dict[str, Any] = {}
        for place in places_below(model):
            if place.same_as is None:
                owned = [variable for variable, _ in structure.variables_of(place.op)]
                ids = unique_ids([variable.name.replace("/", "_") for variable in owned])
                paths = (f"{place.path}/{own}".lstrip("/") for own in ids)
                found.update(zip(paths, owned, strict=True))
        super().__init__(found)


def frozen_compile_settings(model: Any) -> FrozenDict | None:
    """The optimizer, loss, metrics and the rest of what `compile()` was told, as data; None for a model not compiled."""
    if not getattr(model, "compiled", False):
        return None
    try:
        with names_untouched():
            settings = dict(model.get_compile_config() or {})
    except Exception as error:  # noqa: BLE001  # a user's get_config may raise anything
        settings = {"optimizer": type(model.optimizer).__name__, "no_config": f"{type(error).__name__}: {error}"[:120]}
    for name in _FLAGS:
        # They can be set afterwards, and "auto" says less than what came of it.
        if settings.get(name) != (now := getattr(model, name, None)):
            settings[f"{name} (now)"] = now
    frozen = freeze_argument(settings)
    return frozen if isinstance(frozen, FrozenDict) else FrozenDict()
