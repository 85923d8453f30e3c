"""What stands in a weights file, without its numbers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field
from typing import Any

__all__ = ["ArraySpec", "Group", "H5Problem", "Listing", "from_record", "to_record"]


@dataclass(frozen=True, slots=True)
class ArraySpec:
    """One array of a weights file.

    Attributes:
        shape: of the array.
        dtype: its name: "float32", "bfloat16".
        refused: why it cannot be read; None when it can.
        offset: where its numbers begin in the weights file, if they lie there in one piece, as numpy has them; else None.
    """

    shape: tuple[int, ...]
    dtype: str
    refused: str | None = None
    offset: int | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class Group:
    """One group: what it holds, by name, and what is written beside.

    Attributes:
        groups: names of the groups directly in it.
        arrays: names of the arrays directly in it.
        name: what Keras calls the layer whose variables are in it, where the file says so.
        orders: lists of names that are written beside: `layer_names`, `weight_names`.
    """

    groups: tuple[str, ...] = ()
    arrays: tuple[str, ...] = ()
    name: str | None = None
    orders: dict[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class H5Problem:
    """Something in a weights file that Keras never writes, or that leads out of the file.

    Attributes:
        kind: `external`, `soft link`, `virtual`, `filter`, `bomb`, `crowd`, `depth`, `cycle`, `type`, `broken`, `shard`.
        path: where in the file.
        reason: the rest of a sentence.
    """

    kind: str
    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Listing:
    """Groups and arrays by their path in the file, the root's being empty.

    Attributes:
        groups: by path.
        arrays: by path.
        texts: what is written beside the root: `model_config`, `training_config`, `keras_version`, `backend`.
        problems: what should not be there.
        attributes: all other attributes in words, by name, for each group and array that has any.
    """

    groups: dict[str, Group] = field(default_factory=dict)
    arrays: dict[str, ArraySpec] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    problems: tuple[H5Problem, ...] = ()
    attributes: dict[str, dict[str, str]] = field(default_factory=dict)

    def group(self, path: str) -> Group:
        """The group at a path; an empty one where there is none."""
        return self.groups.get(path, _NONE)


_NONE = Group()


def to_record(listing: Listing) -> dict[str, Any]:
    """The listing as plain data that can be written as JSON."""
    return {
        "groups": {path: asdict(group) for path, group in listing.groups.items()},
        "arrays": {path: asdict(spec) for path, spec in listing.arrays.items()},
        "texts": listing.texts,
        "problems": [asdict(problem) for problem in listing.problems],
        "attributes": listing.attributes,
    }


def from_record(record: dict[str, Any]) -> Listing:
    """The listing that was written by `to_record`."""
    groups = {
        path: Group(
            tuple(raw["groups"]),
            tuple(raw["arrays"]),
            raw["name"],
            {key: tuple(names) for key, names in raw["orders"].items()},
        )
        for path, raw in record["groups"].items()
    }
    arrays = {
        path: ArraySpec(tuple(raw["shape"]), raw["dtype"], raw["refused"], raw["offset"])
        for path, raw in record["arrays"].items()
    }
    problems = tuple(H5Problem(**raw) for raw in record["problems"])
    return Listing(groups, arrays, record["texts"], problems, record["attributes"])
