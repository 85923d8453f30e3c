"""Mutations of bytes, of the fields of an archive, and of JSON values."""

import contextlib
import copy
import json
import struct
import sys
import threading

from tests.files.build import dense, tensor

_ONE_AT_A_TIME = threading.Lock()  # the recursion limit is shared by all threads
_SIZES = (1, 2, 4, 8)
_NUMBERS = (0, 1, 2, 0x7F, 0x80, 0xFF, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 2**63, 2**64 - 1)


def mutated_bytes(random, data, start=0, end=None):
    """Return the bytes with a few changes between two offsets."""
    result = bytearray(data)
    end = len(data) if end is None else end
    for _ in range(random.choice((1, 1, 2, 3, 6, 12))):
        if end <= start:
            break
        before = len(result)
        _change(random, result, random.randrange(start, end), end)
        end = min(end + len(result) - before, len(result))
    return bytes(result)


def _change(random, data, place, end):
    length = min(random.choice((1, 1, 2, 4, 16, 200)), end - place)
    what = random.randrange(8)
    if what == 0:
        data[place] ^= 1 << random.randrange(8)
    elif what in (1, 2):
        data[place] = random.randrange(256)
    elif what == 3:
        size = random.choice(_SIZES)
        number = random.choice(_NUMBERS) & (256**size - 1)
        data[place : min(place + size, end)] = number.to_bytes(size, "little")[: end - place]
    elif what == 4:
        del data[place : place + length]
    elif what == 5:
        data[place:place] = random.randbytes(length)
    elif what == 6:
        data[place:place] = data[place : place + length] * random.choice((1, 1, 50))
    elif random.random() < 0.2:
        del data[place:]
    else:
        other = random.randrange(len(data))
        data[place : place + length] = data[other : other + length]


# By signature: the size of the header.
_HEADERS = {
    b"PK\x03\x04": struct.calcsize("<4s5H3L2H"),
    b"PK\x01\x02": struct.calcsize("<4s6H3L5H2L"),
    b"PK\x05\x06": struct.calcsize("<4s4H2LH"),
}


def mutated_fields(random, data):
    """Return an archive with changed numbers in its headers: sizes, offsets, methods, flags, counts."""
    result = bytearray(data)
    headers = [(place, size) for signature, size in _HEADERS.items() for place in _offsets_of(data, signature)]
    for _ in range(random.choice((1, 1, 2, 4))):
        place, size = random.choice(headers)
        at = random.randrange(4, size - 1, 2)
        width = random.choice((2, 2, 4))
        number = random.choice((*_NUMBERS, len(data), len(data) - place)) & (256**width - 1)
        result[place + at : place + at + width] = number.to_bytes(width, "little")
    return bytes(result[: len(data)])


def _offsets_of(data, signature):
    place = data.find(signature)
    while place >= 0:
        yield place
        place = data.find(signature, place + 1)


_TEXTS = (
    *("", "x", "d", "i", "/", "a/b", "../x", "/etc/passwd", "\x1b[31m", "\ud800", "\u202e", "\0", "#2", "d#2", "é" * 3),
    *(
        "Dense",
        "Functional",
        "Sequential",
        "InputLayer",
        "Lambda",
        "Add",
        "__lambda__",
        "__numpy__",
        "float32",
        "bfloat16",
    ),
    *("keras.layers", "os", "builtins", "http://a/b", "m_00000.weights.h5", "..", "y" * 5_000),
)
_KEYS = (
    *("name", "class_name", "config", "module", "registered_name", "layers", "inbound_nodes", "input_layers", "args"),
    *("output_layers", "build_config", "compile_config", "shared_object_id", "layer", "function", "dtype", "shape", ""),
    *("keras_history", "value", "kwargs", "trainable", "weight_map", "metadata", "build_input_shape", "\x1b]0;a\x07"),
)
_SAMPLES = (
    tensor("x"),
    tensor("d", 1, 2),
    dense("d"),
    ["x", 0, 0],
    ["x", 0, 10**6],
    [["x", 0, 0], ["d", 0, 0]],
    {"class_name": "__numpy__", "config": {"value": [[1.0], [1.0, 2.0]], "dtype": "float32"}},
    {"class_name": "__slice__", "config": {"start": tensor("x"), "stop": [], "step": {}}},
    {"class_name": "__bytes__", "config": {"value": "\ud800"}},
    {"class_name": "Functional", "config": {"layers": [], "input_layers": [], "output_layers": []}},
)


def junk(random):
    """Return a random JSON value."""
    value = _leaf(random)
    for _ in range(random.choice((0, 0, 0, 1, 2, 3))):
        others = [_leaf(random) for _ in range(random.randrange(3))]
        value = [value, *others] if random.random() < 0.5 else {random.choice(_KEYS): item for item in [value, *others]}
    return value


def _leaf(random):
    what = random.randrange(10)
    if what == 0:
        return random.choice((None, True, False))
    if what == 1:
        return random.choice((0, 1, -1, 2, 3, 64, 2**31, 2**63, -(2**63), 2**70, 10**300, 10**405))
    if what == 2:
        return random.choice((0.0, -1.5, 1e308, float("nan"), float("inf"), 1.0))
    if what == 3:
        return random.choice(([], {}, [[]], [None] * 70, [0] * 3_000))
    if what == 4:
        return _deep(random.choice((5, 80, 300)))
    if what < 7:
        return copy.deepcopy(random.choice(_SAMPLES))
    return random.choice(_TEXTS)


def _deep(levels):
    value = None
    for number in range(levels):
        value = [value] if number % 2 else {"config": value}
    return value


@contextlib.contextmanager
def _deeper():
    """Raise the recursion limit: nested junk may be thousands of levels deep, and making it recurses."""
    with _ONE_AT_A_TIME:
        limit = sys.getrecursionlimit()
        sys.setrecursionlimit(20_000)
        try:
            yield
        finally:
            sys.setrecursionlimit(limit)


@_deeper()
def mutated_values(random, value):
    """Return JSON as bytes, with a few values exchanged, moved, removed, repeated or renamed."""
    root = [copy.deepcopy(value)]
    for _ in range(random.choice((1, 1, 1, 2, 3, 8))):
        places = _positions(root)
        if not places:
            break
        owner, key = random.choice(places)
        what = random.randrange(8)
        if what == 0 and owner is not root:
            del owner[key]
        elif what == 1 and isinstance(owner, list) and owner is not root:
            owner.insert(key, copy.deepcopy(owner[key]))
        elif what == 2:
            other, place = random.choice(places)
            owner[key] = copy.deepcopy(other[place])
        elif what == 3 and isinstance(owner, dict):
            owner[random.choice(_KEYS)] = owner.pop(key)
        else:
            owner[key] = junk(random)
    # In parts, by the encoder in Python: since 3.12, the one in C has a limit of its own, which cannot be raised.
    parts = json.JSONEncoder(ensure_ascii=random.random() < 0.9).iterencode(root[0])
    return "".join(parts).encode("utf-8", "surrogatepass")


def _positions(value):
    """Return every position in a value: the list or dict that holds it, and the key."""
    found, waiting = [], [value]
    while waiting:
        owner = waiting.pop()
        for key in list(owner) if isinstance(owner, dict) else range(len(owner)):
            found.append((owner, key))
            if isinstance(owner[key], dict | list):
                waiting.append(owner[key])
    return found
