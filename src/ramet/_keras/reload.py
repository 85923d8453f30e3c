"""Making an object again from its config in the way a model file does."""

from __future__ import annotations

import contextlib
import json
import types
import warnings
from collections.abc import Iterator
from typing import Any

import keras

from ramet._keras import layers
from ramet._keras.structure import inside

_ROOM = keras.saving.deserialize_keras_object.__globals__  # neither scope is public


def file_config(value: Any) -> Any:
    """A config after the way through a file: serialised, written as JSON and read again, so that tuples are lists."""
    with _sharing(), _no_warnings():
        return json.loads(json.dumps(keras.saving.serialize_keras_object(value)))


def made_from_file(op: Any, config: dict[str, Any] | None = None) -> Any:
    """The object that loading a file would make of an op, with new weights.

    Args:
        op: The op. It is only read.
        config: Another config for the same class, as `file_config` returns it; the config of the op when left out.
    """
    config = file_config(op.get_config()) if config is None else json.loads(json.dumps(config))
    with (
        _sharing(),
        _no_warnings(),
        _ROOM["SafeModeScope"](safe_mode=False),
        keras.saving.custom_object_scope(_objects_of(op)),
    ):
        again = type(op).from_config(config)
        shapes = op.get_build_config() if hasattr(op, "get_build_config") else None
        if shapes and not getattr(again, "built", True):
            with contextlib.ExitStack() as scopes:  # a map of policies goes by paths
                above = str(getattr(op, "path", None) or "").split("/")[:-1]
                for name in [] if isinstance(op, keras.Model) else above:
                    scopes.enter_context(keras.name_scope(name))
                again.build_from_config(file_config(shapes))
    return again


def safe_mode() -> contextlib.AbstractContextManager[None]:
    """Have Keras refuse configs with code in them, also where the user has allowed them for the whole process."""
    scope: contextlib.AbstractContextManager[None] = _ROOM["SafeModeScope"](safe_mode=True)
    return scope


def _objects_of(op: Any) -> dict[str, Any]:
    """Classes and functions that a user hands to `load_model` because Keras does not know them."""
    found: dict[str, Any] = {}
    waiting, seen = [op], {id(op)}
    while waiting:
        part = waiting.pop()
        for value in (part, *layers.settings_of(part).values()):
            named = value if isinstance(value, types.FunctionType) else type(value)
            if not _is_known(named) and (value is named or hasattr(value, "get_config")):
                found.setdefault(named.__name__, named)
        new = [child for child in inside(part) if id(child) not in seen]
        seen.update(map(id, new))
        waiting.extend(new)
    return found


def _is_known(named: Any) -> bool:
    return str(getattr(named, "__module__", "")).partition(".")[0] in ("keras", "builtins")


@contextlib.contextmanager
def _sharing() -> Iterator[None]:
    """Objects that stand in a config twice are one object, as in a file."""
    with _ROOM["ObjectSharingScope"]():
        yield


@contextlib.contextmanager
def _no_warnings() -> Iterator[None]:
    """What Keras says about a lambda in a config concerns the file a user writes, not this one."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def overridden(model: Any, methods: tuple[str, ...]) -> list[str]:
    """Those of the methods that a class of the user's, or the user by hand, defines for a model."""
    plain = set(keras.Model.__mro__)
    own = [base for base in type(model).__mro__ if base not in plain and not base.__module__.startswith("keras.")]
    by_hand = {name for name in methods if callable(model.__dict__.get(name))}
    return [name for name in methods if name in by_hand or any(name in vars(base) for base in own)]
