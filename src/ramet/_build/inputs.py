"""`inputs=`: what may stand for a model's inputs, and the input layers it turns into."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from ramet._build.input_kind import check_kind
from ramet._keras import rewire, structure
from ramet.errors import ArgumentError


def new_inputs(model: Any, reference: Any, given: Any, *, original: Any = None) -> Any:
    """Input tensors in the structure of `reference`, made from what was given.

    A `keras.Input` is used as it is; one without a name is given the old one. A tensor from inside another model gives an
    input of its spec with the old name; an
    array or a backend tensor gives one called `input_wrapper_for_<old name>`. An input of the original counts as a tensor
    inside another model: used as it is, it would have the calls of both.
    """
    function = structure.function_of(original)
    taken = set() if function is None else {id(tensor) for tensor in function.inputs}
    flat = keras.tree.flatten(reference)
    items = _in_order(model, reference, flat, given)
    made = {id(old): _input_for(model, old, item, taken) for old, item in zip(flat, items, strict=True)}
    # Mapped, not packed: some of the libraries behind keras.tree pack dicts with their keys sorted.
    return keras.tree.map_structure(lambda old: made[id(old)], reference)


def _in_order(model: Any, reference: Any, flat: list[Any], given: Any) -> list[Any]:
    names = [tensor.name for tensor in flat]
    if _same_structure(reference, given):
        return keras.tree.flatten(given)  # type: ignore[no-any-return]
    if isinstance(given, dict):
        if set(given) == set(names):
            return [given[name] for name in names]
        raise _wrong(model, f"it has the inputs {_listed(names)}, and {_were(list(given))} given", names)
    items: list[Any] = keras.tree.flatten(given) if isinstance(given, list | tuple) else [given]
    if len(items) != len(flat):
        has = f"it has {len(flat)} input{'s' if len(flat) > 1 else ''}, {_listed(names)}"
        raise _wrong(model, f"{has}, and {len(items)} {'was' if len(items) == 1 else 'were'} given", names)
    return items


def _same_structure(reference: Any, given: Any) -> bool:
    try:
        keras.tree.assert_same_structure(reference, given)
    except (TypeError, ValueError):
        return False
    return True


def _input_for(model: Any, old: Any, item: Any, taken: set[int]) -> Any:
    flags = {
        "sparse": old.sparse,
        "ragged": getattr(old, "ragged", False),
        "optional": rewire.is_optional(old),
    }
    if isinstance(item, keras.KerasTensor):
        _check_rank(model, old, tuple(item.shape))
        check_kind(model, old, item.dtype)
        if rewire.is_input_tensor(item) and id(item) not in taken:
            structure.name_like(item, old)
            return item
        return structure.input_like(old, item.shape, item.dtype, sparse=structure.is_sparse(item))
    if isinstance(item, np.ndarray) or keras.ops.is_tensor(item):
        shape = tuple(item.shape)
        _check_rank(model, old, shape)
        dtype = _dtype_of(model, old, item)
        check_kind(model, old, dtype)
        return _make((None, *shape[1:]), dtype, f"input_wrapper_for_{old.name}", flags)
    raise ArgumentError(
        f"Cannot rebuild '{model.name}' on the input '{old.name}': what was given is no tensor.",
        expected="a keras.Input, a symbolic tensor, an array or a backend tensor",
        found=f"an object of class {type(item).__name__}",
        fix=f"pass keras.Input({tuple(old.shape[1:])}, dtype='{old.dtype}') or the like.",
        path=old.name,
    )


def _dtype_of(model: Any, old: Any, item: Any) -> str:
    if isinstance(item, np.ndarray) and item.dtype.kind in "OSUT":
        return "string"
    try:
        return str(keras.backend.standardize_dtype(item.dtype))
    except ValueError:
        raise ArgumentError(
            f"Cannot rebuild '{model.name}' on the input '{old.name}': Keras knows no dtype {item.dtype}.",
            expected=f"dtype {old.dtype} or the like",
            fix="convert the array first.",
            path=old.name,
        ) from None


def _make(shape: Any, dtype: str, name: str, flags: dict[str, Any]) -> Any:
    kept = {flag: value for flag, value in flags.items() if value}
    return keras.Input(batch_shape=tuple(shape), dtype=dtype, name=name, **kept)


def _check_rank(model: Any, old: Any, shape: tuple[Any, ...]) -> None:
    if len(shape) != len(old.shape):
        raise ArgumentError(
            f"Cannot rebuild '{model.name}' on the input '{old.name}': it needs {len(old.shape)} dimensions.",
            expected=f"a shape like {tuple(old.shape)}, the batch first",
            found=f"the shape {shape}",
            fix="pass an input with as many dimensions; keras.Input(shape) adds the batch itself.",
            path=old.name,
        )


def _wrong(model: Any, reason: str, names: list[str]) -> ArgumentError:
    return ArgumentError(
        f"Cannot rebuild '{model.name}' on these inputs: {reason}.",
        fix="pass one tensor for each input, in a list, in the model's own structure, or in a dict by name.",
        path=names[0] if names else None,
    )


def _were(names: list[Any]) -> str:
    return f"{_listed(names)} {'was' if len(names) == 1 else 'were'}" if names else "none were"


def _listed(names: list[Any]) -> str:
    return ", ".join(f"'{name}'" for name in names)
