"""What variables hold, compared bit by bit: how many numbers changed, and how far."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, runtime_checkable

from ramet._diff.change import Change, Kind
from ramet._graph import Argument, freeze, freeze_dict

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

__all__ = ["InMemory", "Numbers", "PartialWeights", "Weights", "compare_arrays", "compare_weights"]

# Bytes of each side that are compared at a time: small enough to stay in the cache of a processor.
_BLOCK = 1 << 20
# Numbers measured at a time, in double precision: few enough that no BLAS library takes several threads for them.
_CHUNK = 1 << 13


class Numbers(Protocol):
    """The numbers of one variable, read piece by piece."""

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the variable."""

    @property
    def dtype(self) -> np.dtype[Any]:
        """Its dtype."""

    def part(self, start: int, stop: int) -> Array:
        """The numbers from `start` to `stop`, flat; valid until the next call."""


class Weights(Protocol):
    """The values of a model's variables, read one at a time."""

    def paths(self) -> Iterable[str]:
        """The paths of all variables that can be read."""
        ...

    def read(self, path: str) -> Array:
        """What the variable at this path holds."""
        ...


@runtime_checkable
class PartialWeights(Protocol):
    """Weights whose variables can be read piece by piece, so that large ones need no memory."""

    def open(self, path: str) -> Numbers:
        """The numbers of the variable at this path."""
        ...


class InMemory:
    """The numbers of an array that was read whole."""

    def __init__(self, array: Array) -> None:
        self.shape, self.dtype = array.shape, array.dtype
        self._flat = array.reshape(-1)

    def part(self, start: int, stop: int) -> Array:
        """The numbers from `start` to `stop`."""
        return self._flat[start:stop]


def compare_weights(
    pairs: Iterable[tuple[str, str]],
    before: Weights,
    after: Weights,
    *,
    kind: Kind = "weights",
    name: Callable[[str], str] = lambda path: path,
    on_read: Callable[[str], None] = lambda _: None,
) -> tuple[int, list[Change]]:
    """How many variables were compared, and a change for each that does not hold the same bits.

    Args:
        pairs: the paths of the variables that are on both sides.
        before: reads those of the one side.
        after: reads those of the other.
        kind: of the changes.
        name: the path under which a change is reported, given that of a variable.
        on_read: called with the path of each variable before it is read.
    """
    known, others = set(before.paths()), set(after.paths())
    compared = 0
    changes: list[Change] = []
    for old, new in pairs:
        if old in known and new in others:
            compared += 1
            on_read(old)
            numbers, twins = _numbers(before, old), _numbers(after, new)
            changes += compare_arrays(name(old), name(new), numbers, twins, kind=kind)
        elif old in known or new in others:
            stored = ("stored", "not stored") if old in known else ("not stored", "stored")
            changes.append(Change(kind, name(old), name(new), "presence", *stored))
    return compared, changes


def _numbers(weights: Weights, path: str) -> Numbers:
    return weights.open(path) if isinstance(weights, PartialWeights) else InMemory(weights.read(path))


def compare_arrays(old: str, new: str, before: Numbers, after: Numbers, *, kind: Kind = "weights") -> list[Change]:
    """The change between two arrays; none if shape, dtype and every bit are the same."""
    if before.shape != after.shape:
        return [Change(kind, old, new, "shape", before.shape, after.shape)]
    size = math.prod(before.shape)
    if before.dtype == after.dtype and all(_same_bits(*parts) for parts in _blocks(before, after, size)):
        return []
    # Only arrays that differ are measured: their equal blocks are read once more.
    one, other, far = _Side(), _Side(), _Distance()
    for ours, theirs in _blocks(before, after, size):
        for start in range(0, len(ours), _CHUNK):
            _measure(ours[start : start + _CHUNK], theirs[start : start + _CHUNK], one, other, far)
    measure = freeze_dict({"size": size, "changed": far.changed, **far.told()})
    # Every number equals the other: the bits differ (-0.0, another NaN), or the dtype does.
    what = "values" if far.changed else "bits" if before.dtype == after.dtype else "dtype"
    return [Change(kind, old, new, what, one.told(before, size), other.told(after, size), measure)]


