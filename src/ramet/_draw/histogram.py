"""What a weight holds, small enough for a page: how often which numbers are in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

__all__ = ["Histogram", "histogram"]

Histogram: TypeAlias = dict[str, Any]

_BINS = 32
_TALLEST = 61
_DIGITS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
# Numbers that are looked at: a million tell the shape of a billion.
_LOOKED_AT = 1 << 20


def histogram(values: Array) -> Histogram | None:
    """Bars from 0 to 61 as digits, smallest, largest, mean and deviation; None for what is no number.

    Of a large array, every n-th number is looked at. Numbers that are not finite are counted, not drawn.
    """
    import numpy as np

    flat = np.asarray(values).reshape(-1)
    flat = flat[:: max(1, flat.size // _LOOKED_AT)]
    try:
        numbers = flat.astype(np.float64)
    except (TypeError, ValueError):
        return None
    finite = numbers[np.isfinite(numbers)]
    odd = int(numbers.size - finite.size)
    if not finite.size:
        return {"bars": "", "odd": odd}
    low, high = float(finite.min()), float(finite.max())
    # numpy refuses a range without an end, and one too narrow to be divided.
    scale = max(abs(low), abs(high)) or 1.0
    scaled = finite / scale
    middle = (scaled.min() + scaled.max()) / 2
    half = max((scaled.max() - scaled.min()) / 2, 1e-6)
    counts, _ = np.histogram(scaled, bins=_BINS, range=(middle - half, middle + half))
    tallest = int(counts.max()) or 1
    # A bar that is not empty is seen.
    bars = "".join(_DIGITS[-(-int(count) * _TALLEST // tallest)] for count in counts)
    # What rounding left of a mean of zero is zero.
    mean, deviation = (round(float(scaled.mean()), 12) + 0.0) * scale, round(float(scaled.std()), 12) * scale
    told = [f"{number:.4g}" for number in (low, high, mean, deviation)]
    return {"bars": bars, "odd": odd, "low": told[0], "high": told[1], "mean": told[2], "deviation": told[3]}
