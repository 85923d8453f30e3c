"""Compare arrays: bit by bit, or within a tolerance, which also allows other floating-point dtypes."""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, TypeAlias

import numpy as np

from ramet._verify.report import Difference
from ramet.errors import ArgumentError

_FEW = 4
_WORDS = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}
_PIECE = 1 << 16
_SAMPLE = 64
# Dtypes, and the policies made of them, whose numbers can be compared by distance.
_FLOATS = frozenset({"float64", "float32", "float16", "bfloat16", "mixed_float16", "mixed_bfloat16"})

Tolerance: TypeAlias = "float | Mapping[str, float] | None"


class Measure:
    """A tolerance, as the user passed it, that records the largest difference compared with it."""

    def __init__(self, tolerance: float | Mapping[str, float]) -> None:
        self.tolerance = tolerance
        self.largest: float | None = None  # relative; None if no numbers were compared

    def note(self, size: float | None) -> None:
        """Record a relative difference; None is ignored."""
        if size is not None:
            self.largest = size if self.largest is None else max(self.largest, size)

    def allowed(self, ours: Any, theirs: Any) -> float | None:
        """Return the tolerance for two arrays; for different dtypes, that of the less precise one."""
        if not (_is_float(ours) and _is_float(theirs)):
            return None
        if not isinstance(self.tolerance, Mapping):
            return self.tolerance
        numbers = [self.tolerance.get(str(array.dtype)) for array in (ours, theirs)]
        return max((number for number in numbers if number is not None), default=None)


def measured(tolerance: Tolerance | Measure) -> Measure | None:
    """Return a new measure for a tolerance; None for bit-equality."""
    given = tolerance.tolerance if isinstance(tolerance, Measure) else tolerance
    return None if given is None else Measure(given)


def is_other_float(ours: Any, theirs: Any) -> bool:
    """Return whether both values name floating-point dtypes or policies, and different ones."""
    mine, yours = _dtype_name(ours), _dtype_name(theirs)
    return mine in _FLOATS and yours in _FLOATS and mine != yours


def _dtype_name(value: Any) -> str | None:
    if isinstance(value, str):
        return value
    if type(value).__name__ in ("dtype", "DType") or isinstance(value, np.dtype):
        return str(getattr(value, "name", value)).removeprefix("torch.")
    return None


def check_tolerance(tolerance: Tolerance) -> None:
    """Raise an error for an invalid tolerance."""
    numbers: Iterable[object] = tolerance.values() if isinstance(tolerance, Mapping) else [tolerance]
    for number in numbers:
        if number is not None and not (isinstance(number, int | float) and 0 <= number < float("inf")):
            raise ArgumentError(
                f"Cannot verify with tolerance={number!r}: it is not a finite number >= 0.",
                expected="a number, or a number for each dtype: {'float32': 1e-6, 'bfloat16': 1e-2}",
                fix="pass one of these, or leave out tolerance= for bit-equality.",
            )


def differ(path: str, ours: Any, theirs: Any, tolerance: Measure | None = None, note: str = "") -> Difference | None:
    """Return the difference between two arrays, or None.

    With a tolerance, floating-point numbers may differ by that fraction of the largest finite number in the original's
    array, whatever their dtypes; NaN equals NaN. Without one, or for other dtypes, every bit counts.
    """
    if ours.shape != theirs.shape:
        return Difference(path, f"{note}shape {ours.shape} became {theirs.shape}")
    allowed = None if tolerance is None else tolerance.allowed(ours, theirs)
    if ours.dtype != theirs.dtype and allowed is None:
        return Difference(path, f"{note}dtype {ours.dtype} became {theirs.dtype}")
    if ours.dtype == theirs.dtype and same_bits(ours, theirs):
        if tolerance is not None and allowed is not None:
            tolerance.note(0.0)
        return None
    if ours.dtype.hasobject or ours.dtype.kind in "SUmM":
        count = int(np.sum(ours != theirs))
        return Difference(path, f"{note}{count} of {ours.size} strings differ")
    wide = np.complex128 if ours.dtype.kind == "c" else np.float64
    a, b = ours.astype(wide), theirs.astype(wide)
    with np.errstate(all="ignore"):
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        scale = float(np.abs(a[np.isfinite(a)]).max(initial=0.0))
    largest = float(apart.max(initial=0.0))
    size = None if not np.isfinite(largest) else largest / scale if scale else largest
    if tolerance is not None and allowed is not None:
        tolerance.note(size)
        if bool(np.all(apart <= allowed * scale)):
            return None
    return Difference(path, note + _describe(ours, theirs, apart, size), size)


