"""What variables hold, compared: how many numbers changed, and how far."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from ramet._diff.change import Change
from ramet._graph import Argument, freeze, freeze_dict

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

__all__ = ["Weights", "compare_weights"]

# Numbers compared at a time: in double precision, a few copies of this many fit anywhere.
_CHUNK = 1 << 21


class Weights(Protocol):
    """Where the values of a model's variables can be read, one at a time."""

    def paths(self) -> Iterable[str]:
        """The paths of all variables that can be read."""
        ...

    def read(self, path: str) -> Array:
        """What the variable at this path holds."""
        ...


def compare_weights(pairs: Iterable[tuple[str, str]], before: Weights, after: Weights) -> tuple[int, list[Change]]:
    """How many variables could be compared, and a change for each that does not hold the same.

    Args:
        pairs: the paths of the variables that are on both sides.
        before: reads those of the one side.
        after: reads those of the other.
    """
    known, others = set(before.paths()), set(after.paths())
    compared = 0
    changes: list[Change] = []
    for old, new in pairs:
        if old in known and new in others:
            compared += 1
            changes += _compare(old, new, before.read(old), after.read(new))
        elif old in known or new in others:
            stored = ("stored", "not stored") if old in known else ("not stored", "stored")
            changes.append(Change("weights", old, new, "presence", *stored))
    return compared, changes


def _compare(old: str, new: str, before: Array, after: Array) -> list[Change]:
    if before.shape != after.shape:
        return [Change("weights", old, new, "shape", before.shape, after.shape)]
    if before.dtype == after.dtype and _same_bits(before, after):
        return []
    one, other, far = _Side(), _Side(), _Distance()
    size = before.size
    before, after = before.reshape(-1), after.reshape(-1)
    for start in range(0, size, _CHUNK):
        _measure(before[start : start + _CHUNK], after[start : start + _CHUNK], one, other, far)
    measure = freeze_dict({"size": size, "changed": far.changed, **far.told()})
    # Every number equals the other: the bits differ (-0.0, another NaN), or the dtype does.
    what = "values" if far.changed else "bits" if before.dtype == after.dtype else "dtype"
    return [Change("weights", old, new, what, one.told(before), other.told(after), measure)]


class _Side:
    """What is known of the numbers of one side."""

    def __init__(self) -> None:
        self.squares, self.nan, self.infinite = 0.0, 0, 0

    def told(self, array: Array) -> Argument:
        facts: dict[str, object] = {"dtype": str(array.dtype), "norm": math.sqrt(self.squares)}
        facts |= {key: count for key, count in (("nan", self.nan), ("inf", self.infinite)) if count}
        return freeze(facts)


class _Distance:
    """How far the two sides are apart, where both are finite."""

    def __init__(self) -> None:
        self.changed, self.squares, self.largest = 0, 0.0, 0.0

    def told(self) -> dict[str, object]:
        return {"difference": math.sqrt(self.squares), "largest": self.largest}


def _same_bits(before: Array, after: Array) -> bool:
    if before.dtype.hasobject:
        return bool((before == after).all())
    flat, others = before.reshape(-1), after.reshape(-1)
    spans = range(0, before.size, _CHUNK)
    return all(flat[i : i + _CHUNK].tobytes() == others[i : i + _CHUNK].tobytes() for i in spans)


def _measure(before: Array, after: Array, one: _Side, other: _Side, far: _Distance) -> None:
    import numpy as np

    if not (_is_number(before) and _is_number(after)):
        # Texts and the like: the same, or not.
        far.changed += int(np.count_nonzero(before != after))
        return
    with np.errstate(all="ignore"):
        x, y = _wide(before), _wide(after)
        finite = np.isfinite(x) & np.isfinite(y)
        for values, side in ((x, one), (y, other)):
            side.nan += int(np.count_nonzero(np.isnan(values)))
            side.infinite += int(np.count_nonzero(np.isinf(values)))
            side.squares += _squares(np.abs(values[np.isfinite(values)]))
        whole = before.dtype == after.dtype and before.dtype.kind in "iu"
        # Whole numbers are compared as such: beyond 2**53 doubles cannot tell them apart.
        apart = before != after if whole else ~((x == y) | (np.isnan(x) & np.isnan(y)))
        distance = np.abs(x - y)[finite]
    far.changed += int(np.count_nonzero(apart))
    far.squares += _squares(distance)
    far.largest = max(far.largest, float(distance.max(initial=0.0)))


def _squares(values: Array) -> float:
    import numpy as np

    return float(np.dot(values, values))


def _is_number(array: Array) -> bool:
    # Kind "V" is what numpy calls the dtypes that JAX and TensorFlow bring along: bfloat16, float8, int4.
    return array.dtype.kind in "biufcV" and array.dtype.names is None


def _wide(array: Array) -> Array:
    import numpy as np

    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
