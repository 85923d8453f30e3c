"""Fresh weights: every weight and batch statistic as a newly made layer would have it.

Re-initialised are weights and batch statistics; reset are optimizer slots, metrics and RNN states; kept are vocabularies,
adapted statistics and the learning rate. A variable keeps no initialiser, so a layer with variables is made once more from
its config, and its values are taken over.
"""

from __future__ import annotations

import random
import zlib
from typing import Any

import keras
import numpy as np

from ramet._build.build_like import build_like
from ramet._build.draw import drawn_from
from ramet._keras import quantization, structure
from ramet._keras import names_untouched
from ramet._keras import reading_configs
from ramet.errors import CannotCopyError, foreign_errors


def reinitialise(model: Any, *, seed: int | None) -> None:
    """Give a twin fresh weights, in place. With a seed, its initialisers and generators already have theirs."""
    with names_untouched():
        pairs = _fresh_pairs(model, seed)
    for variable, value in pairs:
        variable.assign(value)
    _reset(model, seeded=seed is not None)


def _made_from(seed: int, layer: Any, path: str) -> list[tuple[Any, Any]] | str | Exception:
    """As `_made_again`, but what a layer draws while it is made, by whichever generator, comes from the seed."""

    def made() -> list[tuple[Any, Any]] | str | Exception:
        with drawn_from(zlib.crc32(f"{seed}/{path}".encode())):
            return _made_again(layer)

    first = made()
    if isinstance(first, list) and not _is_of_keras(layer):
        again = made()
        if not isinstance(again, list):
            return again
        for (old, one), (_, other) in zip(first, again, strict=False):
            values = keras.ops.convert_to_numpy(one), keras.ops.convert_to_numpy(other)
            if values[0].tobytes() != values[1].tobytes():
                raise CannotCopyError(
                    f"Cannot give '{path}' fresh weights from a seed: its '{old.name}' is another each time it is made.",
                    found=f"{type(layer).__name__} draws from a generator that has no seed, like numpy's default_rng()",
                    fix="draw with numpy.random, random or keras.random, or leave seed= out.",
                    path=path,
                )
    return first


def _check_float(op: Any, path: str) -> None:
    """Refuse quantised layers: one that is newly made holds nothing but zeros."""
    for part in _all_layers(op):
        mode = quantization.mode_of(part)
        if mode not in (None, "float8"):
            raise CannotCopyError(
                f"Cannot give '{path}' fresh weights: '{part.name}' is quantised to {mode}, and a new one holds zeros.",
                fix="make the float model fresh, then quantise it: ramet.edit(model, e.quantize()).",
                path=path,
            )


def _is_of_keras(layer: Any) -> bool:
    """Whether a layer, and all inside it, are of Keras' classes: these draw by generators that can be set."""
    return all(type(part).__module__.startswith("keras.") for part in _all_layers(layer))


def _fresh_pairs(model: Any, seed: int | None) -> list[tuple[Any, Any]]:
    """Every variable that gets a fresh value, with that value. Nothing is assigned until all are known."""
    pairs: list[tuple[Any, Any]] = []
    seen: set[int] = set()
    waiting = [(model, model.name)]
    while waiting:
        op, path = waiting.pop()
        if id(op) in seen:
            continue
        seen.add(id(op))
        if hasattr(op, "adapt"):  # what was learnt from data is kept
            continue
        if isinstance(op, keras.Model) and not _owned(op):
            waiting.extend((layer, f"{path}/{structure.name_of(layer)}") for layer in structure.layers_of(op))
            continue
        if not op.weights:
            continue
        _check_float(op, path)
        made = _made_again(op) if seed is None else _made_from(seed, op, path)
        if not isinstance(made, list):
            if _owned(op) or not structure.layers_of(op):
                raise _cannot(op, path, made) from (made if isinstance(made, Exception) else None)
            waiting.extend((layer, f"{path}/{structure.name_of(layer)}") for layer in structure.layers_of(op))
            continue
        seen.update(id(layer) for layer in _all_layers(op))
        pairs.extend((old, keras.ops.convert_to_numpy(new)) for old, new in made)
    return pairs


