"""The structure of models: calls, layers, inputs and outputs, own variables, kinds of objects."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import keras

from ramet._keras import calls, names
from ramet.errors import ArgumentError, shown


def name_of(op: Any) -> str:
    """Return the name of an op, or that of its class for an op without a name."""
    name = getattr(op, "name", None)
    return name if isinstance(name, str) else re.sub("([a-z0-9])([A-Z])", r"\1_\2", type(op).__name__).lower()


def function_of(op: Any) -> Any:
    """Return the object that holds the calls of a model, or None.

    That is the model itself, or the functional model inside a Sequential.
    """
    if isinstance(op, keras.Sequential):
        return getattr(op, names.FUNCTIONAL, None)
    return op if isinstance(op, keras.Function) else None


def calls_of(function: Any) -> list[Any]:
    """Return the calls of a functional model in the order Keras runs them."""
    by_depth = getattr(function, names.NODES_BY_DEPTH)
    return [call for depth in sorted(by_depth, reverse=True) for call in by_depth[depth]]


def inputs_of(function: Any) -> Any:
    """Return the input tensors, nested as the model takes them."""
    return getattr(function, names.INPUTS)


def outputs_of(function: Any) -> Any:
    """Return the output tensors, nested as the model returns them."""
    return getattr(function, names.OUTPUTS)


def is_sparse(tensor: Any) -> bool:
    """Return whether a symbolic tensor is actually sparse.

    Keras marks the product of any tensor and a number as sparse, so at least one input that it depends on must be sparse as well.
    """

    def sources(one: Any) -> list[Any]:
        call = calls.producer(one)
        return [] if call is None else call.input_tensors

    return bool(tensor.sparse) and any(one.sparse and not sources(one) for one in reachable([tensor], sources))


def input_like(
    tensor: Any, shape: Any, dtype: str | None = None, *, sparse: bool | None = None, name: str | None = None
) -> Any:
    """Return a new input with the flags, and by default the names, of another input; its shape includes the batch size.

    Without a name from the user, Keras names an input layer and its tensor differently (`input_layer`, `keras_tensor`).
    The layer is found by the first, data in a dict by the second, so both are kept.
    """
    flags = {
        "sparse": tensor.sparse if sparse is None else sparse,
        "ragged": getattr(tensor, "ragged", False),
        "optional": is_optional(tensor),
    }
    kept = {flag: value for flag, value in flags.items() if value}
    new = keras.Input(batch_shape=tuple(shape), dtype=dtype or tensor.dtype, name=name or input_name(tensor), **kept)
    new.name = name or tensor.name
    return new


def is_optional(tensor: Any) -> bool:
    """Return whether a tensor is an input for which None may be passed."""
    found = calls.history(tensor)
    return found is not None and bool(getattr(found[0], "optional", False))


def input_name(tensor: Any) -> str:
    """Return the name of the layer that an input tensor comes from."""
    found = calls.history(tensor)
    return str(tensor.name if found is None else found[0].name)


def name_like(tensor: Any, other: Any) -> None:
    """Give an unnamed input the names of another one; an input with a name or with calls keeps its own."""
    layer = calls.history(tensor)[0]  # type: ignore[index]  # an input has a layer
    if tensor.name != layer.name and not calls.outbound(layer):
        layer.name, tensor.name = input_name(other), other.name


def ops_inside(op: Any) -> list[Any]:
    """Return the ops directly inside one: those it calls, and those it only holds."""
    function = function_of(op)
    return once(layers_of(op) + ([] if function is None else list(function.operations)))


def once(objects: Iterable[Any]) -> list[Any]:
    """Return the objects without repetitions, in order."""
    return list({id(one): one for one in objects}.values())


def layers_of(op: Any) -> list[Any]:
    """Return the layers that an op holds, in the order Keras tracks them."""
    return list(getattr(op, names.LAYERS, None) or ())


def variables_of(op: Any) -> Iterator[tuple[Any, bool]]:
    """Yield the variables that an op owns itself, and whether each is a weight (a random state is not)."""
    for store in (names.OWN_TRAINABLE, names.OWN_NON_TRAINABLE):
        for variable in list(getattr(op, store, None) or ()):
            yield variable, True
    for generator in generators_of(op):
        yield generator.state, False


def mask_of(tensor: Any) -> Any:
    """Return the mask that a symbolic tensor carries, or None."""
    return getattr(tensor, names.MASK, None)


def producing_call(tensor: Any) -> Any:
    """Return the call that a tensor comes from, or None."""
    return calls.producer(tensor)


def makes_its_own_config(model: Any) -> bool:
    """Return whether the class of a functional model defines its own config instead of a list of layers."""
    return not _inherits_from_keras(model, "get_config")


def has_its_own_call(model: Any) -> bool:
    """Return whether calling a model with a call graph does something other than run its calls."""
    return "call" in model.__dict__ or not _inherits_from_keras(model, "call")


def _inherits_from_keras(model: Any, method: str) -> bool:
    """Return whether a method is the one of Keras' classes of models."""
    found = inspect.getattr_static(type(model), method)
    of_keras = [base for base in type(model).__mro__ if base.__module__.startswith("keras.src.models")]
    return any(base.__dict__.get(method) is found for base in of_keras)


