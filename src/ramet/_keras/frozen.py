"""Live arguments, configs and settings as frozen data for graphs."""

from __future__ import annotations

import types
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np

from ramet._graph import Argument, Constant, FrozenDict, OpKind, Ref, freeze
from ramet._keras import structure
from ramet._keras.configs import suppress_config_warnings
from ramet._keras.global_state import keep_name_counters
from ramet._keras.policies import keep_policies

RefOf = Callable[[Any], Ref | None]


def freeze_argument(value: Any, ref_of: RefOf = lambda _: None) -> Argument:
    """Return an argument of a call, or a config, as frozen data.

    `ref_of` returns the ref of a symbolic tensor, or None if no call of the graph makes it.
    """

    def leaf(item: Any) -> object:
        if isinstance(item, keras.KerasTensor):
            return ref_of(item) or Constant("object", "KerasTensor", summary=f"tensor {item.shape} from outside")
        return _describe(item)

    return freeze(value, leaf)


def _describe(item: Any) -> object:
    if isinstance(item, keras.Variable):
        return Constant(
            "object", "Variable", shape=tuple(item.shape), dtype=item.dtype, summary=f"variable {item.path}"
        )
    if isinstance(item, keras.Operation):
        return Constant("object", type(item).__name__, summary=f"{type(item).__name__} {item.name}")
    if isinstance(item, Mapping):
        plain = str | int | float | bool | bytes | None
        return {key if isinstance(key, plain) else str(key): item[key] for key in item}
    if isinstance(item, list):
        return list(item)
    if isinstance(item, tuple):
        return tuple(item)
    if isinstance(item, set | frozenset):
        return sorted(item, key=str)
    if isinstance(item, types.FunctionType | types.MethodType | types.BuiltinFunctionType | type):
        kind = "class" if isinstance(item, type) else "function"
        return Constant("object", kind, summary=f"{item.__module__}.{item.__qualname__}")
    array = _as_array(item)
    if array is not None:
        return Constant.array("array", array.shape, str(array.dtype), array.tobytes())
    return Constant("object", f"{type(item).__module__}.{type(item).__qualname__}", summary=_short(item))


def _as_array(item: Any) -> Any:
    if isinstance(item, np.ndarray | np.generic):
        return None if np.asarray(item).dtype.hasobject else np.asarray(item)
    if keras.ops.is_tensor(item):
        return np.asarray(keras.ops.convert_to_numpy(item))
    return None


def _short(item: Any) -> str | None:
    """Return the text of an object if it is more specific than its class, as for a dtype, a device or an enum member."""
    text = str(item)
    return text if len(text) <= 60 and " object at 0x" not in text else None


def op_kind(op: Any) -> OpKind:
    if isinstance(op, keras.layers.InputLayer):
        return "input"
    if isinstance(op, keras.Model):
        return "model"
    return "layer" if isinstance(op, keras.Layer) else "operation"


# Flags that most configs leave out, with their defaults.
_LEFT_OUT = {"autocast": True, "supports_masking": False, "quantization_mode": None, "lora_rank": None}


def op_settings(op: Any) -> dict[str, Any]:
    """Return the settings of an op (class, config, flags) as arguments of `Op`."""
    config, reason = _config(op)
    policy = getattr(op, "dtype_policy", None)
    flags = {name: getattr(op, name, default) for name, default in _LEFT_OUT.items()}
    known = {} if config is None else dict(config.pairs)
    return {
        "class_name": type(op).__name__,
        "module": type(op).__module__,
        "registered_name": keras.saving.get_registered_name(type(op)),
        "config": config,
        "no_config": reason,
        "trainable": bool(getattr(op, "trainable", True)),
        "dtype_policy": getattr(policy, "name", None),
        "built": bool(getattr(op, "built", True)),
        "flags": freeze_argument(
            {name: value for name, value in flags.items() if value not in (_LEFT_OUT[name], known.get(name))}
        ),
    }


def _config(op: Any) -> tuple[FrozenDict | None, str | None]:
    if isinstance(op, keras.Model) and structure.function_of(op) is not None and not structure.makes_its_own_config(op):
        # The rest of such a config describes layers and calls, which are in the graph.
        return FrozenDict((("name", structure.name_of(op)), ("trainable", bool(op.trainable)))), None
    try:
        with suppress_config_warnings():
            config = dict(op.get_config())
    except Exception as error:  # noqa: BLE001  # a user's get_config may raise anything
        words = " ".join(str(error).split())
        return None, f"{type(error).__name__}: {words[:120]}"
    with keep_policies(config.values()):
        frozen = freeze_argument(config)
    return (frozen, None) if isinstance(frozen, FrozenDict) else (None, "get_config() did not return a dict")


# Settings of `compile()` that are also attributes of the model.
_FLAGS = ("jit_compile", "run_eagerly", "steps_per_execution")


def frozen_compile_settings(model: Any) -> FrozenDict | None:
    """Return the arguments of `compile()` as data, or None for a model that is not compiled."""
    if not getattr(model, "compiled", False):
        return None
    try:
        with keep_name_counters():
            settings = dict(model.get_compile_config() or {})
    except Exception as error:  # noqa: BLE001  # a user's get_config may raise anything
        settings = {"optimizer": type(model.optimizer).__name__, "no_config": f"{type(error).__name__}: {error}"[:120]}
    for name in _FLAGS:
        # These can be set later, and the resolved value is more informative than "auto".
        if settings.get(name) != (now := getattr(model, name, None)):
            settings[f"{name} (now)"] = now
    frozen = freeze_argument(settings)
    return frozen if isinstance(frozen, FrozenDict) else FrozenDict()
