"""Weights of the same name and shape, taken over by the layer that stands for another."""

from __future__ import annotations

from typing import Any

import keras

from ramet._surgery.scene import Scene


def carry_weights(scene: Scene) -> None:
    """Give each new layer the weights of the old one that it has a place for, with their optimizer slots."""
    for old, new in scene.carried:
        places = {(_place(new, variable), tuple(variable.shape)): variable for variable in new.weights}
        for variable in old.weights:
            target = places.get((_place(old, variable), tuple(variable.shape)))
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
