"""How far weights are apart, in words and as one number."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ramet._diff.change import Change
from ramet._diff.value_text import show
from ramet._graph import Argument, FrozenDict

__all__ = ["HOW_FAR", "how_far", "layers", "moved", "percent"]

# Steps of the relative distance that a picture tells apart, each with its words; a variable belongs to the last it reaches.
HOW_FAR: tuple[tuple[float, str], ...] = (
    (0.0, "less than 0.1 %"),
    (0.001, "0.1 % to 1 %"),
    (0.01, "1 % to 10 %"),
    (0.1, "10 % to 100 %"),
    (1.0, "100 % or more"),
)
# Below this many per cent, digits say nothing to a reader; from this many times on, neither do per cent.
_TINY = 1e-6
_TIMES = 10.0
_HUGE = 1e6
_RANDOM = "seed_generator_state"


def layers(changes: Sequence[Change]) -> list[tuple[str, list[Change]]]:
    """The changed weights of each op with its path; those that moved furthest come first, whole numbers last."""
    found: dict[tuple[bool, str], list[Change]] = {}
    for change in changes:
        found.setdefault((_whole([change]), change.path.rpartition("/")[0]), []).append(change)
    # Two digits are enough: those that moved alike stay in the order of the model.
    ordered = sorted(found.items(), key=lambda item: (item[0][0], -float(f"{moved(item[1]):.1e}")))
    return [(path, group) for (_, path), group in ordered]


def moved(changes: Sequence[Change]) -> float:
    """The norm of the difference as a part of the norm before: 0.01 for 1 %; infinite for what came from zero or is NaN."""
    difference = _norm(change.measure.get("difference") for change in changes)
    norm = _norm(_fact(change.old, "norm") for change in changes)
    broken = any(
        change.what in ("shape", "presence") or any(_fact(change.new, key) for key in ("nan", "inf"))
        for change in changes
    )
    if broken or (difference and not norm):
        return math.inf
    return difference / norm if difference else 0.0


def how_far(changes: Sequence[Change]) -> str:
    """How far some variables moved: `by 12 % of the norm, 0.034 at most; 80 of 80 numbers`."""
    if len(changes) == 1 and (values := _values(changes[0])) is not None:
        return values
    if changes and all(change.path.endswith(_RANDOM) for change in changes):
        return "another random state"
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
        largest = max(_number(change.measure.get("largest")) for change in changes)
        words = [f"{_share(difference, norm)}, {largest:.3g} at most", count]
    for key, word in (("nan", "NaN"), ("inf", "infinite")):
        old, new = (int(sum(_number(_fact(side, key)) for side in sides)) for sides in _sides(changes))
        if old != new:
            words.append(f"{new:,} {word} (was {old:,})")
    return "; ".join(words)


def percent(share: float) -> str:
    """A share in per cent, with as many digits as it needs: `25 %`, `0.0003 %`."""
    number = 100 * share
    if number < _TINY:
        return "less than 0.000001 %"
    digits = max(1 - math.floor(math.log10(number)), 0)
    text = f"{number:,.{digits}f}"
    return f"{text.rstrip('0').rstrip('.') if '.' in text else text} %"


def _share(difference: float, norm: float) -> str:
    if not norm:
        return f"from zero to a norm of {difference:.3g}"
    times = difference / norm
    if times < _TIMES:
        return f"by {percent(times)} of the norm"
    return f"by {times:,.0f} times the old norm" if times < _HUGE else "by more than a million times the old norm"


def _values(change: Change) -> str | None:
    """A variable of one number, by its values."""
    old, new = _fact(change.old, "value"), _fact(change.new, "value")
    if old is None or new is None or change.what != "values":
        return None
    return f"{show(old)} -> {show(new)}"


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


def _norm(parts: Iterable[Argument]) -> float:
    return math.hypot(*map(_number, parts))
