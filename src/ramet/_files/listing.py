"""The contents of a weights file without the values of its arrays."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """One array of a weights file.

    Attributes:
        shape: The shape of the array.
        dtype: The name of its dtype, such as "float32" or "bfloat16".
        refused: Why it cannot be read; None if it can.
        offset: Where its values begin in the weights file, if they are contiguous and as numpy has them; else None.
    """

    shape: tuple[int, ...]
    dtype: str
    refused: str | None = None
    offset: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Group:
    """One group of a weights file.

    Attributes:
        groups: Names of the groups directly in it.
        arrays: Names of the arrays directly in it.
        name: The Keras name of the layer whose variables are in it, if the file contains it.
        name_lists: Attributes that are lists of names: `layer_names`, `weight_names`.
    """

    groups: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    name: str | None = None
    name_lists: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class H5Problem:
    """Something in a weights file that Keras never writes, or that leads out of the file.

    Attributes:
        kind: `external`, `soft link`, `virtual`, `filter`, `bomb`, `crowd`, `depth`, `cycle`, `type`, `broken`, `shard`.
        path: Its path in the file.
        reason: The rest of a sentence that begins with the path.
    """

    kind: str
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Listing:
    """The groups and arrays of a weights file.

    Attributes:
        groups: Groups by path; the path of the root is empty.
        arrays: Arrays by path.
        texts: Attributes of the root: `model_config`, `training_config`, `keras_version`, `backend`.
        problems: Objects that should not be there.
        attributes: Descriptions of all other attributes, by name, for each group and array that has any.
    """

    groups: dict[str, Group] = field(default_factory=dict)
    arrays: dict[str, ArraySpec] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    problems: tuple[H5Problem, ...] = ()
    attributes: dict[str, dict[str, str]] = field(default_factory=dict)

    def group(self, path: str) -> Group:
        """Return the group at a path, or an empty one if there is none."""
        return self.groups.get(path, _NO_GROUP)

    @classmethod
    def from_data(cls, data: dict[str, Any]) -> Listing:
        """Return the listing that `dataclasses.asdict` was called on, from the JSON of its result."""
        for raw in data["groups"].values():
            raw["groups"], raw["arrays"] = tuple(raw["groups"]), tuple(raw["arrays"])
            raw["name_lists"] = {key: tuple(names) for key, names in raw["name_lists"].items()}
        for raw in data["arrays"].values():
            raw["shape"] = tuple(raw["shape"])
        groups = {path: Group(**raw) for path, raw in data["groups"].items()}
        arrays = {path: ArraySpec(**raw) for path, raw in data["arrays"].items()}
        problems = tuple(H5Problem(**raw) for raw in data["problems"])
        return cls(groups, arrays, data["texts"], problems, data["attributes"])


_NO_GROUP = Group()
