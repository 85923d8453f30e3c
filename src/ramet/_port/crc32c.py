"""The checksum of TensorFlow's files: CRC-32C (Castagnoli), in numpy.

The standard library has only another polynomial. A loop over the bytes in Python would take minutes for a large model, so
long data is split into lanes of equal length that are advanced side by side; the states of the lanes are then joined. Joining
works because the checksum is linear: the state after A + B is the state after A, shifted by the length of B, XOR the state
after B.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    import numpy as np

    Words: TypeAlias = np.ndarray[Any, np.dtype[np.uint32]]

_POLYNOMIAL = 0x82F63B78
_ALL_BITS = 0xFFFFFFFF
_MASK_DELTA = 0xA282EAD8
# Shorter data is not worth the lanes.
_SHORT = 16_384
_LANES = 8192
_LOG2_LANE_SIZE = 9
_CHUNK = _LANES << _LOG2_LANE_SIZE


def crc32c(data: bytes | bytearray | memoryview, previous: int = 0) -> int:
    """Return the CRC-32C of data, or of earlier data with the checksum `previous` followed by this data."""
    state = previous ^ _ALL_BITS
    whole = len(data) // _CHUNK * _CHUNK
    view = memoryview(data)
    for start in range(0, whole, _CHUNK):
        state = _advance_chunk(state, view[start : start + _CHUNK])
    rest = view[whole:]
    if len(rest) <= _SHORT:
        return _advance_bytes(state, rest) ^ _ALL_BITS
    return _advance_chunk(state, rest) ^ _ALL_BITS


def masked(checksum: int) -> int:
    """Return a checksum as TensorFlow writes it: rotated, plus a constant."""
    return ((checksum >> 15 | checksum << 17) + _MASK_DELTA) & _ALL_BITS


def _advance_bytes(state: int, data: memoryview) -> int:
    table = _byte_table()
    for byte in data:
        state = table[(state ^ byte) & 0xFF] ^ (state >> 8)
    return state


def _advance_chunk(state: int, data: memoryview) -> int:
    """Return the state after at least four and at most `_CHUNK` bytes."""
    import numpy as np

    # Zeros in front do not change a state of zero, so they fill the first lane. The true state is XORed into the data.
    size = len(data)
    lanes = 1
    while lanes << _LOG2_LANE_SIZE < size:
        lanes *= 2
    padded = np.zeros(lanes << _LOG2_LANE_SIZE, np.uint8)
    padded[len(padded) - size :] = np.frombuffer(data, np.uint8)
    first = len(padded) - size
    padded[first : first + 4] ^= np.frombuffer(state.to_bytes(4, "little"), np.uint8)
    columns = np.ascontiguousarray(padded.reshape(lanes, -1).T)
    table = np.array(_byte_table(), np.uint32)
    states = np.zeros(lanes, np.uint32)
    for column in columns:
        states = table[(states.astype(np.uint8)) ^ column] ^ (states >> np.uint32(8))
    power = _LOG2_LANE_SIZE
    while len(states) > 1:
        states = _apply(_shift_by_power(power), states[0::2]) ^ states[1::2]
        power += 1
    return int(states[0])


@functools.cache
def _byte_table() -> list[int]:
    table = []
    for byte in range(256):
        for _ in range(8):
            byte = byte >> 1 ^ (_POLYNOMIAL if byte & 1 else 0)
        table.append(byte)
    return table


@functools.cache
def _shift_by_power(power: int) -> Words:
    """Return the matrix that advances a state over 2**power bytes of zero: the image of each of the 32 bits."""
    import numpy as np

    if power == 0:
        zero = memoryview(b"\0")
        return np.array([_advance_bytes(1 << bit, zero) for bit in range(32)], np.uint32)
    half = _shift_by_power(power - 1)
    return _apply(half, half)


def _apply(matrix: Words, states: Words) -> Words:
    import numpy as np

    result = np.zeros_like(states)
    for bit in range(32):
        result ^= np.where(states >> np.uint32(bit) & np.uint32(1), matrix[bit], np.uint32(0))
    return result
