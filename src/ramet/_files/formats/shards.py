"""Sharded weights: a map, `m.weights.json`, and files beside it, `m_00000.weights.h5`, `m_00001.weights.h5`, ...

The map is an object with a `weight_map`, which gives for each group of variables the name of a file or, if its variables
are in several, a list of names. All shards together are read as one weights file, one shard at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ramet._files.container import Container, EntryProblem
from ramet._files.formats.format import FileFormat, WeightsReader
from ramet._files.json_data import Json, describe_json, read_json
from ramet._files.limits import Limits, cannot_read
from ramet._files.listing import Group, H5Problem, Listing
from ramet._report import escape
from ramet.errors import ModelFileError

if TYPE_CHECKING:
    import numpy as np

# The name of the map in the folder of a model.
SHARD_MAP = "model.weights.json"
_MAP = "weight_map"
_LONGEST_NAME = 80
_MOST_PROBLEMS = 1_000


@dataclass(frozen=True)
class ShardMap:
    """The shards that contain the variables of each group.

    Attributes:
        name: The name of the map's own file.
        holders: Names of shards by the path of a group, such as `layers/dense/vars`.
    """

    name: str
    holders: dict[str, tuple[str, ...]]

    @cached_property
    def groups(self) -> dict[str, list[str]]:
        """The paths of the groups in each shard, by its name, in the order of the map."""
        found: dict[str, list[str]] = {}
        for group, holders in self.holders.items():
            for shard in holders:
                found.setdefault(shard, []).append(group)
        return found

    @property
    def shards(self) -> tuple[str, ...]:
        """The names of all shards, in the order of the map."""
        return tuple(self.groups)

    def holds(self, shard: str, array: str) -> bool:
        """Return whether the map lists a shard for an array's group, or for the closest listed group around it."""
        group = array
        while group:
            group = group.rpartition("/")[0]
            if group in self.holders:
                return shard in self.holders[group]
        return False


def first_shard(name: str) -> str:
    """Return the shard that Keras opens first, whatever the map contains: `m_00000.weights.h5` for `m.weights.json`."""
    return f"{name.removesuffix('.json').replace('.weights', '')}_00000.weights.h5"


def unlisted(name: str) -> EntryProblem:
    """Return the rule that a first shard breaks if the map does not list it."""
    return EntryProblem("shard", escape(name), "the shard map does not list it, and Keras opens it first")


def is_shard_map(name: str) -> bool:
    """Return whether Keras would treat a file of this name as a map of shards."""
    return name.endswith(".weights.json")


def read_shard_map(data: bytes, name: str, limits: Limits) -> ShardMap:
    """Parse the map in the file `name`. Every shard is in the same folder: a name that leads elsewhere is refused."""
    found = read_json(data, escape(name), limits)
    metadata = found.get("metadata", {}) if isinstance(found, dict) else None
    groups = found.get(_MAP) if isinstance(found, dict) else None
    if not isinstance(metadata, dict) or not isinstance(groups, dict):
        wrong = found if not isinstance(found, dict) else groups if isinstance(metadata, dict) else metadata
        expected = f"an object with a '{_MAP}' of groups and the files that contain them"
        reason = "it is not a map of shards"
        raise cannot_read(name, reason, ModelFileError, expected=expected, found=describe_json(wrong))
    if len(groups) > limits.objects:
        raise cannot_read(name, f"it lists {len(groups):,} groups")
    shard_map = ShardMap(name, {group.strip("/"): _holders(item, group, name) for group, item in groups.items()})
    if len(shard_map.holders) < len(groups):
        raise cannot_read(name, "it lists a group twice")
    if len(shard_map.shards) > limits.shards:
        raise cannot_read(name, f"it lists {len(shard_map.shards):,} shards, and {limits.shards:,} are allowed")
    return shard_map


def _quoted(name: str) -> str:
    return ascii(name) if len(name) <= _LONGEST_NAME else f"{name[:_LONGEST_NAME]!a}..."


def _holders(item: Json, group: str, name: str) -> tuple[str, ...]:
    shards = item if isinstance(item, list) else [item]
    if not shards or not all(isinstance(shard, str) for shard in shards):
        reason = f"it does not name the shard of {_quoted(group)}"
        expected = "the name of a file, or a list of names"
        raise cannot_read(name, reason, ModelFileError, expected=expected, found=describe_json(item))
    for shard in shards:
        if not shard or shard in (".", "..") or any(char in shard for char in "/\\:\0"):
            fix = "treat the file as an attack: Keras names shards 'model_00000.weights.h5'."
            raise cannot_read(name, f"its shard {_quoted(shard)} is not a file in the same folder", fix=fix)
    if len(set(shards)) < len(shards):
        raise cannot_read(name, f"it lists a shard of {_quoted(group)} twice")
    return tuple(shards)


