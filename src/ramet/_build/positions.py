"""Positions along the axes of a tensor, and how each new position relates to the old ones.

A resized input has new positions along some axes. `follow.py` propagates them through operations; `weight_axes.py` says
which weights belong to them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

# Sizes of unknown axes while something is tried out; the batch is never the length of anything else.
_BATCH, _UNKNOWN = 2, 8


@dataclass(frozen=True, eq=False)
class Axis:
    """The positions along one axis of a tensor.

    Attributes:
        sources: One row per position with the old positions whose mean is taken, padded with -1; a row of -1 has no old
            position. None if every position is unchanged.
        length: How many positions there were.
        lost: Why positions do not correspond to the old ones, or None.
        objection: Why the policy cannot make weights for these positions, or None.
    """

    sources: Array | None = None
    length: int = 0
    lost: str | None = None
    objection: str | None = None

    @property
    def same(self) -> bool:
        """Whether every position is what it was."""
        return self.sources is None and self.lost is None

    def key(self) -> tuple[Any, ...]:
        """What two axes have in common that mean the same."""
        return (None if self.sources is None else (self.sources.shape, self.sources.tobytes()), self.lost is not None)


SAME = Axis()


def lost(reason: str) -> Axis:
    """An axis whose positions do not correspond to the old ones."""
    return Axis(lost=reason)


def resized(old: int | None, new: int | None, policy: str) -> Axis:
    """An axis of the input whose size is another, and where the weights for each position come from."""
    if old == new:
        return SAME
    if old is None or new is None:
        return lost("the input may have any size along this axis")
    objection = None
    if old == 0:
        return lost("the input had no positions along this axis")
    if policy == "slice" and new > old:
        objection = f"'slice' only shrinks, and an axis of the input grows from {old} to {new}"
    if policy == "pad" and new < old:
        objection = f"'pad' only grows, and an axis of the input shrinks from {old} to {new}"
    place = np.arange(new)
    if policy == "repeat":
        return Axis((place % old)[:, None], old)
    if policy == "mean":
        everything = np.broadcast_to(np.arange(old), (new, old)).copy()
        if new > old:
            everything[:old] = -1
            everything[:old, 0] = np.arange(old)
        return Axis(everything, old)
    return Axis(np.where(place < old, place, -1)[:, None], old, objection=objection)


def widened(axis: Axis, count: int) -> Axis:
    """The axis on which each position has become `count` positions, one after the other."""
    if axis.sources is None or count == 1:
        return axis
    spread = np.where(
        axis.sources[:, None, :] < 0, -1, axis.sources[:, None, :] * count + np.arange(count)[None, :, None]
    )
    sources = spread.reshape(-1, axis.sources.shape[1])
    return Axis(sources, axis.length * count, objection=axis.objection)


def fitted(value: Array, axis: int, positions: Axis, fill: float = 0.0) -> Array:
    """An array with the slices along one axis that the new positions need."""
    assert positions.sources is not None, "asked only where positions changed"
    sources = positions.sources
    known = sources >= 0
    taken = np.take(value, np.where(known, sources, 0).ravel(), axis)
    shape = (*value.shape[:axis], *sources.shape, *value.shape[axis + 1 :])
    taken = taken.reshape(shape)
    weights = known.reshape((1,) * axis + sources.shape + (1,) * (value.ndim - axis - 1))
    if sources.shape[1] == 1:
        return np.where(weights, taken, np.asarray(fill, value.dtype)).squeeze(axis + 1)
    # Half floats would lose the sum of a long axis, and numpy has no rule for those of other libraries.
    wide = np.where(weights, taken.astype(np.complex128 if value.dtype.kind == "c" else np.float64), 0.0)
    counts = np.maximum(known.sum(1), 1).reshape((1,) * axis + (-1,) + (1,) * (value.ndim - axis - 1))
    # One source is taken as it is: its bits stay.
    first = np.take(taken, 0, axis + 1)
    single = (known.sum(1) == 1).reshape(counts.shape)
    mean = (wide.sum(axis + 1) / counts).astype(value.dtype)
    none = (known.sum(1) == 0).reshape(counts.shape)
    return np.where(none, np.asarray(fill, value.dtype), np.where(single, first, mean))


@dataclass(frozen=True)
class Tracked:
    """A tensor that may have other positions than before: its old and new shape, with every size known, and its axes."""

    old: tuple[int, ...]
    new: tuple[int, ...]
    axes: tuple[Axis, ...]

    @property
    def same(self) -> bool:
        """Whether all positions are what they were."""
        return all(axis.same for axis in self.axes)


def untouched(tensor: Any) -> Tracked:
    """A tensor whose positions are what they were."""
    shape = sizes_of(tensor.shape)
    return Tracked(shape, shape, (SAME,) * len(shape))


def resized_input(old: Sequence[int | None], new: Sequence[int | None], policy: str) -> Tracked:
    """An input of another shape, both with the batch first."""
    axes = tuple(resized(a, b, policy) for a, b in zip(old, new, strict=True))
    # An axis of any size is tried out in the old one.
    filled = tuple(a if b is None else b for a, b in zip(old, new, strict=True))
    before = tuple(b if a is None else a for a, b in zip(old, new, strict=True))
    return Tracked(sizes_of(before), sizes_of(filled), axes)


def sizes_of(shape: Sequence[int | None]) -> tuple[int, ...]:
    """A shape with sizes for the axes of unknown size."""
    return tuple((_UNKNOWN if place else _BATCH) if size is None else size for place, size in enumerate(shape))
