"""What holds the files of a model: an archive, a folder, or a single file."""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import IO, Protocol

from ramet._files.entry import Entry, EntryProblem, entry_problems
from ramet._files.limits import Limits
from ramet._files.problem import HostileFileError, ModelFileError
from ramet._graph import escape

__all__ = ["Container", "Folder", "SingleFile", "check_readable"]


class Container(Protocol):
    """Files by name."""

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The files in it."""

    def problems(self) -> list[EntryProblem]:
        """The rules that the container breaks."""

    def read(self, name: str, limit: int) -> bytes:
        """The bytes of a file, if there are no more than `limit`."""

    def open(self, name: str) -> IO[bytes]:
        """A file to read here and there in. Nothing is unpacked to a path that the archive chooses."""

    def close(self) -> None:
        """Let go of the files."""


def read_at_most(limit: int, file: IO[bytes], name: str) -> bytes:
    """All bytes of an open file, if there are no more than `limit`."""
    data = file.read(limit + 1)
    if len(data) > limit:
        raise HostileFileError(f"Cannot read '{escape(name)}': it is larger than {limit:,} bytes.", path=name)
    return data


def check_readable(path: Path) -> os.stat_result:
    """What the system says of a path that is a plain file or a folder; a pipe or a device would never end."""
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise ModelFileError(
            f"Cannot read '{escape(str(path))}': {escape(str(reason)).lower()}.", path=str(path)
        ) from None
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        raise ModelFileError(f"Cannot read '{escape(str(path))}': it is neither a file nor a folder.", path=str(path))
    return found


class Folder:
    """A model saved with `zipped=False`: the same files in a folder. Links are not followed."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self._path = path
        self._limits = limits
        self.entries = tuple(self._found())

    def close(self) -> None:
        """Nothing is open."""

    def problems(self) -> list[EntryProblem]:
        """The rules that the folder breaks. What it holds lies there unpacked: there can be no bomb."""
        return list(entry_problems(self.entries, self._limits, sum(entry.size for entry in self.entries)))

    def read(self, name: str, limit: int) -> bytes:
        """The bytes of a file, if there are no more than `limit`."""
        with self.open(name) as file:
            return read_at_most(limit, file, name)

    def open(self, name: str) -> IO[bytes]:
        """A file of the folder, opened."""
        known = next((entry for entry in self.entries if entry.name == name), None)
        if known is None or known.link:
            raise ModelFileError(f"Cannot find '{escape(name)}' in '{escape(self._path.name)}'.", path=name)
        try:
            return (self._path / name).open("rb")
        except OSError as error:
            raise ModelFileError(f"Cannot read '{escape(name)}': {error.strerror}.", path=name) from None

    def _found(self) -> list[Entry]:
        found: list[Entry] = []
        waiting = [self._path]
        while waiting and len(found) <= self._limits.entries:
            for item in sorted(os.scandir(waiting.pop()), key=lambda item: item.name):
                name = Path(item.path).relative_to(self._path).as_posix()
                if item.is_dir(follow_symlinks=False):
                    waiting.append(Path(item.path))
                else:
                    size = item.stat(follow_symlinks=False).st_size
                    plain = item.is_file(follow_symlinks=False)
                    found.append(Entry(name, size, size, link=not plain))
        return found


class SingleFile:
    """A weights file on its own, or a model in the format of Keras 2."""

    def __init__(self, path: Path) -> None:
        self._path = path
        size = check_readable(path).st_size
        self.entries = (Entry(path.name, size, size),)

    def close(self) -> None:
        """Nothing is open."""

    def problems(self) -> list[EntryProblem]:
        """None: it is one file."""
        return []

    def read(self, name: str, limit: int) -> bytes:
        """The bytes of the file, if there are no more than `limit`."""
        with self.open(name) as file:
            return file.read(limit)

    def open(self, name: str) -> IO[bytes]:
        """The file, opened."""
        try:
            return self._path.open("rb")
        except OSError as error:
            raise ModelFileError(f"Cannot read '{escape(name)}': {error.strerror}.", path=name) from None
