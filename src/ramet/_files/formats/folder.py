"""A model saved with `zipped=False`: the files of a `.keras` archive in a folder."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from ramet._files.container import CONFIG, WEIGHTS, Container, Entry, EntryProblem, entry_problems
from ramet._files.formats.format import FileFormat, Probe
from ramet._files.formats.shards import SHARD_MAP
from ramet._files.limits import Limits
from ramet._report import escape

# IO_REPARSE_TAG_MOUNT_POINT: a link of Windows to another folder, which Python calls a folder.
_JUNCTION = 0xA0000003


class Folder(Container):
    """The files in a folder. Links are not followed."""

    def __init__(self, path: Path, limits: Limits) -> None:
        self._place = f"in '{escape(path.name)}'"
        self.entries = tuple(_found_in(path, limits))
        self._files = {entry.name: path / entry.name for entry in self.entries if not entry.link}
        self._size = sum(entry.size for entry in self.entries)
        self.limits = limits.within(self._size)

    def problems(self) -> list[EntryProblem]:
        """Return the rules that the folder breaks. Its files are not compressed, so there can be no bomb."""
        return list(entry_problems(self.entries, self.limits, self._size))


def _found_in(folder: Path, limits: Limits) -> list[Entry]:
    found: list[Entry] = []
    waiting = [folder]
    while waiting and len(found) <= limits.entries:
        for item in sorted(os.scandir(waiting.pop()), key=lambda item: item.name):
            name = Path(item.path).relative_to(folder).as_posix()
            about = item.stat(follow_symlinks=False)
            is_junction = getattr(about, "st_reparse_tag", 0) == _JUNCTION
            if item.is_dir(follow_symlinks=False) and not is_junction:
                waiting.append(Path(item.path))
            else:
                link = is_junction or not item.is_file(follow_symlinks=False)
                found.append(Entry(name, about.st_size, about.st_size, link=link))
    return found


def _is_folder(probe: Probe) -> bool:
    return probe.is_folder and (probe.path / CONFIG).is_file()


def _weights(_: str, names: Collection[str]) -> str | None:
    # Keras reads shards beside a config only when it loads from a model hub, and never from an archive.
    return next((name for name in (WEIGHTS, SHARD_MAP) if name in names), None)


FOLDER = FileFormat(
    name="folder",
    description="a folder written by keras.saving.save_model(..., zipped=False)",
    recognizes=_is_folder,
    open=lambda probe, limits: Folder(probe.path, limits),
    weights=_weights,
    has_config=True,
)
