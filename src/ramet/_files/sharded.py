"""Weights in shards as one weights file: every shard is opened when it is asked for, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ramet._files.listing import ArraySpec, Group, H5Problem, Listing
from ramet._files.problem import HostileFileError, ModelFileError
from ramet._files.shard_map import ShardMap, quoted
from ramet._files.store import Store
from ramet._graph import escape

if TYPE_CHECKING:
    import numpy as np

__all__ = ["ShardedStore"]

_MOST_PROBLEMS = 1_000


class ShardedStore:
    """All shards of a map.

    Args:
        shard_map: which shard holds what.
        open_shard: opens a shard by its name, instead of the one that was open before.
        objects: the most groups and arrays that all shards may hold together.
    """

    def __init__(self, shard_map: ShardMap, open_shard: Callable[[str, Store | None], Store], objects: int) -> None:
        self._map = shard_map
        self._open_shard = open_shard
        self._most = objects
        self._opened: tuple[str, Store] | None = None
        self._holder: dict[str, str] = {}

    def listing(self) -> Listing:
        """Groups and arrays of all shards, without their numbers."""
        merged = _Merged(self._map)
        for shard in self._map.shards:
            merged.add(shard, self._shard(shard).listing())
            if len(merged.groups) + len(merged.arrays) > self._most:
                raise HostileFileError(
                    f"Cannot read '{escape(self._map.name)}': its shards hold more than {self._most:,} groups and arrays.",
                    path=self._map.name,
                )
        self._holder = merged.holder
        return Listing(merged.groups, merged.arrays, {}, tuple(merged.problems), merged.attributes)

    def read(self, path: str) -> np.ndarray[Any, Any]:
        """An array, by its path in the shard that holds it."""
        shard = self._holder.get(path)
        if shard is None:
            raise ModelFileError(f"Cannot find the array '{escape(path)}' in the shards.", path=path)
        return self._shard(shard).read(path)

    def holder(self, path: str) -> str:
        """The name of the shard that holds an array."""
        return self._holder[path]

    def close(self) -> None:
        """Let go of the shard that was read last."""
        if self._opened is not None:
            self._opened[1].close()
            self._opened = None

    def _shard(self, name: str) -> Store:
        # Variables are asked for in the order of the model, which is that of the shards: one that is open is enough.
        if self._opened is None or self._opened[0] != name:
            before = None if self._opened is None else self._opened[1]
            self._opened = None
            self._opened = (name, self._open_shard(name, before))
        return self._opened[1]


class _Merged:
    """The listings of several shards, put together."""

    def __init__(self, shard_map: ShardMap) -> None:
        self._map = shard_map
        self._expected: dict[str, list[str]] = {}
        for group, holders in shard_map.holders.items():
            for shard in holders:
                self._expected.setdefault(shard, []).append(group)
        self.groups: dict[str, Group] = {}
        self.arrays: dict[str, ArraySpec] = {}
        self.holder: dict[str, str] = {}
        self.problems: list[H5Problem] = []
        self.attributes: dict[str, dict[str, str]] = {}

    def add(self, shard: str, listing: Listing) -> None:
        """Take in a shard. What its map does not tell of is reported, and left out."""
        for group in self._expected[shard]:
            # What is there instead is among the problems.
            if group not in listing.groups and not listing.problems:
                raise ModelFileError(
                    f"Cannot read '{escape(self._map.name)}': it says that {quoted(group)} lies in {quoted(shard)}, and it does not.",
                    fix="the shards are of another model, or one is not whole: download or save them together.",
                    path=self._map.name,
                )
        self.problems += [H5Problem(one.kind, f"{shard}: {one.path}", one.reason) for one in listing.problems]
        for path, spec in listing.arrays.items():
            if not self._map.holds(shard, path):
                self._report(shard, path, "the map of the shards does not tell of it")
            elif path in self.holder:
                self._report(shard, path, f"it stands in '{self.holder[path]}', too")
            else:
                self.arrays[path] = spec
                self.holder[path] = shard
        for path, own in listing.groups.items():
            known = [name for name in own.arrays if self.holder.get(f"{path}/{name}".lstrip("/")) == shard]
            before = self.groups.get(path, Group())
            self.groups[path] = Group(
                _united(before.groups, own.groups),
                _united(before.arrays, known),
                before.name if before.name is not None else own.name,
                before.orders | own.orders,
            )

        for path, found in listing.attributes.items():
            known_here = self.attributes.setdefault(path, {})
            for name, text in found.items():
                if known_here.setdefault(name, text) != text:
                    known_here[f"{name} in {shard}"] = text

    def _report(self, shard: str, path: str, reason: str) -> None:
        if len(self.problems) < _MOST_PROBLEMS:
            self.problems.append(H5Problem("shard", f"{shard}: {path}", reason))


def _united(one: Iterable[str], other: Iterable[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([*one, *other]))
