"""The sources of `transfer`: a live model, a model file or weights file, or a mapping of arrays."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import keras
import numpy as np

from ramet._files import ModelFile, open_model_file
from ramet._graph import Graph
from ramet._keras import structure
from ramet._source import is_path
from ramet._weights.match import WeightInfo, add_stem, by_stem, guess_stem, own_stem
from ramet._weights.policy import Array
from ramet._weights.variables import ModelWeight, locations_in, settle_values, weights_at
from ramet.errors import ArgumentError, NotAModelError


@dataclass(frozen=True, slots=True)
class WeightSource:
    """The weights of a source by path."""

    label: str  # the name for messages
    weights: list[WeightInfo]
    array: Callable[[str], Array]  # returns the values at a path as a new array
    layers: dict[str, Any] = field(default_factory=dict)  # by path; empty if the source is not a live model
    variables: dict[str, Any] = field(default_factory=dict)  # likewise
    tied: dict[str, object] = field(default_factory=dict)  # by path, a value that is equal for paths of one variable

    def identity(self, path: str) -> object:
        """Return a value that is equal for paths of one tied variable, and only for them."""
        return self.tied.get(path, path)


@contextlib.contextmanager
def open_source(source: Any, targets: list[ModelWeight], layers: dict[str, Any]) -> Iterator[WeightSource]:
    """Open a source of any kind, for a target with these weights and layers by path.

    A file is read as data, without Keras, and closed at the end.
    """
    if isinstance(source, keras.Layer):
        yield _live_source(source)
    elif isinstance(source, Mapping):
        yield _mapping_source(source, targets)
    elif isinstance(source, Graph):
        raise ArgumentError(
            f"Cannot transfer weights from the graph '{source.name}': a graph describes a model and holds no values.",
            fix="pass the model itself, or the path of its file.",
        )
    elif is_path(source):
        with open_model_file(source) as file:
            yield _file_source(file, targets, layers)
    else:
        raise NotAModelError(
            f"Cannot transfer weights from an object of class {type(source).__name__}: it has no weights.",
            expected="a model, a layer, the path of a model file or weights file, or a mapping from paths to arrays",
            fix="pass one of these.",
        )


def _live_source(root: Any) -> WeightSource:
    locations = locations_in(root, "transfer")
    weights = weights_at(locations)
    variables = {weight.info.path: weight.variable for weight in weights}
    settle_values(variables.values(), "transfer")
    return WeightSource(
        f"'{root.name}'",
        [weight.info for weight in weights],
        lambda path: np.array(keras.ops.convert_to_numpy(structure.value_of(variables[path]))),
        layers={location.path: location.op for location in locations},
        variables=variables,
        tied={path: id(variable) for path, variable in variables.items()},
    )


def _file_source(file: ModelFile, targets: list[ModelWeight], layers: dict[str, Any]) -> WeightSource:
    """Return the weights of a model file or weights file. Values are read when they are needed."""
    found: dict[str, WeightInfo] = {}  # by path in the file
    tied: dict[str, str | None] = {}
    generated = _generated_parts(targets)
    stems: dict[str, str] = {}
    known = set(file.weights.paths())
    graph = file.graph
    for owner, op in (*([] if graph.root is None else [("", graph.root)]), *graph.walk()):
        # Without a config, the class of a layer is unknown or only a guess.
        class_name = None if file.kind == "weights" or op.class_name == "?" else op.class_name
        name = owner.rpartition("/")[2]
        part = guess_stem(name, generated) if class_name is None else own_stem(name, op.name, class_name)
        add_stem(stems, owner, part)
        for variable in op.variables:
            path = f"{owner}/{variable.id}".lstrip("/")
            if variable.weight and path in known:
                spec = file.weights.spec(path)
                found[path] = WeightInfo(owner, variable.id, spec.shape, spec.dtype, class_name, stems[owner])
                tied[path] = variable.tied
    named = _name_like_target(found, targets, layers)
    paths = {weight.path: path for path, weight in named.items()}
    return WeightSource(
        f"'{file.path.name}'",
        list(named.values()),
        lambda path: np.array(file.weights.read(paths[path])),
        tied={path: tied[in_file] or in_file for path, in_file in paths.items()},
    )


def _name_like_target(
    weights: dict[str, WeightInfo], targets: list[ModelWeight], layers: dict[str, Any]
) -> dict[str, WeightInfo]:
    """Give weights that a file only numbers the names of the target's weights.

    A file has names only for Keras' own layers, and only if it knows their classes. All others are saved by number, in an order
    that the layer chooses: so the target's layer saves its variables into a dict here to find the order.
    """
    ours, theirs = by_stem(weights.values()), by_stem(weight.info for weight in targets)
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


def _mapping_source(given: Mapping[str, Any], targets: list[ModelWeight]) -> WeightSource:
    arrays = {path: _as_array(path, value) for path, value in given.items()}
    generated = _generated_parts(targets)
    weights = []
    for path, array in arrays.items():
        owner, _, name = path.rpartition("/")
        weights.append(WeightInfo(owner, name, array.shape, str(array.dtype), None, guess_stem(owner, generated)))
    # A copy: JAX and TensorFlow may keep using the memory of an array.
    return WeightSource("the mapping", weights, lambda path: np.array(arrays[path]))


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