def saves_its_calls(model: Any) -> bool:
    """Return whether a file restores the layers and calls of a model with a call graph, from its config.

    Keras decides this by the arguments of the class. The config is not read, because that fails if one layer has no
    config.
    """
    if makes_its_own_config(model):
        return False
    if isinstance(model, keras.Sequential):
        return True
    like_a_functional = inspect.unwrap(type(model).get_config).__globals__["functional_like_constructor"]
    return bool(like_a_functional(type(model)))


def calls_made(op: Any) -> list[Any]:
    """Return all calls of an op, in the order they were made, from every model it was used in."""
    return calls.inbound(op)


def calls_following(op: Any) -> list[Any]:
    """Return all calls that take an output of an op, from every model."""
    return calls.outbound(op)


def generators_of(layer: Any) -> list[Any]:
    """Return the random generators that a layer owns itself."""
    return list(getattr(layer, names.SEED_GENERATORS, None) or ())


def optimized_variables(optimizer: Any) -> list[Any]:
    """Return the variables that an optimizer was built for."""
    return list(getattr(optimizer, names.OPTIMIZED))


def learning_rate_variable(optimizer: Any) -> Any:
    """Return the variable that holds the learning rate, or the schedule in its place."""
    return getattr(optimizer, names.LEARNING_RATE, None)


def value_of(variable: Any) -> Any:
    """Return the value of a variable: an array, a parameter or a TensorFlow variable; None before it is initialized."""
    return getattr(variable, names.VALUE)


def with_values(variables: Iterable[Any]) -> list[Any]:
    """Return variables, and their values where they have one."""
    return [part for variable in variables for part in (variable, value_of(variable)) if part is not None]


def tensors_in(values: Any) -> list[Any]:
    """Return the symbolic tensors in nested arguments or outputs, in order."""
    return [value for value in keras.tree.flatten(values) if isinstance(value, keras.KerasTensor)]


def parameters_of(op: Any) -> Mapping[str, inspect.Parameter]:
    """Return the parameters of an op's call by name; none for a call without a readable signature."""
    known = op.__dict__.get(names.CALL_SIGNATURE)  # layers have inspected it already, which is slow
    if known is None:
        try:
            known = inspect.signature(op.call)
        except (TypeError, ValueError):  # a call written in C
            return {}
    parameters: Mapping[str, inspect.Parameter] = known.parameters
    return parameters


def default_of(op: Any, argument: str) -> Any:
    """Return the default of an argument of an op's call, or a value that equals nothing."""
    parameter = parameters_of(op).get(argument)
    return inspect.Parameter.empty if parameter is None else parameter.default


