"""How much of a file is read before it is refused."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

__all__ = ["Limits"]

_MIB = 2**20
_GIB = 2**30


@dataclass(frozen=True, slots=True)
class Limits:
    """The most that a model file may hold; more than any model of today needs, less than would hurt a machine.

    Attributes:
        entries: files in an archive.
        text_size: bytes of a config or of metadata.
        parts: objects and lists in a config.
        name: characters of one name, or of one key of an object.
        names: characters in the places of all parts of a config, or of a weights file: what its names, one below the
            other, can make of a small file.
        written: bytes that are unpacked to the disk, to be read there.
        listed: findings of each severity that a scan lists; the others are counted.
        findings: of a scan, after which it gives up and calls the file unsafe.
        total_size: bytes of all files in an archive, unpacked.
        ratio: how many times its packed size a packed file of more than a mebibyte may have.
        depth: levels of nested lists and objects in a config.
        digits: digits of a number in a config.
        outputs: outputs of one call.
        objects: groups and arrays in a weights file.
        shards: files that the weights of one model may lie in.
        group_depth: levels of nested groups in a weights file.
        array_size: bytes of one array that is read.
        memory: bytes that the process which reads weights may take.
        seconds: of processor time that reading the file may take, and as many again in the process that reads weights;
            large arrays get more.
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
        """The limits for a file of so many bytes: a small file must not cost much, and an honest one does not.

        With these, any file of 10 MB is answered within a gibibyte of memory and ten seconds on a machine of today.
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
