"""Who finds a layer by its name: code that looks it up, and settings that name it. Another name would break them.

Names that Keras itself uses follow a new name (`ramet._keras.rename`, `ramet._keras.compiled`). A class of the user's may look a layer up
with `get_layer("logits")` in its `train_step`, in a property or in a loss, or hold the name in its config. Such code cannot be
changed, so the rename is refused.
"""

from __future__ import annotations

import functools
import types
from collections.abc import Iterator
from typing import Any

import keras

from ramet._graph import FrozenDict, FrozenList
from ramet._keras import Place, compiled, op_settings, places_below, structure
from ramet.errors import EditError

# Code that has one of these names beside the name of a layer looks for that layer.
_LOOKS = frozenset({"get_layer", "layers", "operations", "name", "path", "output_names", "get_operation"})
# These give names to new layers.
_MAKES = frozenset({"__init__", "build", "get_config", "from_config", "__new__"})
# Texts in configs that are words of Keras, whatever a layer is called.
_WORDS = frozenset(
    name
    for room in (keras.activations, keras.initializers, keras.regularizers, keras.losses, keras.metrics)
    for name in dir(room)
) | {"same", "valid", "causal", "channels_last", "channels_first", "float16", "bfloat16", "float32", "float64"}


class NameUses:
    """The uses of names in one model."""

    def __init__(self, model: Any) -> None:
        self._uses: dict[str, str] = {}
        places = [place for place in places_below(model) if place.same_as is None]
        for name, use in (*_in_code(model, places), *_in_settings(places)):
            self._uses.setdefault(name, use)

    def of(self, name: str) -> str | None:
        """Who uses a name, or None."""
        return self._uses.get(name)


def check_names_found(model: Any, result: Any) -> None:
    """Refuse a result that looks for a layer which was left out, or has another name."""
    paths = {structure.name_of(place.op): place.path for place in reversed(places_below(model)) if place.path}
    gone = paths.keys() - {structure.name_of(place.op) for place in places_below(result)}
    uses = NameUses(result) if gone else None
    for name in sorted(gone):
        use = None if uses is None else uses.of(name)
        if use is not None:
            raise EditError(
                f"Cannot edit '{paths[name]}': {use}, and no layer has that name afterwards.",
                fix="keep a layer of that name, or change that class or function first.",
                path=paths[name],
            )


def _in_code(model: Any, places: list[Place]) -> Iterator[tuple[str, str]]:
    """Names of layers in the code of classes, and of losses and metrics."""
    classes = {type(place.op): None for place in places}
    for cls in {base: None for one in classes for base in one.__mro__ if _is_users(base)}:
        for name, function in _functions(cls):
            if name not in _MAKES:
                yield from ((text, f"{cls.__name__}.{name} looks it up by its name") for text in _names_in(function))
    settings = compiled.compile_settings(model) or {}
    for argument in ("loss", "metrics", "weighted_metrics"):
        for value in keras.tree.flatten(settings.get(argument)):
            called = value if isinstance(value, types.FunctionType) else getattr(value, "fn", None)
            if isinstance(called, types.FunctionType) and _is_users(called):
                said = f"the {argument} '{called.__name__}' looks it up by its name"
                yield from ((text, said) for text in _names_in(called))
            elif value is not None and _is_users(type(value)):
                for name, method in _functions(type(value)):
                    said = f"{type(value).__name__}.{name}, of the {argument}, looks it up by its name"
                    yield from ((text, said) for text in _names_in(method) if name not in _MAKES)


def _functions(cls: type) -> Iterator[tuple[str, types.FunctionType]]:
    for name, value in vars(cls).items():
        if isinstance(value, property):
            found = [value.fget, value.fset]
        elif isinstance(value, staticmethod | classmethod):
            found = [value.__func__]
        elif isinstance(value, functools.cached_property):
            found = [value.func]
        else:
            found = [value]
        yield from ((name, function) for function in found if isinstance(function, types.FunctionType))


def _names_in(function: types.FunctionType) -> set[str]:
    """The texts in a function's code, if the code looks for layers."""
    found: set[str] = set()
    looks = False
    waiting: list[Any] = [function.__code__]
    while waiting:
        value = waiting.pop()
        if isinstance(value, types.CodeType):
            looks = looks or bool(_LOOKS & set(value.co_names))
            waiting.extend(value.co_consts)
        elif isinstance(value, tuple | frozenset):
            waiting.extend(value)
        elif isinstance(value, str):
            found.add(value)
    cells = map(_content, function.__closure__ or ())
    found.update(text for text in cells if isinstance(text, str))
    return found if looks else set()


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # an empty cell
        return None


def _in_settings(places: list[Place]) -> Iterator[tuple[str, str]]:
    """Names of layers in the configs of classes that are not Keras' own."""
    for place in places:
        if not _is_users(type(place.op)):
            continue
        config = op_settings(place.op)["config"]
        for key, value in config.pairs if isinstance(config, FrozenDict) else ():
            texts = value.items if isinstance(value, FrozenList) else value if isinstance(value, tuple) else (value,)
            for text in texts:
                if key != "name" and isinstance(text, str) and text not in _WORDS:
                    where = f"'{place.path}'" if place.path else "the model"
                    yield text, f"{where}, a {type(place.op).__name__}, names it in its setting {str(key)!r}"


def _is_users(thing: Any) -> bool:
    return str(thing.__module__).partition(".")[0] not in ("keras", "builtins", "torch", "tensorflow", "jax", "flax")
