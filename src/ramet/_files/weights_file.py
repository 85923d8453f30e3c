"""The way from a container to its weights: a weights file, or shards of one."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO

from ramet._files.container import Container
from ramet._files.limits import Limits
from ramet._files.shard_map import SHARDED, ShardMap, is_shard_map, read_shard_map
from ramet._files.sharded import ShardedStore
from ramet._files.source import WEIGHTS, FileKind
from ramet._files.store import ChildStore, LocalStore, Store

__all__ = ["RawFile", "WeightsFile", "weights_file"]


@dataclass(frozen=True, slots=True)
class RawFile:
    """A weights file as bytes.

    Attributes:
        file: opened to read.
        size: in bytes.
    """

    file: IO[bytes]
    size: int


class WeightsFile:
    """The weights of a model, not opened yet.

    Args:
        path: of the archive, the folder or the file on its own.
        entry: of the weights in it, or of the map of their shards.
        container: of these.
        limits: how much they may hold.
        isolated: whether they are read in a process of their own.
    """

    def __init__(self, path: Path, entry: str, container: Container, limits: Limits, *, isolated: bool) -> None:
        self.entry = entry
        self._path = path
        self._container = container
        self._limits = limits
        self._isolated = isolated

    @property
    def shards(self) -> tuple[str, ...]:
        """The names of the shards; none for weights that lie in one file."""
        return () if self._map is None else self._map.shards

    def open(self) -> Store:
        """The weights, opened."""
        if self._map is None:
            return self._store(self.entry)
        return ShardedStore(self._map, self._store, self._limits.objects)

    def entry_of(self, path: str, store: Store) -> str:
        """The name of the file that holds an array: the weights file, or a shard."""
        return store.holder(path) if isinstance(store, ShardedStore) else self.entry

    def open_raw(self, entry: str) -> RawFile:
        """The weights file, or a shard, as bytes."""
        file = self._container.open(entry)
        return RawFile(file, file.seek(0, 2))

    @cached_property
    def _map(self) -> ShardMap | None:
        if not is_shard_map(self.entry):
            return None
        return read_shard_map(self._container.read(self.entry, self._limits.text_size), self.entry, self._limits)

    def _store(self, entry: str, before: Store | None = None) -> Store:
        """A weights file, opened instead of another: one process reads all shards."""
        if isinstance(before, ChildStore):
            before.open(entry)
            return before
        return ChildStore(self._path, entry, self._limits) if self._isolated else self._store_here(entry, before)

    def _store_here(self, entry: str, before: Store | None = None) -> Store:
        if before is not None:
            before.close()
        return LocalStore(self._container.open(entry), self._limits)


def weights_file(
    path: Path, source: FileKind, container: Container, limits: Limits, *, isolated: bool
) -> WeightsFile | None:
    """Where the weights of a model lie; None for a model without."""
    names = {entry.name for entry in container.entries}
    if source in ("hdf5", "shards"):
        entry = path.name
    elif WEIGHTS in names:
        entry = WEIGHTS
    elif source == "folder" and SHARDED in names:
        # Keras reads shards beside a config only by the way of a model hub, and never from an archive.
        entry = SHARDED
    else:
        return None
    return WeightsFile(path, entry, container, limits, isolated=isolated)
