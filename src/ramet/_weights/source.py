"""The sources of `transfer`: a live model, a model file or weights file, or a mapping of arrays."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

import keras
import numpy as np

from ramet._files import ModelFile, read_archive
from ramet._graph import Graph
from ramet._keras import structure
from ramet._source import is_path
from ramet._weights.match import WeightInfo, automatic_stem, guess_stem, is_automatic
from ramet._weights.policy import Array
from ramet._weights.variables import ModelWeight, locations_in, settle_values, weights_at
from ramet.errors import ArgumentError, NotAModelError


class WeightSource(Protocol):
    """The weights of a source by path."""

    label: str  # the name for messages
    weights: list[WeightInfo]
    layers: dict[str, Any]  # live layers by path; empty if the source is not a live model

    def variable(self, path: str) -> Any:
        """Return the live variable at a path, or None if there is only an array."""

    def array(self, path: str) -> Array:
        """Return the values at a path as a new array."""

    def identity(self, path: str) -> object:
        """Return a value that is equal for paths of one tied variable."""


@contextlib.contextmanager
def open_source(source: Any, targets: list[ModelWeight], layers: dict[str, Any]) -> Iterator[WeightSource]:
    """Open a source of any kind. A file is read as data, without Keras, and closed at the end.

    Args:
        source: The source.
        targets: The weights of the target.
        layers: The layers of the target by path.
    """
    if isinstance(source, keras.Layer):
        yield _LiveSource(source)
    elif isinstance(source, Mapping):
        yield _MappingSource(source, targets)
    elif isinstance(source, Graph):
        raise ArgumentError(
            f"Cannot transfer weights from the graph '{source.name}': a graph describes a model and holds no values.",
            fix="pass the model itself, or the path of its file.",
        )
    elif is_path(source):
        with read_archive(source) as file:
            yield _FileSource(file, targets, layers)
    else:
        raise NotAModelError(
            f"Cannot transfer weights from an object of class {type(source).__name__}: it has no weights.",
            expected="a model, a layer, the path of a model file or weights file, or a mapping from paths to arrays",
            fix="pass one of these.",
        )


class _LiveSource:
    """A model or a layer."""

    def __init__(self, root: Any) -> None:
        self.label = f"'{root.name}'"
        locations = locations_in(root, "transfer")
        weights = weights_at(locations)
        self.weights = [weight.info for weight in weights]
        self.layers = {location.path: location.op for location in locations}
        self._variables = {weight.info.path: weight.variable for weight in weights}
        settle_values(self._variables.values(), "transfer")

    def variable(self, path: str) -> Any:
        return self._variables[path]

    def array(self, path: str) -> Array:
        return np.array(keras.ops.convert_to_numpy(structure.value_of(self._variables[path])))

    def identity(self, path: str) -> object:
        return id(self._variables[path])


class _FileSource:
    """A model file or weights file. Values are read when they are needed."""

    def __init__(self, file: ModelFile, targets: list[ModelWeight], layers: dict[str, Any]) -> None:
        self.label = f"'{file.path.name}'"
        self.layers: dict[str, Any] = {}
        self._values = file.weights
        found: dict[str, WeightInfo] = {}  # by path in the file
        identities: dict[str, str] = {}
        generated = _generated_parts(targets)
        stems: dict[str, str] = {}
        known = set(file.weights.paths())
        graph = file.graph
        for owner, op in (*([] if graph.root is None else [("", graph.root)]), *graph.walk()):
            # Without a config, the class of a layer is unknown or only a guess.
            class_name = None if file.kind == "weights" or op.class_name == "?" else op.class_name
            parent, _, name = owner.rpartition("/")
            if class_name is None:
                part = guess_stem(name, generated)
            else:
                part = automatic_stem(name) if is_automatic(op.name, class_name) else name
            stems[owner] = f"{stems.get(parent, '')}/{part}".lstrip("/") if owner else ""
            for variable in op.variables:
                path = f"{owner}/{variable.id}".lstrip("/")
                if variable.weight and path in known:
                    spec = file.weights.spec(path)
                    found[path] = WeightInfo(owner, variable.id, spec.shape, spec.dtype, class_name, stems[owner])
                    identities[path] = variable.tied or path
        named = _name_like_target(found, targets, layers)
        self.weights = list(named.values())
        self._paths = {weight.path: path for path, weight in named.items()}
        self._identities = {weight.path: identities[path] for path, weight in named.items()}

    def variable(self, path: str) -> Any:
        return None

    def array(self, path: str) -> Array:
        return np.array(self._values.read(self._paths[path]))

    def identity(self, path: str) -> object:
        return self._identities[path]


def _name_like_target(
    weights: dict[str, WeightInfo], targets: list[ModelWeight], layers: dict[str, Any]
) -> dict[str, WeightInfo]:
    """Give weights that a file only numbers the names of the target's weights.

    A file has names only for Keras' own layers, and only if it knows their classes. All others are saved by number, in an order
    that the layer chooses: so the target's layer saves its variables into a dict here to find the order.
    """
    ours, theirs = _owners_by_stem(weights.values()), _owners_by_stem(weight.info for weight in targets)
    partner = {owner: owner for owners in theirs.values() for owner in owners}
    for stem, owners in ours.items():
        if len(owners) == len(theirs.get(stem, ())):
            partner |= {mine: yours for mine, yours in zip(owners, theirs[stem], strict=True) if mine not in partner}
    names = {(weight.info.owner, id(weight.variable)): weight.info.name for weight in targets}
    saved: dict[str, dict[str, Any]] = {}
    found = {}
    for path, weight in weights.items():
        owner = partner.get(weight.owner)
        if owner is None or not weight.name.isdecimal():
            found[path] = weight
            continue
        if owner not in saved:
            saved[owner] = {}
            with contextlib.suppress(Exception):  # a user's layer may save in any way
                layers[owner].save_own_variables(saved[owner])
        name = names.get((owner, id(saved[owner].get(weight.name))))
        found[path] = weight if name is None else dataclasses.replace(weight, name=name)
    return found


def _owners_by_stem(weights: Iterable[WeightInfo]) -> dict[str, list[str]]:
    found: dict[str, dict[str, None]] = {}
    for weight in weights:
        found.setdefault(weight.stem, {})[weight.owner] = None
    return {stem: list(owners) for stem, owners in found.items()}


class _MappingSource:
    """Arrays by path."""

    def __init__(self, arrays: Mapping[str, Any], targets: list[ModelWeight]) -> None:
        self.label = "the mapping"
        self.layers: dict[str, Any] = {}
        self._arrays = {path: _as_array(path, value) for path, value in arrays.items()}
        generated = _generated_parts(targets)
        self.weights = []
        for path, array in self._arrays.items():
            owner, _, name = path.rpartition("/")
            stem = guess_stem(owner, generated)
            self.weights.append(WeightInfo(owner, name, array.shape, str(array.dtype), None, stem))

    def variable(self, path: str) -> Any:
        return None

    def array(self, path: str) -> Array:
        # A copy: JAX and TensorFlow may keep using the memory of an array.
        return np.array(self._arrays[path])

    def identity(self, path: str) -> object:
        return path


def _generated_parts(targets: list[ModelWeight]) -> set[str]:
    return {part for weight in targets for part in weight.info.stem.split("/") if part.endswith("_#")}


def _as_array(path: Any, value: Any) -> Array:
    if not isinstance(path, str):
        raise ArgumentError(
            f"Cannot transfer the weight {path!r}: its key is not a path.",
            fix="use strings such as 'encoder/dense/kernel'.",
        )
    if isinstance(value, keras.Variable) or keras.ops.is_tensor(value):
        value = keras.ops.convert_to_numpy(value)
    array = np.asarray(value)
    if array.dtype.hasobject or array.dtype.kind in "USmM":
        raise ArgumentError(
            f"Cannot transfer the weight '{path}': it does not hold numbers.", found=f"dtype {array.dtype}", path=path
        )
    return array
