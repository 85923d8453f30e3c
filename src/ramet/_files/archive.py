"""A `.keras` file: a zip archive, read without unpacking it to any path it chooses."""

from __future__ import annotations

import struct
import tempfile
import zipfile
import zlib
from pathlib import Path
from types import TracebackType
from typing import IO, Self

from ramet._files.container import check_readable
from ramet._files.entry import EntryProblem, entry_of, entry_problems
from ramet._files.limits import Limits
from ramet._files.problem import HostileFileError, ModelFileError
from ramet._files.window import Window
from ramet._graph import escape

__all__ = ["Archive"]

_END = struct.Struct("<4s4H2LH")
_END_64 = struct.Struct("<4sQ2H2L4Q")
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
    """A `.keras` file: a zip archive."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self._name = escape(path.name)
        self._limits = limits
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
        return list(entry_problems(self.entries, self._limits, self._size))

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
            unpacked = tempfile.TemporaryFile()  # noqa: SIM115  # the caller closes it
            with self._zip.open(info) as file:
                while chunk := file.read(_CHUNK):
                    unpacked.write(chunk)
            unpacked.seek(0)
        except _BROKEN as error:
            raise self._broken(name, error) from None
        return unpacked

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
            file.seek(max(self._size - 65_600, 0))
            tail = file.read()
            place = tail.rfind(b"PK\x05\x06")
            if place < 0 or len(tail) < place + _END.size:
                return
            size = _END.unpack_from(tail, place)[5]
            place_64 = tail.rfind(b"PK\x06\x06", 0, place)
            if size == 0xFFFFFFFF and place_64 >= 0 and len(tail) >= place_64 + _END_64.size:
                size = _END_64.unpack_from(tail, place_64)[8]
        if size > self._limits.entries * _DIRECTORY_BYTES:
            raise HostileFileError(
                f"Cannot read '{self._name}': its directory has {size:,} bytes, more than a model needs.",
                path=str(path),
            )

    def _broken(self, name: str, error: Exception) -> ModelFileError:
        return ModelFileError(
            f"Cannot read '{escape(name)}' in '{self._name}': it is broken.", found=escape(str(error)), path=name
        )
