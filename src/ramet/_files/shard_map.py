"""The map of weights that were saved in shards: which file holds the variables of which group.

Keras writes `m.weights.json` beside `m_00000.weights.h5`, `m_00001.weights.h5`, ...: an object with a `weight_map`, in which a
group of variables has the name of a file, or, when its variables lie in several, a list of names.
"""

from __future__ import annotations

from dataclasses import dataclass

from ramet._files.entry import EntryProblem
from ramet._files.limits import Limits
from ramet._files.problem import HostileFileError, ModelFileError, described
from ramet._files.text import Json, read_json
from ramet._graph import escape

__all__ = ["SHARDED", "ShardMap", "first_shard", "is_shard_map", "quoted", "read_shard_map", "unlisted"]

SHARDED = "model.weights.json"
_MAP = "weight_map"
_SHOWN = 80


@dataclass(frozen=True, slots=True)
class ShardMap:
    """Which shards hold the variables of which group.

    Attributes:
        name: of the map's own file.
        holders: names of shards, by the path of a group: `layers/dense/vars`.
    """

    name: str
    holders: dict[str, tuple[str, ...]]

    @property
    def shards(self) -> tuple[str, ...]:
        """The names of all shards, in the order of the map."""
        return tuple(dict.fromkeys(shard for holders in self.holders.values() for shard in holders))

    def holds(self, shard: str, array: str) -> bool:
        """Whether an array lies in a shard as far as the map says: it tells of the group, or of one around it."""
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
    return EntryProblem("shard", escape(name), "the map of shards does not tell of it, and Keras opens it first")


def is_shard_map(name: str) -> bool:
    """Whether Keras would take a file of this name for a map of shards."""
    return name.endswith(".weights.json")


def read_shard_map(data: bytes, name: str, limits: Limits) -> ShardMap:
    """The map that a text stands for. Every shard lies beside it: a name that leads elsewhere is refused.

    Args:
        data: the text.
        name: of its file.
        limits: how much it may hold.
    """
    found = read_json(data, escape(name), limits)
    metadata = found.get("metadata", {}) if isinstance(found, dict) else None
    groups = found.get(_MAP) if isinstance(found, dict) else None
    if not isinstance(metadata, dict) or not isinstance(groups, dict):
        what = found if not isinstance(found, dict) else groups if isinstance(metadata, dict) else metadata
        raise ModelFileError(
            f"Cannot read '{escape(name)}': it is no map of shards.",
            expected=f"an object with a '{_MAP}' of groups and the files that hold them",
            found=described(what),
            path=name,
        )
    if len(groups) > limits.objects:
        raise HostileFileError(f"Cannot read '{escape(name)}': it tells of {len(groups):,} groups.", path=name)
    shard_map = ShardMap(name, {group.strip("/"): _holders(item, group, name) for group, item in groups.items()})
    if len(shard_map.holders) < len(groups):
        raise HostileFileError(f"Cannot read '{escape(name)}': it tells of a group twice.", path=name)
    if len(shard_map.shards) > limits.shards:
        raise HostileFileError(
            f"Cannot read '{escape(name)}': it names {len(shard_map.shards):,} shards, and {limits.shards:,} are allowed.",
            path=name,
        )
    return shard_map


def quoted(name: str) -> str:
    """A name in quotes, as much of it as can be shown in a sentence."""
    return ascii(name) if len(name) <= _SHOWN else f"{name[:_SHOWN]!a}..."


def _holders(item: Json, group: str, name: str) -> tuple[str, ...]:
    shards = item if isinstance(item, list) else [item]
    if not shards or not all(isinstance(shard, str) for shard in shards):
        raise ModelFileError(
            f"Cannot read '{escape(name)}': it does not say in which shard {quoted(group)} lies.",
            expected="the name of a file, or a list of names",
            found=described(item),
            path=name,
        )
    for shard in shards:
        if not shard or shard in (".", "..") or any(char in shard for char in "/\\:\0"):
            raise HostileFileError(
                f"Cannot read '{escape(name)}': its shard {quoted(shard)} is no name of a file beside it.",
                fix="treat the file as an attack: Keras names shards 'model_00000.weights.h5'.",
                path=name,
            )
    if len(set(shards)) < len(shards):
        raise HostileFileError(f"Cannot read '{escape(name)}': it lists a shard of {quoted(group)} twice.", path=name)
    return tuple(shards)
