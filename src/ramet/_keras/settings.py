"""The settings of one op: class, config, flags."""

from __future__ import annotations

from typing import Any

import keras

from ramet._graph import FrozenDict, OpKind
from ramet._keras import structure
from ramet._keras.arguments import freeze_argument
from ramet._keras.policies import policies_kept
from ramet._keras.unsaved import reading_configs


def kind_of(op: Any) -> OpKind:
    """Input, model, layer or operation."""
    if isinstance(op, keras.layers.InputLayer):
        return "input"
    if isinstance(op, keras.Model):
        return "model"
    return "layer" if isinstance(op, keras.Layer) else "operation"


def op_settings(op: Any) -> dict[str, Any]:
    """What is said about an op besides its place and its inside, as arguments of `Op`."""
    config, reason = _config(op)
    policy = getattr(op, "dtype_policy", None)
    return {
        "class_name": type(op).__name__,
        "module": type(op).__module__,
        "registered_name": keras.saving.get_registered_name(type(op)),
        "config": config,
        "no_config": reason,
        "trainable": bool(getattr(op, "trainable", True)),
        "dtype_policy": getattr(policy, "name", None),
        "built": bool(getattr(op, "built", True)),
        "flags": freeze_argument(_flags(op)),
    }


def _config(op: Any) -> tuple[FrozenDict | None, str | None]:
    if isinstance(op, keras.Model) and structure.function_of(op) is not None and not structure.makes_its_own_config(op):
        # The rest of such a config is its layers and calls, which the graph says.
        return FrozenDict((("name", structure.name_of(op)), ("trainable", bool(op.trainable)))), None
    try:
        with reading_configs():
            config = dict(op.get_config())
    except Exception as error:  # noqa: BLE001  # a user's get_config may raise anything
        words = " ".join(str(error).split())
        return None, f"{type(error).__name__}: {words[:120]}"
    with policies_kept(config.values()):
        frozen = freeze_argument(config)
    return (frozen, None) if isinstance(frozen, FrozenDict) else (None, "get_config() gave no dict")


def _flags(op: Any) -> dict[str, Any]:
    """What configs leave out, where it is not what it is by default."""
    defaults = {"autocast": True, "supports_masking": False, "quantization_mode": None, "lora_rank": None}
    found = {name: getattr(op, name, default) for name, default in defaults.items()}
    return {name: value for name, value in found.items() if value != defaults[name]}
