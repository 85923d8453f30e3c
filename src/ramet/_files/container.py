"""Containers: the files of a model, by name, whether they are in an archive, in a folder or on their own."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import struct
import tempfile
import unicodedata
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from ramet._files.limits import Limits, cannot_read
from ramet._report import escape
from ramet.errors import ModelFileError, RametError

CONFIG = "config.json"
METADATA = "metadata.json"
WEIGHTS = "model.weights.h5"

_SMALL = 2**20
_ENCRYPTED = 0x1
_UNICODE_PATH = 0x7075
# Keras stores files uncompressed, other tools deflate them. Other methods may need any amount of memory to unpack.
METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
# Names that mean something else on Windows: `C:file` is on another drive, `file:more` a hidden part of a file, and `nul.txt` a
# device in every folder.
_DRIVE = re.compile(r"[A-Za-z]:")
_DEVICE = re.compile(r"(?:con|prn|aux|nul|conin\$|conout\$|(?:com|lpt)[0-9¹²³])\s*(?:\..*)?", re.IGNORECASE | re.DOTALL)
_FORBIDDEN = re.compile(r'[<>:"|?*\x00-\x1f]')


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of a container.

    Attributes:
        name: As written in the archive, which may contain anything.
        size: Bytes when unpacked, according to the archive.
        packed: Bytes in the archive.
        method: Number of the compression method in the zip format.
        link: Whether it is a link to another file.
        encrypted: Whether it needs a password.
        alias: A second name in the archive that some readers use; empty if there is none.
    """

    name: str
    size: int
    packed: int
    method: int = zipfile.ZIP_STORED
    link: bool = False
    encrypted: bool = False
    alias: str = ""

    @classmethod
    def from_zip(cls, info: zipfile.ZipInfo) -> Entry:
        """Return the entry for a member of a zip file."""
        return cls(
            info.orig_filename,
            info.file_size,
            info.compress_size,
            method=info.compress_type,
            link=stat.S_ISLNK(info.external_attr >> 16),
            encrypted=bool(info.flag_bits & _ENCRYPTED),
            alias=_alias(info.extra),
        )


def _alias(extra: bytes) -> str:
    """Return the name in the extra field for Unicode paths, which Python reads since 3.12 and ignored before."""
    position = 0
    while position + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, position)
        if kind == _UNICODE_PATH:
            return extra[position + 9 : position + 4 + size].decode("utf-8", "replace") or "?"
        position += 4 + size
    return ""


@dataclass(frozen=True, slots=True)
class EntryProblem:
    """One rule that a container breaks.

    Attributes:
        kind: `traversal`, `bomb`, `link`, `duplicate`, `encrypted`, `alias`, `packing`, `crowd`, `both` or `shard`.
        entry: The escaped name of the file; empty for the container as a whole.
        reason: The rest of a sentence that begins with the file.
    """

    kind: str
    entry: str
    reason: str


class Container:
    """The files of a model by name, read from the disk. An archive overrides every method.

    Attributes:
        entries: The files in it.
        limits: The limits for this container, which depend on its size.
    """

    # The end of the message for a file that does not exist.
    _place = "among the files of the model"

    def __init__(self, files: dict[str, Path], limits: Limits) -> None:
        self._files = files
        sizes = {name: check_readable(path).st_size for name, path in files.items()}
        self.entries = tuple(Entry(name, size, size) for name, size in sizes.items())
        self.limits = limits.within(sum(sizes.values()))

    def problems(self) -> list[EntryProblem]:
        """Return the rules that the container breaks."""
        return []

    def close(self) -> None:
        """Close the container. Files on the disk do not stay open."""

    def read(self, name: str, limit: int) -> bytes:
        """Return the bytes of a file; raise if there are more than `limit`."""
        with self.open(name) as file:
            data = file.read(limit + 1)
        if len(data) > limit:
            raise cannot_read(name, f"it is larger than {limit:,} bytes")
        return data

    def start_of(self, name: str, count: int) -> bytes:
        """Return the first bytes of a file without unpacking it."""
        with self.open(name) as file:
            return file.read(count)

    def open(self, name: str) -> IO[bytes]:
        """Open a file for random access. Nothing is unpacked to a path that an archive chooses."""
        try:
            return self._files[name].open("rb")
        except KeyError:
            raise ModelFileError(f"Cannot find '{escape(name)}' {self._place}.", path=name) from None
        except OSError as error:
            raise cannot_read(name, f"{error.strerror}", ModelFileError) from None


def path_with_name(path: str | os.PathLike[str]) -> Path:
    """Return a path that ends in a name, which messages show: `.` and `..` are written out."""
    found = Path(path)
    return found if found.name not in ("", "..") else found.resolve()


def check_readable(path: Path) -> os.stat_result:
    """Return the status of a regular file or folder; refuse anything else: reading a pipe or a device would never end."""
    try:
        found = path.stat()
    except (OSError, ValueError) as error:
        reason = escape(getattr(error, "strerror", None) or str(error)).lower()
        raise cannot_read(str(path), reason, ModelFileError, fix="check the path.") from None
    if not stat.S_ISREG(found.st_mode) and not stat.S_ISDIR(found.st_mode):
        fix = "pass the path of a model file."
        raise cannot_read(str(path), "it is neither a file nor a folder", ModelFileError, fix=fix)
    return found


