"""Rules for products of matrices, pooling and convolutions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ramet._port.draft import Tensor
from ramet._port.tf_ops_base import NN, Arguments, Builder, Constant, Operand, Step, Untranslatable, check_count
from ramet._port.tf_ops_math import RULES, Rule, column, operands, rule

# Products.


def transposed(b: Builder, value: Operand) -> Operand:
    """Return matrices with their last two axes exchanged."""
    if isinstance(value, Constant):
        import numpy as np

        return Constant(np.array(value.value).swapaxes(-1, -2).tolist(), value.dtype)
    return b.op("Swapaxes", value, axis1=-1, axis2=-2)


@rule(
    "matmul batch_mat_mul batch_matmul",
    "a!|x b!|y transpose_a transpose_b adjoint_a|adj_x adjoint_b|adj_y a_is_sparse b_is_sparse output_type "
    "grad_a grad_b Tout",
)
def _matmul(b: Builder, a: Arguments) -> Operand:
    first, second = operands(b, a, "a", "b")
    if a["output_type"] not in (None, b.dtype(first)):
        raise Untranslatable("tf.linalg.matmul with another output type has no counterpart in Keras 3")
    first = transposed(b, first) if a["transpose_a"] or a["adjoint_a"] else first
    second = transposed(b, second) if a["transpose_b"] or a["adjoint_b"] else second
    return b.op("Matmul", first, second)


@rule("matvec", "a! b! transpose_a adjoint_a a_is_sparse b_is_sparse")
def _matvec(b: Builder, a: Arguments) -> Operand:
    first, second = operands(b, a, "a", "b")
    first = transposed(b, first) if a["transpose_a"] or a["adjoint_a"] else first
    if isinstance(second, Constant):
        second = Constant(column(second.value), second.dtype)
    else:
        second = b.op("ExpandDims", second, axis=-1)
    return b.op("Squeeze", b.op("Matmul", first, second), axis=-1)


@rule("tensordot", "a! b! axes!")
def _tensordot(b: Builder, a: Arguments) -> Operand:
    one, two = operands(b, a, "a", "b")
    ranks, axes = (b.rank(one, "tensordot"), b.rank(two, "tensordot")), a["axes"]
    if isinstance(axes, int):
        axes = [list(range(ranks[0] - axes, ranks[0])), list(range(axes))]
    return _contract(b, one, two, ranks, [[item] if isinstance(item, int) else list(item) for item in axes])


def _contract(b: Builder, one: Operand, two: Operand, ranks: Sequence[int], axes: Sequence[Sequence[int]]) -> Step:
    """Return a sum of products over pairs of axes. `Tensordot` of Keras 3 fails on unknown sizes in Python 3.14."""
    letters = [list("abcdefgh"[: ranks[0]]), list("ijklmnop"[: ranks[1]])]
    for number, (first, second) in enumerate(zip(*axes, strict=True)):
        letters[0][first] = letters[1][second] = "uvwxyz"[number]
    rest = [letter for letter in letters[0] + letters[1] if letter < "u"]
    return b.op("Einsum", one, two, subscripts=f"{''.join(letters[0])},{''.join(letters[1])}->{''.join(rest)}")


@rule("einsum", "equation! *inputs")
def _einsum(b: Builder, a: Arguments) -> Operand:
    values = a["inputs"]
    equation = a["equation"].replace(" ", "")
    if len(values) == 1 and isinstance(values[0], list) and len(equation.split("->")[0].split(",")) == len(values[0]):
        values = values[0]
    if len(values) != len(equation.split("->")[0].split(",")):
        raise Untranslatable("Keras 2 did not save the operands of tf.einsum; the file has only its equation")
    like = next((value for value in values if isinstance(value, Tensor | Step)), None)
    return b.op("Einsum", *(b.operand(value, like) for value in values), subscripts=equation)


@rule("keras.backend.dot", "x! y!")
def _dot(b: Builder, a: Arguments) -> Operand:
    x, y = operands(b, a)
    ranks = b.rank(x, "keras.backend.dot"), b.rank(y, "keras.backend.dot")
    return _contract(b, x, y, ranks, [[ranks[0] - 1], [max(ranks[1] - 2, 0)]])


@rule("keras.backend.batch_dot", "x! y! axes")
def _batch_dot(b: Builder, a: Arguments) -> Operand:
    x, y = operands(b, a)
    ranks = b.rank(x, "keras.backend.batch_dot"), b.rank(y, "keras.backend.batch_dot")
    axes = a["axes"]
    if axes is None:
        axes = (ranks[0] - 1, ranks[1] - 1 if ranks[1] == 2 else ranks[1] - 2)
    axes = (axes, axes) if isinstance(axes, int) else axes
    one = ["b", *"cdefgh"[: ranks[0] - 1]]
    two = ["b", *"ijklmn"[: ranks[1] - 1]]
    one[axes[0]] = two[axes[1]] = "z"
    rest = [letter for letter in one + two[1:] if letter != "z"]
    result = b.op("Einsum", x, y, subscripts=f"{''.join(one)},{''.join(two)}->{''.join(rest)}")
    return b.op("ExpandDims", result, axis=1) if len(rest) == 1 else result


# Windows.


def spatial(value: Any, rank: int, *, first: bool, function: str) -> int | list[int]:
    """Return the sizes of the spatial axes, from a number, one per axis, or one per axis with batch and channels."""
    if isinstance(value, int):
        return value
    sizes = list(value)
    if len(sizes) == rank + 2:
        if {sizes[0], sizes[1] if first else sizes[-1]} != {1}:
            raise Untranslatable(f"tf.{function} over the batch or the channels has no counterpart in Keras 3")
        sizes = sizes[2:] if first else sizes[1:-1]
    # Some backends take only tuples where a file has lists, so equal sizes become one number.
    return sizes[0] if len(set(sizes)) == 1 else sizes


def _window(class_name: str, rank: int | None) -> Rule:
    def apply(b: Builder, a: Arguments) -> Operand:
        x, function = a["x"], a["function"]
        count = rank if rank is not None else b.rank(x, function) - 2
        first = str(a["data_format"] or "").startswith("NC")
        if not isinstance(a["padding"], str) or a["padding"].lower() not in ("same", "valid"):
            raise Untranslatable(f"tf.{function} with explicit padding is not supported")
        settings = {
            "strides": spatial(a["strides"] or 1, count, first=first, function=function),
            "padding": a["padding"].lower(),
            "data_format": "channels_first" if first else "channels_last",
        }
        if class_name in ("MaxPool", "AveragePool"):
            if any(size != 1 for size in leaves_of(a["dilations"])):
                raise Untranslatable(f"tf.{function} with dilations has no counterpart in Keras 3")
            pool = spatial(a["ksize"], count, first=first, function=function)
            return b.op(class_name, x, module=NN, pool_size=pool, **settings)
        dilation = spatial(a["dilations"] or 1, count, first=first, function=function)
        if class_name == "DepthwiseConv" and not isinstance(settings["strides"], int):
            raise Untranslatable("tf.nn.depthwise_conv2d with different strides is not supported")
        return b.op(class_name, x, b.operand(a["filters"], x), module=NN, dilation_rate=dilation, **settings)

    return apply


def leaves_of(value: Any) -> list[Any]:
    """Return a setting as a list: empty for None, one item for a number."""
    return [] if value is None else list(value) if isinstance(value, list | tuple) else [value]


_POOLED = "x!|input|value ksize! strides! padding! data_format dilations"
_FILTERED = "x!|input|value filters!|filter|kernel strides|stride padding! data_format dilations|rate|dilation_rate use_cudnn_on_gpu"
for _rank in (1, 2, 3):
    RULES[f"max_pool{_rank}d"] = (_POOLED, _window("MaxPool", _rank))
    RULES[f"avg_pool{_rank}d"] = (_POOLED, _window("AveragePool", _rank))
    RULES[f"conv{_rank}d"] = (_FILTERED, _window("Conv", _rank))


@rule("separable_conv2d", "x!|input depthwise_filter! pointwise_filter! strides! padding! data_format dilations|rate")
def _separable(b: Builder, a: Arguments) -> Operand:
    first = str(a["data_format"] or "").startswith("NC")
    strides = spatial(a["strides"], 2, first=first, function="nn.separable_conv2d")
    dilation = spatial(a["dilations"] or 1, 2, first=first, function="nn.separable_conv2d")
    if not isinstance(strides, int) or not isinstance(dilation, int) or a["padding"] not in ("SAME", "VALID"):
        raise Untranslatable("tf.nn.separable_conv2d with different strides or explicit padding is not supported")
    filters = [b.operand(a[key], a["x"]) for key in ("depthwise_filter", "pointwise_filter")]
    data_format = "channels_first" if first else "channels_last"
    settings = {"strides": strides, "padding": a["padding"].lower(), "dilation_rate": dilation}
    return b.op("SeparableConv", a["x"], *filters, module=NN, data_format=data_format, **settings)


@rule("lrn local_response_normalization", "x!|input depth_radius bias alpha beta")
def _local_response(b: Builder, a: Arguments) -> Operand:
    x, shape = a["x"], b.shape(a["x"])
    if shape is None or not isinstance(shape[-1], int):
        raise Untranslatable("tf.nn.local_response_normalization with an unknown number of channels is not supported")
    radius, channels = 5 if a["depth_radius"] is None else a["depth_radius"], shape[-1]
    bias, alpha, beta = (
        default if a[key] is None else a[key] for key, default in (("bias", 1), ("alpha", 1), ("beta", 0.5))
    )
    check_count(channels, channels)
    band = [[float(abs(one - two) <= radius) for two in range(channels)] for one in range(channels)]
    sums = b.op("Matmul", b.op("Square", x), Constant(band, b.dtype(x) or "float32"))
    scale = b.op("Power", b.op("Add", b.op("Multiply", sums, float(alpha)), float(bias)), float(beta))
    return b.op("Divide", x, scale)


RULES["max_pool"] = (_POOLED, _window("MaxPool", None))
RULES["avg_pool"] = (_POOLED, _window("AveragePool", None))
RULES["convolution"] = (_FILTERED, _window("Conv", None))
RULES["depthwise_conv2d"] = RULES["depthwise_conv2d_native"] = (_FILTERED, _window("DepthwiseConv", 2))
