"""Rules for elementwise operations, reductions, activations, products of matrices, pooling and convolutions.

A rule takes the builder and the arguments of the TensorFlow function by name, and returns the step with the result.
`RULES` maps the name of the function, without namespaces such as `math.`, to its parameters and its rule. In the text of the
parameters, `!` marks those that must be present and `|` separates the names of older versions.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ramet._port.draft import Tensor
from ramet._port.shapes import is_read_as_bias
from ramet._port.tf_ops_base import (
    CORE,
    INTEGERS,
    MATH,
    NN,
    SMALL_INTEGERS,
    Arguments,
    Builder,
    Constant,
    Known,
    Operand,
    Step,
    Untranslatable,
)

Rule: TypeAlias = Callable[[Builder, Arguments], "Operand | Known"]

RULES: dict[str, tuple[str, Rule]] = {}


def rule(names: str, parameters: str) -> Callable[[Rule], Rule]:
    """Register a rule under the names of one or more functions."""

    def register(function: Rule) -> Rule:
        RULES.update(dict.fromkeys(names.split(), (parameters, function)))
        return function

    return register


# Operations with one tensor and no settings: TensorFlow name, class, module.
_UNARY = """
    abs Absolute, acos Arccos, acosh Arccosh, asin Arcsin, asinh Arcsinh, atan Arctan, atanh Arctanh, ceil Ceil, cos Cos,
    cosh Cosh, exp Exp, exponential Exp, expm1 Expm1, floor Floor, is_finite Isfinite, is_inf Isinf, is_nan Isnan, log Log,
    log1p Log1p, logical_not LogicalNot, negative Negative, neg Negative, reciprocal Reciprocal, rint Round, round Round,
    sign Sign, sin Sin, sinh Sinh, sqrt Sqrt, square Square, tan Tan, tanh Tanh, bitwise.invert BitwiseInvert,
    identity Copy, linear Copy, convert_to_tensor Copy, ensure_shape Copy, grad_pass_through Copy, no_op Copy
"""
_UNARY_NN = """
    elu Elu, log_sigmoid LogSigmoid, relu Relu, relu6 Relu6, selu Selu, sigmoid Sigmoid, softplus Softplus,
    softsign Softsign, mish Mish
"""
_BINARY = """
    add Add, add_v2 Add, subtract Subtract, sub Subtract, multiply Multiply, mul Multiply, scalar_mul Multiply, pow Power,
    maximum Maximum, minimum Minimum, equal Equal, eq Equal, not_equal NotEqual, ne NotEqual, greater Greater,
    greater_equal GreaterEqual, less Less, less_equal LessEqual, logical_and LogicalAnd, logical_or LogicalOr,
    logical_xor LogicalXor, atan2 Arctan2, bitwise.bitwise_and BitwiseAnd, bitwise.bitwise_or BitwiseOr,
    bitwise.bitwise_xor BitwiseXor
"""
_REDUCTIONS = """
    reduce_sum Sum, reduce_mean Mean, reduce_max Max, reduce_min Min, reduce_prod Prod, reduce_all All, reduce_any Any,
    reduce_std Std, reduce_variance Var
