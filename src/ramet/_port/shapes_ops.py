"""Static shapes and dtypes of the operations of Keras 3 that translations of TensorFlow operations consist of."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from ramet._port.draft import Argument
from ramet._port.shapes import (
    Config,
    Rule,
    Shape,
    Size,
    Spec,
    broadcast,
    concatenated,
    is_float,
    product,
    shape_of_value,
    size_left,
    stride_window,
)

_SMALL = {"bool": "int32", "int8": "int32", "int16": "int32", "uint8": "uint32", "uint16": "uint32"}


def _shape_of(value: Argument) -> Shape | None:
    """Return the shape of an argument: a tensor, a number or a nested list."""
    if isinstance(value, Spec):
        return value.shape
    return shape_of_value(value)


def _common(specs: Sequence[Spec]) -> str | None:
    """Return the dtype of several tensors, or None if they differ or it is unknown."""
    found = {spec.dtype for spec in specs}
    return found.pop() if len(found) == 1 else None


def _same(config: Config, specs: list[Spec], *_: object) -> Spec:
    return specs[0]


def _boolean(config: Config, specs: list[Spec], args: list[Argument], *_: object) -> Spec:
    return Spec(broadcast(*map(_shape_of, args)), "bool")


def _elementwise(config: Config, specs: list[Spec], args: list[Argument], *_: object) -> Spec:
    return Spec(broadcast(*map(_shape_of, args)), _common(specs))


def _quotient(config: Config, specs: list[Spec], args: list[Argument], *_: object) -> Spec:
    dtype = _common(specs)
    return Spec(broadcast(*map(_shape_of, args)), dtype if is_float(dtype) else "float32" if dtype else None)


def _where(config: Config, specs: list[Spec], args: list[Argument], *_: object) -> Spec:
    values = [value for value in args[1:] if isinstance(value, Spec)]
    numbers = [value for value in args[1:] if not isinstance(value, Spec)]
    dtype = _common(values) if values else "float32" if any(isinstance(item, float) for item in numbers) else "int32"
    if dtype is not None and not is_float(dtype) and any(isinstance(item, float) for item in numbers):
        dtype = None
    return Spec(broadcast(*map(_shape_of, args)), dtype)


def _typed(config: Config, specs: list[Spec], *_: object) -> Spec:
    return Spec(specs[0].shape, config.get("dtype") or specs[0].dtype)


def _reduced(shape: Shape | None, axis: Any, *, keepdims: bool) -> Shape | None:
    if shape is None:
        return None
    axes = range(len(shape)) if axis is None else [axis] if isinstance(axis, int) else axis
    chosen = {item % len(shape) for item in axes} if shape else set()
    if keepdims:
        return tuple(1 if item in chosen else size for item, size in enumerate(shape))
    return tuple(size for item, size in enumerate(shape) if item not in chosen)


def _reduction(kind: str) -> Rule:
    def rule(config: Config, specs: list[Spec], *_: object) -> Spec:
        dtype = specs[0].dtype
        if kind == "sum":
            dtype = _SMALL.get(dtype or "", dtype)
        elif kind == "mean":
            dtype = dtype if dtype is None or is_float(dtype) else "float32"
        elif kind != "same":
            dtype = kind
        return Spec(_reduced(specs[0].shape, config.get("axis"), keepdims=bool(config.get("keepdims"))), dtype)

    return rule


def _moments(config: Config, specs: list[Spec], *_: object) -> list[Spec]:
    shape = _reduced(specs[0].shape, config["axes"], keepdims=bool(config.get("keepdims")))
    return [Spec(shape, specs[0].dtype)] * 2


def _cumulative(config: Config, specs: list[Spec], *_: object) -> Spec:
    return Spec(specs[0].shape, _SMALL.get(specs[0].dtype or "", specs[0].dtype))


def _reshape(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape, target = specs[0].shape, list(config["newshape"])
    if -1 in target:
        target[target.index(-1)] = None if shape is None else size_left(shape, target)
    return Spec(tuple(target), specs[0].dtype)


def _get_item(config: Config, specs: list[Spec], args: list[Argument], *_: object) -> Spec:
    shape, key = specs[0].shape, list(args[1]) if isinstance(args[1], list | tuple) else [args[1]]
    if shape is None or any(isinstance(item, Spec) for item in key):
        return Spec(None, specs[0].dtype)
    taken = sum(1 for item in key if item is not None and item is not ...)
    if ... in [item for item in key if item is ...]:
        place = next(number for number, item in enumerate(key) if item is ...)
        key[place : place + 1] = [slice(None)] * (len(shape) - taken)
    else:
        key += [slice(None)] * (len(shape) - taken)
    sizes: list[Size] = []
    left = iter(shape)
    for item in key:
        if item is None:
            sizes.append(1)
        elif isinstance(item, slice):
            size = next(left)
            if isinstance(size, int):
                sizes.append(len(range(*item.indices(size))))
            else:
                whole = item.start in (None, 0) and item.stop is None and item.step in (None, 1)
                sizes.append(size if whole else None)
        else:
            next(left)
    return Spec(tuple(sizes), specs[0].dtype)


def _transpose(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape, axes = specs[0].shape, config.get("axes")
    if shape is None:
        return specs[0]
    order = range(len(shape))[::-1] if axes is None else axes
    return Spec(tuple(shape[axis] for axis in order), specs[0].dtype)


def _swapaxes(config: Config, specs: list[Spec], *_: object) -> Spec:
    if specs[0].shape is None:
        return specs[0]
    sizes = list(specs[0].shape)
    one, two = config["axis1"], config["axis2"]
    sizes[one], sizes[two] = sizes[two], sizes[one]
    return Spec(tuple(sizes), specs[0].dtype)


def _expand_dims(config: Config, specs: list[Spec], *_: object) -> Spec:
    if specs[0].shape is None:
        return specs[0]
    sizes, axis = list(specs[0].shape), config["axis"]
    sizes.insert(axis if axis >= 0 else axis + len(sizes) + 1, 1)
    return Spec(tuple(sizes), specs[0].dtype)


def _squeeze(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape, axis = specs[0].shape, config.get("axis")
    if shape is None:
        return specs[0]
    if axis is None:
        known = all(isinstance(size, int) for size in shape)
        return Spec(tuple(size for size in shape if size != 1) if known else None, specs[0].dtype)
    return Spec(_reduced(shape, axis, keepdims=False), specs[0].dtype)


def _concatenate(config: Config, specs: list[Spec], *_: object) -> Spec:
    return Spec(concatenated([spec.shape for spec in specs], config.get("axis", 0)), _common(specs))


def _stack(config: Config, specs: list[Spec], args: list[Argument], *_: object) -> Spec:
    shape, axis, count = specs[0].shape, config.get("axis", 0), len(args[0])
    if shape is None:
        return Spec(None, _common(specs))
    sizes = list(shape)
    sizes.insert(axis if axis >= 0 else axis + len(sizes) + 1, count)
    return Spec(tuple(sizes), _common(specs))


def _unstack(config: Config, specs: list[Spec], *_: object) -> list[Spec] | None:
    shape, axis, count = specs[0].shape, config.get("axis", 0), config.get("num")
    count = count if count is not None else shape[axis] if shape is not None else None
    if not isinstance(count, int):
        return None
    return [Spec(_reduced(shape, axis, keepdims=False), specs[0].dtype)] * count


def _split(config: Config, specs: list[Spec], *_: object) -> list[Spec]:
    shape, axis, parts = specs[0].shape, config.get("axis", 0), config["indices_or_sections"]
    count = parts if isinstance(parts, int) else len(parts) + 1
    if shape is None:
        return [Spec(None, specs[0].dtype)] * count
    total = shape[axis]
    if isinstance(parts, int):
        sizes = [total // parts if isinstance(total, int) else None] * count
    else:
        bounds = [0, *parts, total]
        sizes = [two - one if isinstance(two, int) else None for one, two in itertools.pairwise(bounds)]
    place = axis % len(shape)
    return [Spec((*shape[:place], size, *shape[place + 1 :]), specs[0].dtype) for size in sizes]


def _tile(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape, repeats = specs[0].shape, config["repeats"]
    repeats = [repeats] if isinstance(repeats, int) else list(repeats)
    if shape is None:
        return specs[0]
    rank = max(len(shape), len(repeats))
    sizes, counts = [1] * (rank - len(shape)) + list(shape), [1] * (rank - len(repeats)) + repeats
    pairs = zip(sizes, counts, strict=True)
    grown = tuple(size if n == 1 else size * n if isinstance(size, int) else None for size, n in pairs)
    return Spec(grown, specs[0].dtype)


def _repeat(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape, axis, repeats = specs[0].shape, config.get("axis"), config["repeats"]
    if shape is None:
        return specs[0]
    if axis is None:
        shape, axis = (product(shape),), 0
    sizes = list(shape)
    size = sizes[axis]
    if isinstance(repeats, int):
        sizes[axis] = size * repeats if isinstance(size, int) else None
    else:
        sizes[axis] = sum(repeats)
    return Spec(tuple(sizes), specs[0].dtype)


def _pad(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape, widths = specs[0].shape, config["pad_width"]
    if shape is None:
        return specs[0]
    pairs = zip(shape, widths, strict=True)
    grown = (size + sum(pair) if isinstance(size, int) else size if sum(pair) == 0 else None for size, pair in pairs)
    return Spec(tuple(grown), specs[0].dtype)


def _broadcast_to(config: Config, specs: list[Spec], *_: object) -> Spec:
    return Spec(tuple(config["shape"]), specs[0].dtype)


def _take(config: Config, specs: list[Spec], args: list[Argument], *_: object) -> Spec:
    shape, indices, axis = specs[0].shape, _shape_of(args[1]), config.get("axis")
    if shape is None or indices is None or axis is None:
        return Spec(indices if axis is None else None, specs[0].dtype)
    place = axis % len(shape)
    return Spec((*shape[:place], *indices, *shape[place + 1 :]), specs[0].dtype)


def _take_along_axis(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape, indices, axis = specs[0].shape, specs[1].shape, config.get("axis")
    if shape is None or indices is None or axis is None:
        return Spec(None, specs[0].dtype)
    place = axis % len(shape)
    sizes = broadcast((*shape[:place], 1, *shape[place + 1 :]), indices)
    return Spec(sizes, specs[0].dtype)


def _one_hot(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape, axis = specs[0].shape, config.get("axis", -1)
    dtype = config.get("dtype") or "float32"
    if shape is None:
        return Spec(None, dtype)
    sizes = list(shape)
    sizes.insert(axis if axis >= 0 else axis + len(sizes) + 1, config["num_classes"])
    return Spec(tuple(sizes), dtype)


def _top_k(config: Config, specs: list[Spec], *_: object) -> list[Spec]:
    shape = None if specs[0].shape is None else (*specs[0].shape[:-1], config["k"])
    return [Spec(shape, specs[0].dtype), Spec(shape, "int32")]


def _matmul(config: Config, specs: list[Spec], *_: object) -> Spec:
    one, two = specs[0].shape, specs[1].shape
    if one is None or two is None or len(one) < 2 or len(two) < 2:
        return Spec(None, _common(specs))
    batch = broadcast(one[:-2], two[:-2])
    return Spec(None if batch is None else (*batch, one[-2], two[-1]), _common(specs))


def _tensordot(config: Config, specs: list[Spec], *_: object) -> Spec:
    one, two, axes = specs[0].shape, specs[1].shape, config.get("axes", 2)
    if one is None or two is None:
        return Spec(None, _common(specs))
    if isinstance(axes, int):
        axes = [list(range(len(one) - axes, len(one))), list(range(axes))]
    gone = [{axis % len(shape) for axis in items} for shape, items in zip((one, two), axes, strict=True)]
    sizes = [
        size
        for shape, drop in zip((one, two), gone, strict=True)
        for axis, size in enumerate(shape)
        if axis not in drop
    ]
    return Spec(tuple(sizes), _common(specs))


def _einsum(config: Config, specs: list[Spec], *_: object) -> Spec:
    equation = config["subscripts"].replace(" ", "")
    if "." in equation or "->" not in equation or any(spec.shape is None for spec in specs):
        return Spec(None, _common(specs))
    left, right = equation.split("->")
    sizes: dict[str, Size] = {}
    for letters, spec in zip(left.split(","), specs, strict=True):
        for letter, size in zip(letters, spec.shape or (), strict=True):
            if not isinstance(sizes.get(letter), int) or sizes[letter] == 1:
                sizes[letter] = size if size is not None else sizes.get(letter)
    return Spec(tuple(sizes[letter] for letter in right), _common(specs))


def _window(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape = specs[0].shape
    if shape is None:
        return specs[0]
    first, rank = config.get("data_format") == "channels_first", len(shape) - 2
    kernel: Any = config.get("pool_size")
    depth = shape[1] if first else shape[-1]
    if kernel is None:
        filters = specs[1].shape
        if filters is None:
            return Spec(None, specs[0].dtype)
        kernel, depth = filters[:rank], filters[-1]
        if "depthwise" in config:
            depth = filters[-1] * filters[-2]
    strides, dilation = config.get("strides", 1), config.get("dilation_rate", 1)
    settings = [[item] * rank if isinstance(item, int) else list(item) for item in (kernel, strides, dilation)]
    spatial = shape[2:] if first else shape[1:-1]
    sizes = [
        stride_window(size, one, two, config.get("padding", "valid"), three)
        for size, one, two, three in zip(spatial, *settings, strict=True)
    ]
    return Spec((shape[0], depth, *sizes) if first else (shape[0], *sizes, depth), specs[0].dtype)


def _separable(config: Config, specs: list[Spec], *_: object) -> Spec:
    pointwise = specs[2].shape
    middle = _depthwise(config, specs)
    if middle.shape is None or pointwise is None:
        return Spec(None, specs[0].dtype)
    place = 1 if config.get("data_format") == "channels_first" else len(middle.shape) - 1
    return Spec((*middle.shape[:place], pointwise[-1], *middle.shape[place + 1 :]), specs[0].dtype)


def _depthwise(config: Config, specs: list[Spec], *_: object) -> Spec:
    return _window({**config, "depthwise": True}, specs)


def _resize(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape, size = specs[0].shape, config["size"]
    if shape is None:
        return specs[0]
    if config.get("data_format") == "channels_first":
        return Spec((*shape[:-2], *size), specs[0].dtype)
    return Spec((*shape[:-3], *size, shape[-1]), specs[0].dtype)


def _patches(config: Config, specs: list[Spec], *_: object) -> Spec:
    shape, size = specs[0].shape, config["size"]
    size = [size] * 2 if isinstance(size, int) else size
    if shape is None:
        return specs[0]
    depth = None if not isinstance(shape[-1], int) else size[0] * size[1] * shape[-1]
    strides, dilation = config.get("strides") or size, config.get("dilation_rate", 1)
    strides = [strides] * 2 if isinstance(strides, int) else strides
    sizes = [
        stride_window(length, size[axis], strides[axis], config.get("padding", "valid"), dilation)
        for axis, length in enumerate(shape[-3:-1])
    ]
    return Spec((*shape[:-3], *sizes, depth), specs[0].dtype)


def _without_matrix(config: Config, specs: list[Spec], *_: object) -> Spec:
    return Spec(None if specs[0].shape is None else specs[0].shape[:-2], specs[0].dtype)


def _targets(config: Config, specs: list[Spec], *_: object) -> Spec:
    return Spec(specs[0].shape, "bool")


_SAME = """
    Absolute Arccos Arccosh Arcsin Arcsinh Arctan Arctanh BitwiseInvert Ceil Cholesky Clip Copy Cos Cosh Elu Erf Erfinv Exp
    Expm1 Flip Floor Gelu Inv LeakyRelu Log Log1p LogSigmoid LogSoftmax Negative Normalize Reciprocal Relu Relu6 Roll Round
    Rsqrt Selu Sigmoid Sign Silu Sin Sinh Softmax Softplus Softsign Sort Sqrt Square StopGradient Tan Tanh Tril Triu
