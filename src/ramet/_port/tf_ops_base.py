"""What the translation of a TensorFlow operation consists of: steps, constants, and sizes that are known or symbolic."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeAlias

from ramet._port.draft import Argument, Tensor, map_leaves
from ramet._port.shapes import Shape, Spec, output_specs, shape_of_value

NUMPY = "keras.src.ops.numpy"
NN = "keras.src.ops.nn"
MATH = "keras.src.ops.math"
CORE = "keras.src.ops.core"
IMAGE = "keras.src.ops.image"
LAYERS = "keras.layers"

SMALL_INTEGERS = frozenset({"bool", "int8", "int16", "uint8", "uint16"})
INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})

# Elements of a constant, and outputs of an operation. Files with more were made to exhaust memory.
_MOST_ELEMENTS = 2**20
_MOST_OUTPUTS = 2**12
# Operations in the formula for one size.
_LONGEST_FORMULA = 100
_WIDEST_INTEGER = 63


class Untranslatable(Exception):  # noqa: N818  # says what is wrong with an operation, like StopIteration
    """An operation without an exact counterpart in Keras 3.

    Attributes:
        reason: Why, as a clause: `tf.random.normal gives other values at each call`.
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class _Symbolic:
    """Arithmetic of sizes that are unknown until the model runs."""

    __slots__ = ()

    def __add__(self, other: Any) -> Any:
        return combine("add", self, other)

    def __radd__(self, other: Any) -> Any:
        return combine("add", other, self)

    def __sub__(self, other: Any) -> Any:
        return combine("subtract", self, other)

    def __rsub__(self, other: Any) -> Any:
        return combine("subtract", other, self)

    def __mul__(self, other: Any) -> Any:
        return combine("multiply", self, other)

    def __rmul__(self, other: Any) -> Any:
        return combine("multiply", other, self)

    def __floordiv__(self, other: Any) -> Any:
        return combine("floordiv", self, other)

    def __rfloordiv__(self, other: Any) -> Any:
        return combine("floordiv", other, self)

    def __mod__(self, other: Any) -> Any:
        return combine("floormod", self, other)

    def __truediv__(self, other: Any) -> Any:
        return combine("truediv", self, other)

    def __rtruediv__(self, other: Any) -> Any:
        return combine("truediv", other, self)

    def __neg__(self) -> Any:
        return combine("subtract", 0, self)

    def sqrt(self) -> Any:
        """Return the square root. Arrays of objects in NumPy call this method."""
        return Expression("sqrt", (self,))


@dataclass(frozen=True, slots=True)
class Dim(_Symbolic):
    """The size of an axis of a tensor, unknown until the model runs; typically the batch size."""

    tensor: Tensor
    axis: int


@dataclass(frozen=True, slots=True)
class Expression(_Symbolic):
    """A number computed from sizes that are unknown until the model runs.

    Attributes:
        function: "add", "subtract", "multiply", "floordiv", "floormod", "truediv" or "sqrt".
        operands: Numbers, `Dim` and `Expression`.
    """

    function: str
    operands: tuple[Any, ...]
    length: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        length = 1 + sum(one.length for one in self.operands if isinstance(one, Expression))
        if length > _LONGEST_FORMULA:
            raise Untranslatable("a size is computed in too many steps")
        object.__setattr__(self, "length", length)


def is_symbolic(value: Any) -> bool:
    """Return true for a size, or a number computed from sizes, that is unknown until the model runs."""
    return isinstance(value, Dim | Expression)


