"""What holds the files of a model: an archive, a folder, or a single file."""

from __future__ import annotations

import itertools
import os
import re
import stat
import struct
from pathlib import Path
from typing import IO, Protocol

from ramet._files.entry import Entry, EntryProblem, entry_problems
from ramet._files.limits import Limits
from ramet._files.problem import HostileFileError, ModelFileError
from ramet._graph import escape

__all__ = ["BOTH", "Container", "Folder", "SingleFile", "check_readable", "find_directory", "find_hdf5"]

_HDF5 = b"\x89HDF\r\n\x1a\n"
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
# The end of an archive, including the longest possible comment.
_TAIL = 65_600
_LOCATOR = struct.Struct("<4sLQL")
_MOST_ENDS = 1_000
# The reason to refuse a file that different readers would read as different files.
BOTH = EntryProblem(
    "both", "", "it is a zip archive and an HDF5 file at once, and which of them is read depends on its name"
)


class Container(Protocol):
    """Files by name.

    Attributes:
        limits: How much they may contain, depending on their size.
    """

    limits: Limits

    @property
    def entries(self) -> tuple[Entry, ...]:
        """The files in it."""

    def problems(self) -> list[EntryProblem]:
        """The rules that the container breaks."""

    def read(self, name: str, limit: int) -> bytes:
        """The bytes of a file, if there are no more than `limit`."""

    def open(self, name: str) -> IO[bytes]:
        """A file to read here and there in. Nothing is unpacked to a path that the archive chooses."""

    def start_of(self, name: str, count: int) -> bytes:
        """Return the first bytes of a file without unpacking it."""

    def close(self) -> None:
        """Let go of the files."""


def read_at_most(limit: int, file: IO[bytes], name: str) -> bytes:
    """All bytes of an open file, if there are no more than `limit`."""
    data = file.read(limit + 1)
    if len(data) > limit:
        raise HostileFileError(f"Cannot read '{escape(name)}': it is larger than {limit:,} bytes.", path=name)
    return data


def find_hdf5(file: IO[bytes], size: int) -> int | None:
    """Return the offset of an HDF5 file: 0, or after a user block of 512, 1024, 2048, ... bytes; None if there is none."""
    start = 0
    while start + len(_HDF5) <= size:
        file.seek(start)
        if file.read(len(_HDF5)) == _HDF5:
            return start
        start = 2 * start or 512
    return None


def find_directory(file: IO[bytes], size: int) -> tuple[int, int] | None:
    """Return the offset and the size of the directory of a zip archive, or None if it is not an archive.

    The directory ends where its end record begins, whatever precedes it. Bytes that look like an end record may be inside
    another one, so there must be a directory, too.

    Raises:
        HostileFileError: Different readers would find different directories.
    """
    offset = max(size - _TAIL, 0)
    file.seek(offset)
    tail = file.read()
    found: dict[int, int] = {}
    for match in itertools.islice(re.finditer(rb"(?=PK\x05\x06)", tail), _MOST_ENDS):
        if len(tail) < match.start() + _END.size:
            continue
        start, length = _directory_at(tail, match.start(), offset)
        file.seek(start)
        if length and file.read(4) == b"PK\x01\x02":
            found[start] = length
    if len(found) > 1:
        raise HostileFileError(
            "Cannot read the archive: it has more than one directory, and readers differ in which counts."
        )
    return next(iter(found.items()), None)


def _directory_at(tail: bytes, end: int, offset: int) -> tuple[int, int]:
    """Return the offset and the size of the directory that belongs to one end record.

    Large archives have a second record, and a locator with its offset. Some readers use that offset, others expect the
    record right before the locator.
    """
    length: int = _END.unpack_from(tail, end)[5]
    locator = end - _LOCATOR.size
    if locator < 0 or tail[locator : locator + 4] != b"PK\x06\x07":
        return max(offset + end - length, 0), length
    place = locator - _END_64.size
    told = _LOCATOR.unpack_from(tail, locator)[2]
    if place < 0 or tail[place : place + 4] != b"PK\x06\x06" or told != offset + place:
        raise HostileFileError(
            "Cannot read the archive: it says wrongly where its directory is, and readers differ in what they do."
        )
    large: int = _END_64.unpack_from(tail, place)[8]
    if length not in (0xFFFFFFFF, large):
        raise HostileFileError(
            "Cannot read the archive: its directory has two sizes, and readers differ in which counts."
        )
    return max(offset + place - large, 0), large


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
        self.limits = limits
        self.entries = tuple(self._found())
        self._by_name = {entry.name: entry for entry in self.entries}
        self.limits = limits.within(sum(entry.size for entry in self.entries))

    def close(self) -> None:
        """Nothing is open."""

    def problems(self) -> list[EntryProblem]:
        """The rules that the folder breaks. What it holds lies there unpacked: there can be no bomb."""
        return list(entry_problems(self.entries, self.limits, sum(entry.size for entry in self.entries)))

    def read(self, name: str, limit: int) -> bytes:
        """The bytes of a file, if there are no more than `limit`."""
        with self.open(name) as file:
            return read_at_most(limit, file, name)

    def start_of(self, name: str, count: int) -> bytes:
        """The first bytes of a file."""
        with self.open(name) as file:
            return file.read(count)

    def open(self, name: str) -> IO[bytes]:
        """A file of the folder, opened."""
        known = self._by_name.get(name)
        if known is None or known.link:
            raise ModelFileError(f"Cannot find '{escape(name)}' in '{escape(self._path.name)}'.", path=name)
        try:
            return (self._path / name).open("rb")
        except OSError as error:
            raise ModelFileError(f"Cannot read '{escape(name)}': {error.strerror}.", path=name) from None

    def _found(self) -> list[Entry]:
        found: list[Entry] = []
        waiting = [self._path]
        while waiting and len(found) <= self.limits.entries:
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

    def __init__(self, path: Path, limits: Limits) -> None:
        self._path = path
        self.limits = limits
        size = check_readable(path).st_size
        self.entries = (Entry(path.name, size, size),)

    def close(self) -> None:
        """Nothing is open."""

    def problems(self) -> list[EntryProblem]:
        """Return the rule that it breaks if it is also an archive."""
        with self.open(self._path.name) as file:
            return [BOTH] if find_directory(file, self.entries[0].size) is not None else []

    def read(self, name: str, limit: int) -> bytes:
        """The bytes of the file, if there are no more than `limit`."""
        with self.open(name) as file:
            return file.read(limit)

    def start_of(self, name: str, count: int) -> bytes:
        """The first bytes of the file."""
        with self.open(name) as file:
            return file.read(count)

    def open(self, name: str) -> IO[bytes]:
        """The file, opened."""
        try:
            return self._path.open("rb")
        except OSError as error:
            raise ModelFileError(f"Cannot read '{escape(name)}': {error.strerror}.", path=name) from None