class ShardFiles(Container):
    """The map and its shards."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self._path = path
        self._files = {path.name: path}
        of_map = limits.within(path.stat().st_size)
        shards = read_shard_map(self.read(path.name, of_map.text_size), path.name, of_map).shards
        super().__init__({path.name: path, **{name: self._beside(name) for name in shards}}, limits)

    def problems(self) -> list[EntryProblem]:
        """Return the rule that the first shard breaks if the map does not list it. Links were refused on opening."""
        first = first_shard(self._path.name)
        is_unlisted = first not in self._files and self._path.with_name(first).exists()
        return [unlisted(first)] if is_unlisted else []

    def _beside(self, name: str) -> Path:
        """Return the path of a shard.

        In the cache of a model hub, map and shards are links into one folder. A link to anywhere else is refused.
        """
        shard = self._path.with_name(name)
        try:
            exists = shard.is_file()
        except OSError:  # a name that is too long for any file
            exists = False
        if not exists:
            expected = "all shards in the folder of the map"
            reason = f"its shard {_quoted(name)} is missing"
            raise cannot_read(self._path.name, reason, ModelFileError, expected=expected, path=str(shard))
        if shard.resolve().parent != self._path.resolve().parent:
            reason = f"its shard {_quoted(name)} is a link out of its folder"
            raise cannot_read(self._path.name, reason, path=str(shard))
        return shard


class ShardedStore:
    """All shards of a map as one weights file.

    Args:
        shard_map: The map.
        open_shard: Opens a shard by its name, in place of the store that was open before.
        objects: The largest number of groups and arrays in all shards together.
    """

    def __init__(
        self, shard_map: ShardMap, open_shard: Callable[[str, WeightsReader | None], WeightsReader], objects: int
    ) -> None:
        self._map = shard_map
        self._open_shard = open_shard
        self._most = objects
        self._opened: tuple[str, WeightsReader] | None = None
        self._holder: dict[str, str] = {}

    def listing(self) -> Listing:
        """Return the groups and arrays of all shards, without their values."""
        self._holder = {}
        merged = Listing()
        problems: list[H5Problem] = []
        for shard in self._map.shards:
            self._merge(shard, self._shard(shard).listing(), merged, problems)
            if len(merged.groups) + len(merged.arrays) > self._most:
                raise cannot_read(self._map.name, f"its shards contain more than {self._most:,} groups and arrays")
        return replace(merged, problems=tuple(problems))

    def read(self, path: str) -> np.ndarray[Any, Any]:
        """Return an array by its path in the shard that contains it."""
        return self._shard(self.holder(path)).read(path)

    def holder(self, path: str) -> str:
        """Return the name of the shard that contains an array."""
        return self._holder[path]

    def close(self) -> None:
        """Close the shard that was read last."""
        if self._opened is not None:
            self._opened[1].close()
            self._opened = None

    def _shard(self, name: str) -> WeightsReader:
        # Variables are read in the order of the model, which is that of the shards: one open shard is enough.
        if self._opened is None or self._opened[0] != name:
            before = None if self._opened is None else self._opened[1]
            self._opened = None
            self._opened = (name, self._open_shard(name, before))
        return self._opened[1]

    def _merge(self, shard: str, listing: Listing, merged: Listing, problems: list[H5Problem]) -> None:
        """Add the listing of a shard. Arrays that the map does not list are reported and left out."""
        for group in self._map.groups[shard]:
            # If the listing has problems, one of them explains why the group is missing.
            if group not in listing.groups and not listing.problems:
                reason = f"it lists {_quoted(group)} in {_quoted(shard)}, which does not contain it"
                fix = "the shards are of another model, or one is incomplete: download or save them together."
                raise cannot_read(self._map.name, reason, ModelFileError, fix=fix)
        problems += [H5Problem(one.kind, f"{shard}: {one.path}", one.reason) for one in listing.problems]
        for path, spec in listing.arrays.items():
            is_listed = self._map.holds(shard, path)
            if is_listed and path not in self._holder:
                merged.arrays[path] = spec
                self._holder[path] = shard
            elif len(problems) < _MOST_PROBLEMS:
                reason = f"it is also in '{self._holder[path]}'" if is_listed else "the shard map does not list it"
                problems.append(H5Problem("shard", f"{shard}: {path}", reason))
        for path, own in listing.groups.items():
            kept = [name for name in own.arrays if self._holder.get(f"{path}/{name}".lstrip("/")) == shard]
            before = merged.group(path)
            merged.groups[path] = Group(
                _united(before.groups, own.groups),
                _united(before.arrays, kept),
                before.name if before.name is not None else own.name,
                before.name_lists | own.name_lists,
            )
        for path, found in listing.attributes.items():
            attributes = merged.attributes.setdefault(path, {})
            for name, text in found.items():
                if attributes.setdefault(name, text) != text:
                    attributes[f"{name} in {shard}"] = text


def _united(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*one, *other]))


SHARDS = FileFormat(
    name="shards",
    description="a .weights.json with its shards",
    recognizes=lambda probe: not probe.is_folder and is_shard_map(probe.path.name),
    open=lambda probe, limits: ShardFiles(probe.path, limits),
    weights=lambda name, _: name,
    has_config=False,
)
