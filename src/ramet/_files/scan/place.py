"""One place in a config, and what it is known by."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from ramet._files.text import Json
from ramet._graph import shortened

__all__ = ["Place"]

_NUMBERS = {int, float, bool, type(None)}
_LONGEST_PLACE = 400


@dataclass(slots=True, eq=False)  # not frozen: a large config has a million of them, and frozen ones take twice as long
class Place:
    """One value of a config. What it is known by is put together when it is asked for: few places are worth telling.

    Attributes:
        value: what stands there.
        step: how to get there from what is around it: a key, or the number of an item.
        key: the field it stands under; for an item of a list, the field of the list.
        around: the value it stands in; None for the whole config.
        legacy: whether the file is of the HDF5 format of Keras 2.
    """

    value: Json
    step: str | int
    key: str = ""
    around: Place | None = None
    legacy: bool = False

    def inside(self, is_plain: Callable[[str], bool]) -> Iterator[Place]:
        """Yield the values directly inside that must be judged: no numbers, nothing empty, no plain strings in a list."""
        if isinstance(self.value, dict):
            for key, item in self.value.items():
                if item and type(item) not in _NUMBERS:
                    yield Place(item, key, key, self, self.legacy)
        elif isinstance(self.value, list):
            for number, item in enumerate(self.value):
                if item and type(item) not in _NUMBERS and not (type(item) is str and is_plain(item)):
                    yield Place(item, number, self.key, self, self.legacy)

    @property
    def at(self) -> str:
        """Where it stands: `config.layers[2].config.function`."""
        steps = [place._written() for place in self._outwards()]
        return shortened("".join(reversed(steps)), _LONGEST_PLACE)

    @property
    def steps(self) -> tuple[str | int, ...]:
        """Return the keys and indices that lead to it, without the name of the whole."""
        return tuple(reversed([place.step for place in self._outwards()[:-1]]))

    @property
    def path(self) -> str:
        """The layer that it is or belongs to, by the names from below the model down."""
        names = (place._layer_name() for place in self._outwards())
        path = "/".join(reversed([shortened(name) for name in names if name is not None]))
        return shortened(path, _LONGEST_PLACE)

    @property
    def owner(self) -> str:
        """The class of the object whose config it belongs to."""
        for place in self._outwards()[1:]:
            name = place.value.get("class_name") if isinstance(place.value, dict) else None
            if isinstance(name, str):
                return name
        return ""

    def _written(self) -> str:
        if isinstance(self.step, int):
            return f"[{self.step}]"
        return shortened(self.step) if self.around is None else f".{shortened(self.step)}"

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
