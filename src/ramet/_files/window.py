"""A part of a file as a file of its own."""

from __future__ import annotations

import io

__all__ = ["Window"]


class Window(io.RawIOBase):
    """Reads a stretch of another file. Weights lie in archives as they are: nothing need be unpacked to read one."""

    def __init__(self, file: io.FileIO, start: int, size: int) -> None:
        super().__init__()
        self._file = file
        self._start = start
        self._size = size
        self._at = 0

    def readable(self) -> bool:
        """Yes."""
        return True

    def seekable(self) -> bool:
        """Yes."""
        return True

    def tell(self) -> int:
        """Where the next byte is read."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Read on elsewhere."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(base + offset, 0)
        return self._at

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        """Fill the buffer as far as the window reaches."""
        view = memoryview(buffer).cast("B")
        wanted = max(min(len(view), self._size - self._at), 0)
        self._file.seek(self._start + self._at)
        count = self._file.readinto(view[:wanted]) or 0
        self._at += count
        return count
