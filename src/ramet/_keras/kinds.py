"""What a Keras object is, asked by class."""

from __future__ import annotations

from typing import Any

import keras


def is_keras_class(cls: type) -> bool:
    """Whether the class comes from Keras or is a subclass of one of its base classes."""
    return any(base.__module__.partition(".")[0] == "keras" for base in cls.__mro__)


def is_from_keras(value: Any) -> bool:
    """Return whether the class of an object itself, not only a base class, comes from Keras."""
    return type(value).__module__.partition(".")[0] == "keras"


def is_call_class(cls: type) -> bool:
    """Whether instances are calls: Keras' `Node`, which has no public name."""
    return _is_internal(cls, "Node")


def is_tracker_class(cls: type) -> bool:
    """Whether instances are the trackers that layers, metrics and optimizers keep their state lists in."""
    return _is_internal(cls, "Tracker")


def _is_internal(cls: type, name: str) -> bool:
    return any(b.__name__ == name and b.__module__.startswith("keras.") for b in cls.__mro__)


def is_clonable(value: Any) -> bool:
    """Whether `ramet.clone` takes it: an op (model, layer, raw operation), an optimizer, a metric or a loss."""
    return isinstance(
        value,
        keras.Operation | keras.optimizers.Optimizer | keras.metrics.Metric | keras.losses.Loss,
    )


def kind_of(value: Any) -> str:
    """The word for it in messages: model, layer, operation, optimizer, metric, variable, or object."""
    words = {
        keras.Model: "model",
        keras.Layer: "layer",
        keras.Operation: "operation",
        keras.optimizers.Optimizer: "optimizer",
        keras.metrics.Metric: "metric",
        keras.losses.Loss: "loss",
        keras.Variable: "variable",
    }
    return next((word for cls, word in words.items() if isinstance(value, cls)), "object")
