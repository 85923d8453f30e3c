"""What a model is made of: its calls in order, its layers, its inputs and outputs, its own variables."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from typing import Any

import keras

from ramet._keras import calls, names


def name_of(op: Any) -> str:
    """The name of an op; that of its class for an op that has none."""
    name = getattr(op, "name", None)
    return name if isinstance(name, str) else re.sub("([a-z0-9])([A-Z])", r"\1_\2", type(op).__name__).lower()


def function_of(op: Any) -> Any:
    """What holds the calls of a model: itself, the functional model inside a Sequential, or None if there is none."""
    if isinstance(op, keras.Sequential):
        return getattr(op, names.FUNCTIONAL, None)
    return op if isinstance(op, keras.Function) else None


def calls_of(function: Any) -> list[Any]:
    """The calls of a functional model in the order Keras runs them."""
    by_depth = getattr(function, names.NODES_BY_DEPTH)
    return [call for depth in sorted(by_depth, reverse=True) for call in by_depth[depth]]


def inputs_of(function: Any) -> Any:
    """The input tensors, nested as the model takes them."""
    return getattr(function, names.INPUTS)


def outputs_of(function: Any) -> Any:
    """The output tensors, nested as the model returns them."""
    return getattr(function, names.OUTPUTS)


def is_sparse(tensor: Any) -> bool:
    """Whether a symbolic tensor is a sparse one.

    Keras says so of the product of any tensor and a number; it is believed where a sparse tensor leads to it.
    """
    if not tensor.sparse:
        return False
    waiting, seen = [tensor], {id(tensor)}
    while waiting:
        one = waiting.pop()
        call = calls.producer(one)
        sources = [] if call is None else call.input_tensors
        if one.sparse and not sources:
            return True
        waiting.extend(source for source in sources if id(source) not in seen)
        seen.update(map(id, sources))
    return False


def input_like(tensor: Any, shape: Any, dtype: str | None = None, *, sparse: bool | None = None) -> Any:
    """A new input with the names and flags of another input, and a shape with the batch first.

    Keras names an input layer and its tensor apart (`input_layer`, `keras_tensor`) where the user gave no name: the layer is
    found by the one, data in a dict by the other, so both stay.
    """
    found = calls.history(tensor)
    flags = {
        "sparse": tensor.sparse if sparse is None else sparse,
        "ragged": getattr(tensor, "ragged", False),
        "optional": found is not None and getattr(found[0], "optional", False),
    }
    kept = {flag: value for flag, value in flags.items() if value}
    new = keras.Input(batch_shape=tuple(shape), dtype=dtype or tensor.dtype, name=input_name(tensor), **kept)
    new.name = tensor.name
    return new


def input_name(tensor: Any) -> str:
    """The name of the layer that an input tensor comes from."""
    found = calls.history(tensor)
    return str(tensor.name if found is None else found[0].name)


def name_like(tensor: Any, other: Any) -> None:
    """Give an input that the user did not name the names of another one; an input with a name or with calls keeps its own."""
    layer = calls.history(tensor)[0]  # type: ignore[index]  # an input has a layer
    if tensor.name != layer.name and not calls.outbound(layer):
        layer.name, tensor.name = input_name(other), other.name


def inside(op: Any) -> list[Any]:
    """The ops directly inside one: those it calls, and those it only holds."""
    function = function_of(op)
    ops = layers_of(op) + ([] if function is None else list(function.operations))
    return list({id(child): child for child in ops}.values())


def layers_of(op: Any) -> list[Any]:
    """The layers that an op holds, in the order Keras tracks them."""
    return list(getattr(op, names.LAYERS, None) or ())


def variables_of(op: Any) -> Iterator[tuple[Any, bool]]:
    """The variables an op owns itself, and whether each is a weight (a random state is none)."""
    for store in (names.OWN_TRAINABLE, names.OWN_NON_TRAINABLE):
        for variable in list(getattr(op, store, None) or ()):
            yield variable, True
    for generator in list(getattr(op, names.SEED_GENERATORS, None) or ()):
        yield generator.state, False


def mask_of(tensor: Any) -> Any:
    """The mask that travels with a tensor, or None."""
    return getattr(tensor, names.MASK, None)


def set_mask(tensor: Any, mask: Any) -> None:
    """Let another mask travel with a tensor."""
    setattr(tensor, names.MASK, mask)


def producing_call(tensor: Any) -> Any:
    """The call a tensor comes from, or None."""
    return calls.producer(tensor)


def makes_its_own_config(model: Any) -> bool:
    """Whether the class of a functional model says its config itself, and not only as a list of layers."""
    for base in type(model).__mro__:
        if "get_config" in base.__dict__:
            return not base.__module__.startswith("keras.src.models")
    return False


def has_its_own_call(model: Any) -> bool:
    """Whether a model with a call graph does something else than its calls when it is called."""
    plain = keras.Sequential.call if isinstance(model, keras.Sequential) else _functional_call(model)
    return "call" in model.__dict__ or getattr(type(model), "call", None) is not plain


def _functional_call(model: Any) -> Any:
    for base in type(model).__mro__:
        if base.__module__.startswith("keras.src.models") and "call" in base.__dict__:
            return base.__dict__["call"]
    return None


def saves_its_calls(model: Any) -> bool:
    """Whether the config of a model with a call graph says its layers and calls, so that a file brings them back.

    Keras decides it by the arguments of the class; its config is not asked, which one layer without a config would spoil.
    """
    if makes_its_own_config(model):
        return False
    if isinstance(model, keras.Sequential):
        return True
    like_a_functional = inspect.unwrap(type(model).get_config).__globals__["functional_like_constructor"]
    return bool(like_a_functional(type(model)))


def raw_attributes(op: Any) -> dict[str, Any]:
    """The settings of a raw operation: what it holds besides its name and calls."""
    own = {names.INBOUND, names.OUTBOUND, names.AUTO_CONFIG, "name", names.LOCK, names.REMAT}
    return {name: value for name, value in op.__dict__.items() if name not in own}


def calls_made(op: Any) -> list[Any]:
    """All calls of an op, in the order they were made, from every model it was used in."""
    return calls.inbound(op)


def calls_following(op: Any) -> list[Any]:
    """All calls that take a value of an op's, from every model."""
    return calls.outbound(op)