def differences(
    path: str, ours: list[Any], theirs: list[Any], tolerance: Measure | None, note: str = ""
) -> Iterator[Difference]:
    """Yield the differences between two lists of arrays, the parts of one value."""
    if len(ours) != len(theirs):
        yield Difference(path, f"{note}a value of another kind")
        return
    for mine, yours in zip(ours, theirs, strict=True):
        found = differ(path, mine, yours, tolerance, note)
        if found is not None:
            yield found


def compare_by_path(
    ours: dict[str, list[Any]], theirs: dict[str, list[Any]], tolerance: Measure | None, note: str = ""
) -> Iterator[Difference]:
    """Yield the differences between two dicts of values by path."""
    for path, arrays in ours.items():
        if path in theirs:
            yield from differences(path, arrays, theirs[path], tolerance, note)
        else:
            yield Difference(path, f"{note}missing")
    yield from (Difference(path, f"{note}new") for path in theirs if path not in ours)


def same_bits(ours: Any, theirs: Any) -> bool:
    """Return whether two arrays of the same shape and dtype are equal bit by bit. Large ones are not copied."""
    if ours is theirs:
        return True
    if ours.dtype.hasobject:
        return bool(ours.tolist() == theirs.tolist())
    if ours.dtype.itemsize not in _WORDS or not (ours.flags.c_contiguous and theirs.flags.c_contiguous):
        return bool(ours.tobytes() == theirs.tobytes())
    a, b = (array.reshape(-1).view(_WORDS[array.dtype.itemsize]) for array in (ours, theirs))
    # Piece by piece, so that temporary arrays stay small and the first difference ends the comparison.
    return all(
        bool((a[start : start + _PIECE] == b[start : start + _PIECE]).all()) for start in range(0, a.size, _PIECE)
    )


class Copies:
    """Copies of arrays that store equal content once: a twin has the same numbers as its original."""

    def __init__(self) -> None:
        self._held: dict[tuple[Any, ...], list[weakref.ref[Any]]] = {}

    def of(self, array: Any) -> Any:
        """Return a copy that must not be written to; an earlier one if it has the same bits."""
        if array.dtype.hasobject:
            return array.copy()
        flat = array.reshape(-1)
        key = (array.shape, array.dtype, flat[:_SAMPLE].tobytes(), flat[-_SAMPLE:].tobytes())
        known = self._held.setdefault(key, [])
        for reference in known:
            held = reference()
            if held is not None and same_bits(held, array):
                return held
        copy = array.copy()
        known[:] = [*(reference for reference in known if reference() is not None), weakref.ref(copy)]
        return copy


def _is_float(array: Any) -> bool:
    # bfloat16 and the float8 dtypes come from the library ml_dtypes, with a kind of "V" or "f".
    return array.dtype.kind in "fc" or "float" in str(array.dtype)


def _describe(ours: Any, theirs: Any, apart: Any, size: float | None) -> str:
    if ours.dtype.kind == "b":
        return f"{int((ours != theirs).sum())} of {ours.size} booleans differ"
    if ours.dtype == theirs.dtype:
        raw = [np.ascontiguousarray(array).reshape(ours.size, 1).view(np.uint8) for array in (ours, theirs)]
        count = int((raw[0] != raw[1]).any(axis=1).sum())
    else:
        count = int((apart != 0).sum())
    if ours.size <= _FEW and (ours.size == 1 or ours.dtype.kind in "iu"):
        return f"{ours.tolist()} became {theirs.tolist()}"
    if size is None:
        return f"{count} of {ours.size} numbers differ, some by NaN or infinity"
    if size == 0:
        return f"{count} of {ours.size} numbers differ in their bits only (the sign of zero, the kind of NaN)"
    return f"{count} of {ours.size} numbers differ; largest relative difference: {size:.2g}"
