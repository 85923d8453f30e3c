"""Arrays compared: bit by bit, or within a tolerance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from ramet._verify.report import Difference
from ramet.errors import ArgumentError

_FEW = 4

Tolerance: TypeAlias = "float | Mapping[str, float] | None"


def check_tolerance(tolerance: Tolerance) -> None:
    """Refuse what is no tolerance."""
    numbers = tolerance.values() if isinstance(tolerance, Mapping) else [tolerance]
    for number in numbers:
        if number is not None and not _is_tolerance(number):
            raise ArgumentError(
                f"Cannot verify within a tolerance of {number!r}: it is no number from zero up.",
                expected="a number, or a number for each dtype: {'float32': 1e-6, 'bfloat16': 1e-2}",
                fix="pass one of these, or leave it out for bit-equality.",
            )


def _is_tolerance(number: object) -> bool:
    return isinstance(number, int | float) and 0 <= number < float("inf")


def differ(path: str, ours: Any, theirs: Any, tolerance: Tolerance = None, note: str = "") -> Difference | None:
    """The difference between two arrays, or None.

    With a tolerance, floating-point numbers may differ by that part of the largest finite number of the original's
    array; NaN equals NaN. Without one, or for other dtypes, every bit counts.
    """
    if ours.shape != theirs.shape:
        return Difference(path, f"{note}shape {ours.shape} became {theirs.shape}")
    if ours.dtype != theirs.dtype:
        return Difference(path, f"{note}dtype {ours.dtype} became {theirs.dtype}")
    if _bits(ours) == _bits(theirs):
        return None
    if ours.dtype.hasobject or ours.dtype.kind in "SUmM":
        count = int(np.sum(ours != theirs))
        return Difference(path, f"{note}{count} of {ours.size} texts differ")
    wide = np.complex128 if ours.dtype.kind == "c" else np.float64
    a, b = ours.astype(wide), theirs.astype(wide)
    with np.errstate(all="ignore"):
        apart = np.where((a == b) | (np.isnan(a) & np.isnan(b)), 0.0, np.abs(a - b))
        finite = np.abs(a[np.isfinite(a)])
        scale = float(finite.max()) if finite.size else 0.0
    allowed = _allowed(tolerance, str(ours.dtype))
    if allowed is not None and _is_float(ours) and bool(np.all(apart <= allowed * scale)):
        return None
    return Difference(path, note + _in_words(ours, theirs, apart, scale), _size(apart, scale))


def _bits(array: Any) -> Any:
    return array.tolist() if array.dtype.hasobject else array.tobytes()


def _is_float(array: Any) -> bool:
    # bfloat16 and the float8 kinds come from a library of their own, with a kind of "V" or "f".
    return array.dtype.kind in "fc" or "float" in str(array.dtype)


def _allowed(tolerance: Tolerance, dtype: str) -> float | None:
    return tolerance.get(dtype) if isinstance(tolerance, Mapping) else tolerance


def _size(apart: Any, scale: float) -> float | None:
    largest = float(apart.max()) if apart.size else 0.0
    if not np.isfinite(largest):
        return None
    return largest / scale if scale else largest


def _in_words(ours: Any, theirs: Any, apart: Any, scale: float) -> str:
    if ours.dtype.kind == "b":
        return f"{int((ours != theirs).sum())} of {ours.size} truth values differ"
    raw = [np.ascontiguousarray(array).reshape(-1).view(np.uint8).reshape(ours.size, -1) for array in (ours, theirs)]
    count = int((raw[0] != raw[1]).any(axis=1).sum())
    if ours.size <= _FEW and (ours.size == 1 or ours.dtype.kind in "iu"):
        return f"{ours.tolist()} became {theirs.tolist()}"
    size = _size(apart, scale)
    if size is None:
        return f"{count} of {ours.size} numbers differ, some by NaN or infinity"
    if size == 0:
        return f"{count} of {ours.size} numbers differ in bits alone (the sign of zero, the kind of NaN)"
    return f"{count} of {ours.size} numbers differ, by up to {size:.2g} of the largest"
