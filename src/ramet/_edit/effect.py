"""Settings that were changed in a layer whose owner does not ask for them.

A layer that is called by the code of another need not be called at all: its owner may have taken the activation out of it when it was
made. So the owner is run before and after the edit. Where a changed setting changes what the layer gives, and not what
its owner gives, a warning says so.
"""

from __future__ import annotations

import warnings
from typing import Any

import keras
import numpy as np

from ramet._copy import clone
from ramet._edit.scene import Scene
from ramet._keras import structure
from ramet.errors import NoEffectWarning


def warn_without_effect(scene: Scene) -> None:
    """Warn of every changed setting without effect, as far as the layers can be run on made-up inputs."""
    for path in dict.fromkeys(scene.updated):
        holder = scene.holder(path)
        if structure.function_of(holder) is not None or isinstance(holder, keras.Sequential):
            continue
        op = scene.op(path)
        if _gives_the_same(scene, op) is False and _gives_the_same(scene, holder):
            warnings.warn(
                f"The changed setting of '{path}' has no effect: {type(holder).__name__} gives the same outputs as before.\n"
                f"  fix: look at what {type(holder).__name__} uses instead of the layer, and change that.",
                NoEffectWarning,
                stacklevel=6,
            )


def _gives_the_same(scene: Scene, op: Any) -> bool | None:
    """Whether an op and what stands in its place give the same numbers; None if they cannot be run on made-up inputs."""
    old, new = scene.original_of(op), scene.successor(op)
    if old is None or new is None:
        return None
    for whole in (False, True):
        try:
            inputs = _inputs(old, whole=whole)
            first, second = (_run(clone(one), inputs) for one in (old, new))
        except Exception:  # noqa: BLE001  # a user's layer may refuse made-up inputs
            continue
        return len(first) == len(second) and all(map(np.array_equal, first, second))
    return None


def _inputs(op: Any, *, whole: bool) -> list[Any]:
    """Random inputs of the shapes that a layer was built with: numbers, or whole numbers for what looks them up."""
    built = op.get_build_config() or {}
    shapes = [built["input_shape"]] if built.get("input_shape") else list(built["shapes_dict"].values())
    rng = np.random.default_rng(0)

    def made(shape: tuple[int | None, ...]) -> Any:
        sizes = tuple(2 if size is None else size for size in shape)
        return rng.integers(0, 2, sizes).astype("int32") if whole else rng.normal(size=sizes).astype("float32")

    return [keras.tree.map_shape_structure(made, shape) for shape in shapes]


def _run(op: Any, inputs: list[Any]) -> list[Any]:
    outputs = op(*inputs)
    return [keras.ops.convert_to_numpy(value) for value in keras.tree.flatten(outputs)]
