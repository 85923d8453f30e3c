"""Propagation of positions through operations without weights.

There is no rule per operation, because a rule can be wrong, and users' layers would have none. Operations that only move values
(`Flatten`, `Reshape`, `Permute`, `Concatenate`) are run on labels instead, once in the old and once in the new shape. For
operations that compute, one position of the input is changed at a time to see which positions of the result depend on it.
Only elementwise operations and pooling, of which image models mostly consist, are known by name: trying them out takes time
on large images. Positions that cannot be followed are marked as lost, and weights at lost positions are never adapted.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, TypeAlias

import keras
import numpy as np
from keras import layers

from ramet._build.positions import SAME, Array, Axis, TrackedTensor, combined, lost_axis
from ramet._keras import structure

# The classes of Keras' layers and operations, and its activations, that work elementwise.
_ELEMENTWISE_LAYERS = frozenset(
    (  # noqa: SIM905
        "ReLU LeakyReLU ELU Dropout SpatialDropout1D SpatialDropout2D SpatialDropout3D GaussianNoise GaussianDropout "
        "AlphaDropout Identity ActivityRegularization Add Subtract Multiply Average Maximum Minimum"
    ).split()
)
_ELEMENTWISE_OPS = frozenset(
    (  # noqa: SIM905
        "Add Subtract Multiply Divide TrueDivide Maximum Minimum Negative Abs Absolute Square Sqrt Exp Log "
        "Relu Relu6 LeakyRelu Elu Selu Silu Gelu Sigmoid HardSigmoid HardSilu Tanh Softplus Softsign Clip "
        "Cast Identity"
    ).split()
)
_ELEMENTWISE_FUNCTIONS = frozenset(
    (  # noqa: SIM905
        "relu relu6 leaky_relu elu selu silu swish gelu sigmoid hard_sigmoid hard_silu hard_swish tanh "
        "softplus softsign mish exponential linear log_sigmoid celu"
    ).split()
)
# Layers that combine positions in space and keep channels apart; the second group combines all positions.
_IN_SPACE = tuple(
    getattr(layers, f"{name}{rank}D")
    for name in ("MaxPooling", "AveragePooling", "ZeroPadding", "Cropping", "UpSampling")
    for rank in (1, 2, 3)
)
_OVER_SPACE = tuple(
    getattr(layers, f"{name}{rank}D") for name in ("GlobalMaxPooling", "GlobalAveragePooling") for rank in (1, 2, 3)
)

# Operations are not tried out on larger arrays than this.
_LIMIT = 30_000_000

# Runs an operation on arrays instead of tensors, and returns arrays.
Run: TypeAlias = Callable[[list[Array]], list[Array]]


def known_output_axes(op: Any, axes: list[tuple[Axis, ...]]) -> tuple[tuple[Axis, ...], ...] | None:
    """Return the axes of the outputs of a known operation, or None if it must be tried out."""
    if _is_elementwise(op) and len({len(given) for given in axes}) == 1:
        merged = tuple(_merge_known(op, [given[k] for given in axes]) for k in range(len(axes[0])))
        return (merged,)
    if type(op) in _IN_SPACE + _OVER_SPACE and len(axes) == 1:
        (given,) = axes
        rest = list(given[1:])
        first = getattr(op, "data_format", "channels_last") == "channels_first"
        channel = rest.pop(0 if first else -1)
        if type(op) in _OVER_SPACE:
            after = [SAME] * len(rest) if op.keepdims else []
        else:
            reason = f"'{op.name}' combines or moves positions along a resized axis"
            after = [combined(axis, reason) for axis in rest]
        return ((given[0], channel, *after) if first else (given[0], *after, channel),)
    return None


def _is_elementwise(op: Any) -> bool:
    if type(op) is layers.Activation:
        return getattr(op.activation, "__name__", "") in _ELEMENTWISE_FUNCTIONS
    known = _ELEMENTWISE_LAYERS if isinstance(op, keras.Layer) else _ELEMENTWISE_OPS
    return structure.is_from_keras(op) and type(op).__name__ in known


def _merge_known(op: Any, found: list[Axis]) -> Axis:
    changed = [axis for axis in found if not axis.same]
    if not changed:
        return SAME
    if len({axis.key() for axis in changed}) == 1:
        return changed[0]
    return lost_axis(f"'{op.name}' combines tensors whose positions changed in different ways")


def propagate(
    run: Run, inputs: list[TrackedTensor], dtypes: list[str], what: str, policy: str
) -> list[TrackedTensor] | None:
    """Return the outputs of an operation on tracked tensors, or None if it cannot be run.

    `what` names the operation in the reason why positions are lost; `policy` is the one for weights at new positions.
    """
    if sum(math.prod(one.old) + math.prod(one.new) for one in inputs) > _LIMIT:
        return None
    moved = _moved(run, inputs, policy, what)
    if moved is not None:
        return moved
    try:
        return _computed(run, inputs, dtypes, what, policy)
    except _CannotRunError:
        return None


def _moved(run: Run, inputs: list[TrackedTensor], policy: str, what: str) -> list[TrackedTensor] | None:
    """Return the outputs of an operation that only moves values, or None for any other operation."""
    old = _labels(run, [one.old for one in inputs])
    new = None if old is None else _labels(run, [one.new for one in inputs])
    if old is None or new is None or [one.ndim for one in old] != [one.ndim for one in new]:
        return None
    found = []
    for before, after in zip(old, new, strict=True):
        axes = tuple(_axis(axis, before, after, inputs, policy, what) for axis in range(before.ndim))
        found.append(TrackedTensor(before.shape, after.shape, axes))
    return found


def _labels(run: Run, shapes: list[tuple[int, ...]]) -> list[Array] | None:
    """Return, for each output, the number of the input value at each position, counted over all inputs from 0.

    The operation is run with two orders of the labels: if the values decide what goes where, the results differ.
    """
    *ends, total = np.cumsum([math.prod(shape) for shape in shapes]).tolist()
    results = []
    for order in (np.arange(1, total + 1), np.random.default_rng(0).permutation(total) + 1):
        parts = [part.reshape(shape).astype("int32") for part, shape in zip(np.split(order, ends), shapes, strict=True)]
        try:
            outputs = run(parts)
        except Exception:  # noqa: BLE001  # not every operation accepts integers
            return None
        number = np.empty(total + 1, "int64")
        number[order] = np.arange(total)
        found = []
        for output in outputs:
            whole = np.asarray(output)
            if whole.dtype.kind not in "iuf" or not whole.size:
                return None
            whole = whole.astype("float64")
            if not np.all((whole >= 1) & (whole <= total) & (whole == np.floor(whole))):
                return None
            found.append(number[whole.astype("int64")])
        results.append(found)
    first, second = results
    if len(first) != len(second) or not all(map(np.array_equal, first, second)):
        return None
    return first


def _coordinates(labels: Array, shapes: list[tuple[int, ...]]) -> list[Array]:
    """Return the input, and the position along each axis of each input, that each value comes from.

    Positions along the axes of other inputs are -1.
    """
    starts = np.cumsum([0, *(math.prod(shape) for shape in shapes)])
    number = np.searchsorted(starts, labels, side="right") - 1
    found = [number]
    for index, shape in enumerate(shapes):
        mine = number == index
        positions = np.unravel_index(np.where(mine, labels - starts[index], 0), shape) if shape else ()
        found += [np.where(mine, one, -1) for one in positions]
    return found


def _axis(index: int, before: Array, after: Array, inputs: list[TrackedTensor], policy: str, what: str) -> Axis:
    """Return the positions along one axis of the output of an operation that only moves values."""

    def along(labels: Array, shapes: list[tuple[int, ...]]) -> list[Array]:
        moved = [np.moveaxis(one, index, 0) for one in _coordinates(labels, shapes)]
        return [one.reshape(one.shape[0], -1) for one in moved]

    old = along(before, [one.old for one in inputs])
    new = along(after, [one.new for one in inputs])
    axes = [SAME, *(axis for one in inputs for axis in one.axes)]
    if _varies(old[0]) or _varies(new[0]):
        return _axis_of(axes, old, new, policy, what)
    # Values of several inputs may be side by side along another axis: each input is looked at on its own.
    found = []
    for number in range(len(inputs)):
        ours, theirs = old[0][0] == number, new[0][0] == number
        if ours.any() != theirs.any():
            return lost_axis(f"'{what}' takes values from other inputs than before")
        if ours.any():
            found.append(_axis_of(axes, [one[:, ours] for one in old], [one[:, theirs] for one in new], policy, what))
    if len({one.key() for one in found}) == 1:
        return found[0]
    return lost_axis(f"'{what}' places different positions side by side")


def _axis_of(axes: list[Axis], old: list[Array], new: list[Array], policy: str, what: str) -> Axis:
    """Return the positions along the first axis from the coordinates there: the input, and the position on each axis."""
    varying = [number for number in range(len(axes)) if _varies(old[number]) or _varies(new[number])]
    reason = next((axes[number].lost for number in varying if axes[number].lost is not None), None)
    if reason is not None:
        return lost_axis(reason)
    if not varying and len(old[0]) != len(new[0]):
        return lost_axis(f"'{what}' returns another number of values along this axis")
    if all(axes[n].same and np.array_equal(old[n], new[n]) for n in varying):
        return SAME
    if any(np.any(one[number] != one[number][:, :1]) for number in varying for one in (old, new)):
        return lost_axis(f"'{what}' merges several axes into one in another way than before")
    before, after = ([one[number][:, 0] for number in varying] for one in (old, new))
    if all(axes[number].same for number in varying) and all(map(np.array_equal, before, after)):
        return SAME
    return _product([axes[number] for number in varying], before, after, policy, what)


def _varies(coordinate: Array) -> bool:
    """Return whether a coordinate changes anywhere along the first axis. Values from other inputs have none (-1)."""
    known = coordinate >= 0
    low = np.where(known, coordinate, np.iinfo("int64").max).min(0)
    high = np.where(known, coordinate, -1).max(0)
    return bool(np.any(low < high))


def _product(axes: list[Axis], old: list[Array], new: list[Array], policy: str, what: str) -> Axis:
    """Return an axis made of several axes: a position there is a position on each of them."""
    length, count = len(old[0]), len(new[0])
    sizes = [
        int(max(axis.length, o.max(initial=0) + 1, n.max(initial=0) + 1)) + 1
        for axis, o, n in zip(axes, old, new, strict=True)
    ]
    if math.prod(sizes) > _LIMIT:
        return lost_axis(f"'{what}' merges too many positions into one axis to follow them")
    # The coordinate -1, of values from other inputs, counts as one more position: it is wrapped to the last one.
    # `tile` and similar operations repeat values: the first copy in the new shape is matched with the first in the old one,
    # and so on.
    old_copy, new_copy = (_copy_numbers(np.ravel_multi_index(one, sizes, mode="wrap")) for one in (old, new))
    axes, old, new = [*axes, SAME], [*old, old_copy], [*new, new_copy]
    sizes.append(int(max(old_copy.max(initial=0), new_copy.max(initial=0))) + 2)
    table = np.full(math.prod(sizes), -1, "int64")
    table[np.ravel_multi_index(old, sizes, mode="wrap")] = np.arange(length)
    rows = np.zeros((count, 1), "int64")
    valid = np.ones((count, 1), bool)
    for axis, coordinate, size in zip(axes, new, sizes, strict=True):
        if axis.sources is None:
            mine = coordinate[:, None] % size
            known = np.ones_like(mine, dtype=bool)
        else:
            outside = coordinate < 0
            mine = axis.sources[np.where(outside, 0, coordinate)]
            known = (mine >= 0) | outside[:, None]
            mine = np.where(outside[:, None], size - 1, mine)
            if mine.shape[1] > 1:  # one source is enough where there is no position
                known &= ~outside[:, None] | (np.arange(mine.shape[1]) == 0)[None]
        if rows.shape[0] * rows.shape[1] * mine.shape[1] > _LIMIT:
            return lost_axis(f"'{what}' merges too many positions into one axis to follow them")
        rows = (rows[:, :, None] * size + np.where(known, mine, 0)[:, None, :]).reshape(count, -1)
        valid = (valid[:, :, None] & known[:, None, :]).reshape(count, -1)
    found = np.where(valid, table[rows], -1)
    if np.any(valid & (found < 0)) and policy in ("mean", "repeat"):
        return lost_axis(f"'{what}' returns values that it left out before")
    keep = max(1, int((found >= 0).sum(1).max(initial=0)))
    if keep < found.shape[1]:
        order = np.argsort(found < 0, axis=1, kind="stable")[:, :keep]
        found = np.take_along_axis(found, order, 1)
    objection = next((axis.objection for axis in axes if axis.objection is not None), None)
    if length == count and found.shape[1] == 1 and np.array_equal(found[:, 0], np.arange(count)):
        return SAME
    return Axis(found, length, objection=objection)


def _copy_numbers(numbers: Array) -> Array:
    """Return, for each number, how many equal ones come before it."""
    order = np.argsort(numbers, kind="stable")
    ordered = numbers[order]
    starts = np.flatnonzero(np.r_[True, ordered[1:] != ordered[:-1]])
    first = np.repeat(starts, np.diff(np.r_[starts, len(ordered)]))
    copies = np.empty(len(numbers), "int64")
    copies[order] = np.arange(len(numbers)) - first
    return copies


def _computed(
    run: Run, inputs: list[TrackedTensor], dtypes: list[str], what: str, policy: str
) -> list[TrackedTensor] | None:
    """Return the outputs of an operation that computes, after trying out which positions depend on which."""
    old, new = (_Trial(run, [getattr(one, side) for one in inputs], dtypes) for side in ("old", "new"))
    if [output.ndim for output in old.outputs] != [output.ndim for output in new.outputs]:
        return None
    axes = [[SAME] * output.ndim for output in old.outputs]
    for number, one in enumerate(inputs):
        for place, axis in enumerate(one.axes):
            if axis.same:
                continue
            both = zip(old.dependence(number, place), new.dependence(number, place), strict=True)
            kinds = [list(map(_kind, before, after)) for before, after in both]
            # An axis of each output must keep the positions apart.
            if policy == "pad" and axis.sources is not None and not all("carried" in kind for kind in kinds):
                raise CombinesPaddingError(place)
            for mine, kind in zip(axes, kinds, strict=True):
                for k in range(len(mine)):
                    if kind[k] != "none":
                        lost = lost_axis(f"'{what}' combines positions along this axis")
                        mine[k] = _merged(mine[k], axis if kind[k] == "carried" else lost, what)
    found = []
    for earlier, later, mine in zip(old.outputs, new.outputs, axes, strict=True):
        for k, (a, b) in enumerate(zip(earlier.shape, later.shape, strict=True)):
            if a != b and mine[k].same:
                mine[k] = lost_axis(f"'{what}' returns another number of values along this axis")
        found.append(TrackedTensor(earlier.shape, later.shape, tuple(mine)))
    return found


class CombinesPaddingError(Exception):
    """An operation combines values along a padded axis, so that new positions change the results at old ones."""

    def __init__(self, axis: int) -> None:
        super().__init__(axis)
        self.axis = axis


def _kind(old: str, new: str) -> str:
    """Return how an output axis depends on an input axis in both shapes. An axis of length one gives no information."""
    if old == "one":
        return "none" if new == "one" else new
    if new == "one":
        return old
    return old if old == new else "mixed"


def _merged(one: Axis, other: Axis, what: str) -> Axis:
    if one.same or one.key() == other.key():
        return other
    return one if one.lost else lost_axis(f"'{what}' combines tensors whose positions changed in different ways")


class _CannotRunError(Exception):
    """An operation cannot be run on arrays of some shape, or returns other shapes for other values."""


class _Trial:
    """An operation tried out on arrays of one shape: which positions of the outputs change with those of an input."""

    def __init__(self, run: Run, shapes: list[tuple[int, ...]], dtypes: list[str]) -> None:
        self._run = run
        random = np.random.default_rng(0)
        self._arrays = [_random_values(random, shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=True)]
        self.outputs = self._try(self._arrays)

    def _try(self, arrays: list[Array]) -> list[Array]:
        try:
            return [np.asarray(output) for output in self._run(arrays)]
        except Exception as error:  # a user's layer may raise anything
            raise _CannotRunError from error

    def dependence(self, number: int, place: int) -> list[list[str]]:
        """Return, for each axis of each output, how its positions depend on those along one axis of an input.

        "carried": one by one. "none": all depend on each in the same way. "mixed": anything else. "one": the axis has one
        position only.
        """
        size = self._arrays[number].shape[place]
        kinds: list[list[set[str]]] = [[set() for _ in output.shape] for output in self.outputs]
        for position in sorted({0, size // 2, size - 1}):
            for output, where in enumerate(self._changed(number, place, position)):
                for k in range(where.ndim):
                    kinds[output][k].add(_pattern(np.moveaxis(where, k, 0), position, size))
        return [[kind.pop() if len(kind) == 1 else "mixed" for kind in of_output] for of_output in kinds]

    def _changed(self, number: int, place: int, position: int) -> list[Array]:
        array = self._arrays[number]
        found = [np.zeros(output.shape, bool) for output in self.outputs]
        changes = (1 - array,) if array.dtype.kind in "iub" else (array + 9.0, array - 9.0, -0.7 * array + 0.3)
        for change in changes:
            other = array.copy()
            where = (slice(None),) * place + (position,)
            other[where] = change[where].astype(array.dtype)
            outputs = self._try([*self._arrays[:number], other, *self._arrays[number + 1 :]])
            if any(a.shape != b.shape for a, b in zip(outputs, self.outputs, strict=True)):
                raise _CannotRunError
            found = [seen | (a != b) for seen, a, b in zip(found, outputs, self.outputs, strict=True)]
        return found


def _pattern(where: Array, position: int, size: int) -> str:
    flat = where.reshape(where.shape[0], -1)
    if len(flat) == 1:
        return "one"
    if np.all(flat == flat[:1]):
        return "none"
    along = np.asarray(flat.any(1))
    return "carried" if len(flat) == size and along[position] and along.sum() == 1 else "mixed"


def _random_values(random: np.random.Generator, shape: tuple[int, ...], dtype: str) -> Array:
    if dtype.startswith(("int", "uint", "bool")):
        return random.integers(0, 2, shape).astype(dtype)
    return random.normal(size=shape).astype("float32" if dtype == "bfloat16" else dtype)


def array_runner(op: Any, args: Any, kwargs: Any) -> tuple[Run, list[Any]]:
    """Return a function that runs an op on arrays instead of its tensors, and these tensors. Masks are left out."""
    kept = {name: value for name, value in kwargs.items() if "mask" not in name}

    def run(arrays: list[Array]) -> list[Array]:
        values = iter(arrays)

        def fill(value: Any) -> Any:
            return keras.ops.convert_to_tensor(next(values)) if isinstance(value, keras.KerasTensor) else value

        given, named = keras.tree.map_structure(fill, (args, kept))
        # A call may change state; it is restored afterwards.
        before = [(one, keras.ops.convert_to_numpy(one)) for one in getattr(op, "variables", ())]
        try:
            return [keras.ops.convert_to_numpy(one) for one in keras.tree.flatten(op(*given, **named))]
        finally:
            for variable, value in before:
                variable.assign(value)

    return run, structure.tensors_in((args, kept))
