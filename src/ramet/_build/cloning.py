"""`ramet.clone`: an exact twin of a model, with copied, fresh or shared weights, on its own or on other inputs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, Literal, TypeVar

import keras
import numpy as np
from keras import layers

from ramet._arguments import check_choice
from ramet._build.fresh import reinitialize
from ramet._build.rebuild import rebuild, run_steps
from ramet._copy import copy_model
from ramet._keras import keep_name_counters, structure
from ramet.errors import ArgumentError, RebuildError, foreign_errors, listed

T = TypeVar("T")

WEIGHTS = ("copy", "fresh", "share")
# Layers of Keras that accept only strings, and those that accept strings.
_TAKES_ONLY_STRINGS = (layers.StringLookup, layers.TextVectorization)
_TAKES_STRINGS = (*_TAKES_ONLY_STRINGS, layers.Hashing, layers.HashedCrossing, layers.Identity)


def clone(
    model: T,
    *,
    weights: Literal["copy", "fresh", "share"] = "copy",
    inputs: Any = None,
    name: str | None = None,
    seed: int | None = None,
    compile: bool = True,
    share: Iterable[Any] = (),
) -> T:
    """Return an exact, independent twin of a model.

    The twin keeps the class, the graph, names, config, every flag, every bit of state (weights, statistics, random
    generators, RNN states, tables, metrics, optimizer), sharing inside the model, attributes set by hand, devices and
    sharding. It does not keep compiled functions, which it compiles again when needed, or gradients stored on torch
    parameters. The original is not changed, and the two share nothing mutable.

    Args:
        model: A model of any kind, a layer (without its calls), an optimizer (cloned alone, it goes on optimizing the
            same variables; cloned together with its model, those of the twin), a metric or a loss, or a list, tuple or
            dict of these: objects that they share are shared among their twins.
        weights: `"copy"`; `"fresh"` for newly initialized weights and batch statistics (vocabularies, adapted
            statistics and the learning rate are kept; `seed=` makes the result reproducible); or `"share"` for new
            layers on the original's own variables.
        inputs: Other inputs to build the twin on, with its weights: a `keras.Input` of another shape or dtype, a tensor
            inside another model, or an array, of which the shape and dtype are used; in the structure of the model's
            inputs, in a list, or in a dict by name.
        name: Another name. Every variable path of the twin begins with it, so that the original and the twin can be
            part of one model.
        seed: Reseed every random generator and initializer from this number and its path: all different, and
            reproducible.
        compile: `False` for a twin without optimizer, loss and metrics.
        share: Objects that the twin uses as they are instead of copying them, with the layers and variables inside
            them. An op of a functional model that is shared then belongs to the graphs of both models.

    Returns:
        The twin, an object of the same class; a list, tuple or dict of twins if `model` is one.

    Raises:
        NotAModelError: `model` is not an object that can be cloned.
        ArgumentError: An argument has an invalid value, or `inputs` do not fit the model's inputs.
        CannotCopyError: Something inside the model cannot be copied; the error names its location.
        RebuildError: A layer refused the new inputs.
        StateElsewhereError: Another thread is running the model, so its values are incomplete.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2)])
    >>> twin = ramet.clone(model)
    >>> bool((twin.layers[0].kernel.numpy() == model.layers[0].kernel.numpy()).all())
    True
    """
    if inputs is not None:
        _check_call_graph(model)
    check_choice("clone", "weights", weights, WEIGHTS)
    if weights == "share":
        if name is not None:
            raise ArgumentError(
                "Cannot clone with weights='share' and name=: a shared variable has one path, and name= would change it.",
                fix="leave name= out, or copy the weights.",
            )
        roots = [root for root in _roots(model) if isinstance(root, keras.Layer)]
        # Generators that get a new seed are not shared.
        variables = [v for root in roots for v in (root.variables if seed is None else root.weights)]
        share = [*share, *structure.with_values(variables)]
    twin = copy_model(model, name=name, seed=seed, compile=compile, share=share)
    if weights == "fresh":
        for root in _roots(twin):
            reinitialize(root, seed=seed)
    if inputs is None:
        return twin  # type: ignore[no-any-return]  # a twin has the class of its original
    # Layers create ops for masks while they are called; these must not use up names.
    with keep_name_counters(), foreign_errors("rebuild", f"'{structure.name_of(model)}' on other inputs", RebuildError):
        return run_steps(rebuild(twin, new_inputs(twin, inputs, original=model)))  # type: ignore[no-any-return]


def _check_call_graph(model: Any) -> None:
    if isinstance(model, keras.Model) and structure.function_of(model) is not None:
        return
    if isinstance(model, keras.Sequential):
        raise ArgumentError(
            f"Cannot rebuild '{model.name}' on other inputs: it has not been built, so it has no inputs yet.",
            fix="clone it without inputs= and build the twin: twin.build(shape).",
        )
    what = f"'{model.name}'" if isinstance(model, keras.Operation) else "this object"
    raise ArgumentError(
        f"Cannot rebuild {what} on other inputs: it has no call graph.",
        expected="a functional or Sequential model",
        found=f"an object of class {type(model).__name__}",
        fix="clone it without inputs=; a subclassed model accepts other inputs as it is.",
    )


def _roots(model: Any) -> list[Any]:
    if structure.is_clonable(model):
        return [model]
    return list(model.values()) if isinstance(model, dict) else list(model)


def new_inputs(model: Any, given: Any, *, original: Any) -> Any:
    """Return input tensors in the structure of a twin's inputs, made from the given tensors or arrays.

    A `keras.Input` is used as it is; if it has no name of its own, it gets the old one. A tensor from inside another model
    becomes an input of the same shape and dtype with the old name; an array or a backend tensor becomes one called
    `input_wrapper_for_<old name>`. An input of the original counts as a tensor inside another model: if it were used as it
    is, it would belong to both graphs.
    """
    reference = structure.inputs_of(structure.function_of(model))
    taken = {id(tensor) for tensor in structure.function_of(original).inputs}
    flat = keras.tree.flatten(reference)
    items = _in_order(model, reference, flat, given)
    made = {id(old): _input_for(model, old, item, taken) for old, item in zip(flat, items, strict=True)}
    # Mapped, not packed: some of the libraries behind keras.tree pack dicts with sorted keys.
    return keras.tree.map_structure(lambda old: made[id(old)], reference)


def _in_order(model: Any, reference: Any, flat: list[Any], given: Any) -> list[Any]:
    names = [tensor.name for tensor in flat]
    try:
        keras.tree.assert_same_structure(reference, given)
    except (TypeError, ValueError):
        pass
    else:
        return keras.tree.flatten(given)  # type: ignore[no-any-return]
    if isinstance(given, dict):
        if set(given) == set(names):
            return [given[name] for name in names]
        found = listed(list(map(str, given)), limit=100) if given else "no inputs"
        reason = f"it has the inputs {listed(names, limit=100)}, but got {found}"
    else:
        items: list[Any] = keras.tree.flatten(given) if isinstance(given, list | tuple) else [given]
        if len(items) == len(flat):
            return items
        inputs = f"{len(flat)} input{'s' if len(flat) > 1 else ''}, {listed(names, limit=100)}"
        reason = f"it has {inputs}, but got {len(items)}"
    raise ArgumentError(
        f"Cannot rebuild '{model.name}' on these inputs: {reason}.",
        fix="pass one tensor for each input, in a list, in the structure of the model's inputs, or in a dict by name.",
        path=names[0] if names else None,
    )


def _input_for(model: Any, old: Any, item: Any, taken: set[int]) -> Any:
    symbolic = isinstance(item, keras.KerasTensor)
    if not (symbolic or isinstance(item, np.ndarray) or keras.ops.is_tensor(item)):
        raise ArgumentError(
            f"Cannot rebuild '{model.name}' on the input '{old.name}': the given object is not a tensor.",
            expected="a keras.Input, a symbolic tensor, an array or a backend tensor",
            found=f"an object of class {type(item).__name__}",
            fix=f"pass keras.Input({tuple(old.shape[1:])}, dtype='{old.dtype}') or similar.",
            path=old.name,
        )
    if len(item.shape) != len(old.shape):
        raise ArgumentError(
            f"Cannot rebuild '{model.name}' on the input '{old.name}': it needs {len(old.shape)} dimensions.",
            expected=f"a shape like {tuple(old.shape)}, including the batch",
            found=f"the shape {tuple(item.shape)}",
            fix="pass an input with as many dimensions; keras.Input(shape) adds the batch itself.",
            path=old.name,
        )
    dtype = item.dtype if symbolic else _dtype_of(model, old, item)
    _check_kind(model, old, dtype)
    if not symbolic:
        return structure.input_like(old, (None, *item.shape[1:]), dtype, name=f"input_wrapper_for_{old.name}")
    if structure.is_input_tensor(item) and id(item) not in taken:
        structure.name_like(item, old)
        return item
    return structure.input_like(old, item.shape, dtype, sparse=structure.is_sparse(item))


def _dtype_of(model: Any, old: Any, item: Any) -> str:
    if isinstance(item, np.ndarray) and item.dtype.kind in "OSUT":
        return "string"
    try:
        return str(keras.backend.standardize_dtype(item.dtype))
    except ValueError:
        raise ArgumentError(
            f"Cannot rebuild '{model.name}' on the input '{old.name}': Keras does not support the dtype {item.dtype}.",
            expected=f"dtype {old.dtype} or similar",
            fix="convert the array first.",
            path=old.name,
        ) from None


def _check_kind(model: Any, old: Any, dtype: str) -> None:
    """Refuse strings for a layer that computes, and numbers for a layer that looks up strings.

    Keras itself raises only when the model runs. Only Keras' own layers are checked; a user's layer may take anything.
    """
    if (dtype == "string") == (old.dtype == "string"):
        return
    for call in structure.calls_of(structure.function_of(model)):
        layer = call.operation
        if not any(tensor is old for tensor in call.input_tensors) or not _is_plain_keras_op(layer):
            continue
        refuses = not isinstance(layer, _TAKES_STRINGS) if dtype == "string" else isinstance(layer, _TAKES_ONLY_STRINGS)
        if refuses:
            raise RebuildError(
                f"Cannot rebuild '{model.name}' on the input '{old.name}' of dtype {dtype}: the layer '{layer.name}' "
                f"takes {'numbers' if dtype == 'string' else 'strings'}.",
                expected=f"dtype {old.dtype} or similar",
                found=f"dtype {dtype} at '{layer.name}', a {type(layer).__name__}",
                fix="choose a dtype that this layer accepts, or replace the layer.",
                path=layer.name,
            )


def _is_plain_keras_op(op: Any) -> bool:
    return structure.is_from_keras(op) and not isinstance(op, layers.Lambda | layers.Wrapper | keras.Model)
