"""`clone_model`: a drop-in for `keras.models.clone_model`, with the wrong cases put right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import keras

from ramet._build.clone_model_check import check, in_structure
from ramet._build.door import clone as clone_by_options
from ramet._build.draw import drawn_from
from ramet._build.inputs import new_inputs
from ramet._build.rebuild import rebuild
from ramet._build.replacement import CloneFunction, Replacements
from ramet._build.trampoline import run
from ramet._build.user_call import UserCall
from ramet._keras import places_below
from ramet._keras import optimizers, rewire, structure
from ramet._keras import names_untouched
from ramet._copy import clone
from ramet.errors import ArgumentError


def clone_model(
    model: Any,
    input_tensors: Any = None,
    clone_function: CloneFunction | None = None,
    call_function: Callable[..., Any] | None = None,
    recursive: bool = False,  # noqa: FBT001, FBT002  # as in keras.models.clone_model
    *,
    weights: str = "fresh",
    seed: int | None = None,
) -> Any:
    """The clone; see `ramet.clone_model`."""
    check(model, input_tensors, clone_function, call_function, weights)
    given = in_structure(model, input_tensors)
    unbuilt = structure.function_of(model) is None
    if clone_function is None and call_function is None:
        if given is None or not unbuilt:
            return clone_by_options(model, weights=weights, inputs=given, seed=seed)
        return _built_on(clone_by_options(model, weights=weights, seed=seed), given, None)
    call = None if call_function is None else UserCall(call_function)
    if clone_function is None:
        twin = clone_by_options(model, weights=weights, seed=seed)
    else:
        twin = clone_by_options(model, weights="copy" if weights == "copy" else "share")
    with drawn_from(seed), UserCall.unwrapped(call):
        asked = clone_function or _same
        replacements = Replacements(asked, call, model, twin, recursive=recursive)
        if unbuilt:
            result = run(replacements.entered(model))
            if given is not None:
                result = _built_on(result, given, call)
        else:
            own = structure.inputs_of(structure.function_of(twin))
            inputs = own if given is None else new_inputs(twin, own, given, original=model)
            result = run(replacements.entered(model, inputs))
    if clone_function is not None:
        result = _carried(result, replacements, model, weights)
        result = result if seed is None else clone_by_options(result, weights="share", seed=seed)
    _renew_optimizer(result, reset=clone_function is not None)
    return result


def _same(layer: Any) -> Any:
    return layer


def _built_on(model: Any, given: Any, call: UserCall | None) -> Any:
    """A Sequential that has not been built: built on an input."""
    tensor = keras.tree.flatten(given)[0]
    if not (isinstance(tensor, keras.KerasTensor) and rewire.is_input_tensor(tensor)):
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
    return run(rebuild(model, structure.inputs_of(structure.function_of(model)), call_op=call))


def _carried(result: Any, replacements: Replacements, model: Any, weights: str) -> Any:
    """The clone with the original's weights, copied or the very same, in the layers that have places for them."""
    pairs: dict[int, tuple[Any, Any]] = {}
    for place in places_below(model) if weights != "fresh" else ():
        new = replacements.made.get(id(place.op))
        if not isinstance(place.op, keras.Layer) or not isinstance(new, keras.Layer):
            continue
        ours, theirs = place.op.weights, new.weights
        if ours and not theirs and not new.built:
            raise _not_built(place.path, new)
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
        held = [structure.value_of(v) for v in kept]
        replace = {id(variable): old for old, variable in pairs.values()}
        return clone(result, share=[*kept, *(v for v in held if v is not None)], replace=replace)
    return result


def _not_built(path: str, layer: Any) -> ArgumentError:
    return ArgumentError(
        f"Cannot carry weights to '{path}': the layer that stands for it has none before it is called.",
        found=f"a layer of class {type(layer).__name__}, not built",
        fix=f"give {type(layer).__name__} a build() method, or leave weights= out.",
        path=path,
    )


def _renew_optimizer(model: Any, *, reset: bool) -> None:
    """An optimizer knows the variables it was built for; other variables need one that is not built yet."""
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
    with names_untouched():
        rewire.set_optimizer(model, optimizers.made_again(optimizer))
