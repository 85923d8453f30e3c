"""Translation of TensorFlow operations in models of Keras 2 to operations of Keras 3.

A functional model of Keras 2 records operations of TensorFlow as layers: `TFOpLambda`, `SlicingOpLambda`, and in
TensorFlow 2.0 to 2.3 `TensorFlowOpLayer`. `Lambda` layers may name a function of Keras or TensorFlow. `translate_op` turns
one call of such a layer into steps of Keras 3 with the same results, or into a value that is known without running the
model: Keras 3 has no operation for the shape of a tensor, so sizes are followed through the graph as numbers and `Dim`.

The rules are in `tf_ops_math`, `tf_ops_products`, `tf_ops_arrays`, `tf_ops_selection` and `tf_ops_images`; evaluation is in
`tf_ops_known`.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping, Sequence
from typing import Any

from ramet._port import tf_ops_images, tf_ops_products, tf_ops_selection
from ramet._port.draft import Argument, Call, Tensor, map_leaves
from ramet._port.shapes import compute_dtype, is_float
from ramet._port.tf_ops_base import (
    Builder,
    Constant,
    Dim,
    DtypeOf,
    Expression,
    Known,
    OpCall,
    Operand,
    ShapeOf,
    Step,
    Untranslatable,
    check_leaf,
    dtype_of_value,
    is_symbolic,
    leaves,
)
from ramet._port.tf_ops_known import evaluate
from ramet._port.tf_ops_math import RULES, Rule, cast
from ramet._port.tf_ops_nodes import function_of_node

__all__ = ["Constant", "Dim", "Expression", "Known", "OpCall", "Step", "Untranslatable", "translate_op"]

# Importing a file registers its rules.
_RULE_FILES = (tf_ops_images, tf_ops_products, tf_ops_selection)

_NAMESPACES = (
    "math.",
    "nn.",
    "linalg.",
    "__operators__.",
    "keras.backend.",
    "keras.activations.",
    "raw_ops.",
    "manip.",
    "dtypes.",
)

# Functions of the backend of Keras 2 that have other names or defaults in TensorFlow: name, function, parameters.
_KERAS_BACKEND = """
    all reduce_all x! axis keepdims; any reduce_any x! axis keepdims; max reduce_max x! axis keepdims
    mean reduce_mean x! axis keepdims; min reduce_min x! axis keepdims; prod reduce_prod x! axis keepdims
    std reduce_std x! axis keepdims; sum reduce_sum x! axis keepdims; var reduce_variance x! axis keepdims
    logsumexp reduce_logsumexp x! axis keepdims; argmax argmax x! axis=-1; argmin argmin x! axis=-1
    clip clip_by_value x! clip_value_min!|min_value clip_value_max!|max_value; concatenate concat values!|tensors axis=-1
    expand_dims expand_dims x! axis=-1; permute_dimensions transpose x! perm!|pattern
    one_hot one_hot indices! depth!|num_classes; gather gather x!|reference indices!; reverse reverse x! axis!|axes
    tile tile x! multiples!|n; repeat_elements repeat x! repeats!|rep axis!; stack stack values!|x axis
