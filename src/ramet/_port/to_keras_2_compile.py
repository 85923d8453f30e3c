"""Translate how a model was compiled from Keras 3 to tf_keras. What cannot be translated is left out with a note."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

from ramet._files import Json
from ramet._port.notes import Notes
from ramet._port.to_keras_2_classes import LOSSES, METRICS, OBJECTS
from ramet._port.to_keras_2_settings import has_default, plain_value, shown

_Config: TypeAlias = dict[str, Any]

_REDUCTIONS = {"sum_over_batch_size": "sum_over_batch_size", "sum": "sum", "none": "none", None: "none"}


class _UnknownError(Exception):
    """Something that tf_keras does not have."""


def keras_2_compile(config: dict[str, Json] | None, notes: Notes) -> _Config | None:
    """Return `training_config` of an HDF5 file of tf_keras, or None if there is nothing or it cannot be translated.

    Args:
        config: `compile_config` of a file of Keras 3.
        notes: Gets what was left out.
    """
    if not config:
        return None
    try:
        optimizer = _object(config.get("optimizer"), "optimizers", "the optimizer")
        loss = _map(config.get("loss"), _loss)
    except _UnknownError as error:
        notes.add("left out", "", f"how the model was compiled: {error}; compile it again before training")
        return None
    made: _Config = {"loss": loss, "loss_weights": config.get("loss_weights")}
    for key in ("metrics", "weighted_metrics"):
        try:
            made[key] = _with_sparse_accuracy(_map(config.get(key), _metric), loss)
        except _UnknownError as error:
            made[key] = None
            notes.add("left out", "", f"the {key.replace('_', ' ')} of the model: {error}")
    steps = config.get("steps_per_execution")
    if steps not in (None, 1):
        notes.add("left out", "", f"steps_per_execution={shown(steps)} of `compile`")
    if config.get("auto_scale_loss") is False:
        notes.add("left out", "", "auto_scale_loss=False of `compile`")
    # Under its own name, tf_keras finds the optimizer of before 2.11.
    legacy = {"class_name": f"Custom>{optimizer['class_name']}", "config": optimizer["config"]}
    return {**made, "optimizer_config": legacy}


def _with_sparse_accuracy(metrics: Json, loss: Json) -> Json:
    """Return metrics with the class that "accuracy" means for a loss that takes the numbers of classes.

    When tf_keras loads a file, it looks at the outputs only, and takes `categorical_accuracy`.
    """
    if isinstance(loss, dict) and "class_name" not in loss:
        if not isinstance(metrics, dict):
            return metrics
        return {key: _with_sparse_accuracy(item, loss.get(key)) for key, item in metrics.items()}
    if isinstance(loss, list):
        if not isinstance(metrics, list) or len(metrics) != len(loss):
            return metrics
        return [_with_sparse_accuracy(one, other) for one, other in zip(metrics, loss, strict=True)]
    name = loss.get("class_name") if isinstance(loss, dict) else loss
    if name not in ("sparse_categorical_crossentropy", "SparseCategoricalCrossentropy"):
        return metrics

    def change(metric: Json) -> Json:
        if metric not in ("accuracy", "acc"):
            return metric
        config = {"name": metric, "dtype": "float32"}
        class_name = "SparseCategoricalAccuracy"
        return {"module": "keras.metrics", "class_name": class_name, "config": config, "registered_name": None}

    return _map(metrics, change)


def _map(value: Json, change: Callable[[Json], Json]) -> Json:
    """Translate one value, or a list or dict of values by output."""
    if isinstance(value, list):
        return [_map(item, change) for item in value]
    if isinstance(value, dict) and "class_name" not in value:
        return {key: _map(item, change) for key, item in value.items()}
    return None if value is None else change(value)


def _object(value: Json, kind: str, what: str) -> _Config:
    """Return an object of tf_keras with the settings of one of Keras 3."""
    if isinstance(value, str) and kind == "optimizers":
        names = {known.lower(): known for known in OBJECTS[kind]}
        # The default learning rates of Keras 3. That of Lion is another one in Keras 2.
        rate = 0.01 if value.lower() == "sgd" else 0.001
        value = {
            "class_name": names.get(value.lower(), value),
            "config": {"learning_rate": rate},
            "module": "keras.optimizers",
        }
    if not isinstance(value, dict) or not isinstance(value.get("class_name"), str):
        raise _UnknownError(f"the file does not describe {what}")
    name, config = value["class_name"], value.get("config")
    is_own = str(value.get("module")).split(".")[0] == "keras"
    taken = OBJECTS[kind].get(name)
    if taken is None or not is_own or not isinstance(config, dict):
        raise _UnknownError(f"tf_keras has no class {name!a} for {what}")
    kept: _Config = {}
    for key, item in config.items():
        if key == "learning_rate" and isinstance(item, dict):
            kept[key] = _object(item, "optimizers.schedules", "the learning rate")
        elif key == "reduction" and kind == "losses":
            if item not in _REDUCTIONS:
                raise _UnknownError(f"tf_keras has no reduction {item!a}")
            kept[key] = _REDUCTIONS[item]
        elif key == "dtype" and kind == "metrics" and name.endswith("IoU"):
            continue  # Keras 3 counts with integers, on which tf_keras fails
        elif key in taken or key == "name" or (key == "dtype" and kind == "metrics" and isinstance(item, str)):
            kept[key] = plain_value(item)
        elif item is not None and key != "dtype" and not has_default(f"keras.{kind}.{name}", key, item):
            raise _UnknownError(f"tf_keras has no setting {key!a} for {name}, and {shown(item)} is not its default")
    return {"module": f"keras.{kind}", "class_name": name, "config": kept, "registered_name": None}


def _loss(value: Json) -> Json:
    if isinstance(value, dict) and isinstance(value.get("config"), str):
        value = value["config"]
    if isinstance(value, str):
        if value in LOSSES:
            return value
        if value in OBJECTS["losses"]:
            return value
        raise _UnknownError(f"tf_keras has no loss {value!a}")
    return _object(value, "losses", "the loss")


def _metric(value: Json) -> Json:
    if isinstance(value, dict) and isinstance(value.get("config"), str):
        value = value["config"]
    if isinstance(value, str):
        if value in METRICS or value in OBJECTS["metrics"]:
            return value
        raise _UnknownError(f"tf_keras has no metric {value!a}")
    return _object(value, "metrics", "a metric")
