"""One place in a config, and what it is known by."""

from __future__ import annotations

from dataclasses import dataclass

from ramet._files.text import Json

__all__ = ["Place"]


@dataclass(frozen=True, slots=True, eq=False)
class Place:
    """One value of a config. What it is known by is put together when it is asked for: few places are worth telling.

    Attributes:
        value: what stands there.
        step: how to get there from what is around it: `.config`, `[3]`.
        key: the field it stands under; for an item of a list, the field of the list.
        around: the value it stands in; None for the whole config.
        legacy: whether the file is of the HDF5 format of Keras 2.
    """

    value: Json
    step: str
    key: str = ""
    around: Place | None = None
    legacy: bool = False

    def inside(self) -> list[Place]:
        """The values directly inside it."""
        if isinstance(self.value, dict):
            return [Place(item, f".{key}", str(key), self, self.legacy) for key, item in self.value.items()]
        if isinstance(self.value, list):
            items = enumerate(self.value)
            return [Place(item, f"[{number}]", self.key, self, self.legacy) for number, item in items]
        return []

    @property
    def at(self) -> str:
        """Where it stands: `config.layers[2].config.function`."""
        return "".join(reversed([place.step for place in self._outwards()]))

    @property
    def path(self) -> str:
        """The layer that it is or belongs to, by the names from below the model down."""
        names = (place._layer_name() for place in self._outwards())
        return "/".join(reversed([name for name in names if name is not None]))

    @property
    def owner(self) -> str:
        """The class of the object whose config it belongs to."""
        for place in self._outwards()[1:]:
            name = place.value.get("class_name") if isinstance(place.value, dict) else None
            if isinstance(name, str):
                return name
        return ""

    def _outwards(self) -> list[Place]:
        """It, what is around it, what is around that, and so on."""
        found: list[Place] = []
        place: Place | None = self
        while place is not None:
            found.append(place)
            place = place.around
        return found

    def _layer_name(self) -> str | None:
        """The name of the layer that stands here; None for anything else, and for the model itself, which is the root.

        Layers have names and can be trainable; initialisers and the like have no place in a path.
        """
        config = self.value.get("config") if isinstance(self.value, dict) else None
        name = config.get("name") if isinstance(config, dict) else None
        if self.around is None or not isinstance(config, dict) or not isinstance(name, str):
            return None
        is_layer = "trainable" in config or "inbound_nodes" in self.value or self.key == "layers"
        return name if is_layer else None
