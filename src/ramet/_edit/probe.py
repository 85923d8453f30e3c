"""Layers made for a moment, to see what a setting or a shape makes different."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from typing import Any

import keras

from ramet._build import build_like
from ramet._edit.layer_config import objects_in
from ramet._keras import names_untouched, randomness, safe_mode
from ramet.errors import EditError


def made_twice(
    layer: Any, path: str, settings: dict[str, Any], shapes: dict[str, Any] | None = None, *, seed: int = 0
) -> tuple[Any, Any]:
    """A layer made again from its config, as it is and with some settings changed; both built if the layer is.

    Args:
        layer: The layer. It is only read.
        path: Where it stands, for messages.
        settings: What is different in the config of the second.
        shapes: The build config of the second, if that is different, too.
        seed: What random values of both begin with.
    """

    def make(settings: dict[str, Any], shapes: dict[str, Any] | None) -> Any:
        # Asked for each time: some classes take their config apart.
        config = {**layer.get_config(), **settings}
        # Layers inside a wrapper come with the shapes they were built with, and would be built with these again.
        made = type(layer).from_config(config if shapes is None else _without_shapes(config))
        build_like(made, layer, shapes)
        return made

    with (
        warnings.catch_warnings(),
        names_untouched(),
        keras.saving.custom_object_scope({type(layer).__name__: type(layer)}),
    ):
        warnings.simplefilter("ignore")  # about layers that nobody else will ever see
        try:
            as_it_is = drawn_alike(lambda: make({}, None), seed)
        except Exception as error:
            raise _cannot(layer, path, error) from error
        try:
            # Serialised objects in settings may come from a recipe.
            with safe_mode() if any(objects_in(settings)) else contextlib.nullcontext():
                changed = drawn_alike(lambda: make(settings, shapes), seed)
        except Exception as error:
            said = ", ".join(f"{name}={value!r}" for name, value in settings.items())
            raise EditError(
                f"Cannot update '{path}' with {said or 'another shape'}: {type(layer).__name__} refuses it.",
                found=f"{type(_root(error)).__name__}: {_first_line(_root(error))}",
                fix="give a value that the constructor takes.",
                path=path,
            ) from error
    return as_it_is, changed


def _without_shapes(config: Any) -> Any:
    """A config without what the layers inside were built with. Configs nest a few levels deep: this may recurse."""
    if isinstance(config, dict):
        serialized = {"class_name", "config"} <= config.keys()
        return {
            key: _without_shapes(value) for key, value in config.items() if not (serialized and key == "build_config")
        }
    if type(config) in (list, tuple):
        return type(config)(map(_without_shapes, config))
    return config


def drawn_alike(make: Callable[[], Any], seed: int = 0) -> Any:
    """Whatever is drawn at random while a layer is made is drawn the same each time, and the generators are put back."""
    with randomness.drawn_from(seed):
        return make()


def _cannot(layer: Any, path: str, error: Exception) -> EditError:
    return EditError(
        f"Cannot update '{path}': its class {type(layer).__name__} cannot be made again from its config.",
        found=f"{type(_root(error)).__name__}: {_first_line(_root(error))}",
        fix=f"give {type(layer).__name__} a get_config() that names every argument, or replace the layer.",
        path=path,
    )


def _root(error: BaseException) -> BaseException:
    """What a class raised: Keras says it again at the end of a long text of its own."""
    while str(error).startswith("Error when deserializing class") and error.__context__ is not None:
        error = error.__context__
    return error


def _first_line(error: BaseException) -> str:
    return " ".join(str(error).split())[:200]
