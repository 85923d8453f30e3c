"""The weights of a file by path, read on demand.

Arrays that are contiguous in the file are read in place, at the speed of the disk: the process that reads HDF5 supplies
their offset and is not needed any more. It must unpack all others.
"""

from __future__ import annotations

import difflib
import hashlib
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import IO, TYPE_CHECKING, Any

from ramet._diff import InMemory
from ramet._files.listing import ArraySpec, Listing
from ramet._report import escape
from ramet.errors import ModelFileError, UnknownPathError

if TYPE_CHECKING:
    import numpy as np

    from ramet._files.formats import WeightsReader

_BLOCK = 1 << 20


class ArrayOnDisk:
    """An array that is contiguous in a file."""

    def __init__(self, file: IO[bytes], spec: ArraySpec) -> None:
        assert spec.offset is not None, "only contiguous arrays are read in place"
        self.shape, self.dtype = spec.shape, _dtype_of(spec)
        self._file = file
        self._offset = spec.offset
        self._buffer: np.ndarray[Any, Any] | None = None

    @staticmethod
    def fits(spec: ArraySpec, size: int) -> bool:
        """Return whether the array is contiguous, and inside a file of that many bytes."""
        if spec.offset is None:
            return False
        end = spec.offset + math.prod(spec.shape) * _dtype_of(spec).itemsize
        return 0 <= spec.offset <= end <= size

    def part(self, start: int, stop: int) -> np.ndarray[Any, Any]:
        """Return the values from `start` to `stop`. The next call reuses the memory."""
        import numpy as np

        if self._buffer is None or len(self._buffer) < stop - start:
            self._buffer = np.empty(stop - start, self.dtype)
        part = self._buffer[: stop - start]
        view = memoryview(part.view(np.uint8))  # type: ignore[arg-type, unused-ignore]  # before numpy 2.5
        self._file.seek(self._offset + start * self.dtype.itemsize)
        done = 0
        while done < len(view):
            count = self._file.readinto(view[done:])  # type: ignore[attr-defined]
            if not count:
                raise ModelFileError("Cannot read the weights: the file was truncated while it was being read.")
            done += count
        return part


def _dtype_of(spec: ArraySpec) -> np.dtype[Any]:
    """Return the numpy dtype of an array: bfloat16 comes from a library that Keras installs."""
    import numpy as np

    kind: Any = f"V{int(spec.dtype[3:]) // 8}" if spec.dtype.startswith("raw") else spec.dtype
    if spec.dtype == "bfloat16":
        import ml_dtypes

        kind = ml_dtypes.bfloat16
    found: np.dtype[Any] = np.dtype(kind)
    return found


@dataclass(eq=False, repr=False)
class Weights:
    """Arrays by the paths of variables: `encoder/dense/kernel`.

    Attributes:
        arrays: The path in the weights file of each variable, by its path.
        listing: The contents of the weights file.
        open_store: Opens the weights file, when the first array is read.
        open_raw: Opens the file that contains an array, as bytes.
    """

    arrays: dict[str, str]
    listing: Listing
    open_store: Callable[[], WeightsReader]
    open_raw: Callable[[str], IO[bytes]]

    def __len__(self) -> int:
        return len(self.arrays)

    def __iter__(self) -> Iterator[str]:
        return iter(self.arrays)

    def __contains__(self, path: object) -> bool:
        return path in self.arrays

    def paths(self) -> tuple[str, ...]:
        """Return the paths of all variables, in the order of the model."""
        return tuple(self.arrays)

    def spec(self, path: str) -> ArraySpec:
        """Return shape and dtype of a variable, without reading its values."""
        return self.listing.arrays[self.array_path(path)]

    def read(self, path: str) -> np.ndarray[Any, Any]:
        """Return the values of a variable."""
        array = self.open_store().read(self.array_path(path))
        spec = self.spec(path)
        return array.view(_dtype_of(spec)) if spec.dtype == "bfloat16" else array

    def open(self, path: str) -> ArrayOnDisk | InMemory:
        """Return the values of a variable for reading in parts: from the disk, if they are contiguous there."""
        spec = self.spec(path)
        if spec.offset is not None and not spec.refused:
            file = self.open_raw(self.array_path(path))
            if ArrayOnDisk.fits(spec, file.seek(0, 2)):
                return ArrayOnDisk(file, spec)
        return InMemory(self.read(path))

    def digest(self, path: str) -> str:
        """Return the SHA-256 of a variable's shape, dtype and bytes: equal for equal variables."""
        import numpy as np

        spec = self.spec(path)
        digest = hashlib.sha256(f"{spec.dtype}{list(spec.shape)}".encode())
        for part in self._parts(path):
            digest.update(np.ascontiguousarray(part).view(np.uint8).data)
        return digest.hexdigest()

    def statistics(self, path: str) -> dict[str, float]:
        """Return the number of values, zeros and NaNs, and the range, mean and deviation of the finite values."""
        import numpy as np

        zeros = nans = count = 0
        smallest, largest, mean, spread = math.inf, -math.inf, 0.0, 0.0
        for part in self._parts(path):
            numbers = np.abs(part) if part.dtype.kind == "c" else part.astype(np.float64, copy=False)
            zeros += int((numbers == 0).sum())
            nans += int(np.isnan(numbers).sum())
            finite = numbers[np.isfinite(numbers)]
            if not finite.size:
                continue
            smallest, largest = min(smallest, float(finite.min())), max(largest, float(finite.max()))
            # Mean and spread of two parts together, without reading the first one again.
            with np.errstate(over="ignore", invalid="ignore"):
                own, both = finite.mean(), count + finite.size
                spread += float(((finite - own) ** 2).sum() + (own - mean) ** 2 * count * finite.size / both)
                mean += float((own - mean) * finite.size / both)
            count = both
        return {
            "count": math.prod(self.spec(path).shape),
            "zeros": zeros,
            "nans": nans,
            "smallest": smallest if count else 0.0,
            "largest": largest if count else 0.0,
            "mean": mean,
            "deviation": math.sqrt(spread / count) if count else 0.0,
        }

    def _parts(self, path: str) -> Iterator[np.ndarray[Any, Any]]:
        """Yield the values of a variable in parts that fit into a processor's cache."""
        numbers, size = self.open(path), math.prod(self.spec(path).shape)
        step = max(_BLOCK // max(numbers.dtype.itemsize, 1), 1)
        for start in range(0, size, step):
            yield numbers.part(start, min(start + step, size))

    def array_path(self, path: str) -> str:
        """Return the path of the array in the weights file: `layers/dense/vars/0`."""
        try:
            return self.arrays[path]
        except KeyError:
            raise UnknownPathError(
                f"Cannot find the variable '{escape(path)}': the file has no such path.",
                closest=[escape(name) for name in difflib.get_close_matches(path, list(self.arrays)[:5_000], n=3)],
                path=path,
            ) from None
