"""The `.keras` format: a zip archive, read without unpacking it to any path it chooses."""

from __future__ import annotations

import contextlib
import io
import struct
import tempfile
import zipfile
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO

from ramet._files.container import WEIGHTS, Container, Entry, EntryProblem, check_readable, entry_problems
from ramet._files.formats.format import AMBIGUOUS, ZIP, FileFormat, Probe, find_directory
from ramet._files.limits import Limits, cannot_read
from ramet._report import escape
from ramet.errors import HostileFileError, ModelFileError, OutOfBudgetError

_LOCAL = struct.Struct("<4s5H3L2H")
_CHUNK = 2**20
# Bytes of the directory per entry: the names in an archive that Keras has written are short.
_DIRECTORY_BYTES = 1024

_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, struct.error, EOFError, OSError),
    *(NotImplementedError, RuntimeError, OverflowError, ValueError),
)


class Archive(Container):
    """An open zip archive; `hdf5` is the offset of an HDF5 file in it, or None."""

    def __init__(self, path: Path, limits: Limits, hdf5: int | None = None) -> None:
        self._path = path
        self._hdf5 = hdf5
        self.written = 0
        self._name = escape(path.name)
        self.limits = limits
        self._size = check_readable(path).st_size
        self._check_directory(path)
        try:
            self._zip = zipfile.ZipFile(path)
        except _BROKEN as error:
            reason = "it is not a zip archive, or it is incomplete"
            parts = {"found": escape(str(error)), "fix": "download or save it again.", "path": str(path)}
            raise cannot_read(path.name, reason, ModelFileError, **parts) from None
        # Unbuffered: weights are read in large blocks at arbitrary offsets.
        self._file = path.open("rb", buffering=0)
        self.entries = tuple(map(Entry.from_zip, self._zip.infolist()))

    def close(self) -> None:
        """Close the archive."""
        self._zip.close()
        self._file.close()

    def problems(self) -> list[EntryProblem]:
        """Return the rules that the archive breaks."""
        found = list(entry_problems(self.entries, self.limits, self._size))
        # A .keras file is not HDF5 only because it contains weights in that format.
        is_one = self._hdf5 is None or (self._path.name.endswith(".keras") and self._is_member(self._hdf5))
        return found if is_one else [AMBIGUOUS, *found]

    def _is_member(self, start: int) -> bool:
        """Return whether one of its members begins at this offset, as uncompressed weights do."""
        for info in self._zip.infolist():
            # Each member is preceded by a short header that contains its name.
            if info.header_offset < start <= info.header_offset + _LOCAL.size + 2 * 0xFFFF:
                try:
                    if self._start(info) == start:
                        return True
                except _BROKEN:
                    continue
        return False

    def read(self, name: str, limit: int) -> bytes:
        """Return the bytes of a member; raise if there are more than `limit`."""
        info = self._info(name)
        if info.file_size > limit:
            raise HostileFileError(
                f"Cannot read '{escape(name)}' in '{self._name}': it is larger than allowed.",
                expected=f"at most {limit:,} bytes",
                found=f"{info.file_size:,}",
                path=name,
            )
        with self._reading(name), self._zip.open(info) as file:
            return file.read(limit)

    def open(self, name: str) -> IO[bytes]:
        """Open a member for random access: in place if it is stored uncompressed, else unpacked to an unnamed file."""
        info = self._info(name)
        with self._reading(name):
            if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 0x1:
                return _Window(self._file, self._start(info), info.file_size)  # type: ignore[return-value]
            return self._unpacked(info)

    def _unpacked(self, info: zipfile.ZipInfo) -> IO[bytes]:
        with contextlib.ExitStack() as stack:
            unpacked = stack.enter_context(tempfile.TemporaryFile())
            with self._zip.open(info) as file:
                while chunk := file.read(_CHUNK):
                    self.written += len(chunk)
                    if self.written > self.limits.written:
                        raise OutOfBudgetError(
                            f"Cannot read '{escape(info.filename)}' in '{self._name}': it would unpack to more than "
                            f"{self.limits.written:,} bytes.",
                            fix="save the model again with Keras, which does not compress weights.",
                            path=info.filename,
                        )
                    unpacked.write(chunk)
            unpacked.seek(0)
            stack.pop_all()  # the caller closes it
            return unpacked

    def start_of(self, name: str, count: int) -> bytes:
        """Return the first bytes of a member."""
        info = self._info(name)
        with self._reading(name), self._zip.open(info) as file:
            return file.read(count)

    def _info(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._zip.getinfo(name)
        except KeyError:
            raise ModelFileError(f"Cannot find '{escape(name)}' in '{self._name}'.", path=name) from None

    def _start(self, info: zipfile.ZipInfo) -> int:
        """Return the offset of the bytes of a stored member: after its local header, which contains its own length."""
        self._file.seek(info.header_offset)
        header = _LOCAL.unpack(self._file.read(_LOCAL.size))
        start: int = info.header_offset + _LOCAL.size + header[9] + header[10]
        if header[0] != ZIP or start + info.file_size > self._size:
            raise zipfile.BadZipFile("its offset in the archive is wrong")
        return start

    def _check_directory(self, path: Path) -> None:
        """Refuse a directory that is too large before all of it is read into memory."""
        with path.open("rb") as file:
            directory = find_directory(file, self._size)
            if directory is None:
                return
            start, size = directory
            if size > self.limits.entries * _DIRECTORY_BYTES:
                reason = f"its directory has {size:,} bytes, more than a model needs"
                raise cannot_read(path.name, reason, path=str(path))
            file.seek(start)
            count = file.read(size).count(b"PK\x01\x02")
        if count > self.limits.entries:
            reason = f"it contains about {count:,} files, and {self.limits.entries:,} are allowed"
            raise cannot_read(path.name, reason, path=str(path))

    @contextlib.contextmanager
    def _reading(self, name: str) -> Iterator[None]:
        """Translate the errors of a broken member."""
        try:
            yield
        except ModelFileError:
            raise
        except _BROKEN as error:
            raise ModelFileError(
                f"Cannot read '{escape(name)}' in '{self._name}': it is broken.", found=escape(str(error)), path=name
            ) from None


class _Window(io.RawIOBase):
    """A section of another file. Weights are stored uncompressed in archives, so they can be read in place."""

    def __init__(self, file: io.FileIO, start: int, size: int) -> None:
        super().__init__()
        self._file = file
        self._start = start
        self._size = size
        self._position = 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self._size}[whence]
        self._position = max(base + offset, 0)
        return self._position

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        view = memoryview(buffer).cast("B")
        wanted = max(min(len(view), self._size - self._position), 0)
        self._file.seek(self._start + self._position)
        count = self._file.readinto(view[:wanted]) or 0
        self._position += count
        return count


def _is_archive(probe: Probe) -> bool:
    # Keras opens .keras files as zip archives, which may begin with anything, and .h5 files as HDF5.
    if probe.path.name.endswith(".keras"):
        return probe.is_zip or probe.hdf5 is None
    is_hdf5 = probe.path.name.endswith((".h5", ".hdf5")) and probe.hdf5 is not None
    return probe.start.startswith(ZIP) and not is_hdf5


def _weights(_: str, names: Collection[str]) -> str | None:
    return WEIGHTS if WEIGHTS in names else None


ARCHIVE = FileFormat(
    name="archive",
    description="a .keras file",
    recognizes=lambda probe: not probe.is_folder and _is_archive(probe),
    open=lambda probe, limits: Archive(probe.path, limits, probe.hdf5),
    weights=_weights,
    has_config=True,
)
