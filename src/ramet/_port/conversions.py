"""Conversions of weights that older versions of Keras keep in another form: Keras 1, and layers for cuDNN."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from ramet._port.draft import Layer

if TYPE_CHECKING:
    import numpy as np

    _Array: TypeAlias = np.ndarray[Any, Any]

_Shape: TypeAlias = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Step:
    """How one variable is made.

    Attributes:
        numbers: The numbers of the weights in the file from which it is made.
        shape: The shape of the result.
        convert: Makes it; None if it is unchanged.
        how: What `convert` does.
    """

    numbers: tuple[int, ...]
    shape: _Shape
    convert: Callable[..., _Array] | None = None
    how: str = ""


Conversion: TypeAlias = list[Step]


def conversion_of(layer: Layer, shapes: Sequence[_Shape], *, is_keras_1: bool) -> Conversion | None:
    """Return how the variables of a layer are made from the weights in a file, or None if they are as today.

    Args:
        layer: The layer, in the settings of Keras 2.
        shapes: The shapes of its weights in the file.
        is_keras_1: Whether Keras 1 wrote the file.
    """
    class_name = layer.class_name
    if class_name in ("LSTM", "CuDNNLSTM", "GRU", "CuDNNGRU") and len(shapes) == 3:
        return _from_cudnn(class_name, shapes)
    inner = layer.config.get("layer")
    if isinstance(inner, Layer):
        if class_name == "Bidirectional":
            return _both(inner, shapes, is_keras_1=is_keras_1)
        return conversion_of(inner, shapes, is_keras_1=is_keras_1)
    if not is_keras_1:
        return None
    if class_name in ("GRU", "LSTM") and len(shapes) == (9 if class_name == "GRU" else 12):
        return _joined_gates(class_name, shapes)
    if class_name in _TRANSPOSED and shapes:
        return _keras_1_kernel(layer, shapes)
    return None


def _both(inner: Layer, shapes: Sequence[_Shape], *, is_keras_1: bool) -> Conversion | None:
    half = len(shapes) // 2
    parts = [conversion_of(inner, part, is_keras_1=is_keras_1) for part in (shapes[:half], shapes[half:])]
    if parts[0] is None or parts[1] is None:
        return None
    moved = [
        Step(tuple(number + half for number in step.numbers), step.shape, step.convert, step.how) for step in parts[1]
    ]
    return parts[0] + moved


# cuDNN keeps each gate transposed, in another memory order, and with two biases.


def _from_cudnn(class_name: str, shapes: Sequence[_Shape]) -> Conversion | None:
    gates = 4 if class_name.endswith("LSTM") else 3
    kernel, recurrent, bias = shapes
    if len(recurrent) != 2 or bias != (2 * gates * recurrent[0],):
        return None

    def kernels(array: _Array) -> _Array:
        import numpy as np

        return np.hstack([part.T.reshape(part.shape, order="F") for part in np.hsplit(array, gates)])

    def recurrent_kernels(array: _Array) -> _Array:
        import numpy as np

        return np.hstack([part.T for part in np.hsplit(array, gates)])

    def biases(array: _Array) -> _Array:
        halves = array.reshape(2, -1)
        return halves.sum(0) if gates == 4 else halves

    bias_shape = (gates * recurrent[0],) if gates == 4 else (2, gates * recurrent[0])
    how = "converted from the format of cuDNN"
    return [
        Step((0,), kernel, kernels, how),
        Step((1,), recurrent, recurrent_kernels, how),
        Step((2,), bias_shape, biases, how),
    ]


# Keras 1 keeps the gates of a recurrent layer apart, and some kernels in the order of Theano.


def _joined_gates(class_name: str, shapes: Sequence[_Shape]) -> Conversion:
    # Keras 1 has the gates i, c, f, o in this order; Keras 2 has i, f, c, o.
    order = (0, 2, 1, 3) if class_name == "LSTM" else (0, 1, 2)

    def joined(*arrays: _Array) -> _Array:
        import numpy as np

        return np.concatenate(arrays, axis=-1)

    steps = []
    for kind in range(3):
        numbers = tuple(3 * gate + kind for gate in order)
        shape = shapes[numbers[0]]
        whole = (*shape[:-1], sum(shapes[number][-1] for number in numbers))
        steps.append(Step(numbers, whole, joined, "the gates joined, from the format of Keras 1"))
    return steps


_TRANSPOSED = frozenset({"Conv1D", "Conv2D", "Conv3D", "Conv2DTranspose"})


def _keras_1_kernel(layer: Layer, shapes: Sequence[_Shape]) -> Conversion | None:
    kernel, filters = shapes[0], layer.config.get("filters")
    first = layer.config.get("data_format") == "channels_first"
    convert: Callable[[_Array], _Array]
    if layer.class_name == "Conv1D" and len(kernel) == 4:
        size = layer.config.get("kernel_size")
        length = size[0] if isinstance(size, list) and size else size
        axes = None if kernel[:2] == (length, 1) and kernel[3] == filters else (2, 3, 1, 0)
        shape = kernel if axes is None else tuple(kernel[axis] for axis in axes)

        def convert(array: _Array) -> _Array:
            return (array if axes is None else array.transpose(axes))[:, 0, :, :]

        result = (shape[0], *shape[2:])
    else:
        orders: dict[tuple[str, bool], tuple[int, ...]] = {
            ("Conv2D", True): (2, 3, 1, 0),
            ("Conv3D", True): (2, 3, 4, 1, 0),
            ("Conv2DTranspose", True): (2, 3, 0, 1),
            ("Conv2DTranspose", False): (0, 1, 3, 2),
        }
        order = orders.get((layer.class_name, first))
        if order is None or len(order) != len(kernel):
            return None

        def convert(array: _Array) -> _Array:
            return array.transpose(order)

        result = tuple(kernel[axis] for axis in order)
    rest = [Step((number,), shape) for number, shape in enumerate(shapes[1:], 1)]
    return [Step((0,), result, convert, "transposed, from the format of Keras 1"), *rest]
