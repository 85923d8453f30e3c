"""Layers from the configs of a recipe: found among Keras' classes and the registered ones, and made in safe mode."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Callable, Iterable
from typing import Any

import keras

from ramet._edit.edit import Edit
from ramet._edit.layer_config import FROM_OLD, LayerConfig, objects_in, refused
from ramet._files import judge_value
from ramet._keras import names_untouched, safe_mode
from ramet.errors import RecipeError

__all__ = ["as_factory", "check_layers"]

# Where the objects of a config are looked for, in this order: `Identity` is a layer before it is an initializer.
_PLACES = ("layers", "initializers", "regularizers", "constraints", "dtype_policies", "random", "models")
_FUNCTIONS = (keras.activations, keras.ops)
# These stand for plain data.
_DATA = frozenset(
    {"__numpy__", "__tensor__", "__keras_tensor__", "__bytes__", "__ellipsis__", "__slice__", "__tuple__"}
)


def as_factory(layer: Any) -> Any:
    """The function from the old layer to the new one that a layer config stands for; all else as it is."""
    return _factory(layer) if isinstance(layer, LayerConfig) else layer


def check_layers(edits: Iterable[Edit]) -> None:
    """Refuse, with its place in the recipe, every layer whose class is not known or does not take its settings."""
    for edit in edits:
        for _, value in edit.settings:
            if isinstance(value, LayerConfig):
                cls = _completed(value, value.table())
                _check_settings(value, cls)


def _factory(wanted: LayerConfig) -> Callable[[Any], Any]:
    def make(old: Any) -> Any:
        table = wanted.table()
        cls = _completed(wanted, table)
        _check_settings(wanted, cls)
        _take_from_old(wanted, table, old)
        for steps, _, finding in judge_value(table, "layer"):
            if finding.kind == "file" and finding.severity == "unsafe":
                raise _cannot(wanted, steps, finding.what.rstrip("."), fix="make the edit in Python.")
        try:
            # Names are those that Keras would begin with: a recipe gives the same names each time.
            with names_untouched(), safe_mode():
                return _made(wanted, cls, table, old)
        except RecipeError:
            raise
        except Exception as error:  # a constructor may raise anything
            raise _cannot(
                wanted,
                ("config",),
                f"{wanted.class_name} refuses its config",
                found=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}",
                fix="give settings that its constructor takes.",
            ) from error

    return make


def _made(wanted: LayerConfig, cls: type, table: dict[str, Any], old: Any) -> Any:
    if not wanted.holds_old or "layer" in table["config"]:
        return keras.saving.deserialize_keras_object(table)
    settings = {
        name: keras.saving.deserialize_keras_object(value) if _is_object(value) else value
        for name, value in table["config"].items()
    }
    return cls(layer=old, **settings)


def _is_object(value: Any) -> bool:
    return isinstance(value, dict) and "class_name" in value and "config" in value


def _completed(wanted: LayerConfig, table: dict[str, Any]) -> type:
    """Write into each description of an object where its class is; the class of the layer."""
    wrong = refused(table)
    if wrong is not None:  # checked again: not every layer config was read from a file
        raise _cannot(wanted, *wrong, fix="make the edit in Python.")
    found: type | None = None
    for path, item in objects_in(table):
        if item["class_name"] in _DATA:
            continue
        if item["class_name"] == "function":
            _complete_function(wanted, path, item)
            continue
        cls = _complete_class(wanted, path, item)
        item.setdefault("config", {})
        if cls is keras.Sequential:
            item["config"].setdefault("name", "sequential")
        found = cls if path == () else found
    if found is None or not issubclass(found, keras.Operation):
        raise _cannot(
            wanted, ("class_name",), f"'{wanted.class_name}' is no layer", fix="name a class of keras.layers."
        )
    return found


def _complete_class(wanted: LayerConfig, path: tuple[str | int, ...], item: dict[str, Any]) -> type:
    name, registered = str(item["class_name"]), item.get("registered_name")
    for known in filter(None, (registered, name, f"Custom>{name}")):
        cls = keras.saving.get_registered_object(known)
        if isinstance(cls, type):
            item |= {"class_name": cls.__name__, "module": None, "registered_name": known}
            return cls
    named = str(item.get("module") or "").removeprefix("keras.src.").removeprefix("keras.").partition(".")[0]
    for place in (named, *_PLACES) if named in _PLACES else _PLACES:
        cls = getattr(getattr(keras, place), name, None)
        if isinstance(cls, type):
            item |= {"module": f"keras.{place}", "registered_name": None}
            return cls
    raise _cannot(
        wanted,
        (*path, "class_name"),
        f"there is no class '{name}' in Keras, and none is registered by that name",
        closest=_closest_class(name),
        fix="correct the name; register a class of your own with keras.saving.register_keras_serializable, "
        "or read and edit inside keras.saving.custom_object_scope.",
    )


def _complete_function(wanted: LayerConfig, path: tuple[str | int, ...], item: dict[str, Any]) -> None:
    name = item.get("config")
    for known in filter(None, (item.get("registered_name"), name)):
        if known != "function" and keras.saving.get_registered_object(known) is not None:
            item |= {"module": None, "registered_name": known}
            return
    if not isinstance(name, str) or not any(callable(getattr(place, name, None)) for place in _FUNCTIONS):
        raise _cannot(
            wanted,
            (*path, "config"),
            f"there is no function '{name}' in Keras, and none is registered by that name",
            closest=difflib.get_close_matches(str(name), dir(keras.activations), n=1),
            fix="correct the name, or register the function with keras.saving.register_keras_serializable.",
        )


def _closest_class(name: str) -> list[str]:
    own: dict[str, str] = {key.rpartition(">")[2]: key for key in keras.saving.get_custom_objects()}
    public = {cls for place in _PLACES for cls in dir(getattr(keras, place)) if cls[:1].isupper()}
    if name in own:
        return [own[name]]
    near = difflib.get_close_matches(name, [*own, *sorted(public)], n=1)
    return [own.get(one, one) for one in near]


def _check_settings(wanted: LayerConfig, cls: type) -> None:
    """Refuse settings that the constructor of one of Keras' own classes does not have."""
    if cls.__module__.partition(".")[0] != "keras" or issubclass(cls, keras.Model):
        return
    # What a constructor hands on to those above it counts, too.
    known: set[str] = set()
    for base in cls.__mro__:
        if "__init__" in vars(base):
            parameters = inspect.signature(vars(base)["__init__"]).parameters.values()
            known |= {one.name for one in parameters}
    known |= {"name", "dtype", "trainable", "autocast", "activity_regularizer"}
    if wanted.holds_old and "layer" not in known:
        raise _cannot(
            wanted,
            ("class_name",),
            f"a {cls.__name__} does not hold another layer",
            fix="wrap with a class that takes a `layer`, such as TimeDistributed, or use replace.",
        )
    for name in map(str, wanted.config):
        if name not in known and "from_config" not in vars(cls):
            raise _cannot(
                wanted,
                ("config", name),
                f"a {cls.__name__} has no setting '{name}'",
                key=True,
                closest=difflib.get_close_matches(name, sorted(known - {"self", "kwargs", "args"}), n=1),
                fix="use the names of its constructor.",
            )


