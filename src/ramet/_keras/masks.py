"""Mask arguments: those that Keras found by itself, and those that the user passed.

Keras 3 writes a mask that it finds into the arguments of a call, where it looks like one that the user passed. It is
implicit if it is the mask that the call's own input carries. In a model that was loaded, or cloned by Keras, the layers
have computed the mask again: then the tensors differ, and the operations that produced them are compared instead. Names and
shapes cannot decide it, because a mask of another layer may have the same ones. The difference matters when calls are
replayed: implicit masks are left out, so that Keras finds them in the new graph, and explicit ones are passed.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any

import keras
import numpy as np

from ramet._graph import MaskKind
from ramet._keras import names, structure


def mask_kinds(call: Any) -> tuple[tuple[int | str, MaskKind], ...]:
    """Return the kind of each argument of a call that is a mask, implicit or explicit, by position or name."""
    if not isinstance(call.operation, keras.Layer) or isinstance(call.operation, keras.layers.InputLayer):
        return ()
    kwargs = call.arguments.kwargs
    named = structure.arguments_by_name(call.operation, call.arguments.args, kwargs)
    kinds: list[tuple[int | str, MaskKind]] = []
    for position, (name, value) in enumerate(named.items()):
        if (name == "mask" or name.endswith("_mask")) and structure.tensors_in(value):
            given = keras.tree.flatten(value)
            masked = keras.tree.flatten(named.get(mask_owner(list(named), name)))
            found = [structure.mask_of(tensor) for tensor in masked]
            same = len(given) == len(found) and all(map(computed_alike, given, found))
            kinds.append((name if name in kwargs else position, "implicit" if same else "explicit"))
    return tuple(kinds)


def mask_owner(arguments: list[str], key: int | str) -> str:
    """Return the argument that a mask belongs to: `value` for `value_mask`, the first one for `mask`."""
    name = key if isinstance(key, str) else arguments[key]
    return arguments[0] if name == "mask" else name.removesuffix("_mask")


def computed_alike(first: Any, second: Any, replaced: dict[int, Any] | None = None) -> bool:
    """Return whether two tensors are the same, or computed by equal operations from the same tensors.

    `replaced` is the tensor on the second side that corresponds to one on the first side, by the id of the latter.
    """
    waiting = [(first, second)]
    seen: set[tuple[int, int]] = set()
    while waiting:
        a, b = waiting.pop()
        if (replaced or {}).get(id(a), a) is b or (id(a), id(b)) in seen:
            continue
        if isinstance(a, keras.KerasTensor) and isinstance(b, keras.KerasTensor):
            seen.add((id(a), id(b)))  # the ids of tensors are stable: they live as long as their models
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


def taken_masks(calls: list[Any]) -> list[Any]:
    """Return the masks that calls of a graph make, and that other calls take."""
    made = {id(tensor) for call in calls for tensor in call.outputs}
    taken = [tensor for call in calls for tensor in call.input_tensors]
    return [tensor for tensor in taken if tensor.dtype == "bool" and id(tensor) in made]


def recorded_mask(mask: Any, made: Container[int], taken: list[Any]) -> Any:
    """Return the mask that a tensor carries if calls of a graph make it, or one of those taken that is computed alike, or None.

    In a loaded model, the mask that a tensor carries is not the object that calls take.
    """
    return mask if id(mask) in made else next((other for other in taken if computed_alike(mask, other)), None)


def _alike(a: Any, b: Any) -> bool:
    """Return whether two ops are the same, or raw operations of one class with equal settings."""
    if a is b:
        return True
    if type(a) is not type(b) or isinstance(a, keras.Layer):
        return False
    own = {names.INBOUND, names.OUTBOUND, names.AUTO_CONFIG, "name", names.LOCK, names.REMAT}
    ours, theirs = a.__dict__.keys() - own, b.__dict__.keys() - own
    return ours == theirs and all(_equal(a.__dict__[name], b.__dict__[name]) for name in ours)


def _equal(a: Any, b: Any) -> bool:
    if type(a) is not type(b):
        return False
    try:
        return bool(np.array_equal(np.asarray(a), np.asarray(b)))
    except (TypeError, ValueError):
        return bool(a == b)
