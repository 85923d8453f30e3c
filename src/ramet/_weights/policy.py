"""An array made to fit another shape, by a policy: what is kept, and what stands where nothing was."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np

from ramet.errors import ArgumentError, WeightsDoNotFitError, shown

__all__ = ["POLICIES", "adapt", "check_policy", "is_inexact"]

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

POLICIES = ("refuse", "slice", "pad", "mean", "repeat", "fresh")


def adapt(
    value: Array,
    shape: tuple[int, ...],
    policy: str,
    *,
    fresh: Array | None = None,
    path: str = "",
    blocks: Mapping[int, int] | None = None,
) -> Array:
    """The array in another shape, in its own dtype; the array itself where it has that shape already.

    The axes that differ are adapted one after the other, the first one first. The array passed in is not changed.

    Args:
        value: What there is.
        shape: What is wanted, with as many axes.
        policy: `"refuse"`: no other shape. `"slice"`: the first ones, to shrink only. `"pad"`: zeros after the old
            ones, to grow only. `"mean"`: the old ones, then their mean; to shrink, the mean of all in every place.
            `"repeat"`: the old ones over and over; to shrink, the first ones. `"fresh"`: nothing of the old, but `fresh`.
        fresh: What `"fresh"` gives; newly initialised values of the wanted shape.
        path: Where the array stands, for messages.
        blocks: By axis, the number of equal blocks that lie behind each other there, such as the gates of an LSTM: each
            block is adapted on its own.

    Raises:
        WeightsDoNotFitError: the policy cannot make the one from the other.

    >>> adapt(np.array([1.0, 3.0]), (3,), "pad")
    array([1., 3., 0.])
    >>> adapt(np.array([1.0, 3.0]), (4,), "mean")
    array([1., 3., 2., 2.])
    >>> adapt(np.array([1, 3]), (5,), "repeat")
    array([1, 3, 1, 3, 1])
    >>> adapt(np.array([[1, 2, 3], [4, 5, 6]]), (1, 2), "slice")
    array([[1, 2]])
    >>> adapt(np.array([1, 2, 8, 9]), (6,), "pad", blocks={0: 2})
    array([1, 2, 0, 8, 9, 0])
    """
    check_policy(policy)
    value = np.asarray(value)
    if value.shape == shape:
        return value
    if policy == "fresh" and fresh is not None:
        return np.array(fresh)
    if policy in ("refuse", "fresh"):
        reason = "the shapes differ" if policy == "refuse" else "there are no fresh values to take"
        raise _misfit(value.shape, shape, path, reason, policy)
    if value.ndim != len(shape):
        reason = f"'{policy}' works axis by axis, and there are {value.ndim} and {len(shape)} axes"
        raise _misfit(value.shape, shape, path, reason, policy)
    split = _split(value.shape, shape, blocks or {}, path, policy)
    result, inner = value.reshape(split[0]), split[1]
    for axis, (length, wanted) in enumerate(zip(split[0], inner, strict=True)):
        if length != wanted:
            objection = _objection(result, axis, wanted, policy)
            if objection is not None:
                raise _misfit(value.shape, shape, path, objection, policy)
            result = _AXIS[policy](result, axis, wanted)
    return result.reshape(shape)


def _split(
    old: tuple[int, ...], new: tuple[int, ...], blocks: Mapping[int, int], path: str, policy: str
) -> tuple[list[int], list[int]]:
    """Both shapes with an axis of its own for the blocks of each axis that has some."""
    before: list[int] = []
    after: list[int] = []
    for axis, (length, wanted) in enumerate(zip(old, new, strict=True)):
        count = blocks.get(axis, 1)
        if count > 1 and length != wanted:
            if length % count or wanted % count:
                raise _misfit(old, new, path, f"axis {axis} holds {count} equal parts, and they do not fit", policy)
            before += [count, length // count]
            after += [count, wanted // count]
        else:
            before.append(length)
            after.append(wanted)
    return before, after


def check_policy(policy: Any) -> None:
    """Raise an error unless there is a policy of this name."""
    if not isinstance(policy, str) or policy not in POLICIES:
        raise ArgumentError(
            f"Cannot adapt weights with policy={shown(policy)}: there is no such policy.",
            expected=", ".join(f"'{name}'" for name in POLICIES),
            found=None if isinstance(policy, str) else f"an object of class {type(policy).__name__}",
            fix="pass one of these.",
        )


def is_inexact(dtype: Any) -> bool:
    """Whether numbers of this dtype have a mean: floats of any width, and complex numbers.

    >>> is_inexact(np.dtype("float16")), is_inexact("bfloat16"), is_inexact("int8"), is_inexact("bool")
    (True, True, False, False)
    """
    return str(dtype).startswith(("float", "bfloat", "complex"))


def _objection(value: Array, axis: int, wanted: int, policy: str) -> str | None:
    """Why a policy cannot bring an axis to the length that is wanted, or None."""
    length = value.shape[axis]
    if policy == "slice" and wanted > length:
        return f"'slice' only shrinks, and axis {axis} must grow from {length} to {wanted}"
    if policy == "pad" and wanted < length:
        return f"'pad' only grows, and axis {axis} must shrink from {length} to {wanted}"
    if policy in ("mean", "repeat") and length == 0:
        return f"axis {axis} holds nothing to make {wanted} of"
    if policy == "mean" and not is_inexact(value.dtype):
        return f"'mean' needs floats, and these are {value.dtype}"
    return None


def _slice(value: Array, axis: int, wanted: int) -> Array:
    return np.take(value, np.arange(wanted), axis)


def _pad(value: Array, axis: int, wanted: int) -> Array:
    missing = (*value.shape[:axis], wanted - value.shape[axis], *value.shape[axis + 1 :])
    return np.concatenate([value, np.zeros(missing, value.dtype)], axis)


def _mean(value: Array, axis: int, wanted: int) -> Array:
    length = value.shape[axis]
    # Half floats would lose the sum of a long axis, and numpy has no rule for those of other libraries.
    wide = value.astype(np.complex128 if value.dtype.kind == "c" else np.float64)
    mean = wide.mean(axis, keepdims=True).astype(value.dtype)
    kept = length if wanted > length else 0
    return np.concatenate([_slice(value, axis, kept), mean.repeat(wanted - kept, axis)], axis)


def _repeat(value: Array, axis: int, wanted: int) -> Array:
    repeated: Array = np.take(value, np.arange(wanted) % value.shape[axis], axis)
    return repeated


_AXIS = {"slice": _slice, "pad": _pad, "mean": _mean, "repeat": _repeat}


def _misfit(old: tuple[int, ...], new: tuple[int, ...], path: str, reason: str, policy: str) -> WeightsDoNotFitError:
    others = ", ".join(f"'{name}'" for name in POLICIES if name not in ("refuse", policy))
    place = f"'{path}', which is" if path else "the shape"
    return WeightsDoNotFitError(
        f"Cannot put {old} into {place} {new}: {reason}.",
        expected=f"shape {new}",
        found=f"shape {old}",
        fix=f"choose another policy: {others}.",
        path=path or None,
    )