def arguments_by_name(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """Return the arguments of a call, each under the name of its parameter."""
    return dict(zip(parameters_of(op), args, strict=False)) | kwargs


def set_build_config(layer: Any, config: dict[str, Any]) -> None:
    """Record other shapes as those that a layer was built with."""
    shapes = config.get("shapes_dict", {"input_shape": config.get("input_shape")})
    layer.__dict__[names.BUILD_SHAPES] = shapes


def is_keras_class(cls: type) -> bool:
    """Return whether a class comes from Keras or inherits from a class of Keras."""
    return any(base.__module__.partition(".")[0] == "keras" for base in cls.__mro__)


def is_from_keras(value: Any) -> bool:
    """Return whether the class of an object, not only a base class, comes from Keras."""
    return type(value).__module__.partition(".")[0] == "keras"


def is_call_class(cls: type) -> bool:
    """Return whether instances are calls: Keras' `Node`, which has no public name."""
    return _is_internal(cls, "Node")


def is_tracker_class(cls: type) -> bool:
    """Return whether instances are the trackers in which layers, metrics and optimizers keep their state."""
    return _is_internal(cls, "Tracker")


def _is_internal(cls: type, name: str) -> bool:
    return any(b.__name__ == name and b.__module__.startswith("keras.") for b in cls.__mro__)


def is_clonable(value: Any) -> bool:
    """Return whether `ramet.clone` takes it: an op (model, layer, raw operation), an optimizer, a metric or a loss."""
    return isinstance(
        value,
        keras.Operation | keras.optimizers.Optimizer | keras.metrics.Metric | keras.losses.Loss,
    )


def kind_of(value: Any) -> str:
    """Return the word for an object in messages: model, layer, operation, optimizer, metric, variable, or object."""
    words = {
        keras.Model: "model",
        keras.Layer: "layer",
        keras.Operation: "operation",
        keras.optimizers.Optimizer: "optimizer",
        keras.metrics.Metric: "metric",
        keras.losses.Loss: "loss",
        keras.Variable: "variable",
    }
    return next((word for cls, word in words.items() if isinstance(value, cls)), "object")


def is_input_tensor(tensor: Any) -> bool:
    """Return whether a tensor is the output of an input layer."""
    found = calls.history(tensor)
    return found is not None and isinstance(found[0], keras.layers.InputLayer)


def is_sequence(function: Any) -> bool:
    """Return whether a functional model is a plain sequence of layers."""
    if len(function.operations) != len(function.layers) or len(function.inputs) != 1 or len(function.outputs) != 1:
        return False
    tensor = function.outputs[0]
    steps = 0
    while tensor is not function.inputs[0]:
        call = calls.producer(tensor)
        if call is None or len(call.input_tensors) != 1 or len(call.arguments.args) != 1:
            return False
        tensor, steps = call.input_tensors[0], steps + 1
    return steps == len(function.layers) - 1


def expand_shared(share: Any, verb: str, roots: Iterable[Any]) -> list[Any]:
    """Return the objects passed as `share=`, with the layers and variables inside them.

    Those may also be reached on other paths.

    Args:
        share: The argument.
        verb: The name of the operation, for the error if it is not a list.
        roots: The objects that are cloned. The contents of a shared object are not shared if it contains one of them.
    """
    if isinstance(share, keras.Operation | keras.KerasTensor) or not isinstance(share, Iterable):
        raise ArgumentError(
            f"Cannot {verb} with share=: it must be a list of objects.",
            found=f"an object of class {type(share).__name__}",
            fix="pass share=[...], even for one object.",
        )
    given, cloned = list(share), set(map(id, roots))
    for value in given:
        if isinstance(value, str | bytes | int | float | complex):
            is_name = isinstance(value, str)
            raise ArgumentError(
                f"Cannot {verb} with share={shown([value])}: share= takes the objects themselves.",
                found=f"{'a name' if is_name else 'a value'} of class {type(value).__name__}",
                fix=f"pass the layer, for example model.get_layer({value!r})."
                if is_name
                else "pass objects of the model.",
            )
    for whole in list(given):
        parts = list(_parts(whole))
        if cloned.isdisjoint(map(id, parts)):
            given += parts
    return given


def _parts(whole: Any) -> Iterator[Any]:
    """Yield the layers and variables inside an object of Keras, and the holders of their values."""
    if isinstance(whole, keras.Operation):
        yield from layer_tree(whole)[1:]
    if isinstance(whole, keras.Variable):
        variables = [whole]
    elif isinstance(whole, keras.Operation | keras.optimizers.Optimizer | keras.Metric):
        variables = list(getattr(whole, "variables", ()))
    else:
        return
    # The arrays of JAX are immutable.
    yield from variables if keras.backend.backend() == "jax" else with_values(variables)


def layer_tree(root: Any) -> list[Any]:
    """Return an op and every layer below it, each once."""
    return reachable([root], layers_of)


def reachable(starts: Iterable[Any], following: Callable[[Any], Iterable[Any]]) -> list[Any]:
    """Return some objects and all that follow from them, each once, without recursion."""
    found: dict[int, Any] = {}
    waiting = list(starts)
    while waiting:
        one = waiting.pop()
        if id(one) not in found:
            found[id(one)] = one
            waiting += following(one)
    return list(found.values())
