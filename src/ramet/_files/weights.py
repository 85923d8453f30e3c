"""The weights of a file by path, read when they are asked for."""

from __future__ import annotations

import difflib
import hashlib
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ramet._diff import InMemory
from ramet._files.listing import ArraySpec, Listing
from ramet._files.numbers import OnDisk
from ramet._files.store import Store
from ramet._graph import escape
from ramet.errors import UnknownPathError

if TYPE_CHECKING:
    import numpy as np

    from ramet._files.weights_file import RawFile

__all__ = ["Statistics", "Weights"]

_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Statistics:
    """What an array is like, for a reader.

    Attributes:
        count: how many numbers.
        zeros: how many of them are zero.
        nans: how many are no number.
        smallest: of the numbers that are finite; 0.0 where there are none.
        largest: of these.
        mean: of these.
        deviation: of these.
    """

    count: int
    zeros: int
    nans: int
    smallest: float
    largest: float
    mean: float
    deviation: float


class Weights:
    """Arrays by the paths of variables: `encoder/dense/kernel`.

    Args:
        arrays: the path in the weights file of each variable, by its path.
        listing: what stands in the weights file.
        open_store: opens the weights file, when the first array is asked for.
        open_raw: opens the file that holds an array, as bytes; None where there is none to open.
    """

    def __init__(
        self,
        arrays: Mapping[str, str],
        listing: Listing,
        open_store: Callable[[], Store],
        open_raw: Callable[[str], RawFile | None] = lambda _: None,
    ) -> None:
        self._arrays = dict(arrays)
        self._listing = listing
        self._open = open_store
        self._open_raw = open_raw

    def __len__(self) -> int:
        return len(self._arrays)

    def __iter__(self) -> Iterator[str]:
        return iter(self._arrays)

    def __contains__(self, path: object) -> bool:
        return path in self._arrays

    def paths(self) -> tuple[str, ...]:
        """The paths of all variables, in the model's order."""
        return tuple(self._arrays)

    def spec(self, path: str) -> ArraySpec:
        """Shape and dtype of a variable; its numbers are not read."""
        return self._listing.arrays[self.place(path)]

    def read(self, path: str) -> np.ndarray[Any, Any]:
        """The numbers of a variable."""
        return self._open().read(self.place(path))

    def open(self, path: str) -> OnDisk | InMemory:
        """The numbers of a variable, to read piece by piece: from the disk, where they lie there in one piece."""
        spec = self.spec(path)
        raw = None if spec.refused or spec.offset is None else self._open_raw(self.place(path))
        if raw is not None and OnDisk.fits(spec, raw.size):
            return OnDisk(raw.file, spec)
        return InMemory(self.read(path))

    def digest(self, path: str) -> str:
        """The SHA-256 of a variable's shape, dtype and bytes: equal for equal variables."""
        import numpy as np

        spec = self.spec(path)
        digest = hashlib.sha256(f"{spec.dtype}{list(spec.shape)}".encode())
        for part in self._parts(path):
            digest.update(np.ascontiguousarray(part).view(np.uint8).data)
        return digest.hexdigest()

    def statistics(self, path: str) -> Statistics:
        """How large the numbers of a variable are, and how many are zero or none."""
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
            # Mean and spread of two parts together, without a second look at the first.
            with np.errstate(over="ignore", invalid="ignore"):
                own, both = finite.mean(), count + finite.size
                spread += float(((finite - own) ** 2).sum() + (own - mean) ** 2 * count * finite.size / both)
                mean += float((own - mean) * finite.size / both)
            count = both
        size = math.prod(self.spec(path).shape)
        if not count:
            return Statistics(size, zeros, nans, 0.0, 0.0, 0.0, 0.0)
        return Statistics(size, zeros, nans, smallest, largest, mean, math.sqrt(spread / count))

    def _parts(self, path: str) -> Iterator[np.ndarray[Any, Any]]:
        """The numbers of a variable in pieces that fit into a processor's cache."""
        numbers, size = self.open(path), math.prod(self.spec(path).shape)
        step = max(_BLOCK // max(numbers.dtype.itemsize, 1), 1)
        for start in range(0, size, step):
            yield numbers.part(start, min(start + step, size))

    def place(self, path: str) -> str:
        """The path of the array in the weights file: `layers/dense/vars/0`."""
        try:
            return self._arrays[path]
        except KeyError:
            raise UnknownPathError(
                f"Cannot find the variable '{escape(path)}': the file has none of that path.",
                closest=[escape(name) for name in difflib.get_close_matches(path, list(self._arrays)[:5_000], n=3)],
                path=path,
            ) from None
