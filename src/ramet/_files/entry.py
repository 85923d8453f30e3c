"""The files in an archive, and the rules that every archive keeps which Keras has written."""

from __future__ import annotations

import stat
import struct
import zipfile
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ramet._files.limits import Limits
from ramet._graph import escape

__all__ = ["METHODS", "WEIGHTS", "Entry", "EntryProblem", "entry_of", "entry_problems"]

WEIGHTS = "model.weights.h5"

_SMALL = 2**20
_ENCRYPTED = 0x1
_UNICODE_PATH = 0x7075
# As it is, as Keras writes it, or deflated, as other tools do. Others may take any amount of memory to unpack.
METHODS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})


@dataclass(frozen=True, slots=True)
class Entry:
    """One file of an archive.

    Attributes:
        name: as the archive says it; anything may stand there.
        size: bytes when unpacked, as the archive says.
        packed: bytes in the archive.
        method: how it is packed, by its number in the zip format.
        link: whether it is a link to another file.
        encrypted: whether it needs a password.
        alias: another name that the archive gives it, which some readers use; empty if there is none.
    """

    name: str
    size: int
    packed: int
    method: int = zipfile.ZIP_STORED
    link: bool = False
    encrypted: bool = False
    alias: str = ""


@dataclass(frozen=True, slots=True)
class EntryProblem:
    """One rule that an archive breaks.

    Attributes:
        kind: one word: `traversal`, `bomb`, `link`, `duplicate`, `encrypted`, `alias`, `packing`, `crowd`.
        entry: the name of the file in the archive, escaped; empty for the archive as a whole.
        reason: the rest of a sentence.
    """

    kind: str
    entry: str
    reason: str


def entry_of(info: zipfile.ZipInfo) -> Entry:
    """The entry that a zip file tells of."""
    return Entry(
        info.orig_filename,
        info.file_size,
        info.compress_size,
        method=info.compress_type,
        link=stat.S_ISLNK(info.external_attr >> 16),
        encrypted=bool(info.flag_bits & _ENCRYPTED),
        alias=_alias(info.extra),
    )


def _alias(extra: bytes) -> str:
    """The name in the extra field for Unicode paths, which Python reads since 3.12 and did not before."""
    place = 0
    while place + 4 <= len(extra):
        kind, size = struct.unpack_from("<HH", extra, place)
        if kind == _UNICODE_PATH:
            return extra[place + 9 : place + 4 + size].decode("utf-8", "replace") or "?"
        place += 4 + size
    return ""


def entry_problems(entries: Sequence[Entry], limits: Limits, archive_size: int) -> Iterator[EntryProblem]:
    """Every rule that the entries break.

    Args:
        entries: of one archive.
        limits: how much it may hold.
        archive_size: bytes of the archive itself.
    """
    if len(entries) > limits.entries:
        reason = f"it holds {len(entries):,} files, and {limits.entries:,} are allowed"
        yield EntryProblem("crowd", "", reason)
    total = sum(entry.size for entry in entries)
    if total > limits.total_size:
        yield EntryProblem("bomb", "", f"its files would unpack to {total:,} bytes")
    # Weights may be nothing but zeros, which pack to almost nothing.
    total -= sum(entry.size for entry in entries if entry.name == WEIGHTS)
    if total > _SMALL and total > limits.ratio * archive_size:
        # Files that lie over each other in the archive each look harmless.
        yield EntryProblem("bomb", "", f"{archive_size:,} bytes would unpack to {total:,}")
    same = Counter(entry.name.rstrip("/") for entry in entries)
    alike = Counter(name.casefold() for name in same)
    for entry in entries:
        yield from _problems_of(entry, limits)
        name = entry.name.rstrip("/")
        if same[name] > 1:
            yield EntryProblem("duplicate", escape(entry.name), f"{same[name]} files of the archive have this name")
        elif alike[name.casefold()] > 1:
            reason = "it differs from another name of the archive by upper and lower case alone"
            yield EntryProblem("duplicate", escape(entry.name), reason)


def _problems_of(entry: Entry, limits: Limits) -> Iterator[EntryProblem]:
    name = escape(entry.name)
    if (reason := _escapes(entry.name)) is not None:
        yield EntryProblem("traversal", name, reason)
    if entry.link:
        yield EntryProblem("link", name, "it is a link to another file")
    if entry.encrypted:
        yield EntryProblem("encrypted", name, "it is encrypted")
    if entry.alias not in ("", entry.name):
        yield EntryProblem("alias", name, f"some readers call it '{escape(entry.alias)}'")
    if entry.method not in METHODS:
        yield EntryProblem("packing", name, f"it is packed with method {entry.method}, which no model is")
    if entry.name != WEIGHTS and entry.size > _SMALL and entry.size > limits.ratio * max(entry.packed, 1):
        yield EntryProblem("bomb", name, f"{entry.packed:,} bytes would unpack to {entry.size:,}")


def _escapes(name: str) -> str | None:
    """Why a name would lead out of the folder that an archive is unpacked to; None if it would not."""
    parts = name.replace("\\", "/").split("/")
    if ".." in parts:
        return "its name leads out of the archive's own folder"
    if name.startswith(("/", "\\")) or parts[0].endswith(":"):
        return "its name is an absolute path"
    if "\0" in name:
        return "its name holds a NUL, which ends names for some programs and not for others"
    return None if name.strip() else "its name is empty"
