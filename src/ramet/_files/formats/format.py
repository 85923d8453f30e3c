"""The description of a file format, and the facts about a path by which formats are recognized."""

from __future__ import annotations

import itertools
import re
import struct
from collections.abc import Callable, Collection
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Protocol

from ramet._files.container import CONFIG, Container, EntryProblem, check_readable
from ramet._files.h5 import H5File
from ramet._files.limits import Limits, cannot_read
from ramet._files.listing import Listing
from ramet._report import escape
from ramet.errors import HostileFileError, ModelFileError

if TYPE_CHECKING:
    import numpy as np

_HDF5 = b"\x89HDF\r\n\x1a\n"
_LFS_POINTER = b"version https://git-lfs"
# The first bytes of a zip archive, and of each file in it.
ZIP = b"PK\x03\x04"
_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
_LOCATOR = struct.Struct("<4sLQL")
# The end of an archive, including the longest possible comment.
_TAIL = 65_600
_MOST_ENDS = 1_000

# The reason to refuse a file that different readers would read as different files.
AMBIGUOUS = EntryProblem(
    "both", "", "it is a zip archive and an HDF5 file at once, and its name decides which one is read"
)


class WeightsReader(Protocol):
    """An open weights file."""

    def listing(self) -> Listing:
        """Return all groups and arrays, without their values."""

    def read(self, path: str) -> np.ndarray[Any, Any]:
        """Return an array by its path in the file; bfloat16 as raw bytes, because numpy does not know it."""

    def close(self) -> None:
        """Close the reader, and the file that it was given."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FileFormat:
    """One file format: how it is recognized and opened. `FORMATS` in `formats/__init__.py` lists all of them.

    Attributes:
        name: One word, unique among the formats.
        description: What the user has, for messages: "a .keras file".
        recognizes: Whether a path is of this format. Formats are tried in the order of `FORMATS`.
        open: Opens the files of the model.
        weights: Returns the name of the entry with the weights, given the name of the file and the names of its entries;
            None for a model without weights.
        has_config: Whether the container has a `config.json`. Otherwise the weights file may contain the config of a
            Keras 2 model in its attributes.
        reader: Reads a weights file. Untrusted files are read in a separate process.
    """

    name: str
    description: str
    recognizes: Callable[[Probe], bool]
    open: Callable[[Probe, Limits], Container]
    weights: Callable[[str, Collection[str]], str | None]
    has_config: bool
    reader: Callable[[IO[bytes], Limits], WeightsReader] = H5File


class Probe:
    """Facts about a path. The content of a file is only read by formats that need it."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = check_readable(path).st_size
        self.is_folder = path.is_dir()

    @property
    def start(self) -> bytes:
        """The first eight bytes."""
        return self._content[0]

    @property
    def hdf5(self) -> int | None:
        """The offset of an HDF5 file in it, or None."""
        return self._content[1]

    @property
    def is_zip(self) -> bool:
        """True if it is a zip archive, which may begin with anything."""
        return self._content[2]

    @cached_property
    def _content(self) -> tuple[bytes, int | None, bool]:
        try:
            with self.path.open("rb") as file:
                start = file.read(8)
                hdf5 = _find_hdf5(file, self.size)
                return start, hdf5, start.startswith(ZIP) or find_directory(file, self.size) is not None
        except OSError as error:
            raise cannot_read(self.path.name, f"{error.strerror}", ModelFileError, path=str(self.path)) from None

    def check_is_no_pointer(self) -> None:
        """Refuse what Git LFS leaves in place of a large file."""
        if self.is_folder or self.start != _LFS_POINTER[:8]:
            return
        with self.path.open("rb") as file:
            if file.read(len(_LFS_POINTER)) == _LFS_POINTER:
                reason, fix = (
                    "it is a pointer of Git LFS, not the file itself",
                    "run `git lfs pull` where it comes from.",
                )
                raise cannot_read(self.path.name, reason, ModelFileError, fix=fix, path=str(self.path))

    def unsupported(self, expected: str) -> ModelFileError:
        """Return the error for a path that no format recognizes."""
        parts = {"expected": expected, "path": str(self.path)}
        if self.is_folder and (self.path / "saved_model.pb").is_file():
            parts["fix"] = f"port it and pass the new file: ramet port {escape(self.path.name)} new.keras."
            return cannot_read(
                self.path.name, "it is a SavedModel, which only `ramet port` reads", ModelFileError, **parts
            )
        if self.is_folder:
            parts["fix"] = "pass the path of a model file."
            return cannot_read(self.path.name, f"the folder contains no '{CONFIG}'", ModelFileError, **parts)
        parts["found"] = "an empty file" if not self.size else f"a file that begins with {self.start!r}"
        parts["fix"] = "pass a file that Keras has saved."
        reason = "unsupported file format, neither a zip archive nor HDF5"
        return cannot_read(self.path.name, reason, ModelFileError, **parts)


def _find_hdf5(file: IO[bytes], size: int) -> int | None:
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
            "Cannot read the archive: it has more than one directory, and readers differ in which one they use."
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
    record = locator - _END_64.size
    located = _LOCATOR.unpack_from(tail, locator)[2]
    if record < 0 or tail[record : record + 4] != b"PK\x06\x06" or located != offset + record:
        raise HostileFileError(
            "Cannot read the archive: the offset of its directory is wrong, and readers differ in what they do then."
        )
    large: int = _END_64.unpack_from(tail, record)[8]
    if length not in (0xFFFFFFFF, large):
        raise HostileFileError(
            "Cannot read the archive: its directory has two sizes, and readers differ in which one they use."
        )
    return max(offset + record - large, 0), large
