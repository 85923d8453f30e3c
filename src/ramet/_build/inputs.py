"""`inputs=`: the input tensors of a twin, made from the tensors or arrays that the user passed."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from ramet._keras import structure
from ramet.errors import ArgumentError, RebuildError, listed

# Layers of Keras that accept strings, and those that accept nothing else.
_TAKES_STRINGS = (
    keras.layers.StringLookup,
    keras.layers.TextVectorization,
    keras.layers.Hashing,
    keras.layers.HashedCrossing,
    keras.layers.Identity,
)
_TAKES_ONLY_STRINGS = (keras.layers.StringLookup, keras.layers.TextVectorization)


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
        found = _quoted(given) if given else "no inputs"
        raise _wrong_inputs(model, f"it has the inputs {_quoted(names)}, but got {found}", names)
    items: list[Any] = keras.tree.flatten(given) if isinstance(given, list | tuple) else [given]
    if len(items) != len(flat):
        has = f"it has {len(flat)} input{'s' if len(flat) > 1 else ''}, {_quoted(names)}"
        raise _wrong_inputs(model, f"{has}, but got {len(items)}", names)
    return items


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
    return structure.is_from_keras(op) and not isinstance(op, keras.layers.Lambda | keras.layers.Wrapper | keras.Model)


def _wrong_inputs(model: Any, reason: str, names: list[str]) -> ArgumentError:
    return ArgumentError(
        f"Cannot rebuild '{model.name}' on these inputs: {reason}.",
        fix="pass one tensor for each input, in a list, in the structure of the model's inputs, or in a dict by name.",
        path=names[0] if names else None,
    )


def _quoted(names: Any) -> str:
    return listed([str(name) for name in names], limit=100)
