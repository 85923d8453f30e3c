"""Models and weights in the HDF5 format of Keras 2: weights are saved under the names of layers, the config in an attribute."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TypeAlias

from ramet._files.known import class_inside
from ramet._files.limits import Limits
from ramet._files.listing import ArraySpec, Listing
from ramet._files.part import UNKNOWN, Part
from ramet._files.problem import ModelFileError, misfit
from ramet._files.text import Json, read_json
from ramet._graph import escape

__all__ = ["legacy_config", "legacy_variables", "legacy_weights", "names_weights"]

# By the path of an op: name, path in the file, what it is.
Variables: TypeAlias = dict[str, list[tuple[str, str, ArraySpec]]]

_WEIGHTS = "model_weights"
_OWN = "top_level_model_weights"


def legacy_config(listing: Listing, limits: Limits) -> dict[str, Json]:
    """The config of the model."""
    text = listing.texts["model_config"]
    found = read_json(text, "model_config", limits)
    if not isinstance(found, dict):
        raise misfit("an object", found, "model_config")
    return found


def names_weights(listing: Listing) -> bool:
    """Whether a weights file names its layers and weights, as `save_weights("w.h5")` of Keras 2 does."""
    root = listing.group(_root(listing))
    return "layer_names" in root.orders or any("weight_names" in group.orders for group in listing.groups.values())


def legacy_weights(listing: Listing) -> tuple[list[Part], Variables]:
    """The layers and variables that a weights file without a config tells of.

    Each layer lists its weights by name: `lstm/lstm_cell/kernel:0`. Between the name of the layer and that of the weight
    stand the layers inside it; nested models leave their own name out.

    Returns:
        The model, then its layers, each before what is inside it; and the variables of each, by its path.
    """
    parts = [Part(None, "weights", UNKNOWN, "model", None)]
    known: dict[str, Part] = {}
    found = _Found(listing)
    for layer, group, names in _layers(listing):
        outer = parts[0] if layer == _OWN else _inside(parts[0], layer, known, parts)
        for name in names:
            *above, _ = name.removeprefix(f"{layer}/").split("/")
            owner = outer
            # Only for weights that are there: how deep these lie is bounded, how long a name is that is listed is not.
            for step in filter(None, above if layer != _OWN and found.has(group, name) else ()):
                owner = _inside(owner, step, known, parts)
            found.add(owner, layer, group, name)
    return parts, found.variables


def _inside(owner: Part, name: str, known: dict[str, Part], parts: list[Part]) -> Part:
    """The layer of that name inside another, made when it is first asked for."""
    own_id = name.replace("/", "_") or "unnamed"
    path = f"{owner.path}/{own_id}" if owner.path else own_id
    if path not in known:
        known[path] = Part(None, name, UNKNOWN, "layer", None, id=own_id, path=path)
        owner.called.append(known[path])
        parts.append(known[path])
    return known[path]


def legacy_variables(parts: list[Part], listing: Listing) -> Variables:
    """The variables of each op, by its path: name, path in the file, what it is.

    The file has them under the name of the outermost layer, each with a name of its own: `inner/dense/kernel:0`. The last
    part is the variable's name, the one before that of the layer it belongs to. Layers that only these names tell of, such as
    the cell of an LSTM, are added to the parts.
    """
    found = _Found(listing)
    below = _below(parts)
    for layer, group, names in _layers(listing):
        owners = _Owners(below.get(layer.replace("/", "_"), {}), parts)
        for name in names:
            owner = owners.at(name.split("/")[:-1]) or owners.named(layer) or (parts[0] if layer == _OWN else None)
            if owner is not None:
                found.add(owner, layer, group, name)
    return found.variables


class _Found:
    """Variables by the path of their op, with names that are unique there."""

    def __init__(self, listing: Listing) -> None:
        self.variables: Variables = {}
        self._listing = listing
        self._broken = {problem.path for problem in listing.problems}
        self._taken: dict[str, Counter[str]] = {}

    def has(self, group: str, name: str) -> bool:
        """Whether the file holds a weight that a layer lists."""
        return _array(group, name) in self._listing.arrays

    def add(self, owner: Part, layer: str, group: str, name: str) -> None:
        """Note a weight that a layer lists; raise if the file does not hold it."""
        real = _array(group, name)
        if real not in self._listing.arrays:
            if real in self._broken:
                return
            raise ModelFileError(
                f"Cannot read the weights of the layer '{escape(layer)}': '{escape(name)}' is listed, but missing.",
                fix="save the weights again.",
                path=group,
            )
        label = name.rpartition("/")[2].partition(":")[0] or "unnamed"
        counts = self._taken.setdefault(owner.path, Counter())
        counts[label] += 1
        own = label if counts[label] == 1 else f"{label}#{counts[label]}"
        self.variables.setdefault(owner.path, []).append((own, real, self._listing.arrays[real]))


def _array(group: str, name: str) -> str:
    return f"{group}/{name}".replace("//", "/")


def _root(listing: Listing) -> str:
    return _WEIGHTS if _WEIGHTS in listing.groups else ""


def _layers(listing: Listing) -> list[tuple[str, str, tuple[str, ...]]]:
    """The outermost layers, in the model's order: name, group, names of its weights."""
    root = _root(listing)
    listed = listing.group(root).orders.get("layer_names", ())
    found = []
    for layer in dict.fromkeys([*listed, *listing.group(root).groups]):
        group = f"{root}/{layer}" if root else layer
        if group in listing.groups:
            found.append((layer, group, listing.group(group).orders.get("weight_names", ())))
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
