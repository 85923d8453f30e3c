"""Checking that a twin is exact: without that, its speed means nothing."""

from __future__ import annotations

from typing import Any

import keras
import numpy as np

from bench.case import variables_of


def differences(model: Any, twin: Any, batch: Any) -> list[str]:
    """Return the differences in class, names, config, and the bits of variables and outputs; empty for an exact twin."""
    found = []
    if type(twin) is not type(model):
        found.append(f"class: {type(model).__name__} -> {type(twin).__name__}")
    if _names(model) != _names(twin):
        found.append("layer names differ")
    if model.get_config() != twin.get_config():
        found.append("config differs")
    if model.get_compile_config() != twin.get_compile_config():
        found.append("compile settings differ")
    found.extend(_different_variables(model, twin))
    if not found:
        found.extend(_different_outputs(model, twin, batch))
    return found


def _names(model: Any) -> list[str]:
    return [model.name, *(layer.path for layer in model._flatten_layers())]


def _different_variables(model: Any, twin: Any) -> list[str]:
    ours, theirs = variables_of(model), variables_of(twin)
    if len(ours) != len(theirs):
        return [f"number of variables: {len(ours)} -> {len(theirs)}"]
    found = []
    for old, new in zip(ours, theirs, strict=True):
        if old is new:
            found.append(f"{old.path} is shared")
        elif (old.path, old.dtype, old.trainable) != (new.path, new.dtype, new.trainable):
            found.append(f"{old.path} is {new.path}, {new.dtype}, trainable={new.trainable} in the twin")
        elif not _same_bits(old, new):
            found.append(f"the value of {old.path} differs")
    return found


def _same_bits(old: Any, new: Any) -> bool:
    ours, theirs = keras.ops.convert_to_numpy(old), keras.ops.convert_to_numpy(new)
    same = ours.shape == theirs.shape and ours.dtype == theirs.dtype
    return same and np.array_equal(_bytes(ours), _bytes(theirs))


def _bytes(array: Any) -> Any:
    return np.ascontiguousarray(array).reshape(-1).view(np.uint8)


def _different_outputs(model: Any, twin: Any, batch: Any) -> list[str]:
    ours, theirs = (
        [keras.ops.convert_to_numpy(output) for output in keras.tree.flatten(each(batch, training=False))]
        for each in (model, twin)
    )
    same = len(ours) == len(theirs) and all(
        np.array_equal(_bytes(old), _bytes(new)) for old, new in zip(ours, theirs, strict=True)
    )
    return [] if same else ["outputs differ"]
