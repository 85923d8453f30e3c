"""Run a model from a known state, record its calls, and read its outputs and its state."""

from __future__ import annotations

import contextlib
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import keras
import numpy as np

from ramet._keras import (
    arrays_of,
    is_concrete,
    is_live,
    mask_of,
    run_and_differentiate,
    structure,
    views_of,
    watch_calls,
)
from ramet._verify.compare import Copies, differences, measured
from ramet._verify.side import Side

if TYPE_CHECKING:
    from ramet._verify.inputs import Case
    from ramet._verify.pair import Pair

T = TypeVar("T")


@dataclass
class Result:
    """The result of one run: outputs and, after a training call, the state; or the error that the model raised."""

    outputs: dict[str, list[Any]] = field(default_factory=dict)  # by position in the structure that the model returns
    state: dict[str, list[Any]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)  # the calls with their masks, if they were recorded
    like: Any = None  # the structure that the model returned, with empty arrays of the same shapes
    # Those of a weighted sum of the outputs, by the path of the variable, or the reason why there are none.
    gradients: dict[str, list[Any]] | Exception = field(default_factory=dict)
    error: Exception | None = None


@dataclass
class Step:
    """One call during a run: its path, the arrays of its values, and those of the mask of each value."""

    path: str
    arrays: list[Any]
    masks: list[list[Any]]


def run_restored(pair: Pair, action: Callable[[], T]) -> T | Exception:
    """Call a function while both models are in their initial state, and return its result, or the error that it raised.

    Warnings are ignored: the user has seen them when the model was run before.
    """
    with warnings.catch_warnings(action="ignore"):
        pair.begin()
        try:
            return action()
        except Exception as error:  # noqa: BLE001  # a user's class may raise anything, and that is a result
            return error
        finally:
            pair.end()


def run(pair: Pair, side: Side, case: Case, *, training: bool = False) -> Result:
    """Call one of the models from its initial state."""
    result = Result()
    # The checks of masks and gradients read their values from this run instead of running the models again.
    records = case.trains and not training
    differentiates = pair.differentiates and case.is_first and not training and side.model.trainable_variables

    def recorded_call() -> Any:
        with watch_calls(_recorder(side, result.steps, values=False)) if records else contextlib.nullcontext():
            return case.call(side.model, training=training)

    def again() -> Any:
        pair.begin()
        return case.call(side.model, training=training)

    def fill() -> None:
        if differentiates:
            returned, found = run_and_differentiate(
                side.model, recorded_call, again, lambda outputs: _weighted_sum(outputs, pair.seed)
            )
            result.gradients = found if isinstance(found, Exception) else _by_variable(side, found)
        else:
            returned = recorded_call()
        result.outputs = by_path(returned)
        result.like = keras.tree.map_structure(_like, returned)
        if training:
            result.state = state_of(side, pair.copies)

    result.error = run_restored(pair, fill)
    return result


def _weighted_sum(outputs: Any, seed: int) -> Any:
    """Return one number that depends on every output: their sum, each entry with its own weight."""
    rng = np.random.default_rng(seed)
    total: Any = None
    for output in keras.tree.flatten(outputs):
        if output is not None and "float" in keras.backend.standardize_dtype(output.dtype):
            weights = rng.uniform(0.5, 1.5, tuple(output.shape)).astype("float32")
            part = keras.ops.sum(keras.ops.multiply(keras.ops.cast(output, "float32"), weights))
            total = part if total is None else total + part
    if total is None:
        raise ValueError("no output contains floating-point numbers")
    return total


def _by_variable(side: Side, found: list[Any]) -> dict[str, list[Any]]:
    pairs = zip(side.model.trainable_variables, found, strict=True)
    return {side.names.get(id(variable), variable.path): arrays_of(value) for variable, value in pairs}


def _like(value: Any) -> Any:
    """Return an array of the shape of a tensor, without memory of its own; other values unchanged."""
    shape = getattr(value, "shape", None)
    return value if shape is None else np.broadcast_to(np.float32(0), tuple(shape))


def _recorder(side: Side, steps: list[Step], *, values: bool) -> Callable[[Any, Any], None]:
    """Return a function that is called with every op and its outputs, and records them as steps."""
    numbers: Counter[str] = Counter()

    def record(op: Any, outputs: Any) -> None:
        flat = [value for value in keras.tree.flatten(outputs) if keras.ops.is_tensor(value)]
        if not all(map(is_concrete, flat)):
            return
        path = side.names.get(id(op), type(op).__name__)
        numbers[path] += 1
        name = path if numbers[path] == 1 else f"{path}#{numbers[path]}"
        arrays = [array for value in flat for array in arrays_of(value)] if values else []
        steps.append(Step(name, arrays, [arrays_of(mask_of(value)) for value in flat]))

    return record


def _trace(pair: Pair, side: Side, case: Case, *, training: bool) -> list[Step]:
    """Return every call of a run, inner calls before outer ones; if the model raises, the calls before that."""
    steps: list[Step] = []
    with watch_calls(_recorder(side, steps, values=True)):
        run_restored(pair, lambda: case.call(side.model, training=training))
    return steps


def first_difference(pair: Pair, case: Case, *, training: bool = False) -> str | None:
    """Return the first call whose value differs, in the order in which calls are run."""
    ours, theirs = (_trace(pair, side, case, training=training) for side in (pair.ours, pair.theirs))
    for mine, yours in zip(ours, theirs, strict=False):
        if mine.path != yours.path:
            return f"{mine.path} (the other model calls {yours.path} there)"
        if any(differences(mine.path, mine.arrays, yours.arrays, measured(pair.tolerance))):
            return mine.path
    return None


def by_path(outputs: Any) -> dict[str, list[Any]]:
    """Return the outputs by their position in the structure that a model returns."""
    found: dict[str, list[Any]] = {}
    waiting = [("outputs", outputs)]
    while waiting:
        path, value = waiting.pop()
        if isinstance(value, dict):
            waiting.extend((f"{path}[{key!r}]", value[key]) for key in reversed(list(value)))
        elif isinstance(value, list | tuple):
            waiting.extend((f"{path}[{index}]", value[index]) for index in reversed(range(len(value))))
        else:
            found[path] = arrays_of(value)
    return found


def state_of(side: Side, copies: Copies | None = None) -> dict[str, list[Any]]:
    """Return the current values of all variables of a model, including those created since the comparison began.

    Without copies, the values must be read at once: on torch they change with the variables.
    """
    found = {}
    for path, variable in side.read_variables().items():
        found[path] = views_of(variable)
        if copies is not None and is_live(structure.value_of(variable)):
            found[path] = [copies.of(array) for array in found[path]]
    return found
