"""TensorFlow checkpoints ("tensor bundles"), read without TensorFlow: the table of tensors, and one tensor at a time.

`variables.index` is a sorted table in the format of LevelDB that maps each key to the dtype, shape and position of a tensor.
The values are in `variables.data-00000-of-00001`, or in several of these files. Every block of the table and every tensor has
a checksum, and all of them are verified.
"""

from __future__ import annotations

import math
import stat
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ramet._files import Limits, cannot_read
from ramet._port.crc32c import crc32c, masked
from ramet._port.protobuf import COPY_AGAIN, FieldBudget, Message, broken, read_varint
from ramet._report import escape
from ramet.errors import ModelFileError, OutOfBudgetError

if TYPE_CHECKING:
    import numpy as np

# The data types of TensorFlow by their number, with the names that numpy and ml_dtypes have for them.
DTYPES = {
    1: "float32",
    2: "float64",
    3: "int32",
    4: "uint8",
    5: "int16",
    6: "int8",
    7: "string",
    8: "complex64",
    9: "int64",
    10: "bool",
    14: "bfloat16",
    17: "uint16",
    18: "complex128",
    19: "float16",
    22: "uint32",
    23: "uint64",
    24: "float8_e5m2",
    25: "float8_e4m3fn",
}
_ML_DTYPES = ("bfloat16", "float8_e5m2", "float8_e4m3fn")
_MAGIC = 0xDB4775248B80FB57
_FOOTER = 48
# After each block: its compression, and the checksum of both.
_TRAILER = 5
_SNAPPY = 1
_HIGHEST_RANK = 32
_MOST_VALUES = 2**48


@dataclass(frozen=True, slots=True)
class Array:
    """A tensor of a checkpoint. Its values are read when they are needed.

    Attributes:
        shape: Its shape.
        dtype: The name of its dtype in numpy or ml_dtypes; "string" for texts, which are read as bytes objects.
    """

    shape: tuple[int, ...]
    dtype: str
    _key: str = field(repr=False)
    _source: Checkpoint = field(repr=False, compare=False)

    def read(self) -> np.ndarray[Any, Any]:
        """Return the values, after comparing them with their checksum."""
        return self._source.read(self._key)


@dataclass(frozen=True, slots=True)
class _Entry:
    dtype: int
    shape: tuple[int, ...]
    shard: int
    offset: int
    size: int
    checksum: int
    is_partitioned: bool


