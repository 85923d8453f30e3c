"""Compare arrays: bit by bit, or within a tolerance, which also allows other floating-point dtypes."""

from __future__ import annotations

import weakref
from collections.abc import Mapping
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

Tolerance: TypeAlias = "float | Mapping[str, float] | Measure | None"


class Measure:
    """A tolerance that records the largest difference compared with it.

    Attributes:
        tolerance: The tolerance as the user passed it.
        largest: The largest relative difference so far; None if no numbers were compared.
    """

    def __init__(self, tolerance: float | Mapping[str, float]) -> None:
        self.tolerance = tolerance
        self.largest: float | None = None

    def note(self, size: float | None) -> None:
        """Record a relative difference; None is ignored."""
        if size is not None:
            self.largest = size if self.largest is None else max(self.largest, size)


def measured(tolerance: Tolerance) -> Measure | None:
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
    numbers = tolerance.values() if isinstance(tolerance, Mapping) else [tolerance]
    for number in numbers:
        if number is not None and not _is_tolerance(number):
            raise ArgumentError(
                f"Cannot verify with tolerance={number!r}: it is not a finite number >= 0.",
                expected="a number, or a number for each dtype: {'float32': 1e-6, 'bfloat16': 1e-2}",
                fix="pass one of these, or leave out tolerance= for bit-equality.",
            )


def _is_tolerance(number: object) -> bool:
    return isinstance(number, int | float) and 0 <= number < float("inf")


def differ(path: str, ours: Any, theirs: Any, tolerance: Tolerance = None, note: str = "") -> Difference | None:
    """Return the difference between two arrays, or None.

    With a tolerance, floating-point numbers may differ by that fraction of the largest finite number in the original's
    array, whatever their dtypes; NaN equals NaN. Without one, or for other dtypes, every bit counts.
    """
    if ours.shape != theirs.shape:
        return Difference(path, f"{note}shape {ours.shape} became {theirs.shape}")
    allowed = _allowed(tolerance, ours, theirs)
    if ours.dtype != theirs.dtype:
        if allowed is None:
            return Difference(path, f"{note}dtype {ours.dtype} became {theirs.dtype}")
    elif same_bits(ours, theirs):
        if allowed is not None and isinstance(tolerance, Measure):
            tolerance.note(0.0)
        return None
    if ours.dtype.hasobject or ours.dtype.kind in "SUmM":
        count = int(np.sum(ours != theirs))
        return Difference(path, f"{note}{count} of {ours.size} strings differ")
    wide = np.complex128 if ours.dtype.kind == "c" else np.float64
    a, b = ours.astype(wide), theirs.astype(wide)
    with np.errstate(all="ignore"):
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        finite = np.abs(a[np.isfinite(a)])
        scale = float(finite.max()) if finite.size else 0.0
    size = _size(apart, scale)
    if allowed is not None:
        if isinstance(tolerance, Measure):
            tolerance.note(size)
        if bool(np.all(apart <= allowed * scale)):
            return None
    return Difference(path, note + _describe(ours, theirs, apart, size), size)


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


def _allowed(tolerance: Tolerance, ours: Any, theirs: Any) -> float | None:
    """Return the tolerance for two arrays; for different dtypes, that of the less precise one."""
    given = tolerance.tolerance if isinstance(tolerance, Measure) else tolerance
    if given is None or not (_is_float(ours) and _is_float(theirs)):
        return None
    if not isinstance(given, Mapping):
        return given
    found = [number for dtype in {str(ours.dtype), str(theirs.dtype)} if (number := given.get(dtype)) is not None]
    return max(found) if found else None


def _size(apart: Any, scale: float) -> float | None:
    largest = float(apart.max()) if apart.size else 0.0
    if not np.isfinite(largest):
        return None
    return largest / scale if scale else largest


def _describe(ours: Any, theirs: Any, apart: Any, size: float | None) -> str:
    if ours.dtype.kind == "b":
        return f"{int((ours != theirs).sum())} of {ours.size} booleans differ"
    if ours.dtype == theirs.dtype:
        raw = [
            np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(ours.size, -1) for array in (ours, theirs)
        ]
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
