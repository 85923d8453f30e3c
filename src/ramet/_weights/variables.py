"""The weights of a live model: found by path, read while the model is in training, and written, all or none."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import keras

from ramet._keras import OpLocation, check_version, locations_below, structure, training, unique_ids
from ramet._weights.match import WeightInfo, add_stem, own_stem
from ramet.errors import ArgumentError, NotAModelError, StateElsewhereError


@dataclass(frozen=True, slots=True)
class ModelWeight:
    """A trained variable or a statistic of a live model. Random, RNN and metric states are not weights."""

    info: WeightInfo
    variable: Any


def locations_in(root: Any, verb: str) -> list[OpLocation]:
    """Return the locations of all ops of a built model or layer, the root first."""
    check_version()
    if not isinstance(root, keras.Layer):
        raise NotAModelError(
            f"Cannot {verb} the weights of an object of class {type(root).__name__}: it is not a model.",
            expected="a Keras model or layer",
            fix="pass a model or a layer.",
        )
    locations = locations_below(root)
    if not root.built:
        raise ArgumentError(
            f"Cannot {verb} the weights of '{root.name}': it has no weights before it is built.",
            fix=f"call '{root.name}' once, or build it with the shape of its inputs.",
        )
    return locations


def weights_at(locations: list[OpLocation]) -> list[ModelWeight]:
    """Return the weights in order. A tied variable is listed at each of its locations, a shared layer once."""
    stems: dict[str, str] = {}
    found = []
    for location in locations:
        class_name = type(location.op).__name__
        own_name = location.path.rpartition("/")[2]
        add_stem(stems, location.path, own_stem(own_name, structure.name_of(location.op), class_name))
        if location.same_as is not None:
            continue
        owned = list(structure.variables_of(location.op))
        ids = unique_ids([variable.name.replace("/", "_") for variable, _ in owned])
        for (variable, is_weight), name in zip(owned, ids, strict=True):
            if is_weight:
                shape, stem = tuple(variable.shape), stems[location.path]
                info = WeightInfo(location.path, name, shape, str(variable.dtype), class_name, stem)
                found.append(ModelWeight(info, variable))
    return found


# On JAX, Keras keeps the values of a model that is being trained beside the model, and its variables have none.


def settle_values(variables: Iterable[Any], verb: str) -> list[Any]:
    """Return the values of variables to be written, after running training loops of this thread stored theirs."""
    variables = list(variables)
    values = [structure.value_of(variable) for variable in variables]
    if any(value is None for value in values):
        for model in training.models_in_running_loops():
            if hasattr(model, "jax_state_sync"):
                model.jax_state_sync()
        values = [structure.value_of(variable) for variable in variables]
        _check_present(variables, values, verb)
    return values


def read_values(variables: list[Any], verb: str) -> list[Any]:
    """Return the values of variables to be read, wherever they are, without disturbing running training loops."""
    values = [structure.value_of(variable) for variable in variables]
    if any(value is None for value in values):
        held = training.values_in_running_loops()
        pairs = zip(variables, values, strict=True)
        values = [held.get(id(variable)) if value is None else value for variable, value in pairs]
        _check_present(variables, values, verb)
    return values


def _check_present(variables: list[Any], values: list[Any], verb: str) -> None:
    for variable, value in zip(variables, values, strict=True):
        if value is None:
            raise StateElsewhereError(
                f"Cannot {verb}: the variable '{variable.path}' has no value at the moment.",
                found="a step that is being compiled, or a fit, evaluate or predict in another thread; on JAX, Keras "
                "keeps the values outside the model meanwhile",
                fix=f"{verb} in a callback or between two steps.",
                path=variable.path,
            )


def write_all(writes: list[tuple[Any, Any]]) -> None:
    """Write variables or arrays into variables, cast to their dtypes; if one fails, restore all.

    The device and the sharding of the variables stay, and nothing that is written is shared with its source.
    """
    new = [(variable, _value_for(variable, value)) for variable, value in writes]
    before: list[tuple[Any, Any]] = []
    try:
        for variable, value in new:
            before.append((variable, keras.ops.copy(structure.value_of(variable))))
            variable.assign(value)
    except BaseException:
        for variable, value in before:
            variable.assign(value)
        raise


def _value_for(variable: Any, value: Any) -> Any:
    if isinstance(value, keras.Variable):
        value = structure.value_of(value)
    if keras.backend.backend() == "jax":
        from ramet._weights.jax_blend import array_like

        return array_like(value, structure.value_of(variable))
    return value  # torch and TensorFlow copy when they assign


def needs_refresh(layer: Any) -> bool:
    """Return whether a layer computes with constants that it derives from its weights."""
    return isinstance(layer, keras.layers.Normalization) and getattr(layer, "input_mean", None) is None


def refresh(layer: Any) -> None:
    """Derive the constants of a layer again from its weights, if it has any."""
    if needs_refresh(layer):
        layer.finalize_state()


def different_vocabularies(source: dict[str, Any], target: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the path of each layer of the target whose vocabulary differs from the source's, and how."""
    ours, theirs = _vocabularies(source), _vocabularies(target)
    rest, others = ([path for path in ours if path not in theirs], [path for path in theirs if path not in ours])
    # As many layers with other names are matched in order.
    partner = dict(zip(others, rest, strict=True)) if len(rest) == len(others) else {}
    for path, words in theirs.items():
        known = ours.get(partner.get(path, path))
        if known is not None and known != words:
            yield path, f"vocabularies are not weights: {len(known)} words in the source, {len(words)} here, different"


def _vocabularies(layers: dict[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for path, layer in layers.items():
        if hasattr(layer, "get_vocabulary"):
            # Any class may have such a method; a layer for which it fails is not a lookup layer.
            with contextlib.suppress(Exception):
                found[path] = [str(word) for word in layer.get_vocabulary()]
    return found
