"""Configs: recreate an object from its config as a file does, and warn where a config loses an edit."""

from __future__ import annotations

import contextlib
import json
import sys
import types
import warnings
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

import keras

from ramet._keras import layers, lora
from ramet._keras.structure import ops_inside, reachable
from ramet._report import joined
from ramet.errors import LostOnSaveWarning, listed

# The two scopes used below have no public names; the module of a public function has them.
_SAVING = keras.saving.deserialize_keras_object.__globals__


def file_config(value: Any) -> Any:
    """Return a config as it comes back from a file: serialized, written as JSON and read again, so tuples become lists."""
    with _as_in_a_file():
        return json.loads(json.dumps(keras.saving.serialize_keras_object(value)))


def reload_from_config(op: Any, config: dict[str, Any] | None = None) -> Any:
    """Return the object that loading a file would make of an op, with new weights.

    Another config for the same class is used if one is passed, as returned by `file_config`.
    """
    config = file_config(op.get_config()) if config is None else json.loads(json.dumps(config))
    with (
        _as_in_a_file(),
        _SAVING["SafeModeScope"](safe_mode=False),
        keras.saving.custom_object_scope(_objects_of(op)),
    ):
        again = type(op).from_config(config)
        shapes = op.get_build_config() if hasattr(op, "get_build_config") else None
        if shapes and not getattr(again, "built", True):
            with contextlib.ExitStack() as scopes:  # maps of dtype policies are keyed by path
                above = str(getattr(op, "path", None) or "").split("/")[:-1]
                for name in [] if isinstance(op, keras.Model) else above:
                    scopes.enter_context(keras.name_scope(name))
                again.build_from_config(file_config(shapes))
    return again


def safe_mode() -> contextlib.AbstractContextManager[None]:
    """Make Keras refuse configs that contain code, even if the user has allowed them for the whole process."""
    scope: contextlib.AbstractContextManager[None] = _SAVING["SafeModeScope"](safe_mode=True)
    return scope


def _objects_of(op: Any) -> dict[str, Any]:
    """Return the classes and functions that a user would pass to `load_model` because Keras does not know them."""
    found: dict[str, Any] = {}
    for part in reachable([op], ops_inside):
        for value in (part, *layers.settings_of(part).values()):
            named = value if isinstance(value, types.FunctionType) else type(value)
            known = str(getattr(named, "__module__", "")).partition(".")[0] in ("keras", "builtins")
            if not known and (value is named or hasattr(value, "get_config")):
                found.setdefault(named.__name__, named)
    return found


@contextlib.contextmanager
def _as_in_a_file() -> Iterator[None]:
    """Make objects that occur twice in a config one object. Suppress warnings about lambdas, which are meant for users."""
    with _SAVING["ObjectSharingScope"](), warnings.catch_warnings(action="ignore"):
        yield


def overridden_methods(model: Any, methods: tuple[str, ...]) -> list[str]:
    """Return the methods of a model that the user overrides, in a class or on the instance."""
    plain = set(keras.Model.__mro__)
    own = [base for base in type(model).__mro__ if base not in plain and not base.__module__.startswith("keras.")]
    by_hand = {name for name in methods if callable(model.__dict__.get(name))}
    return [name for name in methods if name in by_hand or any(name in vars(base) for base in own)]


_quiet: ContextVar[bool] = ContextVar("ramet_reads_configs", default=False)


class LossyConfig:
    """The method `get_config` of one object, with a warning that the config does not describe an edit.

    Everything that writes or recreates a model (`save`, `save_model`, `ModelCheckpoint`, `to_json`, pickle,
    `clone_model`) reads its config. So an instance attribute `get_config` hides the method of the class, which covers
    every way to write a file. A twin gets its own, because it is copied like any other attribute.

    Args:
        owner: The layer or model whose class does not describe the edit.
        lost: One sentence for each difference.
    """

    def __init__(self, owner: Any, lost: tuple[str, ...]) -> None:
        self.owner = owner
        self.lost = lost

    def __call__(self) -> Any:
        if not _quiet.get():
            _warn(self.owner, self.lost)
        return type(self.owner).get_config(self.owner)

    @property
    def _is_default(self) -> bool:
        # Keras makes a config from the arguments of `__init__` if a class does not define `get_config`.
        return bool(getattr(type(self.owner).get_config, "_is_default", False))


def mark_lossy(op: Any, lost: list[str]) -> None:
    """Warn whenever the config of an op is read."""
    op.__dict__["get_config"] = LossyConfig(op, tuple(lost))


def unmark_lossy(op: Any) -> None:
    if is_marked_lossy(op):
        del op.__dict__["get_config"]


def is_marked_lossy(op: Any) -> bool:
    """Return whether the config of an op is known to lose an edit."""
    return isinstance(op.__dict__.get("get_config"), LossyConfig)


def marked_losses(op: Any) -> tuple[str, ...]:
    """Return the sentences about what the config of an op is known to lose."""
    return op.__dict__["get_config"].lost if is_marked_lossy(op) else ()


@contextlib.contextmanager
def suppress_config_warnings() -> Iterator[None]:
    """Read configs without warnings, for uses in which a lost edit does not matter."""
    token = _quiet.set(True)
    try:
        yield
    finally:
        _quiet.reset(token)


def _warn(owner: Any, lost: tuple[str, ...]) -> None:
    frame = sys._getframe(2)
    while frame.f_back is not None and str(frame.f_globals.get("__name__")).partition(".")[0] in ("keras", "ramet"):
        frame = frame.f_back
    losses = [one.rpartition("from its config, ")[2] for one in lost]
    summary = joined(losses, 3, "; ")
    fix = "change the class itself, or save only the weights with save_weights(), for a model edited in the same way."
    if any(one.endswith(lora.LOST) for one in lost):  # every file of Keras has the merged weights
        fix = "merge LoRA before saving, ramet.edit(model, ramet.edits.merge_lora()), and add it again after loading."
    # With a separate registry, because Python would show the same text from the same line only once.
    warnings.warn_explicit(
        f"The config of {listed([str(owner.name)])} does not describe an edit, so a file will not keep it: "
        f"{type(owner).__name__} creates its parts itself.\n"
        f"  lost: recreated from the config, {summary}\n"
        f"  fix: {fix}",
        LostOnSaveWarning,
        filename=frame.f_code.co_filename,
        lineno=frame.f_lineno,
        registry={},
    )
