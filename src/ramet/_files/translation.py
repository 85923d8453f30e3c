"""Configs of Keras 2 in the words of Keras 3: where a class is found, how a dtype and the shape of an input are written.

What is the same in both must not look like a difference. Settings that only one of them has stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ramet._files.history import is_history
from ramet._files.known import LAYERS
from ramet._files.scan.names import MODEL_CLASSES
from ramet._files.text import Json
from ramet._graph import fold

__all__ = ["in_words_of_keras_3"]

# Where Keras 2 keeps its layers and models: `keras.engine.functional`, `tf_keras.src.layers.core.dense`.
_OLD_HOME = re.compile(
    r"(?:tf_keras|keras|tensorflow\.keras|tensorflow\.python\.keras)(?:\.src)?\.(?:engine|layers|models)\b.*"
)
_PARTS = re.compile(r"(?:\w+_)?(initializer|regularizer|constraint)")
_POLICIES = frozenset({"Policy", "PolicyV1", "DTypePolicy"})


def in_words_of_keras_3(config: dict[str, Json], *, version: str) -> dict[str, Json]:
    """The config of a model, as Keras 3 would have written it as far as the same is meant.

    Args:
        config: of a model in the HDF5 format, or from an archive of Keras 2.
        version: of the Keras that wrote it; empty where the file does not say, as before Keras 2.
    """
    is_old = not version.startswith("3")

    def join(item: Json, done: list[Json]) -> Json:
        if not isinstance(item, dict):
            return done if isinstance(item, list) else item
        told = {key: _part(key, value) for key, value in zip(item, done, strict=True)}
        return _record(told, is_old=is_old) if isinstance(told.get("class_name"), str) else told

    translated: dict[str, Json] = fold(config, _inside, join)
    return translated


def _inside(item: Json) -> Iterable[Json] | None:
    if isinstance(item, dict):
        return item.values()
    return item if isinstance(item, list) else None


def _part(key: str, value: Json) -> Json:
    """An initialiser, regulariser or constraint with its module, which Keras before 2.13 does not write."""
    kind = _PARTS.fullmatch(key)
    if kind is None or _class_of(value) not in MODEL_CLASSES or "module" in value:
        return value
    return {"module": f"keras.{kind[1]}s", **value, "registered_name": None}


def _class_of(value: Json) -> str:
    """The name of the class of an object; empty for anything else."""
    found = value.get("class_name") if isinstance(value, dict) else None
    return found if isinstance(found, str) else ""


def _record(told: dict[str, Json], *, is_old: bool) -> dict[str, Json]:
    """A layer or a model."""
    class_name, config, module = told["class_name"], told.get("config"), told.get("module")
    if not isinstance(config, dict | list) or not (module in (None, "keras") or _is_old_home(module)):
        return told
    if class_name in ("Functional", "Model") and isinstance(config, dict) and "input_layers" in config:
        home = {"module": "keras.src.models.functional", "class_name": "Functional", "registered_name": "Functional"}
        return {**told, **home, "config": _unwrapped(config) if is_old else config}
    if class_name == "Sequential":
        return {**told, "module": "keras", "registered_name": None, "config": _row(config)}
    if class_name not in LAYERS or not isinstance(config, dict):
        return told
    return {**told, "module": "keras.layers", "registered_name": None, "config": _settings(class_name, config)}


def _is_old_home(module: Json) -> bool:
    return isinstance(module, str) and _OLD_HOME.fullmatch(module) is not None


def _unwrapped(config: dict[str, Json]) -> dict[str, Json]:
    """A functional model with one input or output has that, and no list of it: Keras 2 always writes lists."""
    told = dict(config)
    for key in ("input_layers", "output_layers"):
        value = told.get(key)
        if isinstance(value, list) and len(value) == 1 and is_history(value[0]):
            told[key] = value[0]
    return told


def _row(config: Json) -> Json:
    """A row of layers whose input says the shape: the first layer need not say it again."""
    rows = config if isinstance(config, list) else config.get("layers")
    if not isinstance(rows, list) or not rows or not all(isinstance(row, dict) for row in rows):
        return config
    if rows[0].get("class_name") != "InputLayer":
        return config
    told = [{**row, "config": _without_shape(row.get("config"))} for row in rows]
    return told if isinstance(config, list) else {**config, "layers": told}


def _without_shape(config: Json) -> Json:
    return {k: v for k, v in config.items() if k != "batch_input_shape"} if isinstance(config, dict) else config


def _settings(class_name: str, config: dict[str, Json]) -> dict[str, Json]:
    if class_name == "InputLayer":
        return {("batch_shape" if key == "batch_input_shape" else key): value for key, value in config.items()}
    dtype: Json = config.get("dtype")
    if _class_of(dtype) in _POLICIES:
        inner = dtype.get("config")
        dtype = inner.get("name") if isinstance(inner, dict) else None
    if not isinstance(dtype, str):
        return config
    policy = {"module": "keras", "class_name": "DTypePolicy", "config": {"name": dtype}, "registered_name": None}
    return {**config, "dtype": policy}
