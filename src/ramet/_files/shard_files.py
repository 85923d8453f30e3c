"""A map of shards, and the files beside it that it names."""

from __future__ import annotations

from pathlib import Path
from typing import IO

from ramet._files.container import check_readable, read_at_most
from ramet._files.entry import Entry, EntryProblem
from ramet._files.limits import Limits
from ramet._files.problem import HostileFileError, ModelFileError
from ramet._files.shard_map import first_shard, quoted, read_shard_map, unlisted
from ramet._graph import escape

__all__ = ["ShardFiles"]


class ShardFiles:
    """The map and its shards, as files by name."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self._path = path
        self._files = {path.name: path}
        shards = read_shard_map(self.read(path.name, limits.text_size), path.name, limits).shards
        self._files |= {name: self._beside(name) for name in shards}
        self.entries = tuple(self._entry(name) for name in self._files)
        self.limits = limits.within(sum(entry.size for entry in self.entries))

    def close(self) -> None:
        """Nothing is open."""

    def problems(self) -> list[EntryProblem]:
        """Return the rule that the first shard breaks if the map does not list it. Links elsewhere were refused before."""
        first = first_shard(self._path.name)
        is_unlisted = first not in self._files and self._path.with_name(first).exists()
        return [unlisted(first)] if is_unlisted else []

    def read(self, name: str, limit: int) -> bytes:
        """The bytes of a file, if there are no more than `limit`."""
        with self.open(name) as file:
            return read_at_most(limit, file, name)

    def start_of(self, name: str, count: int) -> bytes:
        """Return the first bytes of a file."""
        with self.open(name) as file:
            return file.read(count)

    def open(self, name: str) -> IO[bytes]:
        """The map, or one of its shards, opened."""
        try:
            return self._files[name].open("rb")
        except KeyError:
            raise ModelFileError(f"Cannot find '{escape(name)}' among the shards.", path=name) from None
        except OSError as error:
            raise ModelFileError(f"Cannot read '{escape(name)}': {error.strerror}.", path=name) from None

    def _beside(self, name: str) -> Path:
        """The path of a shard.

        In the cache of a model hub, map and shards are links into one folder. A link to anywhere else is refused.
        """
        shard = self._path.with_name(name)
        try:
            is_there = shard.is_file()
        except OSError:  # a name that is too long for any file
            is_there = False
        if not is_there:
            raise ModelFileError(
                f"Cannot read '{escape(self._path.name)}': its shard {quoted(name)} is not there.",
                expected="all shards in the folder of the map",
                path=str(shard),
            )
        if shard.resolve().parent != self._path.resolve().parent:
            raise HostileFileError(
                f"Cannot read '{escape(self._path.name)}': its shard {quoted(name)} is a link out of its folder.",
                path=str(shard),
            )
        return shard

    def _entry(self, name: str) -> Entry:
        size = check_readable(self._files[name]).st_size
        return Entry(name, size, size)