def _take_from_old(wanted: LayerConfig, table: dict[str, Any], old: Any) -> None:
    """Put settings of the old layer where the config asks for them."""
    waiting: list[tuple[tuple[str | int, ...], Any]] = [((), table)]
    while waiting:
        path, holder = waiting.pop()
        for key, item in list(holder.items() if isinstance(holder, dict) else enumerate(holder)):
            if isinstance(item, dict) and set(item) == {FROM_OLD}:
                holder[key] = _setting_of(wanted, (*path, key), old, item[FROM_OLD])
            elif isinstance(item, dict | list):
                waiting.append(((*path, key), item))


def _setting_of(wanted: LayerConfig, path: tuple[str | int, ...], old: Any, name: Any) -> Any:
    if isinstance(old, list):
        raise _cannot(
            wanted, path, "several layers are replaced, and it is not said whose setting is meant", fix="write it out."
        )
    config = old.get_config()
    if name not in config:
        raise _cannot(
            wanted,
            path,
            f"the old layer '{old.name}', a {type(old).__name__}, has no setting '{name}'",
            closest=difflib.get_close_matches(str(name), config, n=1),
            fix="use a name that its get_config() says, or select other layers.",
        )
    return config[name]


def _cannot(
    wanted: LayerConfig, path: tuple[str | int, ...], reason: str, *, key: bool = False, **parts: Any
) -> RecipeError:
    place = wanted.place(path, key=key)
    start = f"{place}: " if place else ""
    return RecipeError(f"{start}Cannot make the layer: {reason}.", path=place, **parts)
