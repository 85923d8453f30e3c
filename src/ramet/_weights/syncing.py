"""`ramet.sync`: move the weights of a target network, or of an average of weights, towards those of a model.

Outside of compiled code, all variables are updated in one call: see `jax_blend.py`, `torch_blend.py` and `tensorflow_blend.py`.
Inside a TensorFlow function or a `keras.StatelessScope`, the assignments are recorded instead.
"""

from __future__ import annotations

import sys
import weakref
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np
from keras import ops

from ramet._keras import OpLocation, names, quantization, structure
from ramet._report import joined
from ramet._weights.policy import is_inexact
from ramet._weights.variables import ModelWeight, locations_in, needs_refresh, refresh, weights_at
from ramet.errors import ArgumentError, StateElsewhereError, WeightsDoNotFitError

_STORES = (names.OWN_TRAINABLE, names.OWN_NON_TRAINABLE, names.LAYERS)


def sync(source: Any, target: Any, tau: Any = 1.0) -> None:
    """Update the weights of `target` in place to `tau * source + (1 - tau) * target`.

    For a target network, or an average of weights. Batch statistics are averaged like weights; integers and booleans
    are copied; random and RNN states, metrics and the optimizer stay as they are. With `tau=1`, every bit is copied.
    Floats narrower than single precision are averaged in single precision. The update runs on the device in one call,
    compiled once for two models; it keeps neither of them alive.

    In a callback, `sync` works on every backend, also while one of the models is being trained. In a custom
    `train_step` it works on TensorFlow and torch; on JAX it raises an error there, except under a
    `keras.StatelessScope`, which then holds the new values.

    Args:
        source: A model or layer. It is not changed.
        target: A model or layer with the same weights by path, such as `ramet.clone(source)`; changed in place.
        tau: How far the target moves: from 0, not at all, to 1, a copy. A new value does not compile again. A tensor is
            read first, except inside a TensorFlow function or a `keras.StatelessScope`, where its value is not checked.

    Raises:
        WeightsDoNotFitError: The weights differ in paths, shapes or kinds of dtype. Nothing was written.
        ArgumentError: `tau` is not a number from 0 to 1, or the models are quantized, and such weights have no average.
        NotAModelError: An argument is not a model or layer.
        StateElsewhereError: The values are not in the models at the moment.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="d")])
    >>> target = ramet.clone(model)
    >>> model.get_layer("d").bias.assign([1.0, 2.0]) is None
    False
    >>> ramet.sync(model, target, tau=0.5)
    >>> [float(x) for x in target.get_layer("d").bias.numpy()]
    [0.5, 1.0]
    """
    recording = _is_recording()
    share = _checked_share(tau, recording=recording)
    pairs, sources, targets = _pair_up(source, target)
    exact = isinstance(share, float) and share in (0.0, 1.0)
    if pairs.quantized is not None and not exact:
        raise ArgumentError(
            f"Cannot sync '{target.name}' with tau={tau}: '{pairs.quantized}' is quantized, and such weights have no average.",
            fix="sync with tau=1, or average before quantizing.",
            path=pairs.quantized,
        )
    if not targets or (exact and share == 0):
        return
    if recording:
        if pairs.derived:
            raise StateElsewhereError(
                "Cannot sync inside a compiled step: a Normalization layer has constants that cannot be updated there.",
                fix="sync after the step, or in a callback.",
            )
        assign_all(sources, targets, share)
        return
    _blend(pairs, sources, targets, share)
    for layer in [ref() for ref in pairs.derived]:
        if layer is not None:
            refresh(layer)


def _checked_share(tau: Any, *, recording: bool) -> Any:
    """Return tau as a float between 0 and 1, or as a tensor whose value is not known yet."""
    if isinstance(tau, keras.Variable):
        tau = tau.value if recording else structure.value_of(tau)
    if ops.is_tensor(tau):
        if recording and tuple(tau.shape) == ():
            return tau
        try:
            tau = np.asarray(ops.convert_to_numpy(tau))
        except Exception as error:
            raise StateElsewhereError(
                "Cannot sync inside a function that is being compiled: the value of tau is not known there.",
                fix="sync after the step, or pass a float.",
            ) from error
    is_number = isinstance(tau, int | float | np.number | np.ndarray) and not isinstance(tau, bool)
    if not is_number or np.ndim(tau) or not 0 <= float(tau) <= 1:  # also refuses NaN
        raise ArgumentError(
            f"Cannot sync with tau={tau!r}: it is not a number from 0 to 1.",
            expected="a number from 0 (no change) to 1 (a copy)",
            fix="pass a number such as 0.005.",
        )
    return float(tau)


