"""Weights of the same name and shape, taken over by the layer that stands for another."""

from __future__ import annotations

from typing import Any

import keras

from ramet._edit.order import inside_first
from ramet._edit.scene import Scene
from ramet._keras import effective, quantization
from ramet._weights import is_inexact
from ramet.errors import EditError


def carry_weights(scene: Scene) -> None:
    """Give each new layer the weights of the old one that it has a place for, with their optimizer slots."""
    for old, new in scene.carried:
        _check_quantised(old, new, scene)
        # Two variables of a layer may share a name; they are told apart by their order.
        places: dict[tuple[str, tuple[int, ...]], list[Any]] = {}
        for variable in getattr(new, "weights", ()):  # a raw operation has none
            places.setdefault((_place(new, variable), tuple(variable.shape)), []).append(variable)
        for variable in getattr(old, "weights", ()):
            targets = places.get((_place(old, variable), tuple(variable.shape)))
            target = targets.pop(0) if targets else None
            if target is not None and target is not variable:
                _check_rounded(variable, target, new)
                target.assign(keras.ops.convert_to_numpy(variable))
                scene.successors[id(target)] = variable


def _check_quantised(old: Any, new: Any, scene: Scene) -> None:
    """Quantised weights mean nothing to a layer that is not quantised in the same way, and the other way round."""
    ways = [
        {str(effective(part).name) for part in inside_first(one) if quantization.mode_of(part) is not None}
        for one in (old, new)
    ]
    if ways[0] == ways[1] or not (old.weights and new.weights):
        return
    before, after = (", ".join(sorted(way)) or "not quantised" for way in ways)
    raise EditError(
        f"Cannot replace '{scene.path_of(old)}' and keep its weights: the new layer is quantised in another way.",
        expected=f"the old layer: {before}",
        found=f"the new layer: {after}",
        fix="cast the old layer to float first and give a float layer, then quantize in an edit of its own; "
        "or pass weights=False.",
        path=scene.path_of(old),
    )


def _check_rounded(variable: Any, target: Any, layer: Any) -> None:
    """Refuse to round floats to integers."""
    if is_inexact(variable.dtype) and not is_inexact(target.dtype):
        raise EditError(
            f"Cannot give '{layer.name}' the weight '{variable.path}': it would be rounded.",
            expected=str(target.dtype),
            found=str(variable.dtype),
            fix="pass weights=False, or give a layer with weights of the same dtype.",
            path=variable.path,
        )


def _place(layer: Any, variable: Any) -> str:
    """Where a variable stands below its layer, by name."""
    path = str(variable.path)
    prefix = f"{layer.path}/"
    return (
        path.removeprefix(prefix)
        if layer.path and path.startswith(prefix)
        else path.partition(f"{layer.name}/")[2] or path
    )
