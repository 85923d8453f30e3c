"""Layers that a recipe describes: checked when the recipe is read, and created in safe mode when the edit is applied."""

from __future__ import annotations

import difflib
import inspect
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

import keras

from ramet._edit.base import Edit, described
from ramet._edit.recipe_file import KeyPath, RecipeLocation
from ramet._files import Finding, judge_value
from ramet._graph import FrozenDict, freeze_dict, thaw
from ramet._keras import keep_name_counters, safe_mode
from ramet._report import with_article
from ramet.errors import RecipeError

# { from_old = "units" } in a config is replaced by that setting of the old layer.
FROM_OLD = "from_old"

_MADE_OF_FUNCTIONS = ("FlaxLayer", "JaxLayer")
# Where the classes in a config are looked up, in this order: `Identity` is a layer before it is an initializer.
_NAMESPACES = ("layers", "initializers", "regularizers", "constraints", "dtype_policies", "random", "models")
_FUNCTIONS = (keras.activations, keras.ops)
# Class names that describe plain data.
_DATA = frozenset(
    {"__numpy__", "__tensor__", "__keras_tensor__", "__bytes__", "__ellipsis__", "__slice__", "__tuple__"}
)


@dataclass(frozen=True, slots=True)
class LayerConfig:
    """The description of a layer, from which one layer is created for each layer that an edit touches.

    Attributes:
        class_name: The name of its class.
        config: Its settings, as in `get_config()`.
        module: The module of the class in Keras; found if None.
        registered_name: The name the class is registered by: `package>Name`.
        holds_old: Whether it gets the old layer as its `layer`, as wrappers do.
        location: Its location in a recipe, for messages; None if it was made in Python.
    """

    class_name: str
    config: FrozenDict
    module: str | None = None
    registered_name: str | None = None
    holds_old: bool = False
    location: RecipeLocation | None = field(default=None, compare=False, repr=False)

    @classmethod
    def from_table(
        cls, table: dict[str, Any], *, holds_old: bool = False, location: RecipeLocation | None = None
    ) -> LayerConfig:
        """Return the layer described by a table with the keys of a Keras config."""
        config = freeze_dict(table.get("config", {}))
        return cls(table["class_name"], config, table.get("module"), table.get("registered_name"), holds_old, location)

    def table(self) -> dict[str, Any]:
        """Return the same as nested dicts and lists, new ones each time, since Keras modifies them."""
        table: dict[str, Any] = {"class_name": self.class_name, "config": thaw(self.config)}
        known = {"module": self.module, "registered_name": self.registered_name}
        return {**table, **{name: value for name, value in known.items() if value is not None}}

    def error(self, keys: KeyPath, reason: str, **parts: Any) -> RecipeError:
        """Return the error that the layer cannot be created because of a part of its description."""
        if self.location is None:
            return RecipeError(f"Cannot create a layer: {reason}.", **parts)
        location = self.location.at(*keys)
        return RecipeError(f"Cannot use {location}: {reason}.", path=str(location), **parts)

    def __str__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in thaw(self.config).items())
        return f"{self.class_name}({settings})"

    __repr__ = __str__


def values_in(value: object) -> Iterator[tuple[KeyPath, Any]]:
    """Yield a value and everything inside its tables and lists, with the keys that lead to it, in their order."""
    waiting: list[tuple[KeyPath, Any]] = [((), value)]
    while waiting:
        path, item = waiting.pop()
        yield path, item
        parts = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list | tuple) else ()
        waiting += reversed([((*path, key), part) for key, part in parts])


def objects_in(value: object) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    """Yield all tables inside a value that describe an object, with the keys that lead to each; outer ones first."""
    return ((path, item) for path, item in values_in(value) if isinstance(item, dict) and "class_name" in item)


