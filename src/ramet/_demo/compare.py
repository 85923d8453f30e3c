"""What the demo compares: each row is one thing a twin must have, and what was found."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import keras
import numpy as np

from ramet._demo.models import batch_for


@dataclass(frozen=True)
class Row:
    """One thing compared: whether it is the same, and how much of it there was."""

    ok: bool
    text: str
    empty: bool = False


def compare(original: Any, other: Any) -> dict[str, Row]:
    """Every row for one clone of the original. Training comes last, since it changes both."""
    return {title: check(original, other) for title, check in _CHECKS.items()}


def _class(original: Any, other: Any) -> Row:
    return Row(type(original) is type(other), type(other).__name__)


def _names(original: Any, other: Any) -> Row:
    ours, theirs = ([layer.name for layer in model.layers] for model in (original, other))
    return _counted(list(zip(ours, theirs, strict=False)), lambda pair: pair[0] == pair[1], "equal")


def _flags(original: Any, other: Any) -> Row:
    ours, theirs = (model.trainable_variables for model in (original, other))
    return Row(len(ours) == len(theirs), f"{len(theirs)} of {len(other.weights)} trainable", empty=not other.weights)


def _weights(original: Any, other: Any) -> Row:
    return _counted(list(zip(original.weights, other.weights, strict=True)), _bit_equal)


def _optimizer(original: Any, other: Any) -> Row:
    ours = _optimizer_variables(original)
    theirs = _optimizer_variables(other)
    if len(ours) != len(theirs):
        return Row(ok=False, text=f"{len(theirs)} of {len(ours)} there")
    return _counted(list(zip(ours, theirs, strict=True)), _bit_equal)


def _optimizer_variables(model: Any) -> list[Any]:
    optimizer = getattr(model, "optimizer", None)
    return list(optimizer.variables) if optimizer is not None else []


def _metrics(original: Any, other: Any) -> Row:
    ours, theirs = original.metrics_variables, other.metrics_variables
    if len(ours) != len(theirs):
        return Row(ok=False, text=f"{len(theirs)} of {len(ours)} there")
    return _counted(list(zip(ours, theirs, strict=True)), _bit_equal)


def _outputs(original: Any, other: Any) -> Row:
    x, _ = batch_for(original)
    ours, theirs = (keras.ops.convert_to_numpy(model(x)) for model in (original, other))
    return Row(ours.tobytes() == theirs.tobytes(), f"{int((ours == theirs).sum())} of {ours.size} bit-equal")


def _independence(original: Any, other: Any) -> Row:
    before = [_numbers(variable).tobytes() for variable in original.variables]
    x, y = batch_for(original)
    other.fit(x, y, batch_size=4, shuffle=False, verbose=0)
    after = [_numbers(variable).tobytes() for variable in original.variables]
    return Row(before == after, "original unmoved")


def _training(original: Any, other: Any) -> Row:
    x, y = batch_for(original)
    original.fit(x, y, batch_size=4, shuffle=False, verbose=0)
    pairs = list(zip(original.weights, other.weights, strict=True))
    return _counted(pairs, _bit_equal)


def _counted(pairs: list[Any], same: Callable[[Any], bool], word: str = "bit-equal") -> Row:
    equal = sum(map(same, pairs))
    return Row(equal == len(pairs), f"{equal} of {len(pairs)} {word}", empty=not pairs)


def _bit_equal(pair: tuple[Any, Any]) -> bool:
    return bool(_numbers(pair[0]).tobytes() == _numbers(pair[1]).tobytes())


def _numbers(variable: Any) -> Any:
    return np.asarray(keras.ops.convert_to_numpy(variable))


_CHECKS: dict[str, Callable[[Any, Any], Row]] = {
    "class": _class,
    "layer names": _names,
    "trainable flags": _flags,
    "weights and statistics": _weights,
    "optimizer state": _optimizer,
    "metric totals": _metrics,
    "outputs": _outputs,
    "clone trained alone": _independence,
    "then both alike": _training,
}
