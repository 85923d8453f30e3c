"""Positions along the axes of a tensor, and how each new position relates to the old ones.

When an input is resized, weights such as the kernel of a dense layer behind a `Flatten` must be adapted, and the right slice
depends on which pixel and channel each of its rows belongs to. So every tensor on the way carries, for each axis, the old
positions that each new position corresponds to. `propagation.py` propagates these through operations without weights,
`weight_axes.py` through layers with weights, and lists the weights to adapt. Comparing only the shapes of weights, as
`transfer` does, cannot tell the rows of two pixels from those of two channels.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

Array: TypeAlias = np.ndarray[Any, np.dtype[Any]]

# Sizes of unknown axes while an operation is tried out; the batch size differs from that of any other axis.
_BATCH, _UNKNOWN = 2, 8


@dataclass(frozen=True, eq=False)
class Axis:
    """The positions along one axis of a tensor.

    Attributes:
        sources: One row per position with the old positions to average, padded with -1; a row of -1 has no old
            position. None if every position is unchanged.
        length: The number of old positions.
        lost: The reason why positions do not correspond to the old ones, or None.
        objection: The reason why the policy cannot make weights for these positions, or None.
    """

    sources: Array | None = None
    length: int = 0
    lost: str | None = None
    objection: str | None = None

    @property
    def same(self) -> bool:
        """True if every position is unchanged."""
        return self.sources is None and self.lost is None

    def key(self) -> tuple[Any, ...]:
        """Return a value that is equal for axes with the same positions."""
        return (None if self.sources is None else (self.sources.shape, self.sources.tobytes()), self.lost is not None)


SAME = Axis()


def lost_axis(reason: str) -> Axis:
    """Return an axis whose positions do not correspond to the old ones."""
    return Axis(lost=reason)


def combined(axis: Axis, reason: str) -> Axis:
    """Return an axis along which an operation combines or moves positions: changed ones are lost."""
    return axis if axis.same else lost_axis(axis.lost or reason)


def _resized_axis(old: int | None, new: int | None, policy: str) -> Axis:
    """Return an input axis of another size, with the old positions that the policy takes for each new one."""
    if old == new:
        return SAME
    if old is None or new is None:
        return lost_axis("the input can have any size along this axis")
    objection = None
    if old == 0:
        return lost_axis("the input had no positions along this axis")
    if policy == "slice" and new > old:
        objection = f"'slice' can only shrink, but an axis of the input grows from {old} to {new}"
    if policy == "pad" and new < old:
        objection = f"'pad' can only grow, but an axis of the input shrinks from {old} to {new}"
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
    """Return the axis after each position became `count` consecutive positions."""
    if axis.sources is None or count == 1:
        return axis
    spread = np.where(
        axis.sources[:, None, :] < 0, -1, axis.sources[:, None, :] * count + np.arange(count)[None, :, None]
    )
    sources = spread.reshape(-1, axis.sources.shape[1])
    return Axis(sources, axis.length * count, objection=axis.objection)


def take_positions(value: Array, axis: int, positions: Axis, fill: float = 0.0) -> Array:
    """Return an array with the slices along one axis that the new positions need."""
    assert positions.sources is not None, "called only where positions changed"
    sources = positions.sources
    known = sources >= 0
    taken = np.take(value, np.where(known, sources, 0).ravel(), axis)
    shape = (*value.shape[:axis], *sources.shape, *value.shape[axis + 1 :])
    taken = taken.reshape(shape)
    weights = known.reshape((1,) * axis + sources.shape + (1,) * (value.ndim - axis - 1))
    if sources.shape[1] == 1:
        return np.where(weights, taken, np.asarray(fill, value.dtype)).squeeze(axis + 1)
    # Half floats would lose precision in the sum of a long axis, and numpy cannot promote the floats of other libraries.
    wide = np.where(weights, taken.astype(np.complex128 if value.dtype.kind == "c" else np.float64), 0.0)
    counts = known.sum(1).reshape((1,) * axis + (-1,) + (1,) * (value.ndim - axis - 1))
    mean = (wide.sum(axis + 1) / np.maximum(counts, 1)).astype(value.dtype)
    # A single source is copied bit by bit.
    mean = np.where(counts == 1, np.take(taken, 0, axis + 1), mean)
    return np.where(counts == 0, np.asarray(fill, value.dtype), mean)


@dataclass(frozen=True)
class TrackedTensor:
    """A tensor with its old and its new shape, every size known, and its axes."""

    old: tuple[int, ...]
    new: tuple[int, ...]
    axes: tuple[Axis, ...]

    @property
    def same(self) -> bool:
        """True if all positions are unchanged."""
        return all(axis.same for axis in self.axes)


def unchanged_positions(tensor: Any) -> TrackedTensor:
    """Return a tracked tensor whose positions did not change."""
    shape = concrete_shape(tensor.shape)
    return TrackedTensor(shape, shape, (SAME,) * len(shape))


def resized_input(old: Sequence[int | None], new: Sequence[int | None], policy: str) -> TrackedTensor:
    """Return a tracked input of another shape; both shapes include the batch."""
    axes = tuple(_resized_axis(a, b, policy) for a, b in zip(old, new, strict=True))
    # Operations are tried out with the known size where the other one is None.
    filled = tuple(a if b is None else b for a, b in zip(old, new, strict=True))
    before = tuple(b if a is None else a for a, b in zip(old, new, strict=True))
    return TrackedTensor(concrete_shape(before), concrete_shape(filled), axes)


def concrete_shape(shape: Sequence[int | None]) -> tuple[int, ...]:
    """Return a shape with a size for each axis of unknown size."""
    return tuple((_UNKNOWN if place else _BATCH) if size is None else size for place, size in enumerate(shape))