"""


def _table(text: str) -> dict[str, str]:
    words = text.replace(",", " ").split()
    return dict(zip(words[::2], words[1::2], strict=True))


def _unary(class_name: str, module: str | None = None) -> Rule:
    def apply(b: Builder, a: Arguments) -> Operand:
        x = b.operand(a["x"])
        return b.op(class_name, x) if module is None else b.op(class_name, x, module=module)

    return apply


def operands(b: Builder, a: Arguments, first: str = "x", second: str = "y") -> tuple[Operand, Operand]:
    """Return two operands; a list takes the dtype of the other one."""
    return b.operand(a[first], a[second]), b.operand(a[second], a[first])


def _binary(class_name: str) -> Rule:
    def apply(b: Builder, a: Arguments) -> Operand:
        x, y = operands(b, a)
        if class_name.startswith("Bitwise"):  # takes no plain numbers
            x, y = as_constant(b, x, y), as_constant(b, y, x)
        if class_name == "Add" and _is_read_as_bias(b, x, y):
            return b.op("Subtract", x, b.op("Negative", y))
        return b.op(class_name, x, y)

    return apply


def _is_read_as_bias(b: Builder, x: Operand, y: Operand) -> bool:
    if not isinstance(y, Tensor | Step | Constant):
        return False
    return not (number_dtype(b, x, y) or "bool").startswith(("bool", "u")) and is_read_as_bias(b.shape(x), b.shape(y))


def as_constant(b: Builder, value: Operand, like: Operand) -> Operand:
    """Return a plain number as a constant with the dtype of another operand, in a list: Keras saves arrays, not scalars."""
    return value if isinstance(value, Tensor | Step | Constant) else Constant([value], b.dtype(like) or "int32")


for _name, _class in _table(_UNARY).items():
    RULES[_name] = ("x!|value|input|features|a|t dtype shape dtype_hint preferred_dtype partial", _unary(_class))
for _name, _class in _table(_UNARY_NN).items():
    RULES[_name] = ("x!|features|input", _unary(_class, NN))
for _name, _class in _table(_BINARY).items():
    RULES[_name] = ("x!|a|scalar y!|b|a incompatible_shape_error", _binary(_class))
RULES["pow"] = ("x! y!|a", _binary("Power"))
RULES["atan2"] = ("x!|y y!|x", _binary("Arctan2"))

RULES["scalar_mul"] = ("x!|scalar y!|x", _binary("Multiply"))
RULES["erf"] = ("x!", _unary("Erf", MATH))
RULES["erfinv"] = ("x!", _unary("Erfinv", MATH))
RULES["rsqrt"] = ("x!", _unary("Rsqrt", MATH))
RULES["stop_gradient"] = ("x!|input|variables", _unary("StopGradient", CORE))
RULES["prevent_gradient"] = RULES["stop_gradient"]
del RULES["mish"]


def number_dtype(b: Builder, *values: Operand) -> str | None:
    """Return the dtype of the first operand that has one."""
    return next((dtype for dtype in (b.dtype(value) for value in values) if dtype), None)


def cast(b: Builder, value: Operand, dtype: str) -> Operand:
    """Return an operand in another dtype; plain numbers stay as they are."""
    if isinstance(value, Constant):
        return Constant(value.value, dtype)
    return b.op("Cast", value, module=CORE, dtype=dtype) if isinstance(value, Tensor | Step) else value


@rule("truediv divide realdiv real_div", "x! y!")
def _truediv(b: Builder, a: Arguments) -> Operand:
    x, y = operands(b, a)
    dtype = number_dtype(b, x, y)
    if dtype in INTEGERS:
        # TensorFlow divides integers in float64, and those with up to 16 bits in float32; Keras in float32.
        target = "float32" if dtype in SMALL_INTEGERS else "float64"
        x, y = cast(b, x, target), cast(b, y, target)
    return b.op("Divide", x, y)


@rule("floordiv floor_div div", "x! y!")
def _floordiv(b: Builder, a: Arguments) -> Operand:
    x, y = operands(b, a)
    dtype = number_dtype(b, x, y)
    if dtype is None or dtype in INTEGERS:
        return b.op("FloorDivide", x, y)
    # For floats, NumPy derives the quotient from the remainder: 1 // 0.1 is 9 there, and 10 in TensorFlow.
    return b.op("Floor", b.op("Divide", x, y))


@rule("compat.v1.div", "x! y!")
def _div(b: Builder, a: Arguments) -> Operand:
    x, y = operands(b, a)
    return b.op("FloorDivide" if number_dtype(b, x, y) in INTEGERS else "Divide", x, y)


@rule("truncatediv truncatemod", "x! y!")
def _truncate(b: Builder, a: Arguments) -> Operand:
    x, y = operands(b, a)
    whole = a["function"] == "truncatediv"
    if number_dtype(b, x, y) not in INTEGERS:
        if whole:
            return b.op("Divide", x, y)
        raise Untranslatable("tf.truncatemod of floats has no counterpart in Keras 3")
    if isinstance(x, Constant | int | float) or isinstance(y, Constant):
        raise Untranslatable(f"tf.{a['function']} of a constant is not supported")
    size = b.op("FloorDivide", b.op("Absolute", x), abs(y) if isinstance(y, int | float) else b.op("Absolute", y))
    sign = b.op("Sign", b.op("Multiply", x, y))
    quotient = b.op("Multiply", sign, size)
    return quotient if whole else b.op("Subtract", x, b.op("Multiply", quotient, y))


@rule("keras.backend.sqrt", "x!")
def _keras_sqrt(b: Builder, a: Arguments) -> Operand:
    return b.op("Sqrt", b.op("Maximum", a["x"], 0.0))


@rule("floormod mod floor_mod", "x! y!")
def _floormod(b: Builder, a: Arguments) -> Operand:
    return b.op("Mod", *operands(b, a))


@rule("squared_difference", "x! y!")
def _squared_difference(b: Builder, a: Arguments) -> Operand:
    return b.op("Square", b.op("Subtract", *operands(b, a)))


@rule("divide_no_nan div_no_nan", "x! y!")
def _divide_no_nan(b: Builder, a: Arguments) -> Operand:
    x, y = operands(b, a)
    if number_dtype(b, x, y) in INTEGERS:
        raise Untranslatable("tf.math.divide_no_nan of integers has no counterpart in Keras 3")
    return b.op("DivideNoNan", x, y)


def _unless_zero(b: Builder, test: Operand, result: Operand) -> Operand:
    return b.op("Where", b.op("Equal", test, 0), 0.0, result)


@rule("multiply_no_nan", "x! y!")
def _multiply_no_nan(b: Builder, a: Arguments) -> Operand:
    x, y = operands(b, a)
    return _unless_zero(b, y, b.op("Multiply", x, y))


@rule("xdivy", "x! y!")
def _xdivy(b: Builder, a: Arguments) -> Operand:
    x, y = operands(b, a)
    return _unless_zero(b, x, b.op("Divide", x, y))


@rule("xlogy xlog1py", "x! y!")
def _xlogy(b: Builder, a: Arguments) -> Operand:
    x, y = operands(b, a)
    if not isinstance(y, Tensor | Step):
        raise Untranslatable("tf.math.xlogy of a constant is not supported")
    return _unless_zero(b, x, b.op("Multiply", x, b.op("Log" if a["function"] == "xlogy" else "Log1p", y)))


@rule("add_n accumulate_n", "inputs! shape tensor_dtype")
def _add_n(b: Builder, a: Arguments) -> Operand:
    values = a["inputs"] if isinstance(a["inputs"], list | tuple) else [a["inputs"]]
    total = b.operand(values[0])
    for value in values[1:]:
        total = b.op("Add", total, b.operand(value, total))
    return total


# Reductions.


def axes_of(axis: Any, function: str) -> int | list[int] | None:
    """Return an axis, or several, as Keras takes them."""
    if axis is None or isinstance(axis, int):
        return axis
    if isinstance(axis, list | tuple) and all(isinstance(item, int) for item in axis):
        return axis[0] if len(axis) == 1 else list(axis)
    raise Untranslatable(f"the axis of tf.{function} is known only when the model runs")


def _count(b: Builder, value: Operand, axis: int | list[int] | None) -> int:
    shape = b.shape(value)
    chosen = range(len(shape or ())) if axis is None else [axis] if isinstance(axis, int) else axis
    count = 1
    for item in chosen:
        size = shape[item] if shape is not None and -len(shape) <= item < len(shape) else None
        if not isinstance(size, int):
            raise Untranslatable("the mean of integers needs sizes that are known only when the model runs")
        count *= size
    return count


def _reduction(class_name: str, module: str | None = None) -> Rule:
    def apply(b: Builder, a: Arguments) -> Operand:
        x, axis, keepdims = b.operand(a["x"]), axes_of(a["axis"], a["function"]), bool(a["keepdims"])
        dtype = b.dtype(x)
        if axis == []:
            return x
        if class_name in ("All", "Any") and isinstance(axis, list):
            # Keras 3.12 on torch drops one axis after the other, so the last one comes first.
            rank = b.rank(x, a["function"])
            axis = sorted((item % rank for item in axis), reverse=True)
        if class_name == "Mean" and dtype in INTEGERS:
            # The mean of integers is an integer: the sum, divided and rounded towards zero.
            count = _count(b, x, axis)
            total = cast_back(b, b.op("Sum", x, axis=axis, keepdims=keepdims), dtype)
            quotient = b.op("FloorDivide", b.op("Absolute", total), count)
            return b.op("Multiply", b.op("Sign", total), quotient)
        kwargs = {} if module is None else {"module": module}
        result = b.op(class_name, x, axis=axis, keepdims=keepdims, **kwargs)
        return cast_back(b, result, dtype) if class_name in ("Sum", "Prod") else result

    return apply


def cast_back(b: Builder, value: Step, dtype: str | None) -> Step:
    """Return a sum in the dtype of its terms: Keras widens integers with fewer than 32 bits."""
    return b.op("Cast", value, module=CORE, dtype=dtype) if dtype in SMALL_INTEGERS else value


_REDUCED = "x!|input_tensor|input axis|reduction_indices keepdims|keep_dims"
for _name, _class in _table(_REDUCTIONS).items():
    RULES[_name] = (_REDUCED, _reduction(_class))
RULES["reduce_logsumexp"] = (_REDUCED, _reduction("Logsumexp", MATH))


@rule("reduce_euclidean_norm", _REDUCED)
def _euclidean_norm(b: Builder, a: Arguments) -> Operand:
    total = b.op("Sum", b.op("Square", a["x"]), axis=axes_of(a["axis"], a["function"]), keepdims=bool(a["keepdims"]))
    return b.op("Sqrt", total)


@rule("count_nonzero", "x!|input|input_tensor axis|reduction_indices keepdims|keep_dims dtype")
def _count_nonzero(b: Builder, a: Arguments) -> Operand:
    found = b.op("Cast", b.op("NotEqual", a["x"], 0), module=CORE, dtype=a["dtype"] or "int64")
    return b.op("Sum", found, axis=axes_of(a["axis"], a["function"]), keepdims=bool(a["keepdims"]))


@rule("norm", "x!|tensor ord axis keepdims|keep_dims")
def _norm(b: Builder, a: Arguments) -> Operand:
    order = "euclidean" if a["ord"] is None else a["ord"]
    settings: dict[str, Any] = {"axis": axes_of(a["axis"], a["function"]), "keepdims": bool(a["keepdims"])}
    pair = isinstance(settings["axis"], list)
    if order in ("euclidean", "fro") or (order == 2 and not pair):
        return b.op("Sqrt", b.op("Sum", b.op("Square", a["x"]), **settings))
    if order == 1 and not pair:
        return b.op("Sum", b.op("Absolute", a["x"]), **settings)
    if order in (float("inf"), "inf") and not pair:
        return b.op("Max", b.op("Absolute", a["x"]), **settings)
    raise Untranslatable(f"tf.norm with ord={order!r} has no counterpart in Keras 3")


@rule("moments", "x! axes! shift keepdims|keep_dims")
def _moments(b: Builder, a: Arguments) -> Operand:
    axes = a["axes"] if isinstance(a["axes"], list) else [a["axes"]]
    return b.op("Moments", a["x"], module=NN, axes=axes, keepdims=bool(a["keepdims"]))


def normalize(b: Builder, x: Operand, axis: int | list[int] | None, epsilon: float) -> Operand:
    """Return `x * rsqrt(max(sum(x ** 2), epsilon))`."""
    if b.dtype(x) in (None, "float32") and axis is not None:
        # Keras takes min(rsqrt(sum), 1 / epsilon), which is the same with the square root of epsilon.
        return b.op("Normalize", x, module=NN, axis=axis, order=2, epsilon=epsilon**0.5)
    total = b.op("Sum", b.op("Square", x), axis=axis, keepdims=True)
    return b.op("Multiply", x, b.op("Rsqrt", b.op("Maximum", total, epsilon), module=MATH))


@rule("l2_normalize", "x! axis|dim epsilon")
def _l2_normalize(b: Builder, a: Arguments) -> Operand:
    epsilon = 1e-12 if a["epsilon"] is None else a["epsilon"]
    return normalize(b, a["x"], axes_of(a["axis"], a["function"]), epsilon)


# Activations.


@rule("softmax log_softmax", "x!|logits axis|dim")
def _softmax(b: Builder, a: Arguments) -> Operand:
    axis = -1 if a["axis"] is None else a["axis"]
    return b.op("Softmax" if a["function"] == "softmax" else "LogSoftmax", a["x"], module=NN, axis=axis)


@rule("leaky_relu", "x!|features alpha|negative_slope")
def _leaky_relu(b: Builder, a: Arguments) -> Operand:
    return b.op("LeakyRelu", a["x"], module=NN, negative_slope=0.2 if a["alpha"] is None else a["alpha"])


@rule("keras.backend.elu keras.activations.elu", "x! alpha")
def _elu(b: Builder, a: Arguments) -> Operand:
    return b.op("Elu", a["x"], module=NN, alpha=1.0 if a["alpha"] is None else a["alpha"])


@rule("gelu", "x!|features approximate")
def _gelu(b: Builder, a: Arguments) -> Operand:
    return b.op("Gelu", a["x"], module=NN, approximate=bool(a["approximate"]))


@rule("silu swish", "x!|features beta")
def _silu(b: Builder, a: Arguments) -> Operand:
    if a["beta"] in (None, 1):
        return b.op("Silu", a["x"], module=NN)
    return b.op("Multiply", a["x"], b.op("Sigmoid", b.op("Multiply", a["x"], a["beta"]), module=NN))


@rule("mish", "x!")
def _mish(b: Builder, a: Arguments) -> Operand:
    return b.op("Multiply", a["x"], b.op("Tanh", b.op("Softplus", a["x"], module=NN)))


@rule("hard_sigmoid", "x!")
def _hard_sigmoid(b: Builder, a: Arguments) -> Operand:
    # Keras 3 has another slope, 1/6.
    return b.op("Clip", b.op("Add", b.op("Multiply", a["x"], 0.2), 0.5), x_min=0.0, x_max=1.0)


@rule("crelu", "x!|features axis")
def _crelu(b: Builder, a: Arguments) -> Operand:
    parts = [b.op("Relu", a["x"], module=NN), b.op("Relu", b.op("Negative", a["x"]), module=NN)]
    return b.op("Concatenate", parts, axis=-1 if a["axis"] is None else a["axis"])


@rule("keras.backend.relu keras.activations.relu", "x! alpha|negative_slope max_value threshold")
def _keras_relu(b: Builder, a: Arguments) -> Operand:
    x, slope, top, threshold = a["x"], a["alpha"] or 0.0, a["max_value"], a["threshold"] or 0.0
    if not all(isinstance(item, int | float) for item in (slope, threshold, top or 0)):
        raise Untranslatable("the settings of relu are known only when the model runs")
    if threshold == 0 and top is None:
        return b.op("LeakyRelu", x, module=NN, negative_slope=slope) if slope else b.op("Relu", x, module=NN)
    positive = b.op("Where", b.op("Greater", x, threshold), x, 0.0) if threshold else x
    if top is not None or not threshold:
        positive = b.op("Clip", positive, x_min=0.0, x_max=float("inf") if top is None else top)
    if not slope:
        return positive
    below = b.op("Relu", b.op("Subtract", threshold, x), module=NN)
    return b.op("Subtract", positive, b.op("Multiply", below, slope))


@rule("clip_by_value", "x!|t clip_value_min! clip_value_max!")
def _clip(b: Builder, a: Arguments) -> Operand:
    x = b.operand(a["x"])
    low, high = a["clip_value_min"], a["clip_value_max"]
    if isinstance(low, int | float) and isinstance(high, int | float) and low <= high:
        return b.op("Clip", x, x_min=low, x_max=high)
    return b.op("Maximum", b.op("Minimum", x, b.operand(high, x)), b.operand(low, x))


@rule("clip_by_norm", "x!|t clip_norm! axes")
def _clip_by_norm(b: Builder, a: Arguments) -> Operand:
    x, limit = b.operand(a["x"]), a["clip_norm"]
    total = b.op("Sum", b.op("Square", x), axis=axes_of(a["axes"], a["function"]), keepdims=True)
    return b.op("Divide", b.op("Multiply", x, limit), b.op("Maximum", b.op("Sqrt", total), limit))


@rule("l2_loss", "x!|t")
def _l2_loss(b: Builder, a: Arguments) -> Operand:
    return b.op("Divide", b.op("Sum", b.op("Square", a["x"])), 2)


@rule("zero_fraction", "x!|value")
def _zero_fraction(b: Builder, a: Arguments) -> Operand:
    return b.op("Mean", b.op("Cast", b.op("Equal", a["x"], 0), module=CORE, dtype="float32"))


@rule("reciprocal_no_nan", "x!")
def _reciprocal_no_nan(b: Builder, a: Arguments) -> Operand:
    return _unless_zero(b, a["x"], b.op("Reciprocal", a["x"]))


@rule("real conj", "x!|input")
def _real(b: Builder, a: Arguments) -> Operand:
    return b.op("Copy", a["x"])  # Keras 3 has no complex tensors


@rule("sigmoid_cross_entropy_with_logits", "labels! logits!")
def _sigmoid_cross_entropy(b: Builder, a: Arguments) -> Operand:
    labels, x = operands(b, a, "labels", "logits")
    if not isinstance(x, Tensor | Step):
        raise Untranslatable("tf.nn.sigmoid_cross_entropy_with_logits of constant logits is not supported")
    positive = b.op("Subtract", b.op("Relu", x, module=NN), b.op("Multiply", x, labels))
    return b.op("Add", positive, b.op("Log1p", b.op("Exp", b.op("Negative", b.op("Absolute", x)))))


@rule("softmax_cross_entropy_with_logits softmax_cross_entropy_with_logits_v2", "labels! logits! axis|dim")
def _softmax_cross_entropy(b: Builder, a: Arguments) -> Operand:
    labels, x = operands(b, a, "labels", "logits")
    axis = -1 if a["axis"] is None else a["axis"]
    return b.op(
        "Negative", b.op("Sum", b.op("Multiply", labels, b.op("LogSoftmax", x, module=NN, axis=axis)), axis=axis)
    )


@rule("bias_add", "x!|value bias! data_format")
def _bias_add(b: Builder, a: Arguments) -> Operand:
    x, bias = b.operand(a["x"]), b.operand(a["bias"], a["x"])
    if str(a["data_format"]).startswith(("NC", "channels_first")):
        rank = b.rank(x, "nn.bias_add")
        if rank > 2:
            if not isinstance(bias, Constant):
                raise Untranslatable("tf.nn.bias_add with channels first and a computed bias is not supported")
            value = bias.value
            for _ in range(rank - 2):
                value = column(value)
            bias = Constant(value, bias.dtype)
    return b.op("Add", x, bias)


def column(value: list[Any]) -> list[Any]:
    """Return nested lists with one more axis at the end."""
    return [column(item) if isinstance(item, list) else [item] for item in value]
