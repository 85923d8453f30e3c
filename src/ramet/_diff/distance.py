"""How far weights moved: the distance between two versions of a variable, as a number and in words."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ramet._diff.change import Change
from ramet._diff.words import describe_value
from ramet._graph import Argument, FrozenDict, group

# The steps of the relative distance that a picture distinguishes, from the lower bound on, each with its words.
DISTANCE_STEPS: tuple[tuple[float, str], ...] = (
    (0.0, "less than 0.1 %"),
    (0.001, "0.1 % to 1 %"),
    (0.01, "1 % to 10 %"),
    (0.1, "10 % to 100 %"),
    (1.0, "100 % or more"),
)
# Below this many percent, digits mean nothing to a reader; from this many times on, neither do percent.
_TINY = 1e-6
_TIMES = 10.0
_HUGE = 1e6
_RANDOM_STATE = "seed_generator_state"


def group_by_layer(changes: Sequence[Change]) -> list[tuple[str, Sequence[Change]]]:
    """Return the changed weights of each op with its path: those that moved furthest first, integers last."""
    found = group(((_are_integers([change]), change.path.rpartition("/")[0]), change) for change in changes)
    # With two digits: ops that moved about equally far stay in the order of the model.
    ordered = sorted(found.items(), key=lambda item: (item[0][0], -float(f"{relative_distance(item[1]):.1e}")))
    return [(path, moved) for (_, path), moved in ordered]


def relative_distance(changes: Sequence[Change]) -> float:
    """Return the norm of the difference relative to the norm before: 0.01 for 1 %; infinite if that was zero or is NaN now."""
    difference, norm = _difference(changes), _norm_before(changes)
    is_incomparable = any(
        change.what in ("shape", "presence") or any(_fact(change.new, key) for key in ("nan", "inf"))
        for change in changes
    )
    if is_incomparable or (difference and not norm):
        return math.inf
    return difference / norm if difference else 0.0


def describe_distance(changes: Sequence[Change]) -> str:
    """Describe how far some variables moved: `moved by 12 % of the norm, largest change 0.034; 80 of 80 numbers changed`."""
    if len(changes) == 1 and (values := _single_values(changes[0])) is not None:
        return values
    if changes and all(change.path.endswith(_RANDOM_STATE) for change in changes):
        return "random state changed"
    size, changed = (int(sum(_number(change.measure.get(key)) for change in changes)) for key in ("size", "changed"))
    if not changed:
        word = "the dtype" if {change.what for change in changes} == {"dtype"} else "bits"
        return f"only {word} changed; {size:,} values are equal"
    parts = [f"{changed:,} of {size:,} {'number' if size == 1 else 'numbers'} changed"]
    difference = _difference(changes)
    largest = max(_number(change.measure.get("largest")) for change in changes)
    if difference and _are_integers(changes):
        parts.insert(0, f"largest change {largest:,.0f}")
    elif difference:
        parts.insert(0, f"moved {_share(difference, _norm_before(changes))}, largest change {largest:.3g}")
    for key, word in (("nan", "NaN"), ("inf", "infinite")):
        old, new = (
            int(sum(_number(_fact(side, key)) for side in sides))
            for sides in ([change.old for change in changes], [change.new for change in changes])
        )
        if old != new:
            parts.append(f"{new:,} {word} (was {old:,})")
    return "; ".join(parts)


def percent(share: float) -> str:
    """Return a share in percent, with as many digits as it needs: `25 %`, `0.0003 %`."""
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


def _single_values(change: Change) -> str | None:
    """Describe a variable of one number by its values; None for any other."""
    old, new = _fact(change.old, "value"), _fact(change.new, "value")
    if old is None or new is None or change.what != "values":
        return None
    return f"{describe_value(old)} -> {describe_value(new)}"


def _are_integers(changes: Sequence[Change]) -> bool:
    """Return whether all are integers, such as counters and random states, whose norm means nothing."""
    return all("int" in str(_fact(change.old, "dtype")) for change in changes)


def _difference(changes: Sequence[Change]) -> float:
    return _norm(change.measure.get("difference") for change in changes)


def _norm_before(changes: Sequence[Change]) -> float:
    return _norm(_fact(change.old, "norm") for change in changes)


def _fact(side: Argument, key: str) -> Argument:
    return side.get(key) if isinstance(side, FrozenDict) else None


def _number(value: object) -> float:
    return float(value) if isinstance(value, int | float) else 0.0


def _norm(parts: Iterable[Argument]) -> float:
    return math.hypot(*map(_number, parts))
