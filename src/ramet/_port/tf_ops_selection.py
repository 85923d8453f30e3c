"""Rules that join, split, select, sort, fill and cast tensors, and rules for matrices."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from ramet._port.draft import Tensor
from ramet._port.tf_ops_arrays import RUN_TIME, filled, numbers, reshape, row, size_of
from ramet._port.tf_ops_base import (
    CORE,
    MATH,
    NN,
    Arguments,
    Builder,
    Constant,
    Operand,
    Step,
    Untranslatable,
    check_count,
    check_outputs,
    dtype_of_value,
    is_symbolic,
)
from ramet._port.tf_ops_math import cast, cast_back, rule

LINALG = "keras.src.ops.linalg"

# Joining and splitting.


def _joined(b: Builder, values: Any) -> list[Operand]:
    if not isinstance(values, list | tuple):
        return [values]
    like = next((value for value in values if isinstance(value, Tensor | Step)), None)
    return [b.operand(value, like) for value in values]


@rule("concat concatenate", "values! axis")
def _concat(b: Builder, a: Arguments) -> Operand:
    values = _joined(b, a["values"])
    return values[0] if len(values) == 1 else b.op("Concatenate", values, axis=0 if a["axis"] is None else a["axis"])


@rule("stack parallel_stack", "values! axis")
def _stack(b: Builder, a: Arguments) -> Operand:
    values = _joined(b, a["values"])
    if not all(isinstance(value, Tensor | Step | Constant) for value in values):
        like = next(value for value in values if isinstance(value, Tensor | Step))
        values = [
            value if isinstance(value, Tensor | Step | Constant) else b.op("FullLike", like, value) for value in values
        ]
    return b.op("Stack", values, axis=a["axis"] or 0)


@rule("unstack", "x!|value num axis")
def _unstack(b: Builder, a: Arguments) -> Operand:
    axis = a["axis"] or 0
    size = a["num"] if a["num"] is not None else size_of(b, a["x"], axis)
    if not isinstance(size, int):
        raise Untranslatable(f"the number of outputs of tf.unstack is {RUN_TIME}")
    check_outputs(size)
    return b.op("Unstack", a["x"], module=CORE, num=size, axis=axis)


@rule("split", "x!|value num_or_size_splits! axis|split_dim num")
def _split(b: Builder, a: Arguments) -> Operand:
    axis, parts = a["axis"] or 0, a["num_or_size_splits"]
    if isinstance(parts, int):
        check_outputs(parts)
        return b.op("Split", a["x"], indices_or_sections=parts, axis=axis)
    sizes = numbers(parts, "the sizes of the parts of tf.split")
    if -1 in sizes[:-1]:
        total = size_of(b, a["x"], axis)
        if not isinstance(total, int):
            raise Untranslatable(f"the sizes of the parts of tf.split are {RUN_TIME}")
        sizes[sizes.index(-1)] = total - sum(size for size in sizes if size != -1)
    bounds = [sum(sizes[: count + 1]) for count in range(len(sizes) - 1)]
    return b.op("Split", a["x"], indices_or_sections=bounds or 1, axis=axis)


@rule("meshgrid", "*values indexing")
def _meshgrid(b: Builder, a: Arguments) -> Operand:
    raise Untranslatable("Keras 2 did not save the operands of tf.meshgrid")


# Selecting and sorting.


@rule("gather", "x!|params|reference indices! validate_indices axis batch_dims")
def _gather(b: Builder, a: Arguments) -> Operand:
    x, indices, batch = b.operand(a["x"]), a["indices"], a["batch_dims"] or 0
    indices = b.operand(indices) if not isinstance(indices, int) else indices
    axis = batch if a["axis"] is None else a["axis"]
    if batch < 0:
        batch += b.rank(indices, "gather")
    if batch == 0:
        return b.op("Take", x, indices, axis=axis)
    rank, depth = b.rank(x, "gather"), b.rank(indices, "gather") - batch
    if axis % rank != batch or depth > 1:
        raise Untranslatable(f"tf.gather with batch_dims={batch} and axis={axis} has no counterpart in Keras 3")
    for _ in range(rank - batch - depth):
        indices = b.op("ExpandDims", indices, axis=-1)
    result = b.op("TakeAlongAxis", x, indices, axis=batch)
    return b.op("Squeeze", result, axis=batch) if depth == 0 else result


@rule("gather_nd", "x!|params indices! batch_dims bad_indices_policy")
def _gather_nd(b: Builder, a: Arguments) -> Operand:
    x, indices, batch = b.operand(a["x"]), b.operand(a["indices"]), a["batch_dims"] or 0
    sizes, places = b.shape(x), b.shape(indices)
    depth = places[-1] if places else None
    if batch not in (0, 1) or sizes is None or not places or not depth:
        raise Untranslatable(f"tf.gather_nd with batch_dims={batch} or indices of unknown size is not supported")
    inner, rest = sizes[batch : batch + depth], sizes[batch + depth :]
    if depth == 1:
        flat = _flat_indices(b, indices, [1])
    elif isinstance(x, Constant) or not all(isinstance(size, int) for size in inner[1 - batch :]):
        raise Untranslatable("tf.gather_nd with several indices of a tensor of unknown size is not supported")
    else:
        flat = _flat_indices(b, indices, [math.prod(inner[axis + 1 :]) for axis in range(depth)])
        count = math.prod(inner) if all(isinstance(size, int) for size in inner) else -1
        x = reshape(b, x, [-1, count, *rest] if batch else [count, *rest])
    if not batch:
        return b.op("Take", x, flat, axis=0)
    several = places[1:-1]
    if len(several) > 1:
        flat = reshape(
            b, flat, [-1, math.prod(several)] if all(isinstance(size, int) for size in several) else [-1, -1]
        )
    result = _gather(b, {"x": x, "indices": flat, "axis": 1, "batch_dims": 1})
    return reshape(b, result, [-1, *several, *rest]) if len(several) > 1 else result


def _flat_indices(b: Builder, indices: Operand, strides: Sequence[int]) -> Operand:
    """Return the positions that indices along several axes have in these axes made one."""
    if isinstance(indices, Constant):
        import numpy as np

        return Constant((np.array(indices.value) @ np.array(strides)).tolist(), indices.dtype)
    if len(strides) == 1:
        return b.op("Squeeze", indices, axis=-1)
    weighted = b.op("Multiply", indices, Constant(list(strides), b.dtype(indices) or "int32"))
    return b.op("Sum", weighted, axis=-1, keepdims=False)


@rule("embedding_lookup", "params! ids! partition_strategy max_norm validate_indices")
def _embedding_lookup(b: Builder, a: Arguments) -> Operand:
    if a["max_norm"] is not None or (
        isinstance(a["params"], list) and any(isinstance(one, Tensor) for one in a["params"])
    ):
        raise Untranslatable("tf.nn.embedding_lookup with max_norm or several tables is not supported")
    return b.op("Take", b.operand(a["params"]), b.operand(a["ids"]), axis=0)


@rule("where where_v2", "condition! x y")
def _where(b: Builder, a: Arguments) -> Operand:
    condition, x, y = a["condition"], a["x"], a["y"]
    if x is None or y is None:
        raise Untranslatable("the shape of the result of tf.where without values depends on the data")
    x, y = b.operand(x, y), b.operand(y, x)
    if a["is_v1"]:
        rank, wanted = b.shape(condition), b.shape(x)
        # Before TensorFlow 2, a vector selects rows.
        if rank is not None and wanted is not None and len(rank) == 1 < len(wanted):
            condition = b.op("Reshape", condition, newshape=[-1] + [1] * (len(wanted) - 1))
    return b.op("Where", b.operand(condition), x, y)


@rule("one_hot", "indices! depth! on_value off_value axis dtype")
def _one_hot(b: Builder, a: Arguments) -> Operand:
    depth, axis = numbers(a["depth"], "the depth of tf.one_hot")[0], -1 if a["axis"] is None else a["axis"]
    on, off = 1 if a["on_value"] is None else a["on_value"], 0 if a["off_value"] is None else a["off_value"]
    dtype = a["dtype"] or ("int32" if isinstance(a["on_value"], int) and isinstance(off, int) else "float32")
    if (on, off) == (1, 0):
        return b.op("OneHot", a["indices"], module=NN, num_classes=depth, axis=axis, dtype=dtype)
    chosen = b.op("OneHot", a["indices"], module=NN, num_classes=depth, axis=axis, dtype="bool")
    return b.op("Where", chosen, *(Constant([value], dtype) for value in (on, off)))


@rule("argmax argmin", "x!|input axis|dimension output_type")
def _argmax(b: Builder, a: Arguments) -> Operand:
    class_name = "Argmax" if a["function"] == "argmax" else "Argmin"
    result = b.op(class_name, a["x"], axis=a["axis"] or 0, keepdims=False)
    dtype = a["output_type"] or "int64"
    return result if dtype == "int32" else b.op("Cast", result, module=CORE, dtype=dtype)


@rule("argsort sort", "x!|values axis direction stable")
def _sort(b: Builder, a: Arguments) -> Operand:
    axis = -1 if a["axis"] is None else a["axis"]
    descending = (a["direction"] or "ASCENDING") == "DESCENDING"
    if a["function"] == "sort":
        result = b.op("Sort", a["x"], axis=axis)
        return b.op("Flip", result, axis=axis) if descending else result
    if descending and (b.dtype(a["x"]) or "").startswith("u"):
        raise Untranslatable("tf.argsort of unsigned integers in descending order is not supported")
    return b.op("Argsort", b.op("Negative", a["x"]) if descending else a["x"], axis=axis)


@rule("top_k", "x!|input k sorted index_type")
def _top_k(b: Builder, a: Arguments) -> Operand:
    if a["index_type"] not in (None, "int32"):
        raise Untranslatable(f"tf.math.top_k with index_type={a['index_type']} has no counterpart in Keras 3")
    count = numbers(1 if a["k"] is None else a["k"], "the number of elements of tf.math.top_k")[0]
    return b.op("TopK", a["x"], module=MATH, k=count, sorted=a["sorted"] is not False)


@rule("compat.v1.math.in_top_k compat.v1.nn.in_top_k", "predictions! targets! k!")
@rule("in_top_k", "targets! predictions! k!")
def _in_top_k(b: Builder, a: Arguments) -> Operand:
    return b.op("InTopK", a["targets"], a["predictions"], module=MATH, k=a["k"])


@rule("cumsum cumprod", "x! axis exclusive reverse")
def _cumulative(b: Builder, a: Arguments) -> Operand:
    name, x, axis = a["function"], a["x"], a["axis"] or 0
    dtype, rank = b.dtype(x), b.rank(x, name)
    result = b.op("Flip", x, axis=axis) if a["reverse"] else x
    if a["exclusive"]:
        # Shifted by one; subtracting the elements from the sums would lose digits.
        key = [slice(None, -1) if item == axis % rank else slice(None) for item in range(rank)]
        widths = [[1, 0] if item == axis % rank else [0, 0] for item in range(rank)]
        result = b.op("Pad", b.op("GetItem", result, key), pad_width=widths, mode="constant")
        if name == "cumprod":
            b.steps[-1].kwargs["constant_values"] = 1
    result = cast_back(b, b.op("Cumsum" if name == "cumsum" else "Cumprod", result, axis=axis), dtype)
    return b.op("Flip", result, axis=axis) if a["reverse"] else result


# Filling and casting.


@rule("zeros_like ones_like", "x!|input|tensor dtype optimize layout")
def _like(b: Builder, a: Arguments) -> Operand:
    return b.op("ZerosLike" if a["function"] == "zeros_like" else "OnesLike", a["x"], dtype=a["dtype"])


def fill(b: Builder, sizes: Any, value: Any, dtype: str | None) -> Operand:
    """Return a tensor with one value, in a shape with unknown sizes."""
    if isinstance(sizes, Tensor | Step) or not isinstance(sizes, list | tuple):
        raise Untranslatable(f"the shape of a filled tensor is {RUN_TIME}")
    if isinstance(value, Tensor | Step):
        target = dtype or b.dtype(value) or "float32"
        return b.op(
            "Multiply",
            value,
            filled(b, sizes, target) if any(map(is_symbolic, sizes)) else Constant(_ones(sizes), target),
        )
    result = filled(b, sizes, dtype or dtype_of_value(value))
    if value in (0, 1):
        return b.op("ZerosLike", result, dtype=dtype) if value == 0 else result
    return b.op("FullLike", result, value)


def _ones(sizes: Sequence[int]) -> Any:
    check_count(*sizes)
    result: Any = 1
    for size in reversed(sizes):
        result = [result] * size
    return result


@rule("fill", "dims! value!")
def _fill(b: Builder, a: Arguments) -> Operand:
    return fill(b, a["dims"], a["value"], None)


@rule("zeros ones", "shape! dtype layout")
def _zeros(b: Builder, a: Arguments) -> Operand:
    return fill(b, a["shape"], 0 if a["function"] == "zeros" else 1, a["dtype"] or "float32")


def count_up(b: Builder, limit: Any, dtype: str) -> Operand:
    """Return 0, 1, 2 and so on, up to a size that is unknown."""
    return b.op("Subtract", b.op("Cumsum", row(b, limit, dtype), axis=0), 1)


@rule("range", "start! limit delta dtype")
def _range(b: Builder, a: Arguments) -> Operand:
    start, limit = (0, a["start"]) if a["limit"] is None else (a["start"], a["limit"])
    if start != 0 or a["delta"] not in (None, 1):
        raise Untranslatable(f"the bounds of tf.range are {RUN_TIME}")
    return count_up(b, limit, a["dtype"] or "int32")


@rule("sequence_mask", "lengths! maxlen dtype")
def _sequence_mask(b: Builder, a: Arguments) -> Operand:
    limit, dtype = a["maxlen"], a["dtype"] or "bool"
    if limit is None or isinstance(limit, Tensor):
        raise Untranslatable("the length of the result of tf.sequence_mask depends on the data")
    kind = b.dtype(a["lengths"]) or "int32"
    check_count(limit)
    positions = Constant(list(range(limit)), kind) if isinstance(limit, int) else count_up(b, limit, kind)
    result = b.op("Less", positions, b.op("ExpandDims", a["lengths"], axis=-1))
    return result if dtype == "bool" else cast(b, result, dtype)


_CASTS = {
    "to_float": "float32",
    "to_double": "float64",
    "to_int32": "int32",
    "to_int64": "int64",
    "to_bfloat16": "bfloat16",
}


@rule("cast saturate_cast to_float to_double to_int32 to_int64 to_bfloat16", "x!|value|tensor dtype")
def _cast(b: Builder, a: Arguments) -> Operand:
    dtype = _CASTS.get(a["function"], a["dtype"])
    if not isinstance(dtype, str) or dtype.startswith(("complex", "string", "q", "resource", "variant")):
        raise Untranslatable(f"tf.cast to {dtype} has no counterpart in Keras 3")
    return b.op("SaturateCast" if a["function"] == "saturate_cast" else "Cast", a["x"], module=CORE, dtype=dtype)


# Matrices.


@rule("band_part matrix_band_part", "x!|input num_lower! num_upper!")
def _band_part(b: Builder, a: Arguments) -> Operand:
    result = a["x"]
    if a["num_upper"] >= 0:
        result = b.op("Tril", result, k=a["num_upper"])
    return b.op("Triu", result, k=-a["num_lower"]) if a["num_lower"] >= 0 else result


def _eye(rows: int, columns: int) -> Constant:
    check_count(rows, columns)
    return Constant([[one == two for two in range(columns)] for one in range(rows)], "bool")


@rule("linalg.diag matrix_diag", "x!|diagonal k num_rows num_cols padding_value align")
def _diag(b: Builder, a: Arguments) -> Operand:
    size = size_of(b, a["x"], -1)
    if not isinstance(size, int) or a["k"] not in (None, 0) or a["padding_value"]:
        raise Untranslatable("tf.linalg.diag with an unknown size, an offset or a padding value is not supported")
    return b.op("Where", _eye(size, size), b.op("ExpandDims", a["x"], axis=-2), 0)


@rule("linalg.diag_part matrix_diag_part", "x!|input k padding_value align")
def _diag_part(b: Builder, a: Arguments) -> Operand:
    # `Diagonal` and `Trace` of Keras before version 3.13 fail on unknown sizes in Python 3.14.
    rows, columns = size_of(b, a["x"], -2), size_of(b, a["x"], -1)
    if not isinstance(rows, int) or not isinstance(columns, int) or a["k"] not in (None, 0):
        raise Untranslatable("tf.linalg.diag_part with an unknown size or an offset is not supported")
    diagonal = b.op("Where", _eye(rows, columns), a["x"], 0)
    return b.op("Sum", diagonal, axis=-1 if rows <= columns else -2, keepdims=False)


@rule("trace", "x!")
def _trace(b: Builder, a: Arguments) -> Operand:
    rows, columns = size_of(b, a["x"], -2), size_of(b, a["x"], -1)
    if not isinstance(rows, int) or not isinstance(columns, int):
        raise Untranslatable("tf.linalg.trace with an unknown size is not supported")
    return b.op("Sum", b.op("Where", _eye(rows, columns), a["x"], 0), axis=[-2, -1], keepdims=False)


@rule("linalg.inv matrix_inverse", "x!|input adjoint")
def _inv(b: Builder, a: Arguments) -> Operand:
    if a["adjoint"]:
        raise Untranslatable("tf.linalg.inv with adjoint=True is not supported")
    return b.op("Inv", a["x"], module=LINALG)


@rule("linalg.det matrix_determinant", "x!|input")
def _det(b: Builder, a: Arguments) -> Operand:
    return b.op("Det", a["x"], module=LINALG)


@rule("cholesky", "x!|input")
def _cholesky(b: Builder, a: Arguments) -> Operand:
    return b.op("Cholesky", a["x"], module=LINALG)