def generators_of(layer: Any) -> list[Any]:
    """The random generators a layer owns itself."""
    return list(getattr(layer, names.SEED_GENERATORS, None) or ())


def optimized_variables(optimizer: Any) -> list[Any]:
    """The variables an optimizer was built for."""
    return list(getattr(optimizer, names.OPTIMIZED))


def learning_rate_variable(optimizer: Any) -> Any:
    """The variable that holds the learning rate, or the schedule that stands in its place."""
    return getattr(optimizer, names.LEARNING_RATE, None)


def value_of(variable: Any) -> Any:
    """What a variable holds: an array, a parameter or a TensorFlow variable; None before it is initialised."""
    return getattr(variable, names.VALUE)


def parameters_of(op: Any) -> Mapping[str, inspect.Parameter]:
    """The parameters of an op's call by name; none for a call that cannot say them."""
    known = op.__dict__.get(names.CALL_SIGNATURE)  # layers have looked already, which takes its time
    if known is None:
        try:
            known = inspect.signature(op.call)
        except (TypeError, ValueError):  # a call written in C
            return {}
    parameters: Mapping[str, inspect.Parameter] = known.parameters
    return parameters


def default_of(op: Any, argument: str) -> Any:
    """The default of an argument of an op's call, or a value that equals nothing."""
    parameter = parameters_of(op).get(argument)
    return inspect.Parameter.empty if parameter is None else parameter.default


def arguments_by_name(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
    """The arguments of a call, each under the name of its parameter."""
    return dict(zip(parameters_of(op), args, strict=False)) | kwargs


def set_build_config(layer: Any, config: dict[str, Any]) -> None:
    """Let a layer say that it was built with other shapes."""
    shapes = config.get("shapes_dict", {"input_shape": config.get("input_shape")})
    layer.__dict__[names.BUILD_SHAPES] = shapes
