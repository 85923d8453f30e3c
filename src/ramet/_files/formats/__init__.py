"""File formats: a path goes in; the format that Keras would use and a container with the model's files come out.

A format is one module with a `FileFormat`, registered in `FORMATS` below. Everything else (reading, scanning, showing,
comparing) works with any container.
"""

from __future__ import annotations

from pathlib import Path

from ramet._files.container import Container
from ramet._files.formats.archive import ARCHIVE
from ramet._files.formats.folder import FOLDER
from ramet._files.formats.format import FileFormat, Probe, WeightsReader
from ramet._files.formats.hdf5 import HDF5
from ramet._files.formats.shards import SHARDS
from ramet._files.limits import Limits

__all__ = ["FORMATS", "FileFormat", "Probe", "WeightsReader", "open_file"]

# The first format that recognizes a path opens it. Folders and shard maps are recognized by name alone, so they come
# before the formats that look at the content.
FORMATS: tuple[FileFormat, ...] = (FOLDER, SHARDS, ARCHIVE, HDF5)


def open_file(path: Path, limits: Limits) -> tuple[FileFormat, Container]:
    """Open a path as Keras would: the extension decides, then the content.

    Raises:
        ModelFileError: There is no such file, or no format recognizes it.
        HostileFileError: The file breaks a rule that every file written by Keras keeps.
    """
    probe = Probe(path)
    probe.check_is_no_pointer()
    for file_format in FORMATS:
        if file_format.recognizes(probe):
            # A folder or a map of shards is as large as the files that belong to it, which are not listed yet.
            is_whole = not probe.is_folder and file_format is not SHARDS
            return file_format, file_format.open(probe, limits.within(probe.size) if is_whole else limits)
    raise probe.unsupported(f"{', '.join(one.description for one in FORMATS[:-1])} or {FORMATS[-1].description}")
