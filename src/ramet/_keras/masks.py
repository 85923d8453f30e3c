"""Which mask arguments Keras found by itself, and which the user passed.

Keras 3 writes a mask it found into the call's arguments. It is the very mask of the call's own input; in a model that was
loaded, or cloned by Keras, the layers have found it again, and it is only made the same way.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from ramet._graph import MaskKind
from ramet._keras import structure


def mask_kinds(call: Any) -> tuple[tuple[int | str, MaskKind], ...]:
    """For each argument of a call that is a mask, by position or name: implicit or explicit."""
    return tuple((place, _kind(call, masked, mask)) for place, masked, mask in _mask_arguments(call))


def _kind(call: Any, masked: Any, mask: Any) -> MaskKind:
    given = keras.tree.flatten(mask)
    found = [structure.mask_of(tensor) for tensor in keras.tree.flatten(masked)]
    same = len(given) == len(found) and all(map(made_alike, given, found))
    return "implicit" if same and any(item is not None for item in given) else "explicit"


def _mask_arguments(call: Any) -> Iterator[tuple[int | str, Any, Any]]:
    """Each mask argument that was given, with the argument whose mask it is."""
    args, kwargs = call.arguments.args, call.arguments.kwargs
    if not isinstance(call.operation, keras.Layer) or isinstance(call.operation, keras.layers.InputLayer):
        return
    named = structure.arguments_by_name(call.operation, args, kwargs)
    for place, (name, value) in enumerate(named.items()):
        if value is None or not (name == "mask" or name.endswith("_mask")):
            continue
        masked = named.get(mask_owner(list(named), name))
        if any(isinstance(item, keras.KerasTensor) for item in keras.tree.flatten(value)):
            yield (name if name in kwargs else place), masked, value


def mask_owner(names: list[str], place: int | str) -> str:
    """The name of the argument whose mask an argument is: `value` for `value_mask`, the first one for `mask`."""
    name = place if isinstance(place, str) else names[place]
    return names[0] if name == "mask" else name.removesuffix("_mask")


def made_alike(first: Any, second: Any, replaced: dict[int, Any] | None = None) -> bool:
    """Whether two tensors are one, or come from equal operations on the same tensors.

    Args:
        first: One tensor.
        second: The other.
        replaced: By the id of a tensor on the first side, the one that stands for it on the second.
    """
    waiting = [(first, second)]
    seen: set[tuple[int, int]] = set()
    while waiting:
        a, b = waiting.pop()
        if (replaced or {}).get(id(a), a) is b or (id(a), id(b)) in seen:
            continue
        if isinstance(a, keras.KerasTensor) and isinstance(b, keras.KerasTensor):
            seen.add((id(a), id(b)))  # tensors live as long as their models; other arguments may not
            ours, theirs = structure.producing_call(a), structure.producing_call(b)
            if ours is None or theirs is None or not _alike(ours.operation, theirs.operation):
                return False
            if replaced is None and (a.shape != b.shape or a.dtype != b.dtype):
                return False
            pair = [(call.arguments.args, call.arguments.kwargs) for call in (ours, theirs)]
            mine, yours = (keras.tree.flatten(arguments) for arguments in pair)
            if len(mine) != len(yours):
                return False
            waiting.extend(zip(mine, yours, strict=True))
        elif not _equal(a, b):
            return False
    return True


def _alike(a: Any, b: Any) -> bool:
    """One op, or two raw operations of one class with the same settings."""
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, keras.Layer):
        return False
    ours, theirs = structure.raw_attributes(a), structure.raw_attributes(b)
    return ours.keys() == theirs.keys() and all(_equal(ours[name], theirs[name]) for name in ours)


def _equal(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    try:
        return bool(np.array_equal(np.asarray(a), np.asarray(b)))
    except (TypeError, ValueError):
        return bool(a == b)