def _is_recording() -> bool:
    """Return whether assignments are recorded now instead of being run."""
    # Keras has no public function for this; the methods of the scope use this one.
    current = keras.StatelessScope.__enter__.__globals__["get_stateless_scope"]
    if current() is not None:
        return True
    return keras.backend.backend() == "tensorflow" and not sys.modules["tensorflow"].executing_eagerly()


def assign_all(sources: list[Any], targets: list[Any], tau: Any, *, between: bool = False) -> None:
    """Assign `tau * source + (1 - tau) * target` to each target variable.

    `tau` is a float, or a scalar tensor whose value is not known yet. `between` states that it is neither 0 nor 1.
    """
    for source, target in zip(sources, targets, strict=True):
        target.assign(mix(source.value, target.value, str(target.dtype), tau, between=between))


def mix(source: Any, target: Any, dtype: str, tau: Any, *, between: bool = False) -> Any:
    """Return the value to assign, in a dtype; see `assign_all`."""
    if isinstance(tau, float) or between:
        if not is_inexact(dtype) or (not between and tau == 1):
            return ops.copy(ops.cast(source, dtype))  # on JAX, two variables must not hold the same array
        return _average(source, target, dtype, tau)
    if not is_inexact(dtype):
        return ops.where(tau > 0, source, target)
    # With the formula alone, the last bit could differ at tau=1.
    return ops.where(tau >= 1, ops.cast(source, dtype), _average(source, target, dtype, tau))


def _average(source: Any, target: Any, dtype: str, tau: Any) -> Any:
    wide = dtype if dtype == "float64" or dtype.startswith("complex") else "float32"
    old = ops.cast(target, wide)
    step = tau if isinstance(tau, float) else ops.cast(tau, wide)
    return ops.cast(old + step * (ops.cast(source, wide) - old), dtype)


def _blend(pairs: _WeightPairs, sources: list[Any], targets: list[Any], tau: float) -> None:
    """Update all target variables in one call of the backend."""
    backend = keras.backend.backend()
    if backend == "jax":
        from ramet._weights import jax_blend

        jax_blend.blend(sources, targets, tau)
    elif backend == "torch":
        from ramet._weights import torch_blend

        torch_blend.blend(sources, targets, tau)
    else:
        from ramet._weights.tensorflow_blend import Blend

        if pairs.compiled is None or not pairs.compiled.fits(sources + targets):
            pairs.compiled = Blend(sources, targets)
        pairs.compiled(tau)


@dataclass(slots=True)
class _WeightPairs:
    """The variables of two models, side by side. It keeps neither models nor variables alive."""

    sources: list[weakref.ref[Any]]
    targets: list[weakref.ref[Any]]  # each once
    derived: list[weakref.ref[Any]]  # layers of the target that derive constants from their weights
    quantized: str | None  # the path of a layer with quantized weights, in either model
    watched: list[tuple[weakref.ref[Any], list[list[int]]]]  # each layer, with the ids of its variables and layers
    compiled: Any = None  # the function of a backend for these variables

    def variables(self) -> tuple[list[Any], list[Any]] | None:
        """Return the variables, or None if the models changed."""
        sources, targets = [ref() for ref in self.sources], [ref() for ref in self.targets]
        # The id of an object that is gone may be reused: first check that all are alive, then compare ids.
        if any(variable is None for variable in (*sources, *targets)):
            return None
        for ref, ids in self.watched:
            op = ref()
            if op is None or _ids_held(op) != ids:
                return None
        return sources, targets


_pairs: dict[tuple[int, int], tuple[weakref.ref[Any], weakref.ref[Any], _WeightPairs]] = {}


