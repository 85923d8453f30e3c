"""Fresh layers and weights, as if a layer had just been created.

Weights and batch statistics are initialized again; optimizer slots, metrics and RNN states are reset; vocabularies, adapted
statistics and the learning rate are kept. Variables do not remember their initializer. So each layer is created once more
from its config and built as the original was, and the values of the new layer are copied.
"""

from __future__ import annotations

import contextlib
import random
import zlib
from typing import Any

import keras
import numpy as np

from ramet._keras import draw_from_seed, keep_name_counters, layers, names, quantization, structure, suppress_config_warnings
from ramet.errors import CannotCopyError, foreign_errors


def build_like(new: Any, old: Any, config: dict[str, Any] | None = None) -> None:
    """Build a layer as another one was built, or with another build config.

    A composite layer without a `build` method of its own is called on symbolic tensors, which builds its layers.
    """
    if new.built or not old.built:
        return
    config = config or old.get_build_config() or {}
    if type(new).build in (keras.Layer.build, keras.Model.build) and structure.layers_of(new):
        if "input_shape" not in config:
            return
        with contextlib.ExitStack() as scopes:
            for name in filter(None, [*(getattr(new, names.PARENT_PATH) or "").split("/"), new.name]):
                scopes.enter_context(keras.name_scope(name))
            tensors = keras.tree.map_shape_structure(keras.KerasTensor, config["input_shape"])
            try:
                keras.Operation.compute_output_spec(new, tensors)
            except Exception:  # noqa: BLE001  # a user's call may raise anything; the layer is then built when called
                return
    new.build_from_config(config)


def inherit_parent_path(new: Any, *olds: Any) -> None:
    """Let the variable paths of a new, unbuilt layer begin as those of the layer it replaces."""
    if isinstance(new, keras.Layer) and not new.built and getattr(new, names.PARENT_PATH) is None:
        paths = (getattr(old, names.PARENT_PATH, None) for old in olds)
        setattr(new, names.PARENT_PATH, next((path for path in paths if path is not None), None))


def reinitialize(model: Any, *, seed: int | None) -> None:
    """Give a twin fresh weights, in place. With a seed, its initializers and generators were reseeded before."""
    with keep_name_counters():
        pairs = _fresh_pairs(model, seed)
    for variable, value in pairs:
        variable.assign(value)
    _reset_state(model, seeded=seed is not None)


def _fresh_pairs(model: Any, seed: int | None) -> list[tuple[Any, Any]]:
    """Return every variable to reinitialize with its new value. Nothing is assigned until all values are known."""
    pairs: list[tuple[Any, Any]] = []
    seen: set[int] = set()
    waiting = [(model, model.name)]
    while waiting:
        op, path = waiting.pop()
        if id(op) in seen:
            continue
        seen.add(id(op))
        if hasattr(op, "adapt"):  # learned from data: kept
            continue
        inside = [(layer, f"{path}/{structure.name_of(layer)}") for layer in structure.layers_of(op)]
        if isinstance(op, keras.Model) and not layers.own_variables(op):
            waiting.extend(inside)
            continue
        if not op.weights:
            continue
        _check_not_quantized(op, path)
        try:
            made = _recreate(op) if seed is None else _recreate_from_seed(op, path, seed)
        except _CannotRecreateError as error:
            if inside and not layers.own_variables(op):
                waiting.extend(inside)
                continue
            name = type(op).__name__
            raise CannotCopyError(
                f"Cannot give '{path}' fresh weights: {name} cannot be created from its config.",
                found=str(error),
                fix=f"give {name} a get_config() that contains every argument, or clone with weights='copy'.",
                path=path,
            ) from error.__cause__
        seen.update(map(id, structure.layer_tree(op)))
        pairs.extend((old, keras.ops.convert_to_numpy(new)) for old, new in made)
    return pairs


class _CannotRecreateError(Exception):
    """The reason why a layer cannot be created again from its config."""


