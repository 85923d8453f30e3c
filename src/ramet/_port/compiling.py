"""Translate how a model was compiled from Keras 2 to Keras 3. What cannot be translated is left out with a note."""

from __future__ import annotations

from typing import Any, TypeAlias

from ramet._files import Json, walk_json
from ramet._port.notes import Notes
from ramet._port.settings import plain_number
from ramet._port.settings_table import has_class, has_name, takes_setting

_Config: TypeAlias = dict[str, Any]

# The class of a metric, by the function that Keras 2 wraps for it.
_METRICS = {
    "binary_accuracy": "BinaryAccuracy",
    "binary_crossentropy": "BinaryCrossentropy",
    "categorical_accuracy": "CategoricalAccuracy",
    "categorical_hinge": "CategoricalHinge",
    "categorical_crossentropy": "CategoricalCrossentropy",
    "cosine_similarity": "CosineSimilarity",
    "hinge": "Hinge",
    "log_cosh": "LogCoshError",
    "logcosh": "LogCoshError",
    "kl_divergence": "KLDivergence",
    "kullback_leibler_divergence": "KLDivergence",
    "mean_absolute_error": "MeanAbsoluteError",
    "mean_absolute_percentage_error": "MeanAbsolutePercentageError",
    "mean_squared_error": "MeanSquaredError",
    "mean_squared_logarithmic_error": "MeanSquaredLogarithmicError",
    "poisson": "Poisson",
    "sparse_categorical_accuracy": "SparseCategoricalAccuracy",
    "sparse_categorical_crossentropy": "SparseCategoricalCrossentropy",
    "sparse_top_k_categorical_accuracy": "SparseTopKCategoricalAccuracy",
    "squared_hinge": "SquaredHinge",
    "top_k_categorical_accuracy": "TopKCategoricalAccuracy",
}
_SHORT = {"mse": "mean_squared_error", "mae": "mean_absolute_error", "mape": "mean_absolute_percentage_error"}
_SHORT |= {"msle": "mean_squared_logarithmic_error", "acc": "accuracy", "cosine_proximity": "cosine_similarity"}
_SHORT |= {"logcosh": "log_cosh", "kullback_leibler_divergence": "kl_divergence", "kld": "kl_divergence"}
_SHORT |= {"huber_loss": "huber", "ce": "crossentropy"}
_NADAM_DECAY = 0.004
_IGNORED = frozenset({"is_legacy_optimizer", "jit_compile", "name", "fn", "dtype"})


class _UnknownError(Exception):
    """Something that Keras 3 does not have."""


def translate_compile(config: Json, outputs: list[str], notes: Notes) -> _Config | None:
    """Return the compile config of Keras 3, or None if there is none or if it cannot be translated.

    Args:
        config: `training_config` of an HDF5 file or SavedModel, or `compile_config` of an archive.
        outputs: The names of the outputs of the model.
        notes: Gets what was left out.
    """
    if not isinstance(config, dict) or not config:
        return None
    if not notes.trains_alike:
        notes.add("left out", "", "how the model was compiled, because its own losses or metrics are left out")
        return None
    optimizer = config.get("optimizer_config", config.get("optimizer"))
    try:
        made = {"optimizer": _optimizer(optimizer, notes), "loss": _losses(config.get("loss"), outputs, notes)}
    except _UnknownError as error:
        notes.add("left out", "", f"how the model was compiled: {error}; compile it again before training")
        return None
    made["loss_weights"] = _renamed(config.get("loss_weights"), notes)
    for key in ("metrics", "weighted_metrics"):
        made[key] = _metrics(config.get(key), outputs, key, notes)
    made |= {"run_eagerly": False, "steps_per_execution": 1, "jit_compile": False}
    return made


def _renamed(value: Json, notes: Notes) -> Json:
    """Return a dict by output with the new names of the outputs; anything else as it is."""
    if not isinstance(value, dict) or "class_name" in value:
        return value
    return {notes.renamed.get(key, key): item for key, item in value.items()}


def _losses(value: Json, outputs: list[str], notes: Notes) -> Json:
    """Translate a loss, or one for each output. In Keras 3, every output must be named."""
    value = _renamed(value, notes)
    if isinstance(value, list):
        return [None if item is None else _loss(item, notes) for item in value]
    if isinstance(value, dict) and "class_name" not in value:
        found = {key: None if item is None else _loss(item, notes) for key, item in value.items()}
        return {**dict.fromkeys(outputs), **found} if found.keys() <= set(outputs) else found
    return None if value is None else _loss(value, notes)


