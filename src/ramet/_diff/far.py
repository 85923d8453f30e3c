"""How far weights are apart, in words."""

from __future__ import annotations

import math
from collections.abc import Sequence

from ramet._diff.change import Change
from ramet._graph import Argument, FrozenDict

__all__ = ["how_far", "layers"]


def layers(changes: Sequence[Change]) -> dict[str, list[Change]]:
    """The changed weights of each op, by its path."""
    found: dict[str, list[Change]] = {}
    for change in changes:
        found.setdefault(change.path.rpartition("/")[0], []).append(change)
    return found


def how_far(changes: Sequence[Change]) -> str:
    """How far some variables moved: `by 12% of their norm, 0.034 at most; 80 of 80 numbers`."""
    size, changed = (int(_sum(changes, key)) for key in ("size", "changed"))
    kinds = {change.what for change in changes}
    if not changed:
        word = "the dtype" if kinds == {"dtype"} else "bits"
        return f"only {word}: {size:,} numbers with the same values" if "dtype" in kinds else "bits of equal numbers"
    count = f"{changed:,} of {size:,} {'number' if size == 1 else 'numbers'}"
    difference = _norm(change.measure.get("difference") for change in changes)
    norm = _norm(_fact(change.old, "norm") for change in changes)
    words = [count]
    if difference and _whole(changes):
        words = [f"by {max(_number(change.measure.get('largest')) for change in changes):,.0f} at most", count]
    elif difference:
        share = f"{difference / norm:.2%} of the norm" if norm else f"a norm of {difference:.3g}, from zero"
        largest = max(_number(change.measure.get("largest")) for change in changes)
        words = [f"by {share}, {largest:.3g} at most", count]
    for key, word in (("nan", "NaN"), ("inf", "infinite")):
        old, new = (int(sum(_number(_fact(side, key)) for side in sides)) for sides in _sides(changes))
        if old != new:
            words.append(f"{new:,} {word} (was {old:,})")
    return "; ".join(words)


def _whole(changes: Sequence[Change]) -> bool:
    """Whether they are whole numbers, counters and random states, whose norm says nothing."""
    return all("int" in str(_fact(change.old, "dtype")) for change in changes)


def _sides(changes: Sequence[Change]) -> tuple[list[Argument], list[Argument]]:
    return [change.old for change in changes], [change.new for change in changes]


def _fact(side: Argument, key: str) -> Argument:
    return side.get(key) if isinstance(side, FrozenDict) else None


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _sum(changes: Sequence[Change], key: str) -> float:
    return sum(_number(change.measure.get(key)) for change in changes)


def _norm(parts: object) -> float:
    return math.hypot(*(_number(part) for part in parts))  # type: ignore[attr-defined]
