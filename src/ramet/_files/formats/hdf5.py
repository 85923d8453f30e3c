"""A single HDF5 file: weights on their own (`.weights.h5`), or a model in the format of Keras 2 (`.h5`)."""

from __future__ import annotations

from pathlib import Path

from ramet._files.container import Container, EntryProblem
from ramet._files.formats.format import AMBIGUOUS, FileFormat, find_directory
from ramet._files.limits import Limits


class SingleFile(Container):
    """One file."""

    def __init__(self, path: Path, limits: Limits) -> None:
        super().__init__({path.name: path}, limits)
        self._name = path.name

    def problems(self) -> list[EntryProblem]:
        """Return the rule that the file breaks if it is also an archive."""
        with self.open(self._name) as file:
            return [AMBIGUOUS] if find_directory(file, self.entries[0].size) is not None else []


HDF5 = FileFormat(
    name="hdf5",
    description="a .weights.h5 or .h5 file",
    recognizes=lambda probe: not probe.is_folder and probe.hdf5 is not None,
    open=lambda probe, limits: SingleFile(probe.path, limits),
    weights=lambda name, _: name,
    has_config=False,
)
