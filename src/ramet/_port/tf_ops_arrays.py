"""Rules for slices and for operations that change the shape of a tensor."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ramet._port.draft import Tensor
from ramet._port.tf_ops_base import (
    INTEGERS,
    LAYERS,
    Arguments,
    Builder,
    Constant,
    Dim,
    Expression,
    Known,
    Operand,
    Step,
    Untranslatable,
    combine,
    dtype_of_value,
    is_symbolic,
    leaves,
)
from ramet._port.tf_ops_math import rule

RUN_TIME = "known only when the model runs"


def numbers(value: Any, what: str) -> list[int]:
    """Return a setting as a list of integers, or refuse if it depends on the data."""
    items = list(value) if isinstance(value, list | tuple) else [value]
    if not all(isinstance(item, int) for item in items):
        raise Untranslatable(f"{what} is {RUN_TIME}")
    return items


# Slices.


def get_item(b: Builder, x: Operand, key: Sequence[Any]) -> Operand:
    """Return a slice of a tensor, with the rules of NumPy; negative steps become `Flip`, which torch has."""
    items = list(key)
    arrays = [
        position for position, item in enumerate(items) if isinstance(item, Tensor | Step | list | tuple | Constant)
    ]
    if arrays:
        return _take_item(b, x, items, arrays)
    result: list[Any] = []
    for position, given in enumerate(items):
        item = _from_end(b, x, _axis_at(items, position), given)
        if is_symbolic(item):
            raise Untranslatable(f"it takes an element at a position that is {RUN_TIME}")
        if not isinstance(item, slice):
            result.append(item)
            continue
        start, stop, step = item.start, item.stop, item.step
        axis = _axis_at(items, position)
        if is_symbolic(stop) and stop == size_of(b, x, axis):
            stop = None
        if any(bound is not None and not isinstance(bound, int) for bound in (start, stop, step)):
            raise Untranslatable(f"the bounds of a slice are {RUN_TIME}")
        if step is not None and step < 0:
            x = b.op("Flip", x, axis=axis)
            # Position p from the start is -(p + 1) from the end, and the other way round.
            start, stop, step = (None if start is None else -start - 1), (None if stop is None else -stop - 1), -step
        result.append(slice(start, stop, step))
    return b.op("GetItem", x, result)


def _from_end(b: Builder, x: Operand, axis: int, item: Any) -> Any:
    """Return an item of a key with -1 for the last position of an axis of unknown size."""
    size = size_of(b, x, axis)
    if not is_symbolic(size):
        return item
    last = combine("subtract", size, 1)
    if isinstance(item, slice):
        return slice(-1 if item.start == last else item.start, -1 if item.stop == last else item.stop, item.step)
    return -1 if item == last else item


def _axis_at(items: Sequence[Any], position: int) -> int:
    """Return the axis to which an item of a key applies, counted from the end if `...` precedes it."""
    if any(item is ... for item in items[:position]):
        return -sum(1 for item in items[position:] if item is not None and item is not ...)
    return sum(1 for item in items[:position] if item is not None)


def size_of(b: Builder, x: Operand, axis: int) -> Any:
    """Return the size of an axis, a `Dim` if it is unknown, or None if the rank is unknown."""
    sizes = b.sizes(x)
    return sizes[axis] if sizes is not None and -len(sizes) <= axis < len(sizes) else None


def _take_item(b: Builder, x: Operand, items: list[Any], arrays: list[int]) -> Operand:
    others = [item for position, item in enumerate(items) if position not in arrays]
    if len(arrays) > 1 or any(item is not ... and item != slice(None) for item in others):
        raise Untranslatable("it slices with several tensors, or with a tensor and a slice")
    index = b.operand(items[arrays[0]])
    if b.dtype(index) not in INTEGERS:
        raise Untranslatable("it selects with a mask, so the shape of the result depends on the data")
    return b.op("Take", x, index, axis=_axis_at(items, arrays[0]))


@rule("getitem", "x!|tensor slice_spec! var")
def _getitem(b: Builder, a: Arguments) -> Operand:
    spec = a["slice_spec"]
    return get_item(b, a["x"], spec if isinstance(spec, list | tuple) else [spec])


@rule("slice", "x!|input_ begin! size!")
def _slice(b: Builder, a: Arguments) -> Operand:
    sizes = list(a["size"]) if isinstance(a["size"], list | tuple) else [a["size"]]
    full = b.sizes(a["x"]) or []
    starts = numbers(a["begin"], "the start of a slice")
    key = []
    for axis, (start, size) in enumerate(zip(starts, sizes, strict=True)):
        whole = size == -1 or (start == 0 and axis < len(full) and size == full[axis])
        key.append(slice(start, None if whole else start + size))
    return get_item(b, a["x"], key)


@rule(
    "strided_slice",
    "x!|input_ begin! end! strides begin_mask end_mask ellipsis_mask new_axis_mask shrink_axis_mask var",
)
def _strided_slice(b: Builder, a: Arguments) -> Operand:
    return get_item(b, a["x"], slice_key(a))


def slice_key(a: Arguments) -> list[Any]:
    """Return the key of a slice that TensorFlow describes by bounds and bit masks."""
    begin, end = list(a["begin"]), list(a["end"])
    strides = list(a["strides"] or [1] * len(begin))

    def has(mask: str, position: int) -> bool:
        return bool(int(a[mask] or 0) >> position & 1)

    key: list[Any] = []
    for position, (start, stop, step) in enumerate(zip(begin, end, strides, strict=True)):
        if has("ellipsis_mask", position):
            key.append(...)
        elif has("new_axis_mask", position):
            key.append(None)
        elif has("shrink_axis_mask", position):
            key.append(start)
        else:
            first = None if has("begin_mask", position) else start
            key.append(slice(first, None if has("end_mask", position) else stop, None if step == 1 else step))
    return key


# Shapes.


@rule("reshape", "x!|tensor shape!")
def _reshape(b: Builder, a: Arguments) -> Operand:
    return reshape(b, b.operand(a["x"]), a["shape"])


def reshape(b: Builder, x: Operand, target: Any) -> Operand:
    """Return a tensor in another shape, of which at most one size besides the batch size may be unknown."""
    if isinstance(target, Tensor | Step) or any(isinstance(leaf, Tensor | Step) for leaf in leaves(target)):
        raise Untranslatable(f"the target of tf.reshape is computed from values that are {RUN_TIME}")
    shape = list(target) if isinstance(target, list | tuple) else [target]
    if len(_open(shape)) <= 1:
        return b.op("Reshape", x, newshape=[-1 if is_symbolic(size) else size for size in shape])
    sizes = b.sizes(x)
    if sizes:
        shape = _resolve(shape, sizes)
    if len(_open(shape)) <= 1:
        return b.op("Reshape", x, newshape=[-1 if is_symbolic(size) else size for size in shape])
    if sizes and shape[0] == sizes[0] and len(_open(shape[1:])) == 1:
        # The layer keeps the batch axis. On JAX, it returns a tensor of the same shape as it is, with its mask.
        settings = {} if b.dtype(x) is None else {"dtype": b.dtype(x)}
        rest = [-1 if is_symbolic(size) else size for size in shape[1:]]
        return b.op("Reshape", b.op("Copy", x), module=LAYERS, target_shape=rest, **settings)
    raise Untranslatable(f"tf.reshape needs two or more sizes that are {RUN_TIME}")


def _resolve(shape: list[Any], sizes: list[Any]) -> list[Any]:
    """Return a target shape with the size that -1 stands for, if the other unknown sizes cancel out."""
    if -1 not in shape:
        return shape
    count, unknown = _factors(sizes)
    divisor, given = _factors([size for size in shape if size != -1])
    for size in given:
        if size not in unknown:
            return shape
        unknown.remove(size)
    if not divisor or count % divisor:
        return shape
    rest: Any = count // divisor
    for size in unknown:
        rest = size * rest
    return [rest if size == -1 else size for size in shape]


def _factors(sizes: Sequence[Any]) -> tuple[int, list[Any]]:
    """Return the product of the known sizes, and the unknown sizes of which the others are products."""
    count, unknown, left = 1, [], list(sizes)
    while left:
        size = left.pop()
        if isinstance(size, Expression) and size.function == "multiply":
            left += size.operands
        elif is_symbolic(size):
            unknown.append(size)
        else:
            count *= size
    return count, unknown


def _open(sizes: Sequence[Any]) -> list[Any]:
    return [size for size in sizes if is_symbolic(size) or size == -1]


@rule("keras.backend.batch_flatten", "x!")
def _batch_flatten(b: Builder, a: Arguments) -> Operand:
    sizes = b.sizes(a["x"])
    if sizes is None:
        raise Untranslatable("the rank of the input of keras.backend.batch_flatten is unknown")
    if any(is_symbolic(size) for size in sizes[1:]):
        return reshape(b, a["x"], [sizes[0], -1])
    count = 1
    for size in sizes[1:]:
        count *= size
    return b.op("Reshape", a["x"], newshape=[-1, count])


@rule("keras.backend.flatten", "x!")
def _flatten(b: Builder, a: Arguments) -> Operand:
    return b.op("Reshape", a["x"], newshape=[-1])


@rule("shape", "x!|input out_type optimize")
def _shape(b: Builder, a: Arguments) -> Known:
    sizes = b.sizes(a["x"])
    if sizes is None:
        raise Untranslatable("the rank of the input of tf.shape is unknown")
    return Known([sizes], a["out_type"] or "int32")


@rule("size", "x!|input out_type optimize")
def _count(b: Builder, a: Arguments) -> Known:
    sizes = b.sizes(a["x"])
    if sizes is None:
        raise Untranslatable("the rank of the input of tf.size is unknown")
    total: Any = 1
    for size in sizes:
        total = total * size
    return Known([total], a["out_type"] or "int32")


@rule("rank ndim", "x!|input optimize")
def _rank(b: Builder, a: Arguments) -> Known:
    return Known([b.rank(a["x"], "rank")])


@rule("transpose", "x!|a perm conjugate")
def _transpose(b: Builder, a: Arguments) -> Operand:
    x, axes = b.operand(a["x"]), None
    if a["perm"] is not None:
        axes = numbers(a["perm"], "the order of axes of tf.transpose")
    elif b.shape(x) is not None:
        axes = list(range(b.rank(x, "transpose")))[::-1]
    return b.op("Transpose", x, axes=axes)


@rule("linalg.matrix_transpose matrix_transpose", "x!|a conjugate")
def _matrix_transpose(b: Builder, a: Arguments) -> Operand:
    return b.op("Swapaxes", a["x"], axis1=-1, axis2=-2)


@rule("expand_dims", "x!|input axis!|dim")
def _expand_dims(b: Builder, a: Arguments) -> Operand:
    return b.op("ExpandDims", a["x"], axis=numbers(a["axis"], "the axis of tf.expand_dims")[0])


@rule("squeeze", "x!|input axis|squeeze_dims")
def _squeeze(b: Builder, a: Arguments) -> Operand:
    if a["axis"] in (None, []):
        return b.op("Squeeze", a["x"], axis=None)
    axes = numbers(a["axis"], "the axis of tf.squeeze")
    if len(axes) > 1:
        rank = b.rank(a["x"], "squeeze")
        axes = sorted((axis % rank for axis in axes), reverse=True)
    result = a["x"]
    for axis in axes:
        result = b.op("Squeeze", result, axis=axis)
    return result


@rule("broadcast_to", "x!|input shape!")
def _broadcast_to(b: Builder, a: Arguments) -> Operand:
    if isinstance(a["shape"], Tensor):
        raise Untranslatable(f"the target of tf.broadcast_to is {RUN_TIME}")
    target = list(a["shape"])
    x = b.operand(a["x"])
    if not any(is_symbolic(size) for size in target):
        if isinstance(x, Tensor | Step):
            return b.op("BroadcastTo", x, shape=numbers(target, "the target of tf.broadcast_to"))
        raise Untranslatable("it expands a constant")
    own = [1] * len(target) if b.shape(x) == () else b.sizes(x)
    if own is None:
        raise Untranslatable("the rank of the input of tf.broadcast_to is unknown")
    own = [1] * (len(target) - len(own)) + own
    grown = [1 if size == old else size for size, old in zip(target, own, strict=True)]
    if any(is_symbolic(size) for size in grown):
        return _times_ones(b, x, grown)
    return b.op("Copy", x) if set(grown) == {1} else b.op("Tile", x, repeats=grown)


def _times_ones(b: Builder, x: Operand, sizes: list[Any]) -> Operand:
    dtype = b.dtype(x) or dtype_of_value(x)
    if dtype == "bool":
        return b.op("LogicalAnd", x, filled(b, sizes, dtype))
    return b.op("Multiply", x, filled(b, sizes, dtype))


def filled(b: Builder, sizes: Sequence[Any], dtype: str) -> Operand:
    """Return ones in a shape with unknown sizes, made from slices of the tensors that have these sizes."""
    result: Operand = None
    for axis, size in enumerate(sizes):
        if not is_symbolic(size):
            continue
        ones = b.op(
            "Reshape", row(b, size, dtype), newshape=[-1 if axis == other else 1 for other in range(len(sizes))]
        )
        result = ones if result is None else b.op("Multiply", result, ones)
    repeats = [1 if is_symbolic(size) else size for size in sizes]
    return result if set(repeats) == {1} else b.op("Tile", result, repeats=repeats)


def row(b: Builder, size: Any, dtype: str) -> Operand:
    """Return a vector of ones as long as an axis of unknown size."""
    if not isinstance(size, Dim):
        raise Untranslatable(f"it needs a size that is computed from others and {RUN_TIME}")
    rank = b.rank(size.tensor, "shape")
    key = [slice(None) if axis == size.axis else 0 for axis in range(rank)]
    return b.op("OnesLike", b.op("GetItem", size.tensor, key) if rank > 1 else size.tensor, dtype=dtype)


@rule("tile", "x!|input multiples!")
def _tile(b: Builder, a: Arguments) -> Operand:
    if isinstance(a["multiples"], Tensor):
        raise Untranslatable(f"how often tf.tile repeats is {RUN_TIME}")
    x, repeats = b.operand(a["x"]), list(a["multiples"])
    if not any(is_symbolic(count) for count in repeats):
        return b.op("Tile", x, repeats=numbers(repeats, "how often tf.tile repeats"))
    shape = b.shape(x)
    if shape is None or any(is_symbolic(count) and size != 1 for count, size in zip(repeats, shape, strict=True)):
        raise Untranslatable(f"how often tf.tile repeats an axis with more than one element is {RUN_TIME}")
    fixed = [1 if is_symbolic(count) else count for count in repeats]
    if set(fixed) != {1} and isinstance(x, Tensor | Step):
        x, repeats = b.op("Tile", x, repeats=fixed), [count if is_symbolic(count) else 1 for count in repeats]
    elif set(fixed) != {1}:
        raise Untranslatable("it repeats a constant along several axes")
    return _times_ones(b, x, repeats)


@rule("repeat", "x!|input repeats! axis")
def _repeat(b: Builder, a: Arguments) -> Operand:
    repeats = numbers(a["repeats"], "how often tf.repeat repeats")
    return b.op("Repeat", a["x"], repeats=repeats[0] if len(repeats) == 1 else repeats, axis=a["axis"])


@rule("keras.backend.repeat", "x! n!")
def _repeat_vector(b: Builder, a: Arguments) -> Operand:
    count = numbers(a["n"], "how often keras.backend.repeat repeats")[0]
    return b.op("Repeat", b.op("ExpandDims", a["x"], axis=1), repeats=count, axis=1)


@rule("reverse", "x!|tensor axis!")
def _reverse(b: Builder, a: Arguments) -> Operand:
    result = a["x"]
    for axis in numbers(a["axis"], "the axis of tf.reverse"):
        result = b.op("Flip", result, axis=axis)
    return result


@rule("roll", "x!|input shift! axis!")
def _roll(b: Builder, a: Arguments) -> Operand:
    result, axes = a["x"], numbers(a["axis"], "the axis of tf.roll")
    for shift, axis in zip(numbers(a["shift"], "the shift of tf.roll"), axes, strict=True):
        result = b.op("Roll", result, shift=shift, axis=axis)
    return result


@rule("pad", "x!|tensor paddings!|padding mode constant_values")
def _pad(b: Builder, a: Arguments) -> Operand:
    mode = (a["mode"] or "CONSTANT").lower()
    widths = [numbers(pair, "the amount of padding") for pair in a["paddings"]]
    value = a["constant_values"] or 0
    if not isinstance(value, int | float):
        raise Untranslatable(f"the value that tf.pad inserts is {RUN_TIME}")
    if mode == "symmetric":
        return _pad_symmetric(b, a["x"], widths)
    result = b.op("Pad", a["x"], pad_width=widths, mode=mode)
    if mode == "constant" and value:
        b.steps[-1].kwargs["constant_values"] = value
    return result


def _pad_symmetric(b: Builder, x: Operand, widths: list[list[int]]) -> Operand:
    """Return a tensor with mirrored borders. `Pad` of Keras 3 repeats the outermost element on torch."""
    for axis, (before, after) in enumerate(widths):
        whole = [slice(None)] * axis
        parts = [x]
        if before:
            parts.insert(0, b.op("Flip", b.op("GetItem", x, [*whole, slice(None, before)]), axis=axis))
        if after:
            parts.append(b.op("Flip", b.op("GetItem", x, [*whole, slice(-after, None)]), axis=axis))
        if len(parts) > 1:
            x = b.op("Concatenate", parts, axis=axis)
    return x
