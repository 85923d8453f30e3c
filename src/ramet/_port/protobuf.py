"""Protocol buffers, read without their schema: the fields of a message by number.

Nothing is decoded before it is needed: a field that contains a message is a view into the bytes of the file, and its own
fields are read when a caller asks for them. How many fields are read from a file in total is limited.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from ramet._files import Limits, cannot_read
from ramet.errors import ModelFileError, OutOfBudgetError

# A number for the wire types 0, 1 and 5; a view into the bytes of the file for the wire type 2.
FieldValue: TypeAlias = int | memoryview

COPY_AGAIN = "copy the SavedModel again, or save the model again."
_FIELDS_PER_PART = 4
_LONGEST_VARINT = 10
_HIGHEST_FIELD = 2**29 - 1
_FIXED_SIZES = {1: 8, 5: 4}


def broken(what: str, reason: str) -> ModelFileError:
    """Return the error for a file that is damaged."""
    return cannot_read(what, reason, ModelFileError, fix=COPY_AGAIN)


class FieldBudget:
    """The number of fields that may still be read from one file, and the name of the file for messages."""

    def __init__(self, what: str, limits: Limits) -> None:
        self.what = what
        self.limits = limits
        self._left = _FIELDS_PER_PART * limits.parts

    def spend(self, count: int = 1) -> None:
        """Count fields, and refuse the file if there are too many."""
        self._left -= count
        if self._left < 0:
            reason = f"it has more than {_FIELDS_PER_PART * self.limits.parts:,} fields"
            raise cannot_read(self.what, reason, OutOfBudgetError)


def read_varint(data: bytes | memoryview, position: int, what: str) -> tuple[int, int]:
    """Return an unsigned number of up to 64 bits in seven-bit groups, and the position after it."""
    value = shift = 0
    for offset in range(position, min(position + _LONGEST_VARINT, len(data))):
        byte = data[offset]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value >= 2**64:
                break
            return value, offset + 1
        shift += 7
    raise broken(what, "a number in it is cut off or too long")


class Message:
    """A protocol buffer message. Its fields are read one level deep, on first use.

    Every reader of a message takes the number of the field. A field that is missing has the default of its type, as in
    every implementation. A field that must occur once and occurs twice is refused.
    """

    __slots__ = ("_budget", "_data", "_fields")

    def __init__(self, data: bytes | memoryview, budget: FieldBudget) -> None:
        self._data = memoryview(data)
        self._budget = budget
        self._fields: dict[int, list[FieldValue]] | None = None

    def number(self, field: int) -> int:
        """Return a signed number; 0 if the field is missing."""
        value = self._only(field)
        if isinstance(value, memoryview):
            raise self._wrong_type(field)
        return 0 if value is None else _signed(value)

    def data(self, field: int) -> memoryview:
        """Return the bytes of a field; empty if it is missing."""
        value = self._only(field)
        if isinstance(value, int):
            raise self._wrong_type(field)
        return memoryview(b"") if value is None else value

    def text(self, field: int) -> str:
        """Return a text; empty if the field is missing."""
        return self._decode(self.data(field))

    def message(self, field: int) -> Message | None:
        """Return the message in a field, or None if the field is missing."""
        value = self._only(field)
        if isinstance(value, int):
            raise self._wrong_type(field)
        return None if value is None else Message(value, self._budget)

    def views(self, field: int) -> Iterator[memoryview]:
        """Yield the bytes of each occurrence of a field."""
        for value in self._values(field):
            if isinstance(value, int):
                raise self._wrong_type(field)
            yield value

    def messages(self, field: int) -> Iterator[Message]:
        """Yield the messages of a repeated field."""
        for value in self.views(field):
            yield Message(value, self._budget)

    def texts(self, field: int) -> Iterator[str]:
        """Yield the texts of a repeated field."""
        for value in self.views(field):
            yield self._decode(value)

    def numbers(self, field: int) -> Iterator[int]:
        """Yield the signed numbers of a repeated field, whether they are packed or not."""
        for value in self._values(field):
            if isinstance(value, int):
                yield _signed(value)
                continue
            position = 0
            while position < len(value):
                self._budget.spend()
                number, position = read_varint(value, position, self._budget.what)
                yield _signed(number)

    def scan(self, field: int) -> Iterator[Message]:
        """Yield the messages of a repeated field like `messages`, without keeping the fields of this message."""
        for number, value in _read_fields(self._data, self._budget):
            if number == field:
                if isinstance(value, int):
                    raise self._wrong_type(field)
                yield Message(value, self._budget)

    def __contains__(self, field: int) -> bool:
        return field in self._read()

    def _read(self) -> dict[int, list[FieldValue]]:
        if self._fields is None:
            found: dict[int, list[FieldValue]] = {}
            for number, value in _read_fields(self._data, self._budget):
                found.setdefault(number, []).append(value)
            self._fields = found
        return self._fields

    def _values(self, field: int) -> list[FieldValue]:
        return self._read().get(field, [])

    def _only(self, field: int) -> FieldValue | None:
        values = self._values(field)
        if len(values) > 1:
            raise cannot_read(self._budget.what, f"the field {field} of a message in it occurs {len(values):,} times")
        return values[0] if values else None

    def _decode(self, data: memoryview) -> str:
        if len(data) > self._budget.limits.text_size:
            raise cannot_read(self._budget.what, "a text in it is too long", OutOfBudgetError)
        try:
            return str(data, "utf-8")
        except UnicodeDecodeError:
            raise broken(self._budget.what, "a text in it is not UTF-8") from None

    def _wrong_type(self, field: int) -> ModelFileError:
        return broken(self._budget.what, f"the field {field} of a message in it has the wrong type")


def _read_fields(data: memoryview, budget: FieldBudget) -> Iterator[tuple[int, FieldValue]]:
    """Yield the number and value of each field of a message, in the order of the file."""
    position, end, what = 0, len(data), budget.what
    while position < end:
        budget.spend()
        # Most tags and lengths have one byte; this function reads all of a file.
        tag = data[position]
        position += 1
        if tag >= 0x80:
            tag, position = read_varint(data, position - 1, what)
        number, wire_type = tag >> 3, tag & 7
        if not 0 < number <= _HIGHEST_FIELD:
            raise broken(what, f"a message in it has a field with the number {number}")
        if wire_type == 0:
            value, position = read_varint(data, position, what)
            yield number, value
            continue
        if wire_type == 2:
            size, position = read_varint(data, position, what)
        elif wire_type in _FIXED_SIZES:
            size = _FIXED_SIZES[wire_type]
        else:
            raise broken(what, f"a field in it has the wire type {wire_type}")
        if size > end - position:
            raise broken(what, "a field in it is longer than the message around it")
        inside = data[position : position + size]
        position += size
        yield number, inside if wire_type == 2 else int.from_bytes(inside, "little")


def _signed(value: int) -> int:
    """Return a number that was written in two's complement of 64 bits."""
    return value - 2**64 if value >= 2**63 else value