def find_refused(value: Any, key: str = "layer") -> tuple[KeyPath, str] | None:
    """Return the keys of the first part of a value that a recipe must not contain, and the reason; None if it is fine.

    A recipe is judged like a model file, and more strictly: nothing is opened because of it, and classes and functions that
    are not Keras' own must be registered.
    """
    for keys, part, finding in _findings(value, key):
        if finding.severity == "unsafe" or finding.kind not in ("class", "function"):
            is_object = isinstance(part, dict) and "class_name" in part
            reason = finding.what[0].lower() + finding.what[1:].rstrip(".")
            return (*keys, "class_name") if is_object else keys, reason
        if isinstance(part, dict) and part.get("class_name") in _MADE_OF_FUNCTIONS:
            return (*keys, "class_name"), f"{with_article(part['class_name'])} is made of Python functions"
        if isinstance(part, dict) and _imports(part, finding):
            return (*keys, "module"), f"recipes do not import modules such as '{part['module']}'"
    return None


def _findings(value: Any, key: str) -> Iterator[tuple[KeyPath, Any, Finding]]:
    yield from judge_value(value, key)
    for path, table in objects_in(value):
        if "config" not in table:  # a recipe may leave it out
            for keys, part, finding in judge_value({**table, "config": {}}, key):
                yield (*path, *keys), part, finding


def _imports(table: dict[str, Any], finding: Finding) -> bool:
    """Return whether Keras would have to import the module that a table names to find its class or function."""
    name, module, registered = (table.get(key) for key in ("class_name", "module", "registered_name"))
    by_name = isinstance(registered, str) and registered not in (name, "function")
    # Keras imports some packages by itself, whatever is registered.
    by_name = by_name and not str(module).startswith("keras_")
    return finding.severity == "trust" and bool(module) and module != "builtins" and not by_name


def check_layers(edits: Iterable[Edit]) -> None:
    """Refuse every described layer whose class is unknown or does not have its settings."""
    for edit in edits:
        for value in edit.arguments().values():
            if isinstance(value, LayerConfig):
                _check_settings(value, _complete(value, value.table()))


def create_layer(wanted: LayerConfig, old: Any) -> Any:
    """Return a new layer in the place of an old one."""
    table = wanted.table()
    cls = _complete(wanted, table)
    _check_settings(wanted, cls)
    _fill_from_old(wanted, table, old)
    for keys, _, finding in judge_value(table, "layer"):
        if finding.kind == "file" and finding.severity == "unsafe":
            raise wanted.error(keys, finding.what.rstrip("."), fix="make the edit in Python.")
    deserialize = keras.saving.deserialize_keras_object
    try:
        # Names start as Keras would start them: a recipe gives the same names each time.
        with keep_name_counters(), safe_mode():
            if not wanted.holds_old or "layer" in table["config"]:
                return deserialize(table)
            settings = {
                name: deserialize(value)
                if isinstance(value, dict) and {"class_name", "config"} <= value.keys()
                else value
                for name, value in table["config"].items()
            }
            return cls(layer=old, **settings)
    except RecipeError:
        raise
    except Exception as error:  # a constructor may raise anything
        raise wanted.error(
            ("config",),
            f"the constructor of {wanted.class_name} raised an error",
            found=described(error),
            fix="write settings that its constructor accepts.",
        ) from error


def _complete(wanted: LayerConfig, table: dict[str, Any]) -> type:
    """Add to each description of an object the module of its class; return the class of the layer."""
    wrong = find_refused(table)
    if wrong is not None:  # checked again: not every layer config was read from a file
        raise wanted.error(*wrong, fix="make the edit in Python.")
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
        raise wanted.error(("class_name",), f"'{wanted.class_name}' is not a layer", fix="use a class of keras.layers.")
    return found