@contextlib.contextmanager
def private_copy(path: Path) -> Iterator[Path]:
    """Yield a copy of a file or folder, with the same name, in a private folder: the scanned file is the loaded file."""
    path = path_with_name(path)
    check_readable(path)
    # After an error, a file in it may still be open, and Windows deletes no open file; that error matters more.
    with tempfile.TemporaryDirectory(prefix="ramet-", ignore_cleanup_errors=True) as folder:
        target = Path(folder) / path.name
        try:
            if path.is_dir():
                shutil.copytree(path, target, symlinks=True)
            else:
                shutil.copyfile(path, target)
        except (OSError, shutil.Error) as error:
            reason = getattr(error, "strerror", None) or str(error).partition("\n")[0][:200]
            raise ModelFileError(
                f"Cannot load '{escape(str(path))}': it could not be copied to '{folder}' for scanning and loading.",
                found=escape(str(reason)),
                fix="free some space there, or set TMPDIR to a folder with enough space.",
                path=str(path),
            ) from None
        try:
            yield target
        except RametError as error:
            # The user knows the original only.
            error.replace_text(f"{folder}{os.sep}", str(path)[: -len(path.name)])
            raise


def entry_problems(entries: Sequence[Entry], limits: Limits, container_size: int) -> Iterator[EntryProblem]:
    """Yield every rule that the entries of a container of `container_size` bytes break.

    Every archive that Keras has written keeps these rules.
    """
    if len(entries) > limits.entries:
        yield EntryProblem("crowd", "", f"it contains {len(entries):,} files, and {limits.entries:,} are allowed")
    total = sum(entry.size for entry in entries)
    if total > limits.total_size:
        yield EntryProblem("bomb", "", f"its files would unpack to {total:,} bytes")
    # Weights may be all zeros, which compress to almost nothing.
    total -= sum(entry.size for entry in entries if entry.name == WEIGHTS)
    if total > _SMALL and total > limits.ratio * container_size:
        # Files that overlap in the archive look harmless one by one.
        yield EntryProblem("bomb", "", f"{container_size:,} bytes would unpack to {total:,}")
    same = Counter(entry.name.rstrip("/") for entry in entries)
    alike = Counter(map(_folded, same))
    for entry in entries:
        yield from _problems_of(entry, limits)
        name = entry.name.rstrip("/")
        if same[name] > 1:
            yield EntryProblem("duplicate", escape(entry.name), f"{same[name]} files of the archive have this name")
        elif alike[_folded(name)] > 1:
            reason = "another name in the archive is the same name on Windows or macOS"
            yield EntryProblem("duplicate", escape(entry.name), reason)


def _problems_of(entry: Entry, limits: Limits) -> Iterator[EntryProblem]:
    name = escape(entry.name)
    if (reason := _traversal(entry.name)) is not None:
        yield EntryProblem("traversal", name, reason)
    if entry.link:
        yield EntryProblem("link", name, "it is a link to another file")
    if entry.encrypted:
        yield EntryProblem("encrypted", name, "it is encrypted")
    if entry.alias not in ("", entry.name):
        yield EntryProblem("alias", name, f"some readers call it '{escape(entry.alias)}'")
    if entry.method not in METHODS:
        yield EntryProblem("packing", name, f"it is compressed with method {entry.method}, which no model uses")
    if entry.name != WEIGHTS and entry.size > _SMALL and entry.size > limits.ratio * max(entry.packed, 1):
        yield EntryProblem("bomb", name, f"{entry.packed:,} bytes would unpack to {entry.size:,}")


def _folded(name: str) -> str:
    """Return what is the same for two names that mean one file on Windows or macOS, in whichever form it is written."""
    parts = unicodedata.normalize("NFC", name).casefold().replace("\\", "/").split("/")
    # Windows drops dots and spaces at the end, and Python unpacks forbidden characters as underscores there.
    return "/".join(_FORBIDDEN.sub("_", part.rstrip(". ")) for part in parts if part not in ("", "."))


def _traversal(name: str) -> str | None:
    """Return why a name would lead out of the folder that an archive is unpacked to, or None if it would not.

    A file is judged the same on every system: a name may be harmless here, and not on Windows. Below the first folder, names
    are those of layers, and Keras on Linux writes `assets/layers/aux/` and `assets/layers/a:b/`.
    """
    if not name.strip():
        return "its name is empty"
    parts = name.replace("\\", "/").split("/")
    if any(len(part) > 1 and not part.strip(". ") for part in parts):
        return "its name leads out of the archive's own folder"
    if name.startswith(("/", "\\")) or _DRIVE.match(name):
        return "its name is an absolute path"
    if ":" in parts[0] or _DEVICE.fullmatch(parts[0]):
        return "Windows does not treat its name as that of a file"
    if "\0" in name:
        return "its name contains a NUL character, which ends a name for some programs and not for others"
    return None
