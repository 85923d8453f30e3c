"""Running a model from a known start, and what came of it."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from ramet._keras import arrays_of, is_concrete, is_live, mask_of, run_and_differentiate, structure, views_of, watched
from ramet._verify.compare import Copies, differ, measured
from ramet._verify.report import Difference

if TYPE_CHECKING:
    from ramet._verify.cases import Case
    from ramet._verify.pair import Pair, Side


@dataclass
class Result:
    """What one run gave: outputs and, after a training call, the state; or an error.

    Attributes:
        outputs: The arrays of each output, by its place in what the model returns.
        state: The variables after a training call.
        steps: The calls of the run with their masks, if they were heard.
        like: What the model returned, with empty arrays of the shapes of its tensors.
        gradients: The derivatives of a number made from the outputs, by the path of the variable, if they were wanted;
            or the error, if the run cannot be differentiated.
        error: What the model raised.
    """

    outputs: dict[str, list[Any]] = field(default_factory=dict)
    state: dict[str, list[Any]] = field(default_factory=dict)
    steps: list[Step] = field(default_factory=list)
    like: Any = None
    gradients: dict[str, list[Any]] | Exception = field(default_factory=dict)
    error: Exception | None = None


@dataclass
class Step:
    """One call during a run: its path, its values and their masks."""

    path: str
    values: list[Any]
    masks: list[Any]


def run(pair: Pair, side: Side, case: Case, *, training: bool = False) -> Result:
    """Call one of the models, from the state in which verifying found it."""
    result = Result()
    # The checks of masks and gradients read their values from this run instead of running the models again.
    hears = case.trains and not training
    differentiates = pair.differentiates and case.is_first and not training and side.model.trainable_variables

    def call() -> Any:
        return side.model(*case.args, training=training, **case.kwargs)

    def heard() -> Any:
        with watched(_listener(side, result.steps, values=False)) if hears else contextlib.nullcontext():
            return call()

    def again() -> Any:
        pair.begin()
        return call()

    with quiet():
        pair.begin()
        try:
            if differentiates:
                returned, found = run_and_differentiate(
                    side.model, heard, again, lambda outputs: _number(outputs, pair.seed)
                )
                result.gradients = found if isinstance(found, Exception) else _by_variable(side, found)
            else:
                returned = heard()
            result.outputs = by_path(returned)
            result.like = keras.tree.map_structure(_like, returned)
        except Exception as error:  # noqa: BLE001  # a model may raise anything, and that is an answer
            result.error = error
            return result
        if training:
            result.state = state_of(side, pair.copies)
    return result


def _number(outputs: Any, seed: int) -> Any:
    """One number that depends on every output: their sum, each entry with a weight of its own."""
    rng = np.random.default_rng(seed)
    total: Any = None
    for output in keras.tree.flatten(outputs):
        if output is not None and "float" in keras.backend.standardize_dtype(output.dtype):
            weights = rng.uniform(0.5, 1.5, tuple(output.shape)).astype("float32")
            part = keras.ops.sum(keras.ops.multiply(keras.ops.cast(output, "float32"), weights))
            total = part if total is None else total + part
    if total is None:
        raise ValueError("no output holds floating-point numbers")
    return total


def _by_variable(side: Side, found: list[Any]) -> dict[str, list[Any]]:
    paths = {id(variable): path for path, variable in side.variables.items()}
    variables = side.model.trainable_variables
    return {
        paths.get(id(variable), variable.path): arrays_of(value)
        for variable, value in zip(variables, found, strict=True)
    }


def _like(value: Any) -> Any:
    """An array of the shape of a tensor, without memory of its own; other values as they are."""
    shape = getattr(value, "shape", None)
    return value if shape is None else np.broadcast_to(np.float32(0), tuple(shape))


def _listener(side: Side, steps: list[Step], *, values: bool) -> Callable[[Any, Any], None]:
    """What to call with every op and its outputs, to have them noted as steps."""
    numbers: dict[str, int] = {}

    def hear(op: Any, outputs: Any) -> None:
        flat = [value for value in keras.tree.flatten(outputs) if keras.ops.is_tensor(value)]
        if not all(map(is_concrete, flat)):
            return
        path = side.names.get(id(op), type(op).__name__)
        numbers[path] = numbers.get(path, 0) + 1
        name = path if numbers[path] == 1 else f"{path}#{numbers[path]}"
        held = [arrays_of(value) for value in flat] if values else []
        steps.append(Step(name, held, [arrays_of(mask_of(value)) for value in flat]))

    return hear


def trace(pair: Pair, side: Side, case: Case, *, training: bool = False) -> list[Step]:
    """Every call of a run with its values and masks, inner calls before the ones around them."""
    steps: list[Step] = []
    with quiet(), watched(_listener(side, steps, values=True)):
        pair.begin()
        try:
            side.model(*case.args, training=training, **case.kwargs)
        except Exception:  # noqa: BLE001  # what was heard before it is the answer
            return steps
    return steps


def where_it_began(pair: Pair, case: Case, *, training: bool = False) -> str | None:
    """The first call whose value differs, in the order of running."""
    ours, theirs = (trace(pair, side, case, training=training) for side in (pair.ours, pair.theirs))
    for mine, yours in zip(ours, theirs, strict=False):
        if mine.path != yours.path:
            return f"{mine.path} (the other runs {yours.path} there)"
        if any(differences(mine.path, mine.values, yours.values, measured(pair.tolerance))):
            return mine.path
    return None


def differences(path: str, ours: list[Any], theirs: list[Any], tolerance: Any) -> Iterator[Difference]:
    """What differs between two lists of values, each a list of arrays."""
    if [len(value) for value in ours] != [len(value) for value in theirs]:
        yield Difference(path, f"{len(ours)} values became {len(theirs)}, or other kinds of them")
        return
    for mine, yours in zip(ours, theirs, strict=True):
        for a, b in zip(mine, yours, strict=True):
            found = differ(path, a, b, tolerance)
            if found is not None:
                yield found


def compare_by_path(
    ours: dict[str, list[Any]], theirs: dict[str, list[Any]], tolerance: Any, note: str = ""
) -> Iterator[Difference]:
    """What differs between values by path."""
    for path, arrays in ours.items():
        if path not in theirs:
            yield Difference(path, f"{note}is not there")
        elif len(arrays) != len(theirs[path]):
            yield Difference(path, f"{note}a value of another kind")
        else:
            for a, b in zip(arrays, theirs[path], strict=True):
                found = differ(path, a, b, tolerance, note)
                if found is not None:
                    yield found
    for path in theirs:
        if path not in ours:
            yield Difference(path, f"{note}is new")


def by_path(outputs: Any) -> dict[str, list[Any]]:
    """The outputs by their place in the structure that a model returns."""
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
    """The values of all variables of a model right now, those made since it was first looked at included.

    Args:
        side: The model.
        copies: Where to keep them. Without it, they are read at once: on torch they change with the variables.
    """
    from ramet._verify.variables import variables_by_path

    found = {}
    for path, variable in variables_by_path(side.model, side.places).items():
        arrays = views_of(variable)
        keeps = copies is not None and is_live(structure.value_of(variable))
        found[path] = [copies.of(array) for array in arrays] if copies is not None and keeps else arrays
    return found


class quiet(warnings.catch_warnings):  # noqa: N801  # read as a statement: with quiet()
    """What a model warns of when it runs, it has told its user before."""

    def __enter__(self) -> Any:
        entered = super().__enter__()
        warnings.simplefilter("ignore")
        return entered
