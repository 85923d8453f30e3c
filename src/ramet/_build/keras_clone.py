"""`ramet.clone_model`: a drop-in replacement of `keras.models.clone_model` without its known defects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import keras

from ramet._arguments import check_choice
from ramet._build.clone_function import CloneFunction, Replacements, checked_call, described, user_errors_as_raised
from ramet._build.cloning import WEIGHTS, clone, new_inputs
from ramet._build.rebuild import CallOp, rebuild, run_steps
from ramet._copy import copy_model
from ramet._keras import draw_from_seed, keep_name_counters, locations_below, structure, training
from ramet.errors import ArgumentError, NotAModelError


def clone_model(
    model: Any,
    input_tensors: Any = None,
    clone_function: Callable[[Any], Any] | None = None,
    call_function: Callable[..., Any] | None = None,
    recursive: bool = False,  # noqa: FBT001, FBT002  # as in keras.models.clone_model
    *,
    weights: Literal["copy", "fresh", "share"] = "fresh",
    seed: int | None = None,
) -> Any:
    """Return a clone, with the arguments of `keras.models.clone_model`, for which it is a drop-in replacement.

    Everything that works with Keras' function works with this one. Class, flags, names and masks are kept;
    the page "clone_model" of the documentation lists every difference.

    Args:
        model: A model of any kind.
        input_tensors: As `inputs` of `ramet.clone`; input layers are accepted in place of their tensors.
        clone_function: Called once with each layer that is not an input; returns the layer, or a plain function, to use
            instead. If it returns the layer itself, the clone gets a new layer on the same variables (on copies of them
            with `weights="copy"`), and the original's layer is not called.
        call_function: Called with each layer of the clone and the arguments of each of its calls; returns the outputs
            to use.
        recursive: Enter nested models, wrappers and composite layers, whose classes are kept.
        weights: As in `ramet.clone`; fresh by default, as in Keras. With a `clone_function`, `"copy"` copies the
            original's weights into layers of the same shapes.
        seed: As in `ramet.clone`.

    Returns:
        The clone, a model of the same class.

    Raises:
        NotAModelError: `model` is not a Keras model.
        ArgumentError: An argument has an invalid value, or a function returned something unusable.
        CannotCopyError: Something inside the model cannot be copied; the error names its location.
        RebuildError: A layer refused the new inputs.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, activation="relu")])
    >>> def gelu_for_relu(layer):
    ...     config = layer.get_config()
    ...     return type(layer).from_config({**config, "activation": "gelu"})
    >>> ramet.clone_model(model, clone_function=gelu_for_relu).layers[0].activation.__name__
    'gelu'
    """
    _check_arguments(model, input_tensors, clone_function, call_function, weights)
    given = _in_structure(model, input_tensors)
    unbuilt = structure.function_of(model) is None
    if clone_function is None and call_function is None:
        if given is None or not unbuilt:
            return clone(model, weights=weights, inputs=given, seed=seed)
        return _built_on(clone(model, weights=weights, seed=seed), given, None)
    call = None if call_function is None else checked_call(call_function)
    if clone_function is None:
        twin = clone(model, weights=weights, seed=seed)
    else:
        twin = clone(model, weights="copy" if weights == "copy" else "share")
    with draw_from_seed(seed), user_errors_as_raised():
        function: CloneFunction = clone_function or (lambda layer: layer)
        replacements = Replacements(function, call, model, twin, recursive=recursive)
        if unbuilt:
            result = run_steps(replacements.rebuild(model))
            if given is not None:
                result = _built_on(result, given, call)
        else:
            inputs = None if given is None else new_inputs(twin, given, original=model)
            result = run_steps(replacements.rebuild(model, inputs))
    if clone_function is not None:
        result = _with_original_weights(result, replacements, model, weights)
        result = result if seed is None else clone(result, weights="share", seed=seed)
    _renew_optimizer(result, reset=clone_function is not None)
    return result


def _check_arguments(model: Any, input_tensors: Any, clone_function: Any, call_function: Any, weights: Any) -> None:
    if not isinstance(model, keras.Model):
        raise NotAModelError(
            f"Cannot clone {described(model)}: it is not a model.",
            expected="a Keras model",
            fix="pass a model; ramet.clone also takes layers, optimizers and metrics.",
        )
    for name, value in (("clone_function", clone_function), ("call_function", call_function)):
        if value is not None and not callable(value):
            raise ArgumentError(
                f"Cannot clone '{model.name}': {name} is not a function.",
                found=described(value),
                fix=f"pass a function as {name}, or leave it out.",
            )
    check_choice("clone", "weights", weights, WEIGHTS)
    if structure.function_of(model) is not None or (isinstance(model, keras.Sequential) and input_tensors is not None):
        return
    for name, value in (("call_function", call_function), ("input_tensors", input_tensors)):
        if value is None:
            continue
        if isinstance(model, keras.Sequential):
            raise ArgumentError(
                f"Cannot clone '{model.name}' with {name}=: it has not been built, so its layers have no calls yet.",
                fix="build it first, model.build(shape), or pass the clone's input as input_tensors=.",
            )
        raise ArgumentError(
            f"Cannot clone '{model.name}' with {name}=: it has no call graph.",
            expected="a functional or Sequential model",
            found=f"a model of class {type(model).__name__}, whose own code calls its layers",
            fix=f"leave {name}= out.",
        )


def _in_structure(model: Any, given: Any) -> Any:
    """Return the input tensors, with the outputs of input layers in place of the layers."""
    if given is None:
        return None
    given = keras.tree.map_structure(
        lambda item: item.output if isinstance(item, keras.layers.InputLayer) else item, given
    )
    function = structure.function_of(model)
    if function is None:
        return _single_input(model, given)
    reference = structure.inputs_of(function)
    if isinstance(reference, dict) and isinstance(given, list | tuple) and len(function.inputs) > 1:
        raise ArgumentError(
            # The wording of Keras, for people who search for it.
            f"Cannot clone '{model.name}': `input_tensors` must have the same structure as model.input.",
            expected=f"a dict with the keys {', '.join(map(repr, reference))}",
            found=f"a {type(given).__name__} of {len(given)}",
            fix="pass a dict with these keys, or with the names of the inputs.",
        )
    return given


def _single_input(model: Any, given: Any) -> Any:
    flat = keras.tree.flatten(given)
    if len(flat) != 1:
        raise ArgumentError(
            f"Cannot rebuild '{model.name}' on these inputs: a Sequential has one input, but got {len(flat)}.",
            fix="pass one tensor, or a list of one.",
        )
    if not hasattr(flat[0], "shape") or not hasattr(flat[0], "dtype"):
        raise ArgumentError(
            f"Cannot rebuild '{model.name}' on this input: the given object is not a tensor.",
            expected="a keras.Input, a symbolic tensor, an array or a backend tensor",
            found=described(flat[0]),
            fix="pass keras.Input(shape).",
        )
    return flat[0]


def _built_on(model: Any, tensor: Any, call: CallOp | None) -> Any:
    """Build a Sequential that has not been built yet on an input, and return it."""
    if not (isinstance(tensor, keras.KerasTensor) and structure.is_input_tensor(tensor)):
        symbolic = isinstance(tensor, keras.KerasTensor)
        shape = tuple(tensor.shape) if symbolic else (None, *tensor.shape[1:])
        tensor = keras.Input(batch_shape=shape, dtype=keras.backend.standardize_dtype(tensor.dtype))
    layers = list(model.layers)
    while model.layers:
        model.pop(rebuild=False)
    model.add(tensor)
    for layer in layers[:-1]:
        model.add(layer, rebuild=False)
    model.add(layers[-1])
    if call is None:
        return model
    return run_steps(rebuild(model, structure.inputs_of(structure.function_of(model)), call_op=call))


def _with_original_weights(result: Any, replacements: Replacements, model: Any, weights: str) -> Any:
    """Return the clone with the original's weights, copied or shared, in replacements with weights of the same shapes."""
    pairs: dict[int, tuple[Any, Any]] = {}
    for location in locations_below(model) if weights != "fresh" else ():
        new = replacements.made.get(id(location.op))
        if not isinstance(location.op, keras.Layer) or not isinstance(new, keras.Layer):
            continue
        ours, theirs = location.op.weights, new.weights
        if ours and not theirs and not new.built:
            raise ArgumentError(
                f"Cannot copy weights to '{location.path}': its replacement has no weights before it is called.",
                found=f"a layer of class {type(new).__name__}, not built",
                fix=f"give {type(new).__name__} a build() method, or leave weights= out.",
                path=location.path,
            )
        if [tuple(v.shape) for v in ours] != [tuple(v.shape) for v in theirs]:
            continue
        if weights == "share" and [v.dtype for v in ours] != [v.dtype for v in theirs]:
            continue
        pairs.update((id(v), (old, v)) for old, v in zip(ours, theirs, strict=True) if old is not v)
    if weights == "copy":
        for old, variable in pairs.values():
            variable.assign(keras.ops.convert_to_numpy(old))
        for new in replacements.made.values():
            if hasattr(new, "finalize_state") and new.built:
                new.finalize_state()
    if weights == "share" and pairs:
        kept = [v for v in result.variables if id(v) not in pairs] + [old for old, _ in pairs.values()]
        replace = {id(variable): old for old, variable in pairs.values()}
        return copy_model(result, share=structure.with_values(kept), replace=replace)
    return result


def _renew_optimizer(model: Any, *, reset: bool) -> None:
    """Replace the optimizer by an unbuilt one if it was built for other variables than the model has now."""
    optimizer = getattr(model, "optimizer", None) if getattr(model, "compiled", False) else None
    if optimizer is None:
        return
    if reset:
        model.reset_metrics()
    if not optimizer.built:
        return
    known = [id(v) for v in structure.optimized_variables(optimizer)]
    if not reset and known == [id(v) for v in model.trainable_variables]:
        return
    with keep_name_counters():
        training.set_optimizer(model, training.recreate_optimizer(optimizer))
