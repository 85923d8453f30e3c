"""Weights of the same name and shape, taken over by the layer that stands for another."""

from __future__ import annotations

from typing import Any

import keras

from ramet._surgery.scene import Scene


def carry_weights(scene: Scene) -> None:
    """Give each new layer the weights of the old one that it has a place for, with their optimizer slots."""
    for old, new in scene.carried:
        # Two variables of a layer may share a name; they are told apart by their order.
        places: dict[tuple[str, tuple[int, ...]], list[Any]] = {}
        for variable in getattr(new, "weights", ()):  # a raw operation has none
            places.setdefault((_place(new, variable), tuple(variable.shape)), []).append(variable)
        for variable in getattr(old, "weights", ()):
            targets = places.get((_place(old, variable), tuple(variable.shape)))
            target = targets.pop(0) if targets else None
            if target is not None and target is not variable:
                target.assign(keras.ops.convert_to_numpy(variable))
                scene.successors[id(target)] = variable


def _place(layer: Any, variable: Any) -> str:
    """Where a variable stands below its layer, by name."""
    path = str(variable.path)
    prefix = f"{layer.path}/"
    return (
        path.removeprefix(prefix)
        if layer.path and path.startswith(prefix)
        else path.partition(f"{layer.name}/")[2] or path
    )
