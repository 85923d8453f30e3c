"""Building a layer as another one was built, at the place where that one stood."""

from __future__ import annotations

import contextlib
from typing import Any

import keras

from ramet._keras import names, structure


def build_like(new: Any, old: Any, config: dict[str, Any] | None = None) -> None:
    """Build a layer as another was, or by another build config than its.

    One that leaves it to its layers to be built when it is called: by such a call.
    """
    if new.built or not old.built:
        return
    config = config or old.get_build_config() or {}
    if type(new).build in (keras.Layer.build, keras.Model.build) and structure.layers_of(new):
        if "input_shape" not in config:
            return
        with contextlib.ExitStack() as scopes:
            for name in filter(None, [*(getattr(new, names.PARENT_PATH) or "").split("/"), new.name]):
                scopes.enter_context(keras.name_scope(name))
            tensors = keras.tree.map_shape_structure(keras.KerasTensor, config["input_shape"])
            try:
                keras.Operation.compute_output_spec(new, tensors)
            except Exception:  # noqa: BLE001  # what a user's call raises; the layer is built when it is called
                return
    new.build_from_config(config)


def place_below(new: Any, *olds: Any) -> None:
    """The paths of a new layer's variables begin with the names above the layer that gave way."""
    if isinstance(new, keras.Layer) and not new.built and getattr(new, names.PARENT_PATH) is None:
        above = [path for old in olds if (path := getattr(old, names.PARENT_PATH, None)) is not None]
        if above:
            setattr(new, names.PARENT_PATH, above[0])
