"""Static shapes and dtypes of Keras layers and operations, computed from their configs.

Best effort: what does not follow from the config and the inputs is None. A size is an integer, None, or any other value
that stands for an unknown size, such as a `Dim`; such values are passed through and never computed with. The file imports
no Keras, and odd configs give None, not an error.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from ramet._port.draft import Argument

Size: TypeAlias = Any
Shape: TypeAlias = tuple[Size, ...]


@dataclass(frozen=True, slots=True)
class Spec:
    """The shape and the dtype of a tensor, each None if unknown."""

    shape: Shape | None = None
    dtype: str | None = None


Config: TypeAlias = Mapping[str, Any]
Rule: TypeAlias = Callable[[Config, list[Spec], list[Argument], Mapping[str, Argument]], Any]


def output_specs(
    class_name: str, config: Config, args: Sequence[Argument], kwargs: Mapping[str, Argument] | None = None
) -> list[Spec] | None:
    """Return the shapes and dtypes of the outputs of a call.

    Args:
        class_name: The class of the layer, of Keras 2 or 3, or of an operation of Keras 3.
        config: Its config. A name that a layer and an operation share, such as `Reshape`, is resolved by the keys of the config.
        args: The arguments of the call by position, with a `Spec` in place of each tensor.
        kwargs: The arguments by name, likewise.

    Returns:
        One `Spec` per output, or None if nothing is known, not even the number of outputs.
    """
    kwargs = kwargs or {}
    try:
        tensors = list(_specs_in([*args, *kwargs.values()]))
        rule = _choose(class_name, config)
        if rule is None:
            return None
        result = rule(config, tensors, list(args), kwargs)
    except (ArithmeticError, AttributeError, LookupError, RecursionError, StopIteration, TypeError, ValueError):
        return None  # an odd config: the size of a kernel as text, an axis out of range
    if result is None:
        return None
    return result if isinstance(result, list) else [result]


def compute_dtype(config: Config) -> str:
    """Return the dtype in which a layer computes, from the dtype or the policy in its config."""
    policy = config.get("dtype")
    if isinstance(policy, Mapping):
        settings = policy.get("config", policy)
        policy = settings.get("name") if isinstance(settings, Mapping) else None
        if policy is None and isinstance(settings, Mapping):
            policy = settings.get("source_name")
    if not isinstance(policy, str):
        return "float32"
    return policy.rpartition("_from_")[2].removeprefix("mixed_")


def is_float(dtype: str | None) -> bool:
    """Return true for a floating-point dtype."""
    return dtype is not None and dtype.startswith(("float", "bfloat"))


def shape_of_value(value: Argument) -> Shape:
    """Return the shape of a nested list, or of an array that a config contains."""
    if (
        isinstance(value, Mapping)
        and value.get("class_name") == "__numpy__"
        and isinstance(value.get("config"), Mapping)
    ):
        value = value["config"].get("value")
    shape: list[int] = []
    while isinstance(value, list | tuple):
        shape.append(len(value))
        if not value:
            break
        value = value[0]
    return tuple(shape)


def broadcast(*shapes: Shape | None) -> Shape | None:
    """Return the shape of an elementwise operation, or None if it is unknown."""
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return None
    rank = max((len(shape) for shape in known), default=0)
    result: list[Size] = []
    for axis in range(-rank, 0):
        sizes = {shape[axis] for shape in known if len(shape) >= -axis and shape[axis] != 1}
        fixed = [size for size in sizes if isinstance(size, int)]
        if len(fixed) > 1:
            return None
        if fixed:
            result.append(fixed[0])
        else:
            result.append(1 if not sizes else sizes.pop() if len(sizes) == 1 else None)
    return tuple(result)


def product(sizes: Sequence[Size]) -> int | None:
    """Return the product of sizes, or None if one of them is unknown."""
    return math.prod(sizes) if all(isinstance(size, int) for size in sizes) else None


def size_left(shape: Shape, target: Sequence[Size]) -> Size:
    """Return the size that -1 stands for in a target shape, or None if it is unknown."""
    unknown = [size for size in shape if not isinstance(size, int)]
    total, rest = (
        product([size for size in shape if isinstance(size, int)]),
        product([size for size in target if size != -1]),
    )
    if not total or not rest or len(unknown) > 1:
        return None
    if not unknown:
        return total // rest
    # One unknown size keeps its identity if the known sizes are the same before and after.
    return unknown[0] if total == rest else None


def _specs_in(value: Argument) -> Iterator[Spec]:
    if isinstance(value, Spec):
        yield value
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _specs_in(item)
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _specs_in(item)


def _choose(class_name: str, config: Config) -> Rule | None:
    from ramet._port.shapes_layers import LAYERS
    from ramet._port.shapes_ops import OPERATIONS

    layer, operation = LAYERS.get(class_name), OPERATIONS.get(class_name)
    if layer is None or operation is None:
        return layer or operation
    # The configs of layers have more keys than the arguments of operations with the same name.
    return layer if {"dtype", "trainable", "target_shape"} & set(config) else operation


def stride_window(size: Size, kernel: int, stride: int, padding: str, dilation: int = 1) -> Size:
    """Return the size of an axis after a window moved along it."""
    if padding in ("same", "causal"):
        return size if stride == 1 else -(-size // stride) if isinstance(size, int) else None
    if not isinstance(size, int):
        return size if kernel == 1 and stride == 1 else None
    return (size - (kernel - 1) * dilation - 1) // stride + 1


def concatenated(shapes: Sequence[Shape | None], axis: int) -> Shape | None:
    """Return the shape of tensors that are joined along an axis."""
    known = [shape for shape in shapes if shape is not None]
    if not known:
        return None
    rank = len(known[0])
    result: list[Size] = []
    for position in range(rank):
        sizes = [shape[position] for shape in known]
        if position == axis % rank:
            result.append(sum(sizes) if len(known) == len(shapes) and product(sizes) is not None else None)
        else:
            result.append(
                next((size for size in sizes if isinstance(size, int)), sizes[0] if len(set(sizes)) == 1 else None)
            )
    return tuple(result)


def is_read_as_bias(first: Shape | None, second: Shape | None) -> bool:
    """Return whether Keras 3 on TensorFlow may add a tensor along another axis than broadcasting does.

    `keras.ops.add` takes a second tensor with one axis longer than 1 for a bias of the last axis of the first one, or of its
    axis 1, if the sizes match.
    """
    if not first or not second or len(first) < 2:
        return False
    for axis, size in enumerate(second):
        others = second[:axis] + second[axis + 1 :]
        if size == 1 or any(isinstance(other, int) and other != 1 for other in others):
            continue
        place = axis - len(second)
        if _may_equal(size, first[-1]):
            if place != -1 or len(second) > len(first):
                return True
        elif _may_equal(size, first[1]) and place != 1 - len(first):
            return True
    return False


def _may_equal(size: Size, other: Size) -> bool:
    """Return whether two sizes can be the same number greater than 1."""
    known = {item for item in (size, other) if isinstance(item, int)}
    return len(known) < 2 and 1 not in known
