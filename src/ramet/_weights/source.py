"""Where `transfer` takes weights from: a live model, a mapping of arrays, or a reader of a file."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Protocol, runtime_checkable

import keras
import numpy as np

from ramet._keras import structure
from ramet._weights.loop import settle
from ramet._weights.match import Slot, guess_stem
from ramet._weights.policy import Array
from ramet._weights.variable import places_of, weights_at
from ramet.errors import ArgumentError, NotAModelError

__all__ = ["Source", "open_source"]


@runtime_checkable
class Reader(Protocol):
    """What reads weights one at a time, a weights file say."""

    def paths(self) -> Iterable[str]:
        """The paths of all that can be read."""

    def read(self, path: str) -> Array:
        """The array at a path."""


class Source(Protocol):
    """The weights of a source by path."""

    name: str
    slots: list[Slot]
    layers: dict[str, Any]  # live layers by path; none where there is no model

    def variable(self, path: str) -> Any:
        """The live variable at a path, or None where there is only an array."""

    def array(self, path: str) -> Array:
        """What stands at a path, as an array that nobody else holds."""


def open_source(source: Any, targets: list[Slot]) -> Source:
    """The source, whatever it is made of."""
    if isinstance(source, keras.Layer):
        return _Live(source)
    if isinstance(source, Mapping):
        return _Arrays("the mapping", source, targets)
    if isinstance(source, Reader):
        return _Arrays("the file", {path: source.read(path) for path in source.paths()}, targets)
    raise NotAModelError(
        f"Cannot transfer weights from an object of class {type(source).__name__}: it holds none.",
        expected="a model, a layer, or a mapping from paths to arrays",
        fix="pass one of these.",
    )


class _Live:
    """A model or a layer."""

    def __init__(self, root: Any) -> None:
        self.name = f"'{root.name}'"
        places = places_of(root, "transfer")
        weights = weights_at(places)
        self.slots = [weight.slot for weight in weights]
        self.layers = {place.path: place.op for place in places}
        self._variables = {weight.slot.path: weight.variable for weight in weights}
        settle(self._variables.values(), "transfer")

    def variable(self, path: str) -> Any:
        return self._variables[path]

    def array(self, path: str) -> Array:
        return np.array(keras.ops.convert_to_numpy(structure.value_of(self._variables[path])))


class _Arrays:
    """Arrays by path."""

    def __init__(self, name: str, arrays: Mapping[str, Any], targets: list[Slot]) -> None:
        self.name = name
        self.layers: dict[str, Any] = {}
        self._arrays = {path: _as_array(path, value) for path, value in arrays.items()}
        automatic = {part for slot in targets for part in slot.stem.split("/") if part.endswith("_#")}
        self.slots = []
        for path, array in self._arrays.items():
            owner, _, name = path.rpartition("/")
            self.slots.append(Slot(owner, name, array.shape, str(array.dtype), None, guess_stem(owner, automatic)))

    def variable(self, path: str) -> Any:
        return None

    def array(self, path: str) -> Array:
        # A copy: JAX and TensorFlow may go on using the memory they are given.
        return np.array(self._arrays[path])


def _as_array(path: Any, value: Any) -> Array:
    if not isinstance(path, str):
        raise ArgumentError(
            f"Cannot transfer the weight {path!r}: its key is no path.",
            fix="use strings such as 'encoder/dense/kernel'.",
        )
    if isinstance(value, keras.Variable) or keras.ops.is_tensor(value):
        value = keras.ops.convert_to_numpy(value)
    array = np.asarray(value)
    if array.dtype.hasobject or array.dtype.kind in "USmM":
        raise ArgumentError(
            f"Cannot transfer the weight '{path}': it holds no numbers.", found=f"dtype {array.dtype}", path=path
        )
    return array
