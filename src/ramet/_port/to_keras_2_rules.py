"""Rules for `to_keras_2_ops`: which functions of TensorFlow compute what an operation of Keras 3 computes."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TypeAlias

from ramet._port.draft import Tensor
from ramet._port.to_keras_2_ops import Builder, Constant, Result, Rule

_Arguments: TypeAlias = dict[str, Any]
RULES: dict[str, Rule] = {}
_SMALL = frozenset({"bool", "int8", "int16"})


def _rule(*names: str) -> Callable[[Rule], Rule]:
    def register(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(names, rule))
        return rule

    return register


def _axes(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def _positive(axis: int, rank: int) -> int:
    return axis + rank if axis < 0 else axis


# Arithmetic and comparisons.

_BINARY = {
    "Add": "math.add",
    "FloorDivide": "math.floordiv",
    "Maximum": "math.maximum",
    "Minimum": "math.minimum",
    "Mod": "math.floormod",
    "Multiply": "math.multiply",
    "Power": "math.pow",
    "Subtract": "math.subtract",
}
_COMPARISONS = {
    "Equal": "math.equal",
    "Greater": "math.greater",
    "GreaterEqual": "math.greater_equal",
    "Less": "math.less",
    "LessEqual": "math.less_equal",
    "NotEqual": "math.not_equal",
}
_SWAPPED = {"math.add": "math.add", "math.maximum": "math.maximum", "math.minimum": "math.minimum"}
_SWAPPED |= {"math.multiply": "math.multiply", "math.equal": "math.equal", "math.not_equal": "math.not_equal"}
_SWAPPED |= {"math.greater": "math.less", "math.less": "math.greater"}
_SWAPPED |= {"math.greater_equal": "math.less_equal", "math.less_equal": "math.greater_equal"}


def _pair(b: Builder, function: str, x: Any, y: Any, dtype: str) -> Result:
    # A constant is converted to the dtype of the tensor only if the tensor comes first.
    if isinstance(x, Constant) and function in _SWAPPED:
        return b.call(_SWAPPED[function], y, dtype, y=x)
    return b.call(function, x, dtype, y=y)


def _binary(function: str) -> Rule:
    def rule(b: Builder, a: _Arguments) -> Result:
        (x, y), dtype = b.unify(a["x1"], a["x2"])
        if dtype == "bool":
            b.refuse("it calculates with dtype bool")
        if function == "math.floordiv" and dtype.startswith("bfloat"):
            b.refuse("it divides bfloat16")
        return _pair(b, function, x, y, dtype)

    return rule


def _comparison(function: str) -> Rule:
    def rule(b: Builder, a: _Arguments) -> Result:
        (x, y), _ = b.unify(a["x1"], a["x2"])
        return _pair(b, function, x, y, "bool")

    return rule


RULES.update({name: _binary(function) for name, function in _BINARY.items()})
RULES.update({name: _comparison(function) for name, function in _COMPARISONS.items()})


@_rule("Divide", "TrueDivide")
def _divide(b: Builder, a: _Arguments) -> Result:
    (x, y), dtype = b.unify(a["x1"], a["x2"], floating=True)
    return b.call("math.truediv", x, dtype, y=y)


@_rule("DivideNoNan")
def _divide_no_nan(b: Builder, a: _Arguments) -> Result:
    (x, y), dtype = b.unify(a["x1"], a["x2"], floating=True)
    return b.call("math.divide_no_nan", x, dtype, y=y)


@_rule("Arctan2")
def _arctan2(b: Builder, a: _Arguments) -> Result:
    (y, x), dtype = b.unify(a["x1"], a["x2"], floating=True)
    return b.call("math.atan2", y, dtype, x=x)


def _logical(function: str) -> Rule:
    def rule(b: Builder, a: _Arguments) -> Result:
        return b.call(function, b.cast(a["x1"], "bool"), "bool", y=b.cast(a["x2"], "bool"))

    return rule


RULES.update({f"Logical{name}": _logical(f"math.logical_{name.lower()}") for name in ("And", "Or", "Xor")})


@_rule("ConvertToTensor")
def _convert(b: Builder, a: _Arguments) -> Result:
    dtype = a.get("dtype") or b.dtype(a["x"])
    if dtype != b.dtype(a["x"]) or a.get("sparse"):
        b.refuse("it changes the dtype")
    return b.call("identity", a["x"], dtype)


@_rule("LogicalNot")
def _logical_not(b: Builder, a: _Arguments) -> Result:
    return b.call("math.logical_not", b.cast(a["x"], "bool"), "bool")


# Functions of one argument. Those of the first kind return floating point numbers for integers, too.

_FLOATING = """
    Arccos:math.acos Arccosh:math.acosh Arcsin:math.asin Arcsinh:math.asinh Arctan:math.atan Arctanh:math.atanh
    Cos:math.cos Cosh:math.cosh Erf:math.erf Exp:math.exp Expm1:math.expm1 Log:math.log Log1p:math.log1p
    LogSigmoid:math.log_sigmoid Reciprocal:math.reciprocal Rsqrt:math.rsqrt Selu:nn.selu Sigmoid:math.sigmoid
    Silu:nn.silu Sin:math.sin Sinh:math.sinh Softplus:math.softplus Softsign:nn.softsign Sqrt:math.sqrt Tan:math.tan
    Tanh:math.tanh