"""
_ELEMENTWISE = """
    Add Arctan2 BitwiseAnd BitwiseOr BitwiseXor FloorDivide Maximum Minimum Mod Multiply Power Subtract
"""
_BOOLEAN = """
    Equal Greater GreaterEqual Isfinite Isinf Isnan Less LessEqual LogicalAnd LogicalNot LogicalOr LogicalXor NotEqual
"""

OPERATIONS: dict[str, Rule] = {
    **dict.fromkeys(_SAME.split(), _same),
    **dict.fromkeys(_ELEMENTWISE.split(), _elementwise),
    **dict.fromkeys(_BOOLEAN.split(), _boolean),
    **dict.fromkeys(("Divide", "DivideNoNan"), _quotient),
    **dict.fromkeys(("Cast", "SaturateCast", "ZerosLike", "OnesLike", "FullLike"), _typed),
    **dict.fromkeys(("Sum", "Prod"), _reduction("sum")),
    **dict.fromkeys(("Mean", "Std", "Var", "Logsumexp"), _reduction("mean")),
    **dict.fromkeys(("Max", "Min"), _reduction("same")),
    **dict.fromkeys(("All", "Any"), _reduction("bool")),
    **dict.fromkeys(("Cumsum", "Cumprod"), _cumulative),
    **dict.fromkeys(("MaxPool", "AveragePool", "Conv"), _window),
    "DepthwiseConv": _depthwise,
    "SeparableConv": _separable,
    "Argmax": lambda config, specs, *_: Spec(_reduced(specs[0].shape, config.get("axis"), keepdims=False), "int32"),
    "Argmin": lambda config, specs, *_: Spec(_reduced(specs[0].shape, config.get("axis"), keepdims=False), "int32"),
    "Argsort": lambda config, specs, *_: Spec(specs[0].shape, "int32"),
    "BroadcastTo": _broadcast_to,
    "Concatenate": _concatenate,
    "Det": _without_matrix,
    "Einsum": _einsum,
    "ExpandDims": _expand_dims,
    "ExtractPatches": _patches,
    "GetItem": _get_item,
    "InTopK": _targets,
    "Matmul": _matmul,
    "Moments": _moments,
    "OneHot": _one_hot,
    "Pad": _pad,
    "Repeat": _repeat,
    "Reshape": _reshape,
    "Resize": _resize,
    "Split": _split,
    "Squeeze": _squeeze,
    "Stack": _stack,
    "Swapaxes": _swapaxes,
    "Take": _take,
    "TakeAlongAxis": _take_along_axis,
    "Tensordot": _tensordot,
    "Tile": _tile,
    "TopK": _top_k,
    "Transpose": _transpose,
    "Unstack": _unstack,
    "Where": _where,
}
