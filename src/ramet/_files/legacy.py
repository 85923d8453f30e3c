"""Models in the HDF5 format of Keras 2: the config stands in an attribute, weights under the names of layers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from ramet._files.known import class_inside
from ramet._files.limits import Limits
from ramet._files.listing import ArraySpec, Listing
from ramet._files.part import Part
from ramet._files.problem import misfit
from ramet._files.text import Json, read_json

__all__ = ["legacy_config", "legacy_variables"]

_WEIGHTS = "model_weights"
_OWN = "top_level_model_weights"


def legacy_config(listing: Listing, limits: Limits) -> dict[str, Json]:
    """The config of the model."""
    text = listing.texts["model_config"]
    found = read_json(text.encode("utf-8", "surrogatepass"), "model_config", limits)
    if not isinstance(found, dict):
        raise misfit("an object", found, "model_config")
    return found


def legacy_variables(parts: list[Part], listing: Listing) -> dict[str, list[tuple[str, str, ArraySpec]]]:
    """The variables of each op, by its path: name, path in the file, what it is.

    The file has them under the name of the outermost layer, each with a name of its own: `inner/dense/kernel:0`. The last
    part is the variable's name, the one before that of the layer it belongs to. Layers that only these names tell of, such as
    the cell of an LSTM, are added to the parts.
    """
    root = _WEIGHTS if _WEIGHTS in listing.groups else ""
    found: dict[str, list[tuple[str, str, ArraySpec]]] = {}
    taken: dict[str, Counter[str]] = {}
    below = _below(parts)
    for layer in listing.group(root).groups:
        group = f"{root}/{layer}" if root else layer
        owners = _Owners(below.get(layer, {}), parts)
        for name in listing.group(group).orders.get("weight_names", ()):
            real = f"{group}/{name}".replace("//", "/")
            if real not in listing.arrays:
                continue
            *above, last = name.split("/")
            owner = owners.at(above) or owners.named(layer) or (parts[0] if layer == _OWN else None)
            if owner is not None:
                label = last.partition(":")[0] or "unnamed"
                counts = taken.setdefault(owner.path, Counter())
                counts[label] += 1
                own = label if counts[label] == 1 else f"{label}#{counts[label]}"
                found.setdefault(owner.path, []).append((own, real, listing.arrays[real]))
    return found


class _Owners:
    """The ops inside an outermost layer, and itself, by their names. What only names of variables tell of is added."""

    def __init__(self, named: dict[str, Part], parts: list[Part]) -> None:
        self._named = named
        self._parts = parts
        self._inside: dict[tuple[str, str], Part] = {}

    def named(self, name: str) -> Part | None:
        """The op of that name."""
        return self._named.get(name)

    def at(self, above: list[str]) -> Part | None:
        """The op that the names above a variable lead to; None where they lead to none."""
        place = next((place for place in range(len(above) - 1, -1, -1) if above[place] in self._named), None)
        if place is None:
            return None
        owner = self._named[above[place]]
        class_name = class_inside(owner.class_name)
        if class_name is None or place + 1 == len(above) or not above[place + 1] or owner.same_as is not None:
            return owner
        return self._made_by(owner, above[place + 1], class_name)

    def _made_by(self, owner: Part, name: str, class_name: str) -> Part:
        inside = self._inside.get((owner.path, name))
        if inside is None:
            inside = Part(None, name, class_name, "layer", None, id=name, path=f"{owner.path}/{name}")
            self._inside[owner.path, name] = inside
            owner.called.append(inside)
            self._parts.append(inside)
        return inside


def _below(parts: Sequence[Part]) -> dict[str, dict[str, Part]]:
    """By the name of each outermost layer, the ops with and inside it by their names; the first of a name counts."""
    found: dict[str, dict[str, Part]] = {}
    for part in parts[1:]:
        found.setdefault(part.path.split("/", 1)[0], {}).setdefault(part.name, part)
    return found
