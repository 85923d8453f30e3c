"""The numbers of an array in a weights file, piece by piece.

Arrays that lie in the file in one piece are read where they lie, at the speed of the disk: the process that understands
HDF5 says where that is, and is not needed any more. All others it must unpack.
"""

from __future__ import annotations

import math
from typing import IO, TYPE_CHECKING, Any

from ramet._files.listing import ArraySpec
from ramet._files.problem import ModelFileError

if TYPE_CHECKING:
    import numpy as np

__all__ = ["OnDisk", "dtype_of"]


def dtype_of(spec: ArraySpec) -> np.dtype[Any]:
    """The dtype of an array as numpy has it: bfloat16 comes from a library that Keras brings along."""
    import numpy as np

    kind: Any = f"V{int(spec.dtype[3:]) // 8}" if spec.dtype.startswith("raw") else spec.dtype
    if spec.dtype == "bfloat16":
        import ml_dtypes

        kind = ml_dtypes.bfloat16
    found: np.dtype[Any] = np.dtype(kind)
    return found


class OnDisk:
    """An array that lies in a file in one piece.

    Args:
        file: the weights file.
        spec: of the array.
    """

    def __init__(self, file: IO[bytes], spec: ArraySpec) -> None:
        assert spec.offset is not None, "only arrays in one piece are read where they lie"
        self.shape, self.dtype = spec.shape, dtype_of(spec)
        self._file = file
        self._offset = spec.offset
        self._buffer: np.ndarray[Any, Any] | None = None

    @staticmethod
    def fits(spec: ArraySpec, size: int) -> bool:
        """Whether the array lies inside a file of that many bytes."""
        if spec.offset is None:
            return False
        end = spec.offset + math.prod(spec.shape) * dtype_of(spec).itemsize
        return 0 <= spec.offset <= end <= size

    def part(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        """The numbers from `start` to `stop`. The next call uses the same memory again."""
        import numpy as np

        if self._buffer is None or len(self._buffer) < stop - start:
            self._buffer = np.empty(stop - start, self.dtype)
        part = self._buffer[: stop - start]
        view = memoryview(part.view(np.uint8))  # type: ignore[arg-type]
        self._file.seek(self._offset + start * self.dtype.itemsize)
        done = 0
        while done < len(view):
            count = self._file.readinto(view[done:])  # type: ignore[attr-defined]
            if not count:
                raise ModelFileError("Cannot read the weights: the file ended early; it was changed meanwhile.")
            done += count
        return part