def combine(function: str, first: Any, second: Any) -> Any:
    """Return the result of arithmetic with at least one unknown size, simplified where it cancels out."""
    match function, first, second:
        case ("subtract", one, two) if one == two:
            return 0
        case ("add" | "subtract", one, 0) | ("add", 0, one):
            return one
        case ("multiply" | "floordiv", one, 1) | ("multiply", 1, one):
            return one
        case ("multiply", _, 0) | ("multiply", 0, _):
            return 0
        case ("multiply", int(), _):
            return combine("multiply", second, first)
        case ("multiply", Expression("multiply", (one, int(factor))), int(other)):
            return combine("multiply", one, factor * other)
        case ("floordiv", Expression("multiply", (one, int(factor))), int(other)) if factor % other == 0:
            return combine("multiply", one, factor // other)
        case ("floordiv" | "floormod", _, 0):
            raise Untranslatable("it divides a size by zero")
    return Expression(function, (first, second))


@dataclass(frozen=True, slots=True)
class Known:
    """The outputs of an operation whose values are known without running the model, such as `tf.shape(x)[1]`.

    Attributes:
        outputs: One nested list or number per output, with `Dim` and `Expression` for sizes that are unknown.
        dtype: The dtype in TensorFlow.
        function: The function, if the dtype is derived from the values only.
    """

    outputs: list[Any]
    dtype: str = "int32"
    function: str = ""


@dataclass(frozen=True)
class Constant:
    """An array among the arguments of a step. Keras 3 writes it as `__numpy__`, with its dtype.

    Attributes:
        value: A nested list.
        dtype: Its dtype.
    """

    value: Any
    dtype: str
    class_name: ClassVar[str] = "__numpy__"

    def serialized(self) -> dict[str, Any]:
        """Return the constant as it stands in a config of Keras 3."""
        return {"class_name": self.class_name, "config": {"value": self.value, "dtype": self.dtype}}

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of the array."""
        return shape_of_value(self.value)


@dataclass(frozen=True, slots=True)
class Step:
    """An output of an earlier step of the same translation."""

    index: int
    output: int = 0


@dataclass
class OpCall:
    """An operation or a layer of Keras 3, called once.

    Attributes:
        class_name: Its class, such as "Multiply".
        module: The module of its class, such as "keras.src.ops.numpy" or "keras.layers".
        config: The arguments of its constructor, without the name.
        args: The arguments of the call by position, with `Tensor`, `Step`, `Constant`, slice and `...` among the leaves.
        kwargs: The arguments by name, likewise.
    """

    class_name: str
    module: str
    config: dict[str, Any]
    args: list[Argument]
    kwargs: dict[str, Argument] = field(default_factory=dict)


# An argument of an operation that holds numbers: a tensor, an earlier step, a constant or a number.
Operand: TypeAlias = Any
ShapeOf: TypeAlias = Callable[[Tensor], Shape | None]
DtypeOf: TypeAlias = Callable[[Tensor], str | None]


class Builder:
    """The steps of one translation, and what is known about the tensors in it."""

    def __init__(self, shape_of: ShapeOf, dtype_of: DtypeOf) -> None:
        self.steps: list[OpCall] = []
        self._shape_of = shape_of
        self._dtype_of = dtype_of

    def op(self, class_name: str, *args: Argument, module: str = NUMPY, **config: Any) -> Step:
        """Append an operation, called with `args`; `config` holds the arguments of its constructor."""
        self.steps.append(OpCall(class_name, module, config, list(args)))
        return Step(len(self.steps) - 1)

    def spec(self, value: Operand) -> Spec:
        """Return what is known about the shape and the dtype of an operand."""
        if isinstance(value, Tensor):
            shape = self._shape_of(value)
            return Spec(None if shape is None else tuple(shape), self._dtype_of(value))
        if isinstance(value, Step):
            step = self.steps[value.index]
            args, kwargs = map_leaves([step.args, step.kwargs], self._as_spec)
            specs = output_specs(step.class_name, step.config, args, kwargs)
            return specs[value.output] if specs and value.output < len(specs) else Spec()
        if isinstance(value, Constant):
            return Spec(value.shape, value.dtype)
        return Spec(shape_of_value(value), None)

    def _as_spec(self, leaf: Any) -> Any:
        return self.spec(leaf) if isinstance(leaf, Tensor | Step | Constant) else leaf

    def shape(self, value: Operand) -> Shape | None:
        """Return the shape of an operand, with None for unknown sizes; None if the rank is unknown."""
        return self.spec(value).shape

    def dtype(self, value: Operand) -> str | None:
        """Return the dtype of an operand, or None for plain numbers and if it is unknown."""
        return self.spec(value).dtype

    def rank(self, value: Operand, function: str) -> int:
        """Return the rank of an operand that a translation needs."""
        shape = self.shape(value)
        if shape is None:
            raise Untranslatable(f"the rank of the input of tf.{function} is unknown")
        return len(shape)

    def sizes(self, tensor: Operand) -> list[Any] | None:
        """Return the sizes of a tensor, with a `Dim` for each unknown one; None if the rank is unknown."""
        shape = self.shape(tensor)
        if shape is None:
            return None
        return [size if size is not None else Dim(tensor, axis) for axis, size in enumerate(shape)]

    def operand(self, value: Operand, like: Operand = None) -> Operand:
        """Return a value as an operand: lists become constants with the dtype of `like`, unknown sizes become steps."""
        if isinstance(value, Tensor | Step | Constant):
            return value
        dtype = None if like is None else self.dtype(like)
        if is_symbolic(value):
            return self.materialize(value, dtype or "float32")
        if isinstance(value, list | tuple):
            if any(isinstance(leaf, Tensor | Step) or is_symbolic(leaf) for leaf in leaves(value)):
                return self.op("Stack", [self.operand(item, like) for item in value], axis=0)
            return Constant(list(value), dtype or dtype_of_value(value))
        return value

    def materialize(self, value: Any, dtype: str) -> Operand:
        """Return a scalar with an unknown size, counted when the model runs."""
        if isinstance(value, Dim):
            shape = self.shape(value.tensor)
            if shape is None:
                raise Untranslatable(f"it computes with a size of '{value.tensor.layer}', whose rank is unknown")
            key = [slice(None) if axis == value.axis else 0 for axis in range(len(shape))]
            row = self.op("GetItem", value.tensor, key) if len(shape) > 1 else value.tensor
            return self.op("Sum", self.op("OnesLike", row, dtype=dtype))
        if isinstance(value, Expression):
            names = {"add": "Add", "subtract": "Subtract", "multiply": "Multiply", "truediv": "Divide", "sqrt": "Sqrt"}
            operands = [self.materialize(item, dtype) for item in value.operands]
            if value.function in ("floordiv", "floormod"):
                quotient = self.op("Floor", self.op("Divide", *operands))
                if value.function == "floordiv":
                    return quotient
                return self.op("Subtract", operands[0], self.op("Multiply", quotient, operands[1]))
            return self.op(names[value.function], *operands)
        return value


def made_of(b: Builder, value: Any, dtype: str, like: Tensor) -> Operand:
    """Return a tensor with values that are known without running the model.

    Args:
        b: Gets the steps.
        value: A number or a nested list, with `Dim` and `Expression` for sizes that are unknown.
        dtype: The dtype of the tensor.
        like: Any tensor of the model: an operation of Keras 3 must have one.
    """
    found = leaves(value)
    if not found:
        raise Untranslatable("it computes with a tensor that has no elements")
    kind = "int32" if dtype == "bool" else dtype
    first = b.op("GetItem", like, [slice(0, 1)] * b.rank(like, "shape")) if b.shape(like) else like
    zero = b.op("Multiply", b.op("Sum", b.op("OnesLike", first, dtype=kind)), 0)
    fixed = map_leaves(value, lambda leaf: 0 if is_symbolic(leaf) else int(leaf) if kind.startswith("int") else leaf)
    result = b.op("Add", zero, Constant(fixed, kind) if isinstance(fixed, list) else fixed)
    for place, leaf in enumerate(found):
        if not is_symbolic(leaf):
            continue
        # Formulas with divisions are computed with floats.
        size = b.op("Cast", b.materialize(leaf, kind if isinstance(leaf, Dim) else "float32"), module=CORE, dtype=kind)
        if isinstance(value, list):
            numbers = itertools.count()

            def is_here(_: Any, numbers: Iterator[int] = numbers, place: int = place) -> int:
                return int(next(numbers) == place)

            chosen = map_leaves(value, is_here)
            size = b.op("Multiply", size, Constant(chosen, kind))
        result = b.op("Add", result, size)
    return result if kind == dtype else b.op("Cast", result, module=CORE, dtype=dtype)


def check_count(*sizes: Any, most: int = _MOST_ELEMENTS) -> None:
    """Refuse a constant with too many elements; sizes that are not known count as one."""
    count = 1
    for size in sizes:
        count *= max(size, 0) if isinstance(size, int) else 1
        if count > most:
            raise Untranslatable(f"it needs a constant with more than {most:,} elements")


def check_outputs(count: Any) -> None:
    """Refuse an operation with too many outputs."""
    if not isinstance(count, int) or count > _MOST_OUTPUTS:
        raise Untranslatable(f"it has more than {_MOST_OUTPUTS:,} outputs")


def check_leaf(leaf: Any) -> None:
    """Refuse what cannot be written into a config: sizes that are not known, and numbers that no array can hold."""
    if is_symbolic(leaf):
        raise Untranslatable("one of its arguments is a size that is only known at run time")
    if isinstance(leaf, int) and leaf.bit_length() > _WIDEST_INTEGER:
        raise Untranslatable("one of its arguments is an integer with more than 64 bits")


def leaves(value: Argument) -> list[Any]:
    """Return the leaves of nested lists, tuples and dicts."""
    found: list[Any] = []
    map_leaves(value, found.append)
    return found


def dtype_of_value(value: Any) -> str:
    """Return the dtype that TensorFlow gives a number or a nested list."""
    found = leaves(value)
    if any(isinstance(leaf, float) for leaf in found):
        return "float32"
    if found and all(isinstance(leaf, bool) for leaf in found):
        return "bool"
    return "int32"


Arguments: TypeAlias = Mapping[str, Any]