def _complete_class(wanted: LayerConfig, path: KeyPath, item: dict[str, Any]) -> type:
    name, registered = str(item["class_name"]), item.get("registered_name")
    for known in filter(None, (registered, name, f"Custom>{name}")):
        cls = keras.saving.get_registered_object(known)
        if isinstance(cls, type):
            item |= {"class_name": cls.__name__, "module": None, "registered_name": known}
            return cls
    given = str(item.get("module") or "").removeprefix("keras.src.").removeprefix("keras.").partition(".")[0]
    for namespace in (given, *_NAMESPACES) if given in _NAMESPACES else _NAMESPACES:
        cls = getattr(getattr(keras, namespace), name, None)
        if isinstance(cls, type):
            item |= {"module": f"keras.{namespace}", "registered_name": None}
            return cls
    raise wanted.error(
        (*path, "class_name"),
        f"Keras has no class '{name}', and none is registered by this name",
        closest=_closest_class(name),
        fix="correct the name; register a class of your own with keras.saving.register_keras_serializable, "
        "or read and edit inside keras.saving.custom_object_scope.",
    )


def _complete_function(wanted: LayerConfig, path: KeyPath, item: dict[str, Any]) -> None:
    name = item.get("config")
    for known in filter(None, (item.get("registered_name"), name)):
        if known != "function" and keras.saving.get_registered_object(known) is not None:
            item |= {"module": None, "registered_name": known}
            return
    if not isinstance(name, str) or not any(callable(getattr(module, name, None)) for module in _FUNCTIONS):
        raise wanted.error(
            (*path, "config"),
            f"Keras has no function '{name}', and none is registered by this name",
            closest=difflib.get_close_matches(str(name), dir(keras.activations), n=1),
            fix="correct the name, or register the function with keras.saving.register_keras_serializable.",
        )


def _closest_class(name: str) -> list[str]:
    own: dict[str, str] = {key.rpartition(">")[2]: key for key in keras.saving.get_custom_objects()}
    public = {cls for namespace in _NAMESPACES for cls in dir(getattr(keras, namespace)) if cls[:1].isupper()}
    if name in own:
        return [own[name]]
    near = difflib.get_close_matches(name, [*own, *sorted(public)], n=1)
    return [own.get(one, one) for one in near]


def _check_settings(wanted: LayerConfig, cls: type) -> None:
    """Refuse settings that the constructor of one of Keras' own classes does not have."""
    if cls.__module__.partition(".")[0] != "keras" or issubclass(cls, keras.Model):
        return
    # Arguments that a constructor passes on to those of its base classes count, too.
    known: set[str] = set()
    for base in cls.__mro__:
        if "__init__" in vars(base):
            parameters = inspect.signature(vars(base)["__init__"]).parameters.values()
            known |= {one.name for one in parameters}
    known |= {"name", "dtype", "trainable", "autocast", "activity_regularizer"}
    if wanted.holds_old and "layer" not in known:
        raise wanted.error(
            ("class_name",),
            f"{with_article(cls.__name__)} does not hold another layer",
            fix="wrap with a class that takes a `layer`, such as TimeDistributed, or use replace.",
        )
    for name in map(str, wanted.config):
        if name not in known and "from_config" not in vars(cls):
            raise wanted.error(
                ("config", name),
                f"{with_article(cls.__name__)} has no setting '{name}'",
                closest=difflib.get_close_matches(name, sorted(known - {"self", "kwargs", "args"}), n=1),
                fix="use the argument names of its constructor.",
            )


def _fill_from_old(wanted: LayerConfig, table: dict[str, Any], old: Any) -> None:
    """Replace every { from_old = "..." } in a table by a setting of the old layer."""
    asking = [
        (path, item[FROM_OLD]) for path, item in values_in(table) if isinstance(item, dict) and set(item) == {FROM_OLD}
    ]
    for path, name in asking:
        if isinstance(old, list):
            why = "several layers are replaced, so the old layer is ambiguous"
            raise wanted.error(path, why, fix="write the value.")
        config = old.get_config()
        if name not in config:
            raise wanted.error(
                path,
                f"the old layer '{old.name}', {with_article(type(old).__name__)}, has no setting '{name}'",
                closest=difflib.get_close_matches(str(name), config, n=1),
                fix="use a name from its get_config(), or select other layers.",
            )
        holder: Any = table
        for key in path[:-1]:
            holder = holder[key]
        holder[path[-1]] = config[name]
