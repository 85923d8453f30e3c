"""A layer that does not exist yet, as a recipe describes it: the name of its class and its config."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ramet._edit.toml_place import KeyPath
from ramet._graph import FrozenDict, freeze_dict, thaw

__all__ = ["FROM_OLD", "LayerConfig", "objects_in", "unsafe"]

# { from_old = "units" } in a config stands for that setting of the layer that is replaced.
FROM_OLD = "from_old"

# Where Keras keeps what a config may name. From elsewhere comes what the user has registered, by its registered name:
# nothing is imported because a file says so.
_MODULES = frozenset(
    {
        "keras",
        "keras.activations",
        "keras.constraints",
        "keras.dtype_policies",
        "keras.initializers",
        "keras.layers",
        "keras.models",
        "keras.quantizers",
        "keras.random",
        "keras.regularizers",
        "keras.src.models.functional",
        "keras.src.models.sequential",
    }
)
# These bring code of their own, or run what lies in another file.
_RUN_CODE = {
    "__lambda__": "it is compiled Python code",
    "__typespec__": "it names any class of a backend",
    "FlaxLayer": "it is made of Python functions",
    "JaxLayer": "it is made of Python functions",
    "TFSMLayer": "it runs what lies in another file",
    "TorchModuleWrapper": "it holds pickled Python objects",
}


@dataclass(frozen=True, slots=True)
class LayerConfig:
    """What a layer shall be. It is made when the edit is carried out, once for each layer it stands for.

    Attributes:
        class_name: The name of its class.
        config: Its settings, as `get_config()` says them.
        module: Where Keras keeps the class; found when left out.
        registered_name: The name the class is registered by: `package>Name`.
        holds_old: Whether it gets the old layer as its `layer`, as wrappers do.
        places: Where in a file the keys and values of its parts stand, for messages.
    """

    class_name: str
    config: FrozenDict
    module: str | None = None
    registered_name: str | None = None
    holds_old: bool = False
    places: tuple[tuple[KeyPath, tuple[str, str]], ...] = field(default=(), compare=False, repr=False)

    @classmethod
    def of(
        cls, table: dict[str, Any], *, holds_old: bool = False, places: dict[KeyPath, tuple[str, str]]
    ) -> LayerConfig:
        """From a table with the keys of a Keras config."""
        return cls(
            table["class_name"],
            freeze_dict(table.get("config", {})),
            table.get("module"),
            table.get("registered_name"),
            holds_old,
            tuple(places.items()),
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
        known = dict(self.places)
        while path and path not in known:
            path = path[:-1]
        return known[path][not key] if path in known else None

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


def unsafe(table: dict[str, Any]) -> tuple[str, str] | None:
    """Which key of the description of an object would let a file bring code, and why; None when none does."""
    name, module, registered = (table.get(key) for key in ("class_name", "module", "registered_name"))
    own = str(name).rpartition(">")[2]
    if own in _RUN_CODE and ">" not in str(registered):
        return "class_name", f"'{own}' is not made from a file, because {_RUN_CODE[own]}"
    if module is None or module in _MODULES or (module == "builtins" and name == "function"):
        return None
    if isinstance(registered, str) and registered not in (name, "function"):
        return None  # the module is a remark: the class is looked up among the registered ones
    return "module", f"nothing is imported from '{module}' because a file says so"
