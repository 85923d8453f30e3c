"""Objects as Keras writes them into a config: class, module, config."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from ramet._files.problem import misfit
from ramet._files.text import Json
from ramet._graph import OpKind

__all__ = ["Record", "inner_records", "is_layer_record", "record_of"]

# Where raw operations live; all else that a model holds is a layer, or one of its own.
_OPERATIONS = ("keras.src.ops.", "keras.ops.", "keras.ops", "keras.src.ops")
_MODELS = frozenset({"Functional", "Model", "Sequential"})


@dataclass(frozen=True, slots=True)
class Record:
    """One layer, model or operation of a config.

    Attributes:
        class_name: the name of its class.
        name: what Keras calls it; empty where the config does not say.
        config: its settings; None where there are none, or where they are no object.
        place: where it stands: `config.layers[3]`.
        raw: all of it.
    """

    class_name: str
    name: str
    config: dict[str, Json] | None
    place: str
    raw: dict[str, Json] = field(repr=False)

    @property
    def module(self) -> str | None:
        """Where its class comes from."""
        return self.text("module")

    @property
    def kind(self) -> OpKind:
        """Input, model, layer or operation."""
        if self.class_name == "InputLayer":
            return "input"
        config = self.config or {}
        # Only models can be compiled: Keras writes down for each how it was, or that it was not.
        if self.class_name in _MODELS or "compile_config" in self.raw or _lists_layers(config):
            return "model"
        module = self.module or ""
        return "operation" if module.startswith(_OPERATIONS) else "layer"

    @property
    def is_functional(self) -> bool:
        """Whether its config says which layer is called with what."""
        config = self.config or {}
        return _lists_layers(config) and "input_layers" in config and "output_layers" in config

    @property
    def is_sequential(self) -> bool:
        """Whether its config is a row of layers."""
        config = self.config or {}
        return self.class_name == "Sequential" or (_lists_layers(config) and "build_input_shape" in config)

    @property
    def shared(self) -> int | None:
        """The number that all places of one shared object have in common."""
        found = self.raw.get("shared_object_id")
        return found if type(found) is int else None

    def text(self, key: str) -> str | None:
        """A field that is text; None for anything else."""
        found = self.raw.get(key)
        return found if isinstance(found, str) else None

    def setting(self, key: str) -> Json:
        """A setting from its config; None where there is none."""
        return None if self.config is None else self.config.get(key)

    def layers(self) -> Iterator[Record]:
        """The layers that its config lists."""
        place = f"{self.place}.config.layers"
        found = self.setting("layers")
        if not isinstance(found, list):
            raise misfit("a list of layers", found, place)
        return (record_of(item, f"{place}[{number}]") for number, item in enumerate(found))


def record_of(raw: Json, place: str) -> Record:
    """The layer, model or operation that is written there."""
    if not isinstance(raw, dict):
        raise misfit("a layer", raw, place)
    class_name = raw.get("class_name")
    if not isinstance(class_name, str) or not class_name:
        raise misfit("the name of a class", class_name, f"{place}.class_name")
    config = raw.get("config")
    if isinstance(config, list) and class_name == "Sequential":
        # Keras 1 and early Keras 2: the config of a row of layers is the row.
        config = {"layers": config}
        raw = {**raw, "config": config}
    settings = config if isinstance(config, dict) else None
    name = raw.get("name", settings.get("name") if settings else None)
    if name is not None and not isinstance(name, str):
        raise misfit("a name", name, f"{place}.name")
    return Record(class_name, name or "", settings, place, raw)


def is_layer_record(value: Json) -> bool:
    """Whether a value in a config is a layer as Keras writes one: of all objects, only layers can be trainable."""
    if not isinstance(value, dict) or not isinstance(value.get("class_name"), str):
        return False
    config = value.get("config")
    if not isinstance(config, dict) or not isinstance(config.get("name"), str):
        return False
    return "trainable" in config or value.get("module") == "keras.layers" or value["class_name"] in _MODELS


def inner_records(record: Record) -> list[tuple[str, Record]]:
    """The layers inside a layer that its config tells of: a wrapper's, a cell's cells; each with its key."""
    found: list[tuple[str, Record]] = []
    waiting: list[tuple[str, str, Json]] = [("", f"{record.place}.config", record.config)]
    while waiting:
        key, place, value = waiting.pop()
        if key and is_layer_record(value):
            found.append((key, record_of(value, place)))
        elif isinstance(value, dict):
            inner = [(key or str(name), f"{place}.{name}", item) for name, item in value.items()]
            waiting += reversed(inner)
        elif isinstance(value, list):
            waiting += reversed([(key, f"{place}[{number}]", item) for number, item in enumerate(value)])
    return found


def _lists_layers(config: dict[str, Json]) -> bool:
    return isinstance(config.get("layers"), list)
