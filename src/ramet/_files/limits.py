"""How much of a file is read before it is refused."""

from __future__ import annotations

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
        total_size: bytes of all files in an archive, unpacked.
        ratio: how many times its packed size a packed file of more than a mebibyte may have.
        depth: levels of nested lists and objects in a config.
        levels: how deep all values of a config stand, together: the place of each is as long as it is deep.
        values: lists, objects and plain values in a config.
        digits: digits of a number in a config.
        outputs: outputs of one call.
        objects: groups and arrays in a weights file.
        shards: files that the weights of one model may lie in.
        group_depth: levels of nested groups in a weights file.
        array_size: bytes of one array that is read.
        memory: bytes that the process which reads weights may take, besides the array it reads.
        seconds: that the process which reads weights may take for one answer; large arrays get more.
    """

    entries: int = 20_000
    text_size: int = 256 * _MIB
    total_size: int = 1024 * _GIB
    ratio: int = 200
    depth: int = 900
    levels: int = 200_000_000
    values: int = 20_000_000
    digits: int = 400
    outputs: int = 10_000
    objects: int = 1_000_000
    shards: int = 1_000
    group_depth: int = 500
    array_size: int = 64 * _GIB
    memory: int = 4 * _GIB
    seconds: int = 60