class Checkpoint:
    """A checkpoint by its prefix, such as `model/variables/variables`."""

    def __init__(self, prefix: Path, limits: Limits) -> None:
        self._prefix = prefix
        self._limits = limits
        index = prefix.with_name(f"{prefix.name}.index")
        self._what = index.name
        self._entries: dict[str, _Entry] = {}
        self._shards: dict[int, tuple[Path, int]] = {}
        budget = FieldBudget(self._what, limits)
        total = 0
        header: Message | None = None
        for key, value in _table(read_file(index, limits), self._what, limits):
            if header is None:
                if key:
                    break
                header = Message(value, budget)
                self._shard_count = _shard_count(header, self._what, limits)
                continue
            total += len(key)
            if len(self._entries) >= limits.objects or total > limits.names:
                raise cannot_read(self._what, "it lists too many tensors", OutOfBudgetError)
            try:
                name = key.decode()
            except UnicodeDecodeError:
                raise broken(self._what, "the name of a tensor is not UTF-8") from None
            self._entries[name] = self._entry(name, Message(value, budget))
        if header is None:
            raise broken(self._what, "it has no header")

    def __contains__(self, key: str) -> bool:
        return key in self._entries

    def array(self, key: str) -> Array:
        """Return the tensor with a key, without reading its values; raise if there is none or if it cannot be read."""
        entry = self._entries.get(key)
        if entry is None:
            raise broken(self._what, f"the tensor '{escape(key)}' is missing")
        what = f"the tensor '{escape(key)}'"
        if entry.is_partitioned:
            reason = "it is split into slices, as variables of a parameter server are"
            fix = "load the model with TensorFlow, copy its weights into a model without partitioned variables, and save that."
            raise ModelFileError(f"Cannot read {what}: {reason}.", fix=fix, path=key)
        if entry.dtype not in DTYPES:
            raise ModelFileError(f"Cannot read {what}: its dtype {entry.dtype} is not supported.", path=key)
        dtype = DTYPES[entry.dtype]
        # A text has at least the byte for its length, so the size of the file limits their number, too.
        count = math.prod(entry.shape)
        fits = entry.size >= count if dtype == "string" else entry.size == count * _numpy_dtype(dtype).itemsize
        if not fits:
            reason = f"its {entry.size:,} bytes do not match its shape {list(entry.shape)}"
            raise ModelFileError(f"Cannot read {what}: {reason}.", fix=COPY_AGAIN, path=key)
        if entry.size > self._limits.array_size or (dtype == "string" and entry.size > self._limits.text_size):
            raise OutOfBudgetError(f"Cannot read {what}: its {entry.size:,} bytes are more than allowed.", path=key)
        path, available = self._shard(entry.shard)
        if entry.offset + entry.size > available:
            raise broken(path.name, f"it has {available:,} bytes, and {what} ends after {entry.offset + entry.size:,}")
        return Array(entry.shape, dtype, key, self)

    def read(self, key: str) -> np.ndarray[Any, Any]:
        """Return the values of a tensor, after comparing them with their checksum."""
        import numpy as np

        array = self.array(key)
        entry = self._entries[key]
        path, _ = self._shard(entry.shard)
        data = bytearray(entry.size)
        try:
            with path.open("rb") as file:
                file.seek(entry.offset)
                filled = file.readinto(data)
        except OSError as error:
            raise cannot_read(path.name, "it cannot be opened", ModelFileError, found=error.strerror or "") from None
        if filled != entry.size:
            raise broken(path.name, "it is shorter than before")
        if array.dtype == "string":
            texts, checksum = _texts(data, math.prod(entry.shape), path.name, self._limits)
        else:
            checksum = crc32c(data)
        if masked(checksum) != entry.checksum:
            reason = f"the values of '{escape(key)}' do not match their checksum"
            raise cannot_read(path.name, reason, ModelFileError, fix=COPY_AGAIN)
        if array.dtype == "string":
            found = np.empty(len(texts), object)
            found[:] = texts
            return found.reshape(entry.shape)
        if array.dtype == "bool" and max(data, default=0) > 1:
            raise cannot_read(path.name, f"'{escape(key)}' contains booleans other than 0 and 1")
        return np.frombuffer(data, _numpy_dtype(array.dtype)).reshape(entry.shape)

    def _entry(self, name: str, message: Message) -> _Entry:
        shape = message.message(2)
        sizes = [] if shape is None else [dim.number(1) for dim in shape.messages(2)]
        shard, offset, size = message.number(3), message.number(4), message.number(5)
        is_valid = 0 <= shard < self._shard_count and offset >= 0 and size >= 0 and len(sizes) <= _HIGHEST_RANK
        # numpy refuses a shape such as (0, 2**62, 2**62), although no values have it.
        if not is_valid or min(sizes, default=0) < 0 or math.prod(filter(None, sizes)) >= _MOST_VALUES:
            raise broken(self._what, f"the entry for '{escape(name)}' is invalid")
        return _Entry(message.number(1), tuple(sizes), shard, offset, size, message.number(6), 7 in message)

    def _shard(self, number: int) -> tuple[Path, int]:
        """Return the path and the size of one of the files with values."""
        if number not in self._shards:
            path = self._prefix.with_name(f"{self._prefix.name}.data-{number:05}-of-{self._shard_count:05}")
            self._shards[number] = path, file_size(path)
        return self._shards[number]


def file_size(path: Path) -> int:
    """Return the size of a regular file; raise if there is none. Opening a pipe or a device could block."""
    try:
        found = path.stat()
    except (OSError, ValueError):
        raise cannot_read(path.name, "the file is missing", ModelFileError, fix=COPY_AGAIN) from None
    if not stat.S_ISREG(found.st_mode):
        raise cannot_read(path.name, "it is not a regular file")
    return found.st_size


def read_file(path: Path, limits: Limits) -> bytes:
    """Return the content of a file that has to be in memory as a whole."""
    size = file_size(path)
    if size > limits.text_size:
        allowed = f"at most {limits.text_size:,} bytes"
        raise cannot_read(path.name, "it is too large", OutOfBudgetError, expected=allowed, found=f"{size:,}")
    try:
        with path.open("rb") as file:
            return file.read(size)
    except OSError as error:
        raise cannot_read(path.name, "it cannot be opened", ModelFileError, found=error.strerror or "") from None


def _numpy_dtype(name: str) -> np.dtype[Any]:
    import numpy as np

    if name in _ML_DTYPES:
        import ml_dtypes

        found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
        return found
    return np.dtype(name).newbyteorder("<")


def _shard_count(header: Message, what: str, limits: Limits) -> int:
    count = header.number(1)
    if not 0 < count <= limits.shards:
        raise cannot_read(what, f"its values are in {count:,} files", expected=f"1 to {limits.shards:,}")
    if header.number(2) != 0:
        reason = "its values were written on a big-endian machine"
        raise cannot_read(what, reason, ModelFileError, fix="save the model on a little-endian machine.")
    return count


def _table(data: bytes, what: str, limits: Limits) -> Iterator[tuple[bytes, memoryview]]:
    """Yield the keys and values of a table, in order."""
    if len(data) < _FOOTER or int.from_bytes(data[-8:], "little") != _MAGIC:
        raise broken(what, "it is cut off, or it is not the index of a checkpoint")
    blocks = _Blocks(data, what, limits)
    footer = memoryview(data)[-_FOOTER:-8]
    _, position = _handle(footer, 0, what)
    index, _ = _handle(footer, position, what)
    previous: bytes | None = None
    end = 0
    for _, value in _block_entries(blocks.read(*index), what, limits):
        (offset, size), _ = _handle(value, 0, what)
        # Blocks follow one another. The same block twice would make a small file expensive.
        if offset < end:
            raise cannot_read(what, "blocks of it overlap")
        end = offset + size
        for key, entry in _block_entries(blocks.read(offset, size), what, limits):
            if previous is not None and key <= previous:
                raise broken(what, "its keys are not sorted")
            previous = key
            yield key, entry