def _pair_up(source: Any, target: Any) -> tuple[_WeightPairs, list[Any], list[Any]]:
    """Return the paired weights of two models, and their variables."""
    key = id(source), id(target)
    known = _pairs.get(key)
    if known is not None and known[0]() is source and known[1]() is target:
        variables = known[2].variables()
        if variables is not None:
            return known[2], *variables
    pair = _find(source, target)
    # The entry is removed when either model is collected.
    forget = lambda _: _pairs.pop(key, None)  # noqa: E731
    _pairs[key] = weakref.ref(source, forget), weakref.ref(target, forget), pair
    variables = pair.variables()
    assert variables is not None, "both models are alive"
    return pair, *variables


def _find(source: Any, target: Any) -> _WeightPairs:
    if source is target:
        raise ArgumentError(
            f"Cannot sync '{target.name}' with itself: source and target are the same object.",
            fix="make a target first, target = ramet.clone(model).",
        )
    there, here = locations_in(source, "sync"), locations_in(target, "sync")
    ours = {weight.info.path: weight for weight in weights_at(there)}
    theirs = {weight.info.path: weight for weight in weights_at(here)}
    _check_alike(source, target, _different_weights(ours, theirs))
    _check_alike(source, target, _different_modes(there, here))
    chosen: dict[int, tuple[Any, Any, str]] = {}
    for path, weight in theirs.items():
        mine, variable = ours[path].variable, weight.variable
        first = chosen.setdefault(id(variable), (mine, variable, path))
        if first[0] is not mine:
            _check_alike(source, target, {path: f"tied to '{first[2]}' in the target only"})
    pairs = [(mine, variable) for mine, variable, _ in chosen.values() if mine is not variable]
    layers = [one for one in there + here if one.same_as is None and hasattr(one.op, names.LAYERS)]
    return _WeightPairs(
        [weakref.ref(mine) for mine, _ in pairs],
        [weakref.ref(variable) for _, variable in pairs],
        [weakref.ref(one.op) for one in here if one.same_as is None and needs_refresh(one.op)],
        next((one.path for one in there + here if getattr(one.op, "quantization_mode", None)), None),
        [(weakref.ref(one.op), _ids_held(one.op)) for one in layers],
    )


def _ids_held(op: Any) -> list[list[int]]:
    return [list(map(id, getattr(op, store))) for store in _STORES]


def _different_weights(ours: dict[str, ModelWeight], theirs: dict[str, ModelWeight]) -> dict[str, str]:
    """Return how weights differ in paths, shapes or kinds of dtype, by path."""
    found = {path: "in the source only" for path in ours if path not in theirs}
    found |= {path: "in the target only" for path in theirs if path not in ours}
    for path, weight in theirs.items():
        if path not in ours:
            continue
        mine, yours = ours[path].info, weight.info
        if mine.shape != yours.shape:
            found[path] = f"{mine.shape} in the source and {yours.shape} in the target"
        elif mine.dtype != yours.dtype and not (is_inexact(mine.dtype) and is_inexact(yours.dtype)):
            found[path] = f"{mine.dtype} in the source and {yours.dtype} in the target"
    return found


def _different_modes(there: list[OpLocation], here: list[OpLocation]) -> dict[str, str]:
    """Return how layers are quantized in different ways, by path: the same bytes then encode different weights."""
    ours, theirs = ({one.path: quantization.mode_of(one.op) for one in locations} for locations in (there, here))
    return {
        path: f"{ours[path] or 'float'} in the source and {mode or 'float'} in the target"
        for path, mode in theirs.items()
        if mode != ours.get(path, mode)
    }


def _check_alike(source: Any, target: Any, problems: dict[str, str]) -> None:
    if problems:
        raise WeightsDoNotFitError(
            f"Cannot sync '{source.name}' and '{target.name}': their weights differ.",
            found=joined([f"'{path}' is {problem}" for path, problem in problems.items()], 3, "; "),
            fix="make the target with ramet.clone(model), or copy the weights once with ramet.transfer.",
            path=next(iter(problems)),
        )
