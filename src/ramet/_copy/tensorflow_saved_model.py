"""Layers around a reloaded SavedModel: the twin loads the file again and takes the original's values.

What TensorFlow loads from a file is traced functions over variables; these cannot be copied, but they can be had again.
"""

from __future__ import annotations

from typing import Any

import keras
import tensorflow as tf

from ramet._copy.copier import Copier
from ramet._keras import names


def reload_saved_models(root: Any, copier: Copier) -> None:
    """Before the walk: load again what a layer below `root` was loaded from, and pair the two.

    Before, because the walk may come to a variable of the file before it comes to the layer.
    """
    waiting, seen = [root], set()
    while waiting:
        layer = waiting.pop()
        if id(layer) in seen:
            continue
        seen.add(id(layer))
        waiting.extend(getattr(layer, names.LAYERS, None) or ())
        if isinstance(layer, keras.layers.TFSMLayer) and id(layer) not in copier.memo:
            _pair(layer, copier)


def _pair(layer: Any, copier: Copier) -> None:
    old = layer.__dict__[names.RELOADED]
    try:
        new = tf.saved_model.load(layer.filepath)
    except (OSError, ValueError) as error:
        copier.refuse(
            old,
            f"it was loaded from '{layer.filepath}', which cannot be loaded again ({type(error).__name__})",
            "put the SavedModel back where it was, or keep the layer as it is with share=[layer]",
        )
    waiting = [(old, new)]
    while waiting:
        ours, theirs = waiting.pop()
        if id(ours) in copier.memo or not isinstance(ours, _PAIRED):
            continue
        if isinstance(ours, tf.Variable):
            if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
                _changed(layer, old, copier)
            theirs.assign(ours)
        elif isinstance(ours, tf.types.experimental.ConcreteFunction):
            if _operations(ours) != _operations(theirs):
                _changed(layer, old, copier)
            waiting.extend(zip(ours.variables, theirs.variables, strict=True))
        else:
            waiting.extend(_pairs_inside(ours, theirs))
        copier.memo[id(ours)] = theirs
        copier.kept.append(ours)


_PAIRED = (
    tf.Variable,
    tf.types.experimental.ConcreteFunction,
    tf.types.experimental.PolymorphicFunction,
    tf.__internal__.tracking.Trackable,
    dict,
    list,
    tuple,
)


def _pairs_inside(ours: Any, theirs: Any) -> list[tuple[Any, Any]]:
    if isinstance(ours, tf.types.experimental.PolymorphicFunction):
        return list(zip(ours.concrete_functions, theirs.concrete_functions, strict=True))
    if hasattr(ours, "keys"):
        return [(ours[key], theirs[key]) for key in ours]
    if isinstance(ours, list | tuple):
        return list(zip(ours, theirs, strict=True))
    return [(part, theirs.__dict__[name]) for name, part in ours.__dict__.items() if name in theirs.__dict__]


def _operations(function: Any) -> list[str]:
    return [operation.type for operation in function.graph.get_operations()]


def _changed(layer: Any, old: Any, copier: Copier) -> None:
    copier.refuse(
        old,
        f"it was loaded from '{layer.filepath}', and another model is there now",
        "put the SavedModel back, or keep the layer as it is with share=[layer]",
    )