"""
_RENAMED = {
    f"keras.backend.{words[0]}": (words[1], " ".join(words[2:]))
    for words in (item.split() for line in _KERAS_BACKEND.splitlines() for item in line.split(";"))
    if words
}

# By the start of the name of a function: why it has no counterpart.
_DEPENDS_ON_DATA = "the shape of its result depends on the data"
_RANDOM = "it gives other values at each call, from a generator that Keras 3 does not have"
_CONTROL = "it runs functions, which the file does not contain"
_PYTHON = "it runs Python code, which the file does not contain"
_RAGGED = "Keras 3 has no operations on ragged and sparse tensors"
_TEXT = "Keras 3 has no operations on text"
_CHECK = "it checks values when the model runs; Keras 3 has no such operation"
_REFUSED = {
    "Assert": _CHECK,
    "__operators__.ragged_getitem": _RAGGED,
    "audio.": "Keras 3 has no operations on audio files",
    "boolean_mask": _DEPENDS_ON_DATA,
    "case": _CONTROL,
    "cond": _CONTROL,
    "debugging.": _CHECK,
    "dynamic_partition": _DEPENDS_ON_DATA,
    "foldl": _CONTROL,
    "foldr": _CONTROL,
    "function": _CONTROL,
    "group": "it only orders side effects",
    "image.random": _RANDOM,
    "image.stateless_random": _RANDOM,
    "io.": "it reads or decodes files",
    "map_fn": _CONTROL,
    "nn.dropout": _RANDOM,
    "nn.experimental.stateless_dropout": _RANDOM,
    "nn.experimental.general_dropout": _RANDOM,
    "numpy_function": _PYTHON,
    "print": "it prints when the model runs; Keras 3 has no such operation",
    "py_func": _PYTHON,
    "py_function": _PYTHON,
    "ragged.": _RAGGED,
    "random.": _RANDOM,
    "random_": _RANDOM,
    "scan": _CONTROL,
    "sparse.": _RAGGED,
    "strings.": _TEXT,
    "switch_case": _CONTROL,
    "unique": _DEPENDS_ON_DATA,
    "vectorized_map": _CONTROL,
    "while_loop": _CONTROL,
}
# These work on text in Keras 3, too, on the TensorFlow backend.
_ANY_DTYPE = frozenset(
    """
    concat expand_dims gather getitem identity rank reshape shape size slice split squeeze stack strided_slice tile transpose
    unstack
    """.split()  # noqa: SIM905  # a list of quoted names would be three times as long
)


def translate_op(
    class_name: str, config: Mapping[str, Any], call: Call, shape_of: ShapeOf, dtype_of: DtypeOf
) -> list[OpCall] | Known:
    """Translate one call of a layer that wraps an operation of TensorFlow.

    Args:
        class_name: `TFOpLambda`, `SlicingOpLambda`, `TensorFlowOpLayer`, `InstanceProperty`, `InstanceMethod`,
            `ClassMethod`, or `Lambda` with the name of a function.
        config: The config of the layer.
        call: The call. Outputs of earlier calls that gave `Known` are replaced by their values.
        shape_of: Returns the shape of a tensor, or None. An unknown size is None, or the `Dim` that it is known to equal.
        dtype_of: Returns the dtype of a tensor, or None.

    Returns:
        The steps, of which the last one gives the outputs of the layer in the same number and order, or the values of
        the outputs if they are known.

    Raises:
        Untranslatable: If no operation of Keras 3 gives the same results.
    """
    try:
        found = _translate_op(class_name, config, call, Builder(shape_of, dtype_of))
    except _UNEXPECTED as error:
        raise Untranslatable(f"the arguments of its call are not those of a function of TensorFlow: {error}") from error
    for step in found if isinstance(found, list) else ():
        for leaf in leaves([step.config, step.args, step.kwargs]):
            check_leaf(leaf)
    return found


# What a rule raises if a file has arguments of other types and sizes than the function takes.
_UNEXPECTED = (
    ArithmeticError,
    AttributeError,
    IndexError,
    KeyError,
    RecursionError,
    StopIteration,
    TypeError,
    ValueError,
)


def _translate_op(class_name: str, config: Mapping[str, Any], call: Call, b: Builder) -> list[OpCall] | Known:
    args, kwargs = _plain(call.args), {key: _plain(value) for key, value in call.kwargs.items()}
    match class_name:
        case "TFOpLambda" | "SlicingOpLambda":
            function = str(config.get("function"))
        case "TensorFlowOpLayer":
            function, kwargs = function_of_node(
                {**config, "constants": _plain(config.get("constants"))}, Call(args, {})
            )
            args = []
        case "Lambda":
            function = _named_function(config)
            if args and isinstance(args[0], list) and len(args[0]) == 1:
                args = [args[0][0], *args[1:]]  # Keras 2 unpacks a list with one tensor
            args = _autocast(b, args, config)
            kwargs = {**kwargs, **_plain(config.get("arguments") or {})}
            kwargs.pop("mask", None)
            kwargs.pop("training", None)
        case "InstanceProperty" if config.get("attr_name") == "shape":
            function = "shape"
        case "ClassMethod" | "InstanceProperty" | "InstanceMethod":
            name = config.get("attr_name") or f"{config.get('cls_symbol')}.{config.get('method_name')}"
            raise Untranslatable(f"tf.{name}: {_RAGGED}")
        case _:
            raise Untranslatable(f"{class_name} is no operation of TensorFlow")
    return _translate(b, function.removeprefix("tf."), args, kwargs)


def _translate(b: Builder, function: str, args: list[Argument], kwargs: Mapping[str, Argument]) -> list[OpCall] | Known:
    name, parameters, rule = _find_rule(function)
    arguments = dict.fromkeys((names[0] for names, _, _ in _parameters(RULES[name][0])), None) if name in RULES else {}
    arguments |= _bind(function, parameters, args, kwargs)
    arguments |= {"function": name, "is_v1": function.startswith("compat.v1.")}
    tensors = [leaf for leaf in leaves([args, kwargs]) if isinstance(leaf, Tensor | Step)]
    if name not in _ANY_DTYPE and any(b.dtype(tensor) == "string" for tensor in tensors):
        raise Untranslatable(f"tf.{function} of text: {_TEXT}")
    if not tensors:
        known = evaluate(name, arguments)
        if known is not None:
            return known
        if name != "einsum" and not any(is_symbolic(leaf) for leaf in leaves([args, kwargs])):
            raise Untranslatable(f"tf.{function} of constants is not supported")
    try:
        result = rule(b, arguments)
    except _UNEXPECTED as error:
        raise Untranslatable(f"unsupported arguments of tf.{function}") from error
    if isinstance(result, Known):
        return result
    if isinstance(result, Tensor) or (isinstance(result, Step) and result.index != len(b.steps) - 1):
        b.op("Copy", result)
    elif not isinstance(result, Step):
        value = result.value if isinstance(result, Constant) else result
        return Known([value], result.dtype if isinstance(result, Constant) else dtype_of_value(value))
    return b.steps


def _plain(value: Argument) -> Argument:
    """Return an argument with the slices, tuples and `...` that Keras 2 writes as dicts."""
    if isinstance(value, dict):
        if set(value) == {"start", "stop", "step"}:
            return slice(*(_plain(value[key]) for key in ("start", "stop", "step")))
        match value.get("class_name"):
            case "__ellipsis__":
                return ...
            case "__tuple__" | "TensorShape":
                return [_plain(item) for item in value.get("items", ())]
            case "__numpy__" | "__tensor__":
                return _plain(value["config"]["value"])
            case "TypeSpec" | "DType":
                return value.get("name", value.get("serialized"))
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    return value


# Functions by name.


def _find_rule(function: str) -> tuple[str, str, Rule]:
    """Return the short name of a function, its parameters and its rule."""
    plain = function.removeprefix("compat.v1.").removeprefix("compat.v2.")
    if plain in _RENAMED:
        name, parameters = _RENAMED[plain]
        return name, parameters, RULES[name][1]
    short = next((plain.removeprefix(space) for space in _NAMESPACES if plain.startswith(space)), plain)
    for prefix, reason in _REFUSED.items():
        if prefix in (plain, short) or (prefix[-1] in "._" and plain.startswith(prefix)):
            raise Untranslatable(f"tf.{function}: {reason}")
        if prefix.startswith("image.") and plain.startswith(prefix):
            raise Untranslatable(f"tf.{function}: {reason}")
    for name in (function, plain, short):
        if name in RULES:
            return plain if plain.startswith("image.") else short, *RULES[name]
    raise Untranslatable(f"tf.{function} has no counterpart in Keras 3 that ramet knows")


@functools.cache
def _parameters(text: str) -> tuple[tuple[tuple[str, ...], bool, Any], ...]:
    """Return the names of each parameter, whether it is required, and its default."""
    result = []
    for word in text.split():
        word, _, default = word.partition("=")
        first, *others = word.split("|")
        result.append(((first.rstrip("!"), *others), first.endswith("!"), json.loads(default) if default else None))
    return tuple(result)


def _bind(function: str, text: str, args: Sequence[Argument], kwargs: Mapping[str, Argument]) -> dict[str, Any]:
    """Return the arguments of a function by the names that its rule uses."""
    left = {key: value for key, value in kwargs.items() if key != "name"}
    values = list(args)
    bound: dict[str, Any] = {}
    for names, required, default in _parameters(text):
        if names[0].startswith("*"):
            bound[names[0][1:]] = left.pop(names[0][1:], None) or values
            values = []
            continue
        given = next((name for name in names if name in left), None)
        if values:
            bound[names[0]] = values.pop(0)
        elif given is not None:
            bound[names[0]] = left.pop(given)
        elif required:
            raise Untranslatable(f"Keras 2 did not save the argument '{names[0]}' of tf.{function}")
        else:
            bound[names[0]] = default
    unknown = [key for key, value in left.items() if value is not None]
    if unknown or values:
        what = f"the argument '{unknown[0]}'" if unknown else "the number of arguments"
        raise Untranslatable(f"{what} of tf.{function} has no counterpart in Keras 3")
    return bound


# Lambda layers.


def _named_function(config: Mapping[str, Any]) -> str:
    """Return the function of TensorFlow or of the backend of Keras that a `Lambda` layer names."""
    function, module = config.get("function"), config.get("module")
    if isinstance(function, Mapping):
        settings = function.get("config")
        module = function.get("module", module)
        function = settings if isinstance(settings, str) else function.get("registered_name")
    if not isinstance(function, str) or config.get("function_type") == "lambda":
        raise Untranslatable("the function of the Lambda layer is Python code")
    parts = str(module or "").split(".")
    if parts[0] not in ("keras", "tensorflow", "tf_keras", "keras_applications", "tensorflow_core"):
        raise Untranslatable(f"the function '{function}' of the Lambda layer is not in the file")
    if any("backend" in part for part in parts):
        return f"keras.backend.{function}"
    if "activations" in parts or "applications" in parts or parts[0] == "keras_applications":
        return f"keras.activations.{function}"
    short = function.removesuffix("_v2").removesuffix("_v1")
    if any("image_ops" in part for part in parts):
        if short == "resize_images":
            return "image.resize" if function.endswith("_v2") else "compat.v1.image.resize"
        return f"image.{short}"
    return "compat.v1.where" if function == "where" else short


def _autocast(b: Builder, args: list[Argument], config: Mapping[str, Any]) -> list[Argument]:
    """Return the inputs of a `Lambda` layer, which casts floats to its dtype, unlike other layers of this kind."""
    dtype = compute_dtype(config)

    def change(leaf: Operand) -> Operand:
        found = b.dtype(leaf) if isinstance(leaf, Tensor) else None
        return cast(b, leaf, dtype) if is_float(found) and found != dtype else leaf

    return [map_leaves(arg, change) for arg in args]
