"""Evaluation of operations on values that are known without running the model, such as the shape of a tensor.

Values are nested lists of numbers, with `Dim` and `Expression` in place of sizes that are unknown. They are computed as
NumPy arrays of objects, so that arithmetic with unknown sizes gives expressions.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any, TypeAlias

from ramet._port.tf_ops_arrays import slice_key
from ramet._port.tf_ops_base import (
    Arguments,
    Known,
    Untranslatable,
    check_count,
    check_leaf,
    dtype_of_value,
    is_symbolic,
    leaves,
)

_HIGHEST_POWER = 64
# Integers up to here need no check.
_SMALL = 2**31
_Values: TypeAlias = Any
_Rule: TypeAlias = Callable[[Arguments], _Values]


def _array(value: Any) -> Any:
    import numpy as np

    return np.array(value, dtype=object)


def _broadcast(*values: Any) -> list[Any]:
    """Return values as arrays of one shape."""
    import numpy as np

    arrays = [_array(value) for value in values]
    check_count(*np.broadcast_shapes(*(array.shape for array in arrays)))
    return list(np.broadcast_arrays(*arrays))


def _several(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list | tuple) else [value]


def _binary(function: Callable[[Any, Any], Any]) -> _Rule:
    def apply(a: Arguments) -> Any:
        return function(*_broadcast(a["x"], a["y"]))

    return apply


def _power(a: Arguments) -> Any:
    base, exponent = _broadcast(a["x"], a["y"])
    # Python would compute all digits of a power.
    if any(abs(one) > _HIGHEST_POWER for one in exponent.ravel()):
        raise Untranslatable("tf.pow of constants has too large an exponent")
    return base**exponent


def _compare(function: Callable[[Any, Any], Any]) -> _Rule:
    def apply(a: Arguments) -> Any:
        # Whether an unknown size is greater than another is known only if they differ by a number.
        difference = _array(operator.sub(*_broadcast(a["x"], a["y"])))
        if any(is_symbolic(leaf) for leaf in leaves(difference.tolist())):
            raise Untranslatable("it compares sizes that are known only when the model runs")
        return function(difference, 0)

    return apply


def _reduce(function: str) -> _Rule:
    def apply(a: Arguments) -> Any:
        axis = a["axis"]
        return getattr(_array(a["x"]), function)(
            axis=tuple(axis) if isinstance(axis, list | tuple) else axis, keepdims=bool(a["keepdims"])
        )

    return apply


def _gather(a: Arguments) -> Any:
    if a["batch_dims"]:
        raise Untranslatable("tf.gather of known values with batch_dims is not supported")
    values, indices, axis = _array(a["x"]), _array(a["indices"]).astype(int), a["axis"] or 0
    check_count(indices.size, values.size // max(values.shape[axis], 1))
    return values.take(indices, axis=axis)


def _range(a: Arguments) -> Any:
    start, limit = (0, a["start"]) if a["limit"] is None else (a["start"], a["limit"])
    delta = 1 if a["delta"] is None else a["delta"]
    if not all(isinstance(item, int) for item in (start, limit, delta)):
        raise _UnknownSizeError
    check_count(len(range(start, limit, delta)))
    values = list(range(start, limit, delta))
    return [float(value) for value in values] if str(a["dtype"] or "").startswith("float") else values


def _filled(value: Any) -> _Rule:
    def apply(a: Arguments) -> Any:
        import numpy as np

        dims = _several(a["dims"] if value is None else a["shape"])
        if any(is_symbolic(size) for size in dims):
            raise _UnknownSizeError
        check_count(*dims)
        number = a["value"] if value is None else value
        if value is not None and str(a["dtype"] or "float32").startswith("float"):
            number = float(value)
        return np.full([int(size) for size in dims], number, dtype=object)

    return apply


def _getitem(a: Arguments) -> Any:
    spec = a["slice_spec"]
    return _array(a["x"])[tuple(spec) if isinstance(spec, list | tuple) else spec]


def _cast(a: Arguments) -> Any:
    target = str(a["dtype"])

    def convert(value: Any) -> Any:
        if is_symbolic(value):
            return value
        return float(value) if "float" in target else bool(value) if target == "bool" else int(value)

    import numpy as np

    values = _array(a["x"])
    return np.array([convert(item) for item in values.ravel()], dtype=object).reshape(values.shape)


def _where(a: Arguments) -> Any:
    import numpy as np

    if a["x"] is None:
        raise Untranslatable("tf.where without values is not supported")
    condition, one, other = _broadcast(a["condition"], a["x"], a["y"])
    return np.where(condition.astype(bool), one, other)


def _slice(a: Arguments) -> Any:
    bounds = zip(_several(a["begin"]), _several(a["size"]), strict=True)
    return _array(a["x"])[tuple(slice(start, None if size == -1 else start + size) for start, size in bounds)]


def _concat(a: Arguments) -> Any:
    import numpy as np

    arrays = [_array(value) for value in a["values"]]
    check_count(sum(array.size for array in arrays))
    return np.concatenate(arrays, axis=a["axis"] or 0)


def _stack(a: Arguments) -> Any:
    import numpy as np

    arrays = [_array(value) for value in _several(a["values"])]
    check_count(sum(array.size for array in arrays))
    return np.stack(arrays, axis=a["axis"] or 0)


def _split(a: Arguments) -> list[Any]:
    import numpy as np

    parts, axis = a["num_or_size_splits"], a["axis"] or 0
    bounds = parts if isinstance(parts, int) else [sum(parts[: count + 1]) for count in range(len(parts) - 1)]
    return list(np.split(_array(a["x"]), bounds, axis=axis))


def _unstack(a: Arguments) -> list[Any]:
    import numpy as np

    return list(np.moveaxis(_array(a["x"]), a["axis"] or 0, 0))


def _shape(a: Arguments) -> Any:
    return list(_array(a["x"]).shape)


def _squeeze(a: Arguments) -> Any:
    axis = a["axis"]
    return _array(a["x"]).squeeze(axis=tuple(axis) if isinstance(axis, list | tuple) else axis)


def _same(a: Arguments) -> Any:
    return _array(a["x"])


def _expanded(a: Arguments) -> Any:
    import numpy as np

    return np.expand_dims(_array(a["x"]), a["axis"])


def _flipped(a: Arguments) -> Any:
    import numpy as np

    return np.flip(_array(a["x"]), tuple(_several(a["axis"])))


def _tiled(a: Arguments) -> Any:
    import numpy as np

    if any(is_symbolic(count) for count in _several(a["multiples"])):
        raise _UnknownSizeError
    array = _array(a["x"])
    check_count(array.size, *_several(a["multiples"]))
    return np.tile(array, a["multiples"])


class _UnknownSizeError(Exception):
    """The result is no known value, but may be a tensor."""


_SPLIT = ("split", "unstack")
_KNOWN: dict[str, _Rule] = {
    **dict.fromkeys(("add", "add_v2"), _binary(operator.add)),
    **dict.fromkeys(("subtract", "sub"), _binary(operator.sub)),
    **dict.fromkeys(("multiply", "mul"), _binary(operator.mul)),
    **dict.fromkeys(("floordiv", "floor_div"), _binary(operator.floordiv)),
    **dict.fromkeys(("floormod", "mod", "floor_mod"), _binary(operator.mod)),
    **dict.fromkeys(("truediv", "divide", "realdiv"), _binary(operator.truediv)),
    "pow": _power,
    "maximum": lambda a: _where({"condition": _compare(operator.ge)(a), "x": a["x"], "y": a["y"]}),
    "minimum": lambda a: _where({"condition": _compare(operator.le)(a), "x": a["x"], "y": a["y"]}),
    **dict.fromkeys(("equal", "eq"), _compare(operator.eq)),
    **dict.fromkeys(("not_equal", "ne"), _compare(operator.ne)),
    "greater": _compare(operator.gt),
    "greater_equal": _compare(operator.ge),
    "less": _compare(operator.lt),
    "less_equal": _compare(operator.le),
    "negative": lambda a: -_array(a["x"]),
    "sqrt": lambda a: _array(a["x"]) ** 0.5 if not is_symbolic(a["x"]) else a["x"].sqrt(),
    "reduce_prod": _reduce("prod"),
    "reduce_sum": _reduce("sum"),
    "reduce_max": _reduce("max"),
    "reduce_min": _reduce("min"),
    **dict.fromkeys(("identity", "convert_to_tensor", "stop_gradient"), _same),
    "cast": _cast,
    "to_float": lambda a: _cast({"x": a["x"], "dtype": "float32"}),
    "to_int32": lambda a: _cast({"x": a["x"], "dtype": "int32"}),
    "shape": _shape,
    "size": lambda a: _array(a["x"]).size,
    "rank": lambda a: _array(a["x"]).ndim,
    "getitem": _getitem,
    "strided_slice": lambda a: _array(a["x"])[tuple(slice_key(a))],
    "slice": _slice,
    "gather": _gather,
    "where": _where,
    "concat": _concat,
    "stack": _stack,
    "split": _split,
    "unstack": _unstack,
    "reshape": lambda a: _array(a["x"]).reshape(a["shape"]),
    "expand_dims": _expanded,
    "squeeze": _squeeze,
    "transpose": lambda a: _array(a["x"]).transpose(a["perm"]),
    "reverse": _flipped,
    "tile": _tiled,
    "ones_like": lambda a: _array(a["x"]) * 0 + 1,
    "zeros_like": lambda a: _array(a["x"]) * 0,
    "range": _range,
    "fill": _filled(None),
    "zeros": _filled(0),
    "ones": _filled(1),
}


_QUOTIENTS = frozenset({"truediv", "divide", "realdiv"})
# Functions whose results have the dtype of their first tensor.
_SAME_DTYPE = frozenset(
    """
    add add_v2 subtract sub multiply mul floordiv floor_div floormod mod floor_mod pow maximum minimum negative sqrt reduce_prod
    reduce_sum reduce_max reduce_min identity convert_to_tensor stop_gradient getitem strided_slice slice gather concat stack
    split unstack reshape expand_dims squeeze transpose reverse tile ones_like zeros_like range
    """.split()  # noqa: SIM905  # a list of quoted names would be three times as long
)


def known_dtype(known: Known, given: list[str]) -> str:
    """Return the dtype of known values in TensorFlow.

    Args:
        known: The result of an operation.
        given: The dtypes of the known values among its arguments.
    """
    if given and known.function in _QUOTIENTS:
        return given[0] if given[0].startswith("float") else "float64"
    return given[0] if given and known.function in _SAME_DTYPE else known.dtype


def evaluate(function: str, arguments: Arguments) -> Known | None:
    """Return the value of a function of known values, or None if the result is a tensor, such as zeros of unknown size.

    Args:
        function: The name of the function, without namespaces such as `math.`.
        arguments: Its arguments by name, none of them a tensor.
    """
    apply = _KNOWN.get(function)
    if apply is None:
        return None
    try:
        result = apply(arguments)
    except _UnknownSizeError:
        return None
    except (ArithmeticError, AttributeError, IndexError, TypeError, ValueError) as error:
        raise Untranslatable(f"tf.{function} of known sizes cannot be evaluated: {error}") from error
    outputs = result if function in _SPLIT else [result]
    values = [item.tolist() if hasattr(item, "tolist") else item for item in outputs]
    for leaf in leaves(values):
        # The quick test first: there may be a million numbers.
        if (type(leaf) is not int or not -_SMALL <= leaf <= _SMALL) and not is_symbolic(leaf):
            check_leaf(leaf)
    given = arguments.get("dtype") or arguments.get("out_type")
    return Known(values, given or dtype_of_value(values), "" if given else function)