def _blocks(before: Numbers, after: Numbers, size: int) -> Iterator[tuple[Array, Array]]:
    step = max(_BLOCK // max(before.dtype.itemsize, 1), 1)
    for start in range(0, size, step):
        stop = min(start + step, size)
        yield before.part(start, stop), after.part(start, stop)


class _Side:
    """What is known of the numbers of one side."""

    def __init__(self) -> None:
        self.squares, self.nan, self.infinite = 0.0, 0, 0

    def told(self, numbers: Numbers, size: int) -> Argument:
        facts: dict[str, object] = {"dtype": str(numbers.dtype), "norm": math.sqrt(self.squares)}
        facts |= {key: count for key, count in (("nan", self.nan), ("inf", self.infinite)) if count}
        if size == 1 and numbers.dtype.kind in "biuf":
            # Counters and rates are told by their value.
            facts["value"] = numbers.part(0, 1)[0].item()
        return freeze(facts)


class _Distance:
    """How far the two sides are apart, where both are finite."""

    def __init__(self) -> None:
        self.changed, self.squares, self.largest = 0, 0.0, 0.0

    def told(self) -> dict[str, object]:
        return {"difference": math.sqrt(self.squares), "largest": self.largest}


def _same_bits(before: Array, after: Array) -> bool:
    import numpy as np

    if before.dtype.hasobject:
        # NaN among objects is the same as itself here, and 1 is not True.
        return all(type(a) is type(b) and (a == b or repr(a) == repr(b)) for a, b in zip(before, after, strict=True))
    ours, theirs = (np.ascontiguousarray(side).view(np.uint8) for side in (before, after))
    if ours.size % 8 == 0 and ours.ctypes.data % 8 == 0 and theirs.ctypes.data % 8 == 0:
        ours, theirs = ours.view(np.uint64), theirs.view(np.uint64)
    return bool(np.array_equal(ours, theirs))


def _measure(before: Array, after: Array, one: _Side, other: _Side, far: _Distance) -> None:
    import numpy as np

    if not (_is_number(before) and _is_number(after)):
        # Texts and the like: the same, or not.
        far.changed += int(np.count_nonzero(before != after))
        return
    with np.errstate(all="ignore"):
        x, y = _wide(before), _wide(after)
        distance = np.abs(x - y)
        squares = [_squares(x), _squares(y), _squares(distance)]
        whole = before.dtype == after.dtype and before.dtype.kind in "iu"
        if all(map(math.isfinite, squares)):
            # No NaN and no infinity among them, which spares most of the work. Whole numbers are compared as such:
            # beyond 2**53 doubles cannot tell them apart.
            far.changed += int(np.count_nonzero(before != after if whole else x != y))
            one.squares, other.squares = one.squares + squares[0], other.squares + squares[1]
        else:
            finite = np.isfinite(x) & np.isfinite(y)
            for values, side in ((x, one), (y, other)):
                side.nan += int(np.count_nonzero(np.isnan(values)))
                side.infinite += int(np.count_nonzero(np.isinf(values)))
                side.squares += _squares(values[np.isfinite(values)])
            apart = before != after if whole else ~((x == y) | (np.isnan(x) & np.isnan(y)))
            far.changed += int(np.count_nonzero(apart))
            distance = distance[finite]
    far.squares += _squares(distance)
    far.largest = max(far.largest, float(distance.max(initial=0.0)))


def _squares(values: Array) -> float:
    import numpy as np

    return float(np.vdot(values, values).real)


def _is_number(array: Array) -> bool:
    # Kind "V" is what numpy calls the dtypes that JAX and TensorFlow bring along: bfloat16, float8, int4.
    return array.dtype.kind in "biufcV" and array.dtype.names is None and array.dtype.type is not _void()


def _void() -> type:
    """The class of raw bytes, which are no numbers."""
    import numpy as np

    return np.void


def _wide(array: Array) -> Array:
    import numpy as np

    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)