def _metrics(value: Json, outputs: list[str], kind: str, notes: Notes) -> Json:
    """Translate metrics: a list of them, or one list for each output. Those that Keras 3 does not have are left out."""
    value = _renamed(value, notes)
    several = len(outputs) > 1

    def translated(items: Json, output: str = "") -> list[Json]:
        found = []
        for item in items if isinstance(items, list) else [items]:
            if item is None:
                continue
            try:
                metric = _metric(item, notes)
            except _UnknownError as error:
                notes.add("left out", "", f"one of the {kind.replace('_', ' ')} of the model: {error}")
                continue
            config = metric.get("config") if isinstance(metric, dict) else None
            if several and isinstance(config, dict) and str(config.get("name")).startswith(f"{output}_"):
                # Keras adds the name of the output.
                config["name"] = config["name"].removeprefix(f"{output}_")
            found.append(metric)
        return found

    if isinstance(value, dict) and "class_name" not in value:
        return {key: translated(item, key) for key, item in value.items()}
    if isinstance(value, list) and any(isinstance(item, list) for item in value):
        names = outputs if len(outputs) == len(value) else [""] * len(value)
        lists = [translated(item, name) for item, name in zip(value, names, strict=True)]
        return lists if several or len(lists) > 1 else lists[0]
    if value is None:
        return None
    # In Keras 2, a flat list applies to every output.
    return [translated(value, output) for output in outputs] if several else translated(value)


def _serialized(module: str, class_name: str, config: _Config) -> _Config:
    return {"module": module, "class_name": class_name, "config": config, "registered_name": None}


def _optimizer(value: Json, notes: Notes) -> Json:
    if isinstance(value, str):
        value = {"class_name": value, "config": {}}
    if not isinstance(value, dict) or not isinstance(value.get("class_name"), str):
        raise _UnknownError("the file does not describe its optimizer")
    name = value["class_name"].rpartition(">")[2]
    wrapped = value.get("config")
    if name.startswith("LossScaleOptimizer") and isinstance(wrapped, dict):
        return _loss_scale(wrapped, notes)
    names = {known.lower(): known for known in _OPTIMIZERS}
    name = names.get(name.lower(), name)
    full = f"keras.optimizers.{name}"
    if name not in _OPTIMIZERS or not has_class(full):
        raise _UnknownError(f"Keras 3 has no optimizer {name!a}")
    settings = value.get("config") or {}
    if not isinstance(settings, dict):
        raise _UnknownError("the file does not describe its optimizer")
    config = {key: plain_number(item) for key, item in settings.items()}
    if "lr" in config:
        config["learning_rate"] = config.pop("lr")
    # `compile("adam")` leaves only the name in an archive. The state of the optimizer contains the learning rate.
    config.setdefault("learning_rate", 0.01 if name == "SGD" else 0.001)
    rate = config.get("learning_rate")
    if isinstance(rate, dict):
        config["learning_rate"] = _schedule(rate)
    decay = config.pop("decay", None)
    if name == "Nadam":
        # The decay of its momentum, which Keras 3 does not let one choose.
        decay = config.pop("schedule_decay", decay)
        if decay not in (None, 0, 0.0, _NADAM_DECAY):
            notes.add(
                "left out", "", f"schedule_decay={decay!r} of the optimizer, which is always {_NADAM_DECAY} in Keras 3"
            )
        decay = None
    if decay and isinstance(rate, int | float):
        schedule = {"initial_learning_rate": rate, "decay_steps": 1, "decay_rate": decay, "staircase": False}
        config["learning_rate"] = _serialized("keras.optimizers.schedules", "InverseTimeDecay", schedule)
        notes.add("translated", "", f"the optimizer's decay={decay} is now a schedule, InverseTimeDecay")
    if name == "RMSprop" and not config.get("momentum") and config.get("is_legacy_optimizer", True):
        notes.add(
            "caution", "", "in training, RMSprop of Keras 3 adds epsilon inside the square root: steps differ slightly"
        )
    if config.get("epsilon", 0) is None:
        del config["epsilon"]
    for key in list(config):
        if key in _IGNORED and key != "name":
            del config[key]
        elif not takes_setting(full, key):
            item = config.pop(key)
            if item not in (None, False, 0):
                notes.add("left out", "", f"{key}={item!r} of the optimizer, which Keras 3 does not have")
    return _serialized("keras.optimizers", name, config)


_OPTIMIZERS = frozenset(
    {"Adadelta", "Adafactor", "Adagrad", "Adam", "AdamW", "Adamax", "Ftrl", "Lion", "Nadam", "RMSprop", "SGD"}
)


def _loss_scale(value: _Config, notes: Notes) -> Json:
    """Return a LossScaleOptimizer as Keras 3 writes it."""
    inner = _optimizer(value.get("inner_optimizer", value.get("optimizer")), notes)
    scale = value.get("loss_scale")
    scale = scale.get("config", {}) if isinstance(scale, dict) else {}
    initial = value.get("initial_scale", scale.get("initial_loss_scale", scale.get("loss_scale_value")))
    if value.get("dynamic") is False and isinstance(inner, dict):
        inner["config"]["loss_scale_factor"] = initial
        return inner
    settings: _Config = {"inner_optimizer": inner}
    if isinstance(initial, int | float):
        settings["initial_scale"] = float(initial)
    steps = value.get("dynamic_growth_steps", scale.get("growth_steps"))
    if type(steps) is int:
        settings["dynamic_growth_steps"] = steps
    return _serialized("keras.optimizers", "LossScaleOptimizer", settings)