def _recreate(layer: Any) -> list[tuple[Any, Any]]:
    """Return each weight with its counterpart in a layer created from the config."""
    try:
        with suppress_config_warnings():
            made = type(layer).from_config(layer.get_config())
        build_like(made, layer)
    except Exception as error:  # a user's class may raise anything
        raise _CannotRecreateError(f"{type(error).__name__}: {' '.join(str(error).split())[:160]}") from error
    ours, theirs = _initialized_weights(layer), _initialized_weights(made)
    if [tuple(v.shape) for v in ours] != [tuple(v.shape) for v in theirs]:
        raise _CannotRecreateError("a layer created from its config has other weights")
    return list(zip(ours, theirs, strict=True))


def _recreate_from_seed(layer: Any, path: str, seed: int) -> list[tuple[Any, Any]]:
    """Recreate a layer with all random generators set by the seed and the path.

    A user's layer is created twice: if the results differ, it uses a generator that cannot be seeded.
    """

    def recreate() -> list[tuple[Any, Any]]:
        with draw_from_seed(zlib.crc32(f"{seed}/{path}".encode())):
            return _recreate(layer)

    first = recreate()
    if all(type(part).__module__.startswith("keras.") for part in structure.layer_tree(layer)):
        return first
    for (old, one), (_, other) in zip(first, recreate(), strict=False):
        if keras.ops.convert_to_numpy(one).tobytes() != keras.ops.convert_to_numpy(other).tobytes():
            raise CannotCopyError(
                f"Cannot give '{path}' fresh weights from a seed: '{old.name}' is different each time it is created.",
                found=f"{type(layer).__name__} uses a random generator without a seed, like numpy's default_rng()",
                fix="draw with numpy.random, random or keras.random, or leave seed= out.",
                path=path,
            )
    return first


def _check_not_quantized(op: Any, path: str) -> None:
    for part in structure.layer_tree(op):
        mode = quantization.mode_of(part)
        if mode not in (None, "float8"):
            raise CannotCopyError(
                f"Cannot give '{path}' fresh weights: '{part.name}' is quantized to {mode}, and a new quantized layer "
                "holds only zeros.",
                fix="clone the float model with fresh weights, then quantize it: ramet.edit(model, e.quantize()).",
                path=path,
            )


def _initialized_weights(layer: Any) -> list[Any]:
    """Return the weights of a layer without RNN states and without values learned from data."""
    parts = structure.layer_tree(layer)
    states = [getattr(part, "states", None) for part in parts if getattr(part, "stateful", False)]
    kept = {id(state) for state in keras.tree.flatten(states) if isinstance(state, keras.Variable)}
    kept |= {id(variable) for part in parts if hasattr(part, "adapt") for variable in part.weights}
    return [variable for variable in layer.weights if id(variable) not in kept]


def _reset_state(model: Any, *, seeded: bool) -> None:
    """Reset RNN states, random generators, metrics and the optimizer."""
    for layer in structure.layer_tree(model):
        if getattr(layer, "stateful", False) and hasattr(layer, "reset_state"):
            layer.reset_state()
        for generator in () if seeded else structure.generators_of(layer):
            seed = generator.get_config()["seed"]
            start = random.randint(1, 10**9) if seed is None else seed
            generator.state.assign(np.array([start, 0]))
    if getattr(model, "compiled", False):
        model.reset_metrics()
        if getattr(model, "optimizer", None) is not None:
            _reset_optimizer(model.optimizer)


def _reset_optimizer(optimizer: Any) -> None:
    """Reset the slots and the iteration count; keep the learning rate."""
    if not optimizer.built:
        return
    what = f"the optimizer ({type(optimizer).__name__}) fresh state"
    with keep_name_counters(), foreign_errors("give", what, CannotCopyError, "optimizer"):
        made = type(optimizer).from_config(optimizer.get_config())
        made.build(structure.optimized_variables(optimizer))
    learning_rate = structure.learning_rate_variable(optimizer)
    for old, new in zip(optimizer.variables, made.variables, strict=True):
        if old is not learning_rate:
            old.assign(keras.ops.convert_to_numpy(new))
