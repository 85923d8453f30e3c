"""Layers that a recipe describes, and the values that a recipe may contain."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ramet._edit.recipe_page import Page
from ramet._edit.toml_place import KeyPath
from ramet._files import Finding, judge_value
from ramet._graph import FrozenDict, freeze_dict, thaw

__all__ = ["FROM_OLD", "LayerConfig", "objects_in", "refused"]

# { from_old = "units" } in a config stands for that setting of the layer that is replaced.
FROM_OLD = "from_old"

_OF_FUNCTIONS = ("FlaxLayer", "JaxLayer")


@dataclass(frozen=True, slots=True)
class LayerConfig:
    """What a layer shall be. It is made when the edit is carried out, once for each layer it stands for.

    Attributes:
        class_name: The name of its class.
        config: Its settings, as `get_config()` says them.
        module: Where Keras keeps the class; found when left out.
        registered_name: The name the class is registered by: `package>Name`.
        holds_old: Whether it gets the old layer as its `layer`, as wrappers do.
        page: The recipe it was read from, for messages; None if it was made in Python.
        path: The keys that lead to it in the recipe.
    """

    class_name: str
    config: FrozenDict
    module: str | None = None
    registered_name: str | None = None
    holds_old: bool = False
    page: Page | None = field(default=None, compare=False, repr=False)
    path: KeyPath = field(default=(), compare=False, repr=False)

    @classmethod
    def of(
        cls, table: dict[str, Any], *, holds_old: bool = False, page: Page | None = None, path: KeyPath = ()
    ) -> LayerConfig:
        """From a table with the keys of a Keras config."""
        return cls(
            table["class_name"],
            freeze_dict(table.get("config", {})),
            table.get("module"),
            table.get("registered_name"),
            holds_old,
            page,
            path,
        )

    def table(self) -> dict[str, Any]:
        """The same as nested dicts and lists, new ones each time: Keras takes them apart."""
        table: dict[str, Any] = {"class_name": self.class_name, "config": thaw(self.config)}
        known = {"module": self.module, "registered_name": self.registered_name}
        return {**table, **{name: value for name, value in known.items() if value is not None}}

    def place(self, path: KeyPath = (), *, key: bool = False) -> str | None:
        """Where a part stands in its file, or the nearest above it that is written out.

        Args:
            path: The keys that lead to it.
            key: Whether its key is meant, and not its value.
        """
        if self.page is None:
            return None
        whole = (*self.path, *path)
        return self.page.at_key(whole) if key else self.page.at_value(whole)

    def __str__(self) -> str:
        settings = ", ".join(f"{name}={value!r}" for name, value in thaw(self.config).items())
        return f"{self.class_name}({settings})"

    __repr__ = __str__


def objects_in(value: object) -> Iterator[tuple[KeyPath, dict[str, Any]]]:
    """All tables inside a value that describe an object, with the path to each; outer ones first."""
    waiting: list[tuple[KeyPath, object]] = [((), value)]
    while waiting:
        path, item = waiting.pop()
        if isinstance(item, dict):
            if "class_name" in item:
                yield path, item
            waiting += [((*path, key), part) for key, part in item.items()]
        elif isinstance(item, list | tuple):
            waiting += [((*path, number), part) for number, part in enumerate(item)]


def refused(value: Any, key: str = "layer") -> tuple[KeyPath, str] | None:
    """Return the position of the first part of a value that a recipe must not contain, and the reason; None if it is fine.

    A recipe is judged as a model file is, and more strictly: nothing is opened because of it, and classes and functions
    that are not of Keras must be registered.
    """
    for steps, part, finding in _judged(value, key):
        if finding.severity == "unsafe" or finding.kind not in ("class", "function"):
            named = isinstance(part, dict) and "class_name" in part
            return (*steps, "class_name") if named else steps, finding.what[0].lower() + finding.what[1:].rstrip(".")
        if isinstance(part, dict) and part.get("class_name") in _OF_FUNCTIONS:
            return (*steps, "class_name"), f"a {part['class_name']} is made of Python functions"
        if isinstance(part, dict) and _imports(part, finding):
            return (*steps, "module"), f"nothing is imported from '{part['module']}' because of a recipe"
    return None


def _judged(value: Any, key: str) -> Iterator[tuple[KeyPath, Any, Finding]]:
    yield from judge_value(value, key)
    for path, table in objects_in(value):
        if "config" not in table:  # a recipe may leave it out
            for steps, part, finding in judge_value({**table, "config": {}}, key):
                yield (*path, *steps), part, finding


def _imports(table: dict[str, Any], finding: Finding) -> bool:
    """Return whether Keras would have to import the module that a table names to find its class or function."""
    name, module, registered = (table.get(key) for key in ("class_name", "module", "registered_name"))
    by_name = isinstance(registered, str) and registered not in (name, "function")
    # Keras imports some packages by itself, whatever is registered.
    by_name = by_name and not str(module).startswith("keras_")
    return finding.severity == "trust" and bool(module) and module != "builtins" and not by_name