"""
_SAME_DTYPE = """
    Abs:math.abs Absolute:math.abs Copy:identity Negative:math.negative Relu:nn.relu Relu6:nn.relu6 Sign:math.sign Square:math.square
    StopGradient:stop_gradient
"""
_TESTS = "Isfinite:math.is_finite Isinf:math.is_inf Isnan:math.is_nan"


def _floating(function: str) -> Rule:
    def rule(b: Builder, a: _Arguments) -> Result:
        x, dtype = b.floating(a["x"])
        return b.call(function, x, dtype)

    return rule


def _same_dtype(function: str) -> Rule:
    def rule(b: Builder, a: _Arguments) -> Result:
        x = a["x"] if "x" in a else a["variable"]
        dtype = b.dtype(x)
        if dtype == "bool" and function not in ("identity", "stop_gradient"):
            b.refuse("it calculates with dtype bool")
        return b.call(function, x, dtype)

    return rule


def _test(function: str) -> Rule:
    def rule(b: Builder, a: _Arguments) -> Result:
        x, _ = b.floating(a["x"])
        return b.call(function, x, "bool")

    return rule


for _kind, _listed in ((_floating, _FLOATING), (_same_dtype, _SAME_DTYPE), (_test, _TESTS)):
    for _name, _function in (item.split(":") for item in _listed.split()):
        RULES[_name] = _kind(_function)


def _rounding(function: str) -> Rule:
    def rule(b: Builder, a: _Arguments) -> Result:
        x, dtype = b.floating(a["x"])
        if a.get("decimals", 0) != 0 or x is not a["x"]:
            b.refuse("it rounds integers, or to some decimals")
        return b.call(function, x, dtype)

    return rule


RULES |= {"Ceil": _rounding("math.ceil"), "Floor": _rounding("math.floor"), "Round": _rounding("math.round")}


# Activations.


@_rule("Softmax")
def _softmax(b: Builder, a: _Arguments) -> Result:
    return _softmax_of(b, a, "nn.softmax")


@_rule("LogSoftmax")
def _log_softmax(b: Builder, a: _Arguments) -> Result:
    return _softmax_of(b, a, "nn.log_softmax")


def _softmax_of(b: Builder, a: _Arguments, function: str) -> Result:
    if type(a.get("axis")) is not int:
        b.refuse("its axis is not a number")
    x, dtype = b.floating(a["x"])
    return b.call(function, x, dtype, axis=a["axis"])


@_rule("Gelu")
def _gelu(b: Builder, a: _Arguments) -> Result:
    x, dtype = b.floating(a["x"])
    return b.call("nn.gelu", x, dtype, approximate=bool(a["approximate"]))


@_rule("LeakyRelu")
def _leaky_relu(b: Builder, a: _Arguments) -> Result:
    x, dtype = b.floating(a["x"])
    return b.call("nn.leaky_relu", x, dtype, alpha=a["negative_slope"])


@_rule("Elu")
def _elu(b: Builder, a: _Arguments) -> Result:
    if a.get("alpha", 1.0) != 1.0:
        b.refuse("its alpha is not 1")
    x, dtype = b.floating(a["x"])
    return b.call("nn.elu", x, dtype)


@_rule("HardSigmoid")
def _hard_sigmoid(b: Builder, a: _Arguments) -> Result:
    x, dtype = b.floating(a["x"])
    moved = b.call("math.add", x, dtype, y=Constant(3.0))
    return b.call("math.truediv", b.call("nn.relu6", moved, dtype), dtype, y=Constant(6.0))


@_rule("HardSilu")
def _hard_silu(b: Builder, a: _Arguments) -> Result:
    x, dtype = b.floating(a["x"])
    return b.call("math.multiply", x, dtype, y=_hard_sigmoid(b, {"x": x}))


@_rule("HardTanh")
def _hard_tanh(b: Builder, a: _Arguments) -> Result:
    x, dtype = b.floating(a["x"])
    return b.call("clip_by_value", x, dtype, clip_value_min=-1.0, clip_value_max=1.0)


@_rule("TanhShrink")
def _tanh_shrink(b: Builder, a: _Arguments) -> Result:
    x, dtype = b.floating(a["x"])
    return b.call("math.subtract", x, dtype, y=b.call("math.tanh", x, dtype))


@_rule("Mish")
def _mish(b: Builder, a: _Arguments) -> Result:
    x, dtype = b.floating(a["x"])
    return b.call("math.multiply", x, dtype, y=b.call("math.tanh", b.call("math.softplus", x, dtype), dtype))


@_rule("Squareplus")
def _squareplus(b: Builder, a: _Arguments) -> Result:
    x, dtype = b.floating(a["x"])
    root = b.call(
        "math.sqrt", b.call("math.add", b.call("math.square", x, dtype), dtype, y=Constant(float(a["b"]))), dtype
    )
    return b.call("math.truediv", b.call("math.add", x, dtype, y=root), dtype, y=Constant(2.0))


# Reductions.

_REDUCTIONS = {"Max": "max", "Min": "min", "Prod": "prod", "Sum": "sum"}


def _reduction(name: str) -> Rule:
    def rule(b: Builder, a: _Arguments) -> Result:
        x, dtype = a["x"], b.dtype(a["x"])
        if a.get("initial") is not None or a.get("dtype") is not None:
            b.refuse("it has an initial value or another dtype")
        if name in ("sum", "prod") and dtype in _SMALL:
            x, dtype = b.cast(x, "int32"), "int32"
        if dtype == "bool" or str(dtype).startswith("uint"):
            b.refuse(f"it reduces numbers of dtype {dtype}")
        return b.call(f"math.reduce_{name}", x, dtype, axis=_axes(a["axis"]), keepdims=bool(a["keepdims"]))

    return rule


def _mean(function: str) -> Rule:
    def rule(b: Builder, a: _Arguments) -> Result:
        x, dtype = b.floating(a["x"])
        return b.call(function, x, dtype, axis=_axes(a["axis"]), keepdims=bool(a["keepdims"]))

    return rule


def _quantifier(function: str) -> Rule:
    def rule(b: Builder, a: _Arguments) -> Result:
        x = b.cast(a["x"], "bool")
        return b.call(function, x, "bool", axis=_axes(a["axis"]), keepdims=bool(a["keepdims"]))

    return rule


RULES.update({name: _reduction(function) for name, function in _REDUCTIONS.items()})
RULES |= {"Mean": _mean("math.reduce_mean"), "Std": _mean("math.reduce_std"), "Var": _mean("math.reduce_variance")}
RULES |= {"Logsumexp": _mean("math.reduce_logsumexp")}
RULES |= {"All": _quantifier("math.reduce_all"), "Any": _quantifier("math.reduce_any")}


def _extreme(function: str) -> Rule:
    def rule(b: Builder, a: _Arguments) -> Result:
        if a["axis"] is None:
            if a["keepdims"]:
                b.refuse("it keeps the axes of a flattened tensor")
            return b.call(
                function, b.call("reshape", a["x"], b.dtype(a["x"]), shape=[-1]), "int32", axis=0, output_type="int32"
            )
        found = b.call(function, a["x"], "int32", axis=a["axis"], output_type="int32")
        return b.call("expand_dims", found, "int32", axis=a["axis"]) if a["keepdims"] else found

    return rule


RULES |= {"Argmax": _extreme("math.argmax"), "Argmin": _extreme("math.argmin")}


@_rule("Cumsum")
def _cumsum(b: Builder, a: _Arguments) -> Result:
    if a["axis"] is None or a.get("dtype") is not None or b.dtype(a["x"]) == "bool":
        b.refuse("it has no axis, or another dtype")
    return b.call("math.cumsum", a["x"], b.dtype(a["x"]), axis=a["axis"])


@_rule("Norm")
def _norm(b: Builder, a: _Arguments) -> Result:
    x, dtype = b.floating(a["x"])
    if a["ord"] not in (None, 2) or isinstance(a["axis"], list | tuple) or (a["ord"] == 2 and a["axis"] is None):
        b.refuse("it is a norm of matrices, or not the Euclidean one")
    return b.call("norm", x, dtype, axis=a["axis"], keepdims=bool(a["keepdims"]))


@_rule("Normalize")
def _normalize(b: Builder, a: _Arguments) -> Result:
    x, dtype = b.floating(a["x"])
    if a["order"] != 2:
        b.refuse("its order is not 2")
    epsilon = 1e-7 if a.get("epsilon") is None else a["epsilon"]
    squares = b.call("math.square", x, dtype)
    total = b.call("math.reduce_sum", squares, dtype, axis=_axes(a["axis"]), keepdims=True)
    scale = b.call("math.minimum", b.call("math.rsqrt", total, dtype), dtype, y=Constant(1.0 / epsilon))
    return b.call("math.multiply", x, dtype, y=scale)


@_rule("TopK")
def _top_k(b: Builder, a: _Arguments) -> list[Result]:
    found = b.call("math.top_k", a["x"], b.dtype(a["x"]), k=a["k"], sorted=bool(a["sorted"]))
    return [found, Result(found.step, 1)]


# Shapes.


@_rule("Reshape")
def _reshape(b: Builder, a: _Arguments) -> Result:
    shape = [-1 if size is None else size for size in a["newshape"]]
    if any(type(size) is not int for size in shape) or shape.count(-1) > 1:
        b.refuse("its shape has several unknown sizes")
    return b.call("reshape", a["x"], b.dtype(a["x"]), shape=shape)


@_rule("Ravel")
def _ravel(b: Builder, a: _Arguments) -> Result:
    return b.call("reshape", a["x"], b.dtype(a["x"]), shape=[-1])


@_rule("Transpose")
def _transpose(b: Builder, a: _Arguments) -> Result:
    order = _axes(a["axes"])
    if order is None:
        order = list(reversed(range(b.rank(a["x"]))))
    return b.call("transpose", a["x"], b.dtype(a["x"]), perm=order)


@_rule("Swapaxes")
def _swapaxes(b: Builder, a: _Arguments) -> Result:
    rank = b.rank(a["x"])
    order = list(range(rank))
    one, other = (_positive(a[key], rank) for key in ("axis1", "axis2"))
    order[one], order[other] = order[other], order[one]
    return b.call("transpose", a["x"], b.dtype(a["x"]), perm=order)


@_rule("Moveaxis")
def _moveaxis(b: Builder, a: _Arguments) -> Result:
    rank = b.rank(a["x"])
    both = [a[key] if isinstance(a[key], list | tuple) else [a[key]] for key in ("source", "destination")]
    sources, targets = ([_positive(axis, rank) for axis in axes] for axes in both)
    order = [axis for axis in range(rank) if axis not in sources]
    for target, source in sorted(zip(targets, sources, strict=True)):
        order.insert(target, source)
    return b.call("transpose", a["x"], b.dtype(a["x"]), perm=order)


@_rule("ExpandDims")
def _expand_dims(b: Builder, a: _Arguments) -> Result:
    axes = a["axis"] if isinstance(a["axis"], list | tuple) else [a["axis"]]
    if len(axes) > 1:
        rank = b.rank(a["x"]) + len(axes)
        axes = sorted(_positive(axis, rank) for axis in axes)
    made: Any = a["x"]
    dtype = b.dtype(made)
    for axis in axes:
        made = b.call("expand_dims", made, dtype, axis=axis)
    return made if isinstance(made, Result) else b.refuse("it adds no axis")


@_rule("Squeeze")
def _squeeze(b: Builder, a: _Arguments) -> Result:
    # Without an axis, TensorFlow would also remove a batch of one.
    axes = [axis for axis, size in enumerate(b.shape(a["x"])) if size == 1] if a["axis"] is None else a["axis"]
    axes = [axes] if type(axes) is int else list(axes)
    return b.call("squeeze", a["x"], b.dtype(a["x"]), axis=axes) if axes else b.refuse("it removes no axis")


def _joined(function: str, key: str) -> Rule:
    def rule(b: Builder, a: _Arguments) -> Result:
        if not isinstance(a[key], list) or any(isinstance(item, Constant | list) for item in a[key]):
            b.refuse("it joins constants")
        values, dtype = b.unify(*a[key])
        return b.call(function, values, dtype, axis=a["axis"])

    return rule


RULES |= {"Concatenate": _joined("concat", "xs"), "Stack": _joined("stack", "x")}


@_rule("Split")
def _split(b: Builder, a: _Arguments) -> list[Result]:
    axis, parts = a["axis"], a["indices_or_sections"]
    if isinstance(parts, list | tuple):
        bounds = [0, *parts]
        if any(type(bound) is not int or bound < 0 for bound in bounds):
            b.refuse("it splits at positions from the end")
        parts = [*(end - start for start, end in itertools.pairwise(bounds)), -1]
    made = b.call("split", a["x"], b.dtype(a["x"]), axis=axis, num_or_size_splits=parts)
    return [Result(made.step, number) for number in range(parts if type(parts) is int else len(parts))]


@_rule("Unstack")
def _unstack(b: Builder, a: _Arguments) -> list[Result]:
    size = a["num"] or b.shape(a["x"])[a["axis"]]
    if size is None:
        b.refuse("the size of its axis is not known")
    made = b.call("unstack", a["x"], b.dtype(a["x"]), axis=a["axis"], num=size)
    return [Result(made.step, number) for number in range(size)]


@_rule("Tile")
def _tile(b: Builder, a: _Arguments) -> Result:
    repeats = list(a["repeats"]) if isinstance(a["repeats"], list | tuple) else [a["repeats"]]
    rank = b.rank(a["x"])
    if len(repeats) > rank:
        b.refuse("it adds axes")
    return b.call("tile", a["x"], b.dtype(a["x"]), multiples=[1] * (rank - len(repeats)) + repeats)


@_rule("Repeat")
def _repeat(b: Builder, a: _Arguments) -> Result:
    if type(a["repeats"]) is not int or type(a["axis"]) is not int:
        b.refuse("it has no axis, or a number of repeats for each element")
    return b.call("repeat", a["x"], b.dtype(a["x"]), repeats=a["repeats"], axis=a["axis"])


@_rule("Flip")
def _flip(b: Builder, a: _Arguments) -> Result:
    axes = list(range(b.rank(a["x"]))) if a["axis"] is None else a["axis"]
    return b.call("reverse", a["x"], b.dtype(a["x"]), axis=[axes] if type(axes) is int else list(axes))


@_rule("Roll")
def _roll(b: Builder, a: _Arguments) -> Result:
    if a["axis"] is None:
        b.refuse("it has no axis")
    return b.call("roll", a["x"], b.dtype(a["x"]), shift=_axes(a["shift"]), axis=_axes(a["axis"]))


@_rule("Pad")
def _pad(b: Builder, a: _Arguments) -> Result:
    widths, rank = a["pad_width"], b.rank(a["x"])
    if type(widths) is int:
        widths = [[widths, widths]] * rank
    elif isinstance(widths, list | tuple) and all(type(width) is int for width in widths):
        widths = [list(widths) if len(widths) == 2 else [widths[0]] * 2] * rank
    elif len(widths) == 1:
        widths = [list(widths[0])] * rank
    if a["mode"] not in ("constant", "reflect", "symmetric"):
        b.refuse(f"TensorFlow has no mode '{a['mode']}'")
    value = a.get("constant_values")
    named: dict[str, Any] = {"paddings": [list(width) for width in widths], "mode": a["mode"].upper()}
    if value is not None:
        if not isinstance(value, Constant) or isinstance(value.value, list):
            b.refuse("its value is not a number")
        named["constant_values"] = value
    return b.call("pad", a["x"], b.dtype(a["x"]), **named)


@_rule("GetItem")
def _getitem(b: Builder, a: _Arguments) -> Result:
    key = a["key"]
    items = list(key) if isinstance(key, list | tuple) else [key]
    written: list[Any] = []
    for item in items:
        item = item.value if isinstance(item, Constant) and item.dtype is None else item
        if item is ...:
            taken = sum(other is not None and other is not ... for other in items)
            written += [{"start": None, "stop": None, "step": None}] * (b.rank(a["x"]) - taken)
        elif isinstance(item, slice):
            bounds = {"start": item.start, "stop": item.stop, "step": item.step}
            if any(isinstance(bound, Tensor) for bound in bounds.values()):
                b.refuse("its bounds are tensors")
            written.append(bounds)
        elif item is None or type(item) is int:
            written.append(item)
        else:
            b.refuse("it selects by arrays or tensors")
    return b.call("__operators__.getitem", a["x"], b.dtype(a["x"]), slice_spec=written)


@_rule("Take")
def _take(b: Builder, a: _Arguments) -> Result:
    axis, indices = a["axis"], a["indices"]
    if axis is None:
        b.refuse("it has no axis")
    size = b.shape(a["x"])[axis]
    if isinstance(indices, Constant | list):
        numbers = indices.value if isinstance(indices, Constant) else [item.value for item in indices]
        flat = numbers if isinstance(numbers, list) else [numbers]
        if any(type(number) is not int or number < 0 for number in flat):
            b.refuse("it counts from the end")
        return b.call("gather", a["x"], b.dtype(a["x"]), indices=numbers, axis=axis)
    if size is None:
        b.refuse("the size of its axis is not known")
    # Keras 3 counts negative positions from the end, TensorFlow does not.
    wrapped = b.call("math.floormod", indices, b.dtype(indices), y=Constant(size))
    return b.call("gather", a["x"], b.dtype(a["x"]), indices=wrapped, axis=axis)


# Products, choices, dtypes.


@_rule("Matmul")
def _matmul(b: Builder, a: _Arguments) -> Result:
    if min(b.rank(a["x1"]), b.rank(a["x2"])) < 2:
        b.refuse("it multiplies vectors")
    (x, y), dtype = b.unify(a["x1"], a["x2"])
    return b.call("linalg.matmul", x, dtype, b=y)


@_rule("Dot")
def _dot(b: Builder, a: _Arguments) -> Result:
    if min(b.rank(a["x1"]), b.rank(a["x2"])) < 2:
        b.refuse("it multiplies vectors")
    (x, y), dtype = b.unify(a["x1"], a["x2"])
    axes = [[b.rank(a["x1"]) - 1], [b.rank(a["x2"]) - 2]]
    return b.call("tensordot", x, dtype, b=y, axes=axes)


@_rule("Tensordot")
def _tensordot(b: Builder, a: _Arguments) -> Result:
    (x, y), dtype = b.unify(a["x1"], a["x2"])
    return b.call("tensordot", x, dtype, b=y, axes=_axes(a["axes"]))


@_rule("Where")
def _where(b: Builder, a: _Arguments) -> Result:
    if a["x1"] is None or a["x2"] is None:
        b.refuse("it has no values to choose from")
    (x, y), dtype = b.unify(a["x1"], a["x2"])
    if isinstance(x, Constant) and isinstance(y, Constant) and dtype not in ("float32", "int32"):
        b.refuse(f"it chooses between constants of dtype {dtype}")
    return b.call("where", b.cast(a["condition"], "bool"), dtype, x=x, y=y)


@_rule("Clip")
def _clip(b: Builder, a: _Arguments) -> Result:
    limits = [a["x_min"], a["x_max"]]
    plain = [limit.value if isinstance(limit, Constant) else limit for limit in limits]
    if any(not isinstance(limit, int | float) for limit in plain):
        b.refuse("its bounds are tensors")
    (x, *_), dtype = b.unify(a["x"], *(Constant(limit) for limit in plain))
    low, high = ((float if "float" in dtype else int)(limit) for limit in plain)
    return b.call("clip_by_value", x, dtype, clip_value_min=low, clip_value_max=high)


@_rule("Cast")
def _cast(b: Builder, a: _Arguments) -> Result:
    return b.call("cast", a["x"], a["dtype"], dtype_=a["dtype"])


@_rule("OneHot")
def _one_hot(b: Builder, a: _Arguments) -> Result:
    if a.get("sparse"):
        b.refuse("its result is sparse")
    dtype = a.get("dtype") or "float32"
    indices = a["x"] if str(b.dtype(a["x"])) in ("int32", "int64", "uint8") else b.cast(a["x"], "int32")
    return b.call("one_hot", indices, dtype, depth=a["num_classes"], axis=a["axis"], dtype_=dtype)


def _like(function: str) -> Rule:
    def rule(b: Builder, a: _Arguments) -> Result:
        dtype = a.get("dtype") or b.dtype(a["x"])
        return b.call(function, a["x"], dtype, dtype_=dtype)

    return rule


RULES |= {"OnesLike": _like("ones_like"), "ZerosLike": _like("zeros_like")}


@_rule("Resize")
def _resize(b: Builder, a: _Arguments) -> Result:
    if a.get("crop_to_aspect_ratio") or a.get("pad_to_aspect_ratio") or a.get("data_format") == "channels_first":
        b.refuse("it keeps the aspect ratio, or has channels first")
    dtype = b.dtype(a["images"])
    if dtype != "float32" or not all(type(size) is int for size in a["size"]):
        b.refuse("its images are not of dtype float32")
    named = {"method": a["interpolation"], "antialias": bool(a["antialias"])}
    return b.call("image.resize", a["images"], dtype, size=list(a["size"]), **named)
