"""What kind of file it is, and the container that opens it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from ramet._files.archive import Archive
from ramet._files.container import Container, Folder, SingleFile, check_readable, find_directory, find_hdf5
from ramet._files.entry import WEIGHTS
from ramet._files.limits import Limits
from ramet._files.problem import ModelFileError
from ramet._files.shard_files import ShardFiles
from ramet._files.shard_map import is_shard_map
from ramet._graph import escape

__all__ = ["CONFIG", "METADATA", "WEIGHTS", "FileKind", "open_source"]

FileKind: TypeAlias = Literal["archive", "folder", "hdf5", "shards"]

CONFIG = "config.json"
METADATA = "metadata.json"

_ZIP = b"PK\x03\x04"


def open_source(path: Path, limits: Limits) -> tuple[FileKind, Container]:
    """Return the container that Keras would open: chosen by its extension, then by its content."""
    found = check_readable(path)
    limits = limits if path.is_dir() else limits.within(found.st_size)
    if path.is_dir():
        if not (path / CONFIG).is_file():
            raise ModelFileError(
                f"Cannot read '{escape(path.name)}': the folder holds no '{CONFIG}'.",
                expected="a .keras file, or a folder written by keras.saving.save_model(..., zipped=False)",
                path=str(path),
            )
        return "folder", Folder(path, limits)
    if is_shard_map(path.name):
        return "shards", ShardFiles(path, limits)
    try:
        with path.open("rb") as file:
            start = file.read(8)
            hdf5 = find_hdf5(file, found.st_size)
            is_zip = start.startswith(_ZIP) or find_directory(file, found.st_size) is not None
    except OSError as error:
        raise ModelFileError(f"Cannot read '{escape(path.name)}': {error.strerror}.", path=str(path)) from None
    # Keras opens .keras files as zip archives, which may begin with anything, and .h5 files as HDF5.
    is_named_hdf5 = path.name.endswith((".h5", ".hdf5"))
    if (path.name.endswith(".keras") and (is_zip or hdf5 is None)) or (
        start.startswith(_ZIP) and not (is_named_hdf5 and hdf5 is not None)
    ):
        return "archive", Archive(path, limits, hdf5)
    if hdf5 is not None:
        return "hdf5", SingleFile(path, limits)
    raise ModelFileError(
        f"Cannot read '{escape(path.name)}': it is neither a zip archive nor HDF5.",
        expected="a .keras, .weights.h5, .weights.json or .h5 file that Keras has written",
        found="an empty file" if not found.st_size else f"a file that begins with {start!r}",
        path=str(path),
    )
