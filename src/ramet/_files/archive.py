"""A `.keras` file: a zip archive, read without unpacking it to any path it chooses."""

from __future__ import annotations

import contextlib
import struct
import tempfile
import zipfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from ramet._files.container import BOTH, check_readable, find_directory
from ramet._files.entry import EntryProblem, entry_of, entry_problems
from ramet._files.limits import Limits
from ramet._files.problem import HostileFileError, ModelFileError, OutOfBudgetError
from ramet._files.window import Window
from ramet._graph import escape

__all__ = ["Archive"]

_LOCAL = struct.Struct("<4s5H3L2H")
_CHUNK = 2**20
# Bytes of the directory that one entry may take: names are short in an archive that Keras has written.
_DIRECTORY_BYTES = 1024

_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    NotImplementedError,
    RuntimeError,
    OverflowError,
    ValueError,
    struct.error,
)


class Archive:
    """A `.keras` file: a zip archive.

    Args:
        path: The path of the file.
        limits: How much it may contain.
        hdf5: where an HDF5 file begins in it; None if nowhere.
    """

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
            raise ModelFileError(
                f"Cannot read '{self._name}': it is no zip archive, or not a whole one.",
                found=escape(str(error)),
                fix="download or save it again.",
                path=str(path),
            ) from None
        # Without a buffer: weights are read in large pieces, here and there.
        self._file = path.open("rb", buffering=0)
        self.entries = tuple(map(entry_of, self._zip.infolist()))

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the archive."""
        self._zip.close()
        self._file.close()

    def problems(self) -> list[EntryProblem]:
        """The rules that the archive breaks."""
        found = list(entry_problems(self.entries, self.limits, self._size))
        # A .keras file is not HDF5 only because it contains weights in that format.
        is_one = self._hdf5 is None or (self._path.name.endswith(".keras") and self._is_member(self._hdf5))
        return found if is_one else [BOTH, *found]

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
        """The bytes of a file in the archive, if there are no more than `limit`."""
        info = self._info(name)
        if info.file_size > limit:
            raise HostileFileError(
                f"Cannot read '{escape(name)}' in '{self._name}': it is larger than allowed.",
                expected=f"at most {limit:,} bytes",
                found=f"{info.file_size:,}",
                path=name,
            )
        try:
            with self._zip.open(info) as file:
                return file.read(limit)
        except _BROKEN as error:
            raise self._broken(name, error) from None

    def open(self, name: str) -> IO[bytes]:
        """A file in the archive to read here and there in: where it lies, or unpacked to a file without a name."""
        info = self._info(name)
        try:
            if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 0x1:
                return Window(self._file, self._start(info), info.file_size)  # type: ignore[return-value]
            return self._unpacked(info)
        except ModelFileError:
            raise
        except _BROKEN as error:
            raise self._broken(name, error) from None

    def _unpacked(self, info: zipfile.ZipInfo) -> IO[bytes]:
        with contextlib.ExitStack() as stack:
            unpacked = stack.enter_context(tempfile.TemporaryFile())
            with self._zip.open(info) as file:
                while chunk := file.read(_CHUNK):
                    self._spend(len(chunk), info.filename)
                    unpacked.write(chunk)
            unpacked.seek(0)
            stack.pop_all()  # whoever asked for it closes it
            return unpacked

    def start_of(self, name: str, count: int) -> bytes:
        """Return the first bytes of a member."""
        try:
            with self._zip.open(self._info(name)) as file:
                return file.read(count)
        except _BROKEN as error:
            raise self._broken(name, error) from None

    def _spend(self, count: int, name: str) -> None:
        self.written += count
        if self.written > self.limits.written:
            raise OutOfBudgetError(
                f"Cannot read '{escape(name)}' in '{self._name}': it would unpack to more than "
                f"{self.limits.written:,} bytes.",
                fix="save the model again with Keras, which does not pack weights.",
                path=name,
            )

    def _info(self, name: str) -> zipfile.ZipInfo:
        try:
            return self._zip.getinfo(name)
        except KeyError:
            raise ModelFileError(f"Cannot find '{escape(name)}' in '{self._name}'.", path=name) from None

    def _start(self, info: zipfile.ZipInfo) -> int:
        """Where the bytes of a stored file begin: after its own header, which is as long as it says."""
        self._file.seek(info.header_offset)
        header = _LOCAL.unpack(self._file.read(_LOCAL.size))
        start: int = info.header_offset + _LOCAL.size + header[9] + header[10]
        if header[0] != b"PK\x03\x04" or start + info.file_size > self._size:
            raise zipfile.BadZipFile("its place in the archive is wrong")
        return start

    def _check_directory(self, path: Path) -> None:
        """Refuse a directory that is too large before all of it is read into memory."""
        with path.open("rb") as file:
            directory = find_directory(file, self._size)
            if directory is None:
                return
            start, size = directory
            if size > self.limits.entries * _DIRECTORY_BYTES:
                raise HostileFileError(
                    f"Cannot read '{self._name}': its directory has {size:,} bytes, more than a model needs.",
                    path=str(path),
                )
            file.seek(start)
            count = file.read(size).count(b"PK\x01\x02")
        if count > self.limits.entries:
            raise HostileFileError(
                f"Cannot read '{self._name}': it holds about {count:,} files, and {self.limits.entries:,} are allowed.",
                path=str(path),
            )

    def _broken(self, name: str, error: Exception) -> ModelFileError:
        return ModelFileError(
            f"Cannot read '{escape(name)}' in '{self._name}': it is broken.", found=escape(str(error)), path=name
        )