def _schedule(value: _Config) -> Json:
    name, config = value.get("class_name"), value.get("config")
    if not has_class(f"keras.optimizers.schedules.{name}") or not isinstance(config, dict):
        raise _UnknownError(f"Keras 3 has no learning rate schedule {name!a}")
    # Keras 2 writes `name: null`, which Keras 3 does not accept.
    kept = {key: plain_number(item) for key, item in config.items() if key != "name" or item is not None}
    return _serialized("keras.optimizers.schedules", str(name), kept)


def _loss(value: Json, notes: Notes) -> Json:
    if isinstance(value, str):
        name = _SHORT.get(value, value)
        if has_name("losses", value) or has_name("losses", name):
            return value if has_name("losses", value) else name
        return _own("loss", value, notes)
    if not isinstance(value, dict):
        raise _UnknownError("a loss is not described in the file")
    inner = value.get("config")
    if isinstance(inner, str):
        return _loss(inner, notes)
    name = str(value.get("class_name")).rpartition(">")[2]
    if name == "LossFunctionWrapper" and isinstance(inner, dict):
        return _loss(inner.get("fn"), notes)
    full = f"keras.losses.{name}"
    if not isinstance(inner, dict):
        raise _UnknownError(f"the loss {name!a} is not described in the file")
    if not has_class(full):
        return _own_class("loss", name, inner, notes)
    config = {key: plain_number(item) for key, item in inner.items() if takes_setting(full, key) and key != "fn"}
    if config.get("reduction") == "auto":
        config["reduction"] = "sum_over_batch_size"
    return _serialized("keras.losses", name, config)


def _own(role: str, name: str, notes: Notes) -> str:
    """Return the registered name of a loss or metric of the user."""
    registered = notes.registered(name)
    if registered is None:
        raise _UnknownError(f"Keras 3 has no {role} {name!a} (if it is your own, pass its module with --import)")
    return registered


def _own_class(role: str, name: str, config: _Config, notes: Notes) -> _Config:
    """Return an object of a loss or metric class of the user, which gets its settings as they are."""
    registered = _own(role, name, notes)
    if config.get("reduction") == "auto":
        config = {**config, "reduction": "sum_over_batch_size"}  # which it means, and Keras 3 has no "auto"
    return {"module": None, "class_name": name, "config": config, "registered_name": registered}


def _metric(value: Json, notes: Notes) -> Json:
    if value == "acc":
        return value  # Keras 3 knows it, too, and reports it under this name
    if isinstance(value, str):
        name = _SHORT.get(value, value)
        if name in ("accuracy", "crossentropy", "ce") or has_name("metrics", value) or has_name("metrics", name):
            return name if name in ("accuracy", "crossentropy", "ce") or not has_name("metrics", value) else value
        return _own("metric", value, notes)
    if not isinstance(value, dict):
        raise _UnknownError("a metric is not described in the file")
    inner = value.get("config")
    if isinstance(inner, str):
        return _metric(inner, notes)
    name = str(value.get("class_name")).rpartition(">")[2]
    if not isinstance(inner, dict):
        raise _UnknownError(f"the metric {name!a} is not described in the file")
    if ".losses" in str(value.get("module")) or ("reduction" in inner and name != "MeanMetricWrapper"):
        raise _UnknownError(f"{name} is a loss, which Keras 3 does not take as a metric")
    if name == "MeanMetricWrapper":
        function = inner.get("fn")
        function = function.get("config") if isinstance(function, dict) else function
        if not isinstance(function, str):
            raise _UnknownError("a metric is not described in the file")
        if function not in _METRICS:
            return _wrapped_function(_SHORT.get(function, function), inner, notes)
        name = _METRICS[function]
    full = f"keras.metrics.{name}"
    if not has_class(full):
        return _own_class("metric", name, inner, notes)
    config = {
        key: plain_number(item)
        for key, item in inner.items()
        if takes_setting(full, key) and key not in ("fn", "dtype")
    }
    return _serialized("keras.metrics", name, config)


def _wrapped_function(function: str, config: _Config, notes: Notes) -> Json:
    """Return the mean of a function as a metric."""
    if not has_name("metrics", function) and not has_name("losses", function):
        return _own("metric", function, notes)
    fn = {"module": "builtins", "class_name": "function", "config": function, "registered_name": "function"}
    return _serialized("keras.metrics", "MeanMetricWrapper", {"name": config.get("name", function), "fn": fn})


def custom_names(config: Json) -> list[str]:
    """Return the names of classes and functions in a compile config of Keras 3 that are not Keras' own."""
    found = []
    for item in walk_json(config):
        if not isinstance(item, dict) or not isinstance(item.get("class_name"), str):
            continue
        name, module = item["class_name"], item.get("module")
        if name.startswith("__"):
            continue  # a tuple, an array, a slice; code is found by the scan
        if name == "function":
            function = item.get("config")
            kinds = ("losses", "metrics", "activations")
            if isinstance(function, str) and not any(has_name(kind, function) for kind in kinds):
                found.append(function.rpartition(">")[2])
        elif not isinstance(module, str) or module.partition(".")[0] != "keras":
            found.append(name)
    return found
