"""Translate operations of Keras 3 in a functional model to operations of TensorFlow, which tf_keras wraps in layers.

`keras.ops.add(x, y)` is an operation `Add` in a model of Keras 3. In tf_keras it is a layer `TFOpLambda` with the function
"math.add". One operation may become several layers; the last one keeps its name. The rules are in `to_keras_2_rules`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NoReturn, TypeAlias

from ramet._port.draft import Argument, Call, Layer, Tensor, map_leaves
from ramet._port.releases import has_no_default, known_versions, release_of

_MODULE = "tf_keras.src.layers.core.tf_op_layer"
_FLOATS = ("bfloat16", "float16", "float32", "float64")
_INTS = ("int8", "int16", "int32", "int64")
# What TensorFlow makes of a Python number or a list of numbers.
_PLAIN_DTYPES = ("float32", "int32", "bool")

Shape: TypeAlias = "tuple[int | None, ...]"
Spec: TypeAlias = "tuple[Shape | None, str | None]"


class UntranslatableError(Exception):
    """No function of TensorFlow gives the same results; the text says why."""


@dataclass(frozen=True, slots=True)
class Result:
    """An output of a step, before the step has the name of a layer."""

    step: int
    output: int = 0


@dataclass(frozen=True, slots=True)
class Constant:
    """Numbers among the arguments of an operation: a Python number, or an array with its dtype."""

    value: Any
    dtype: str | None = None


Value: TypeAlias = "Tensor | Result | Constant"


@dataclass(slots=True)
class Step:
    """One call of a function of TensorFlow: the first argument, and the others by name."""

    function: str
    first: Argument
    named: dict[str, Argument]


@dataclass(slots=True)
class Builder:
    """Collects the steps of one operation, and knows shapes and dtypes as far as the file contains them."""

    specs: dict[Tensor, Spec]
    steps: list[Step] = field(default_factory=list)
    dtypes: dict[Result, str | None] = field(default_factory=dict)
    shapes: dict[Result, Shape | None] = field(default_factory=dict)

    def call(self, function: str, first: Argument, dtype: str | None = None, **named: Argument) -> Result:
        """Add a step; `dtype` is that of its result, `dtype_` an argument of this name."""
        named = {key.rstrip("_"): value for key, value in named.items()}
        # tf_keras finds the tensors in this order, and sorts the layers of the model by it.
        self.steps.append(Step(function, first, {key: named[key] for key in sorted(named)}))
        result = Result(len(self.steps) - 1)
        self.dtypes[result] = dtype
        return result

    def refuse(self, reason: str) -> NoReturn:
        """Give up on the operation."""
        raise UntranslatableError(reason)

    def dtype(self, value: Argument) -> str | None:
        """Return the dtype of a value; None for a Python number."""
        if isinstance(value, Result):
            return self.dtypes.get(value)
        if isinstance(value, Tensor):
            found = self.specs.get(value, (None, None))[1]
            return found if found is not None else self.refuse("the dtype of an argument is not in the file")
        return value.dtype if isinstance(value, Constant) else None

    def shape(self, value: Argument) -> Shape:
        """Return the shape of a value, with None for unknown sizes."""
        found = None
        if isinstance(value, Tensor):
            found = self.specs.get(value, (None, None))[0]
        elif isinstance(value, Result):
            found = self.shapes.get(value)
        elif isinstance(value, Constant):
            return _shape_of_list(value.value)
        return found if found is not None else self.refuse("the shape of an argument is not in the file")

    def rank(self, value: Argument) -> int:
        """Return the number of axes of a value."""
        return len(self.shape(value))

    def cast(self, value: Argument, dtype: str) -> Argument:
        """Return a value with another dtype. Numbers are written as that dtype expects them."""
        if isinstance(value, Constant):
            if dtype in _FLOATS:
                return Constant(map_leaves(value.value, float), dtype)
            return Constant(map_leaves(value.value, bool if dtype == "bool" else int), dtype)
        if self.dtype(value) == dtype:
            return value
        if isinstance(value, dict | list | slice):
            self.refuse("one of its arguments is neither a tensor nor a number")
        made = self.call("cast", value, dtype, dtype_=dtype)
        if isinstance(value, Tensor):
            self.shapes[made] = self.specs.get(value, (None, None))[0]
        else:
            self.shapes[made] = self.shapes.get(value)
        return made

    def unify(self, *values: Argument, floating: bool = False) -> tuple[list[Argument], str]:
        """Return values of one dtype, by the rules of Keras 3 for mixed dtypes, and that dtype."""
        common = self.common_dtype(values)
        if floating and common not in _FLOATS:
            common = "float32"
        return [self.cast(value, common) for value in values], common

    def common_dtype(self, values: tuple[Argument, ...]) -> str:
        """Return the dtype that Keras 3 gives to the result of values of several dtypes."""
        found = {dtype for value in values if (dtype := self.dtype(value)) is not None}
        numbers = [value.value for value in values if isinstance(value, Constant) and value.dtype is None]
        has_float = any(isinstance(number, float) for number in numbers)
        has_int = any(isinstance(number, int) and not isinstance(number, bool) for number in numbers)
        floats = found & set(_FLOATS)
        if len(floats) > 1 and floats != {"float32", "float64"}:
            # Of float16 and bfloat16, and of either with float32, Keras makes float32; nobody needs this.
            self.refuse(f"it mixes the dtypes {', '.join(sorted(found))}")
        if floats:
            return max(floats)
        if has_float:
            return "float32"
        ints = found & set(_INTS)
        if ints:
            if found - ints - {"bool"}:
                self.refuse(f"it mixes the dtypes {', '.join(sorted(found))}")
            return max(ints, key=_INTS.index)
        if len(found) == 1:
            only = next(iter(found))
            return "int32" if only == "bool" and has_int else only
        return "int32" if has_int else self.refuse("the dtypes of its arguments are not in the file")

    def floating(self, value: Argument) -> tuple[Argument, str]:
        """Return a value as floating point numbers, as Keras 3 does for `exp` or `mean`, and its dtype."""
        dtype = self.dtype(value)
        if dtype in _FLOATS:
            return value, dtype
        return self.cast(value, "float32"), "float32"


def _shape_of_list(value: Any) -> Shape:
    return (len(value), *_shape_of_list(value[0])) if isinstance(value, list) and value else ()


Rule: TypeAlias = "Callable[[Builder, dict[str, Any]], Result | list[Result]]"


def is_operation(layer: Layer) -> bool:
    """Return whether something in a functional model of Keras 3 is an operation rather than a layer."""
    return (layer.module or "").startswith(("keras.src.ops.", "keras.src.activations."))


def translate_operation(
    layer: Layer, call: Call, rule: Rule | None, names: Iterator[str]
) -> tuple[list[Layer], list[Tensor]]:
    """Return the layers that replace one call of an operation, and their outputs.

    Args:
        layer: The operation, with shapes and dtypes of its arguments.
        call: The call.
        rule: The rule for the operation, or None.
        names: The names for the layers, first that of the last layer.

    Raises:
        UntranslatableError: No function of TensorFlow gives the same results.
    """
    if rule is None:
        raise UntranslatableError(f"the operation {layer.class_name} is not translated to tf_keras")
    builder = Builder(layer.specs)
    try:
        made = rule(builder, named_arguments(layer, call))
    except (
        ArithmeticError,
        AttributeError,
        LookupError,
        RecursionError,
        StopIteration,
        TypeError,
        ValueError,
    ) as error:
        raise UntranslatableError("its arguments are not those of this operation") from error
    results = made if isinstance(made, list) else [made]
    last = {result.step for result in results}
    if last != {len(builder.steps) - 1}:
        raise UntranslatableError(f"the operation {layer.class_name} is not translated to tf_keras")
    final = next(names)
    steps = [*(next(names) for _ in builder.steps[:-1]), final]
    layers = [_layer(name, step, steps) for name, step in zip(steps, builder.steps, strict=True)]
    return layers, [Tensor(final, 0, result.output) for result in results]


def named_arguments(layer: Layer, call: Call) -> dict[str, Any]:
    """Return the settings of an operation and the arguments of its call by name, with the defaults of Keras 3.

    Python numbers and arrays become `Constant` only among the arguments of the call.
    """
    full = f"{layer.module}.{layer.class_name}"
    found = next((one for v in reversed(known_versions()) if (one := release_of(v).find(full)) is not None), None)
    settings = found.settings if found is not None else {}
    defaults = found.call or {} if found is not None else {}
    given: dict[str, Any] = {
        key: value for key, value in {**settings, **layer.config}.items() if not has_no_default(value)
    }
    names = found.positional() if found is not None else []
    if len(call.args) > len(names):
        raise UntranslatableError(f"the operation {layer.class_name} has arguments that are not known")
    given |= {key: value for key, value in defaults.items() if key not in ("*", "**") and not has_no_default(value)}
    given |= dict(zip(names, map(constants, call.args), strict=False))
    given |= {key: constants(value) for key, value in call.kwargs.items()}
    missing = [key for key, value in {**settings, **defaults}.items() if key not in ("*", "**") and key not in given]
    if missing:
        raise UntranslatableError(f"the operation {layer.class_name} is called without its argument {missing[0]!a}")
    return given


def constants(value: Argument) -> Argument:
    """Return an argument with `Constant` for arrays and numbers; lists of tensors stay lists."""
    if isinstance(value, dict) and value.get("class_name") in ("__numpy__", "__tensor__"):
        config = value.get("config") or value
        return Constant(config.get("value"), config.get("dtype"))
    if isinstance(value, bool | int | float):
        return Constant(value)
    if isinstance(value, list | tuple):
        return [constants(item) for item in value]
    return value


def _layer(name: str, step: Step, names: list[str]) -> Layer:
    is_slice = step.function == "__operators__.getitem"
    config = {"name": name, "trainable": True, "dtype": "float32", "function": step.function}
    class_name = "SlicingOpLambda" if is_slice else "TFOpLambda"
    layer = Layer(name, class_name, _MODULE, config, registered_name=class_name, source=name)

    def write(leaf: Any) -> Any:
        if isinstance(leaf, Result):
            return Tensor(names[leaf.step], 0, leaf.output)
        if isinstance(leaf, Constant):
            return leaf.value
        return leaf

    first = step.first
    if isinstance(first, Constant) and first.dtype not in (None, *_PLAIN_DTYPES):
        raise UntranslatableError(f"its first argument is a constant of dtype {first.dtype}")
    named = {key: _map(value, write) for key, value in step.named.items()}
    layer.calls = [Call([_map(first, write)], named)]
    return layer


def _map(value: Argument, change: Callable[[Any], Any]) -> Argument:
    """Return nested lists and dicts with changed leaves; slices are already written as dicts."""
    if isinstance(value, list):
        return [_map(item, change) for item in value]
    return change(value)
