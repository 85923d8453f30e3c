"""Limits on what is read from a file before it is refused, and the error for that."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from ramet._report import escape
from ramet.errors import HostileFileError, ModelFileError

_MIB = 2**20
_GIB = 2**30


@dataclass(frozen=True, slots=True)
class Limits:
    """Upper bounds for a model file: more than any model of today needs, less than would hurt a machine.

    Attributes:
        entries: Files in an archive.
        text_size: Bytes of a config or of metadata.
        parts: Objects and lists in a config.
        name: Characters of one name, or of one key of an object.
        names: Characters in the paths of all parts of a config, or of a weights file. Nested names can make very long
            paths out of a small file.
        written: Bytes that are unpacked to the disk.
        listed: Findings of each severity that a scan lists; the others are counted.
        findings: Findings after which a scan stops and calls the file unsafe.
        total_size: Bytes of all files in an archive, unpacked.
        ratio: Highest compression ratio of a compressed file of more than a mebibyte.
        depth: Levels of nested lists and objects in a config.
        digits: Digits of a number in a config.
        outputs: Outputs of one call.
        objects: Groups and arrays in a weights file.
        shards: Files that the weights of one model may be split into.
        group_depth: Levels of nested groups in a weights file.
        array_size: Bytes of one array that is read.
        memory: Bytes of memory for the process that reads weights.
        seconds: Seconds of processor time for reading the file, and as many again for the process that reads weights,
            which gets more for large arrays.
    """

    entries: int = 20_000
    text_size: int = 256 * _MIB
    parts: int = 4_000_000
    name: int = 10_000
    names: int = 512 * _MIB
    written: int = 1024 * _GIB
    listed: int = 1_000
    findings: int = 100_000
    total_size: int = 1024 * _GIB
    ratio: int = 200
    depth: int = 900
    digits: int = 400
    outputs: int = 10_000
    objects: int = 1_000_000
    shards: int = 1_000
    group_depth: int = 500
    array_size: int = 64 * _GIB
    memory: int = 64 * _GIB
    seconds: int = 3_600

    def within(self, size: int) -> Limits:
        """Return the limits for a file of `size` bytes: a small file must not cost much, and a valid one does not.

        With these, any file of 10 MB is read or refused within a gibibyte of memory and ten seconds on a machine of today.
        """
        return dataclasses.replace(
            self,
            text_size=min(self.text_size, 8 * _MIB + size),
            parts=min(self.parts, 400_000 + size // 16),
            names=min(self.names, 32 * _MIB + 4 * size),
            written=min(self.written, _GIB + 16 * size),
            memory=min(self.memory, 640 * _MIB + 3 * size),
            seconds=min(self.seconds, 6 + size // (16 * _MIB)),
        )


def cannot_read(name: str, reason: str, kind: type[ModelFileError] = HostileFileError, **parts: str) -> ModelFileError:
    """Return the error for a file by its name; `parts` are further parts of the error, and `path` if it is not the name."""
    return kind(f"Cannot read '{escape(name)}': {reason}.", **{"path": name, **parts})