def _owned(op: Any) -> list[Any]:
    return [variable for variable, is_weight in structure.variables_of(op) if is_weight]


def _all_layers(op: Any) -> list[Any]:
    found, waiting = [], [op]
    while waiting:
        layer = waiting.pop()
        found.append(layer)
        waiting.extend(structure.layers_of(layer))
    return found


def _made_again(layer: Any) -> list[tuple[Any, Any]] | str | Exception:
    """Each weight with its counterpart in a layer made from the config, or why that cannot be."""
    try:
        with reading_configs():
            made = type(layer).from_config(layer.get_config())
        build_like(made, layer)
    except Exception as error:  # noqa: BLE001  # a user's class may raise anything
        return error
    ours, theirs = _drawn(layer), _drawn(made)
    if [tuple(v.shape) for v in ours] != [tuple(v.shape) for v in theirs]:
        return "a layer made from its config has other weights"
    return list(zip(ours, theirs, strict=True))


def _drawn(layer: Any) -> list[Any]:
    """The weights of a layer without states and without what was learnt from data."""
    kept = {id(state) for state in _rnn_states(layer)}
    kept |= {id(variable) for part in _all_layers(layer) if hasattr(part, "adapt") for variable in part.weights}
    return [variable for variable in layer.weights if id(variable) not in kept]


def _rnn_states(layer: Any) -> list[Any]:
    found: list[Any] = []
    for part in _all_layers(layer):
        if getattr(part, "stateful", False):
            found.extend(s for s in keras.tree.flatten(getattr(part, "states", None)) if isinstance(s, keras.Variable))
    return found


def _cannot(layer: Any, path: str, reason: str | Exception) -> CannotCopyError:
    if isinstance(reason, Exception):
        reason = f"{type(reason).__name__}: {' '.join(str(reason).split())[:160]}"
    return CannotCopyError(
        f"Cannot give '{path}' fresh weights: its class {type(layer).__name__} cannot be made again from its config.",
        found=reason,
        fix=f"give {type(layer).__name__} a get_config() that names every argument, or clone with weights='copy'.",
        path=path,
    )


def _reset(model: Any, *, seeded: bool) -> None:
    """What a model collects while it runs."""
    for layer in _all_layers(model):
        if getattr(layer, "stateful", False) and hasattr(layer, "reset_state"):
            layer.reset_state()
    if not seeded:
        _restart_generators(model)
    if getattr(model, "compiled", False):
        model.reset_metrics()
        if getattr(model, "optimizer", None) is not None:
            _reset_optimizer(model.optimizer)


def _restart_generators(model: Any) -> None:
    """Random generators begin again at their seed; one without a seed gets a new one."""
    for layer in _all_layers(model):
        for generator in structure.generators_of(layer):
            seed = generator.get_config()["seed"]
            start = random.randint(1, 10**9) if seed is None else seed
            generator.state.assign(np.array([start, 0]))


def _reset_optimizer(optimizer: Any) -> None:
    """Slots and iterations as in a new optimizer; the learning rate stays."""
    learning_rate = structure.learning_rate_variable(optimizer)
    fresh: list[Any] = []
    if optimizer.built:
        what = f"the optimizer, a {type(optimizer).__name__}, fresh state"
        with names_untouched(), foreign_errors("give", what, CannotCopyError, "optimizer"):
            made = type(optimizer).from_config(optimizer.get_config())
            made.build(structure.optimized_variables(optimizer))
            fresh = made.variables
    for old, new in zip(optimizer.variables, fresh, strict=bool(fresh)):
        if old is not learning_rate:
            old.assign(keras.ops.convert_to_numpy(new))
