"""What kind of file it is, and the container that opens it."""

from __future__ import annotations

from pathlib import Path
from typing import Literal, TypeAlias

from ramet._files.archive import Archive
from ramet._files.container import Container, Folder, SingleFile, check_readable
from ramet._files.limits import Limits
from ramet._files.problem import ModelFileError
from ramet._files.shard_files import ShardFiles
from ramet._files.shard_map import is_shard_map
from ramet._graph import escape

__all__ = ["CONFIG", "METADATA", "WEIGHTS", "FileKind", "open_source"]

FileKind: TypeAlias = Literal["archive", "folder", "hdf5", "shards"]

CONFIG = "config.json"
METADATA = "metadata.json"
WEIGHTS = "model.weights.h5"

_ZIP = b"PK\x03\x04"
_HDF5 = b"\x89HDF\r\n\x1a\n"


def open_source(path: Path, limits: Limits) -> tuple[FileKind, Container]:
    """The container at a path, by what the file is and not only by what it is called."""
    found = check_readable(path)
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
    except OSError as error:
        raise ModelFileError(f"Cannot read '{escape(path.name)}': {error.strerror}.", path=str(path)) from None
    # Keras opens whatever is called .keras as a zip archive, and zip archives may begin with anything.
    if path.suffix == ".keras" or start.startswith(_ZIP):
        return "archive", Archive(path, limits)
    if start == _HDF5:
        return "hdf5", SingleFile(path)
    raise ModelFileError(
        f"Cannot read '{escape(path.name)}': it is neither a zip archive nor HDF5.",
        expected="a .keras, .weights.h5, .weights.json or .h5 file that Keras has written",
        found="an empty file" if not found.st_size else f"a file that begins with {start!r}",
        path=str(path),
    )