class _Blocks:
    """The blocks of a table, verified and unpacked."""

    def __init__(self, data: bytes, what: str, limits: Limits) -> None:
        self._data = memoryview(data)
        self._what = what
        self._left = limits.text_size

    def read(self, offset: int, size: int) -> memoryview:
        """Return the content of a block."""
        end = offset + size
        if end + _TRAILER > len(self._data) - _FOOTER:
            raise broken(self._what, "a block of it is cut off")
        stored = int.from_bytes(self._data[end + 1 : end + _TRAILER], "little")
        if masked(crc32c(self._data[offset : end + 1])) != stored:
            raise broken(self._what, "a block of it does not match its checksum")
        compression, content = self._data[end], self._data[offset:end]
        if compression == _SNAPPY:
            content = memoryview(_unpack_snappy(content, self._what, self._left))
        elif compression != 0:
            raise broken(self._what, f"a block of it has the unknown compression {compression}")
        self._left -= len(content)
        return content


def _handle(data: memoryview, position: int, what: str) -> tuple[tuple[int, int], int]:
    """Return the offset and size of a block, and the position after them."""
    offset, position = read_varint(data, position, what)
    size, position = read_varint(data, position, what)
    return (offset, size), position


def _block_entries(block: memoryview, what: str, limits: Limits) -> Iterator[tuple[bytes, memoryview]]:
    """Yield the keys and values of a block. Each key gives only what differs from the one before it."""
    restarts = int.from_bytes(block[-4:], "little")
    end = len(block) - 4 - 4 * restarts
    if len(block) < 4 or end < 0:
        raise broken(what, "a block of it is cut off")
    position, key = 0, b""
    while position < end:
        shared, position = read_varint(block, position, what)
        added, position = read_varint(block, position, what)
        size, position = read_varint(block, position, what)
        if shared > len(key) or added + size > end - position:
            raise broken(what, "an entry of it is cut off")
        if shared + added > limits.name:
            raise cannot_read(what, f"the name of a tensor has {shared + added:,} characters")
        key = key[:shared] + bytes(block[position : position + added])
        position += added
        yield key, block[position : position + size]
        position += size


def _unpack_snappy(data: memoryview, what: str, most: int) -> bytearray:
    """Unpack a block that was compressed with Snappy: literals, and copies of earlier output."""
    expected, position = read_varint(data, 0, what)
    if expected > most:
        raise cannot_read(what, f"a block of it would unpack to {expected:,} bytes", OutOfBudgetError)
    output = bytearray()
    while position < len(data):
        tag = data[position]
        position += 1
        if tag & 3 == 0:
            size = (tag >> 2) + 1
            if size > 60:
                width = size - 60
                size = int.from_bytes(data[position : position + width], "little") + 1
                position += width
            literal = data[position : position + size]
            position += size
            if len(literal) < size or len(output) + size > expected:
                break
            output += literal
            continue
        width = (1, 2, 4)[(tag & 3) - 1]
        distance = int.from_bytes(data[position : position + width], "little")
        size = (tag >> 2) + 1
        if width == 1:
            distance |= tag >> 5 << 8
            size = (tag >> 2 & 7) + 4
        position += width
        if position > len(data) or not 0 < distance <= len(output) or len(output) + size > expected:
            break
        start = len(output) - distance
        for offset in range(start, start + size):  # a copy may overlap its own output
            output.append(output[offset])
    if position != len(data) or len(output) != expected:
        raise broken(what, "a compressed block of it is invalid")
    return output


def _texts(data: bytearray, count: int, what: str, limits: Limits) -> tuple[list[bytes], int]:
    """Return the texts of a tensor and their checksum: all lengths come first, then their checksum, then the texts."""
    if count > limits.objects:
        raise cannot_read(what, f"a tensor contains {count:,} texts", OutOfBudgetError)
    view = memoryview(data)
    sizes, position = [], 0
    for _ in range(count):
        size, position = read_varint(view, position, what)
        sizes.append(size)
    # The checksum covers the lengths as fixed-width numbers, not as they are written.
    lengths = b"".join(size.to_bytes(4 if size < 2**32 else 8, "little") for size in sizes)
    checksum = crc32c(lengths)
    written = view[position : position + 4]
    position += 4
    if position + sum(sizes) != len(view) or int.from_bytes(written, "little") != masked(checksum):
        raise broken(what, "the lengths of texts in it are invalid")
    checksum = crc32c(view[position - 4 :], checksum)
    texts = []
    for size in sizes:
        texts.append(bytes(view[position : position + size]))
        position += size
    return texts, checksum
