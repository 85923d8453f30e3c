"""JSON from an untrusted file, as plain data."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeAlias

from ramet._files.limits import Limits, cannot_read
from ramet._graph import fold
from ramet._report import escape
from ramet.errors import ModelFileError, OutOfBudgetError

Json: TypeAlias = Any

_HOLDERS = (dict, list)
# Objects that readers of HDF5 files replace by a tuple of their items before they look at anything else.
_TUPLES = ("__tuple__", "TensorShape")
_LONGEST_TEXT = 40


def wrong_value(
    position: str, reason: str, kind: type[ModelFileError] = ModelFileError, **parts: str
) -> ModelFileError:
    """Return the error for a value of a config at a position such as `config.layers[3].name`."""
    return kind(f"Cannot read the model: '{escape(position)}' in its config {reason}.", path=position, **parts)


def misfit(expected: str, found: Json, position: str) -> ModelFileError:
    """Return the error for a value of a config that is not what it should be."""
    return wrong_value(position, f"is not {expected}", found=describe_json(found))


def describe_json(value: Json) -> str:
    """Describe a JSON value in a few words."""
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return f"the number {value}" if value.bit_length() < 64 else "a huge number"
    if isinstance(value, float):
        return f"the number {value}"
    if isinstance(value, str):
        # `ascii` escapes control characters, which a terminal would interpret.
        return f"the text {value[:_LONGEST_TEXT]!a}{'...' if len(value) > _LONGEST_TEXT else ''}"
    if isinstance(value, list):
        return f"a list of {len(value)}"
    return f"an object with {len(value)} fields" if isinstance(value, dict) else type(value).__name__


def items_of(value: Json) -> Iterable[Json] | None:
    """Return the values directly inside an object or a list, or None for anything else."""
    if isinstance(value, dict):
        return value.values()
    return value if isinstance(value, list) else None


def walk_json(value: Json) -> Iterator[Json]:
    """Yield a value and everything inside it, in the order of the file."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        yield item
        waiting.extend(reversed(list(items_of(item) or ())))


def map_objects(value: Json, change: Callable[[dict[str, Json]], Json]) -> Json:
    """Return a copy of a value, with `change(fields)` for every object in it, the innermost first."""

    def join(item: Json, done: list[Json]) -> Json:
        if isinstance(item, dict):
            return change(dict(zip(item, done, strict=True)))
        return done if isinstance(item, list) else item

    return fold(value, items_of, join)


def read_json(data: bytes | str, what: str, limits: Limits, *, legacy: bool = False) -> Json:
    """Parse JSON that Keras could have written, and refuse what other readers could interpret differently.

    Refused are duplicate keys, numbers with very many digits, and nesting beyond the limit.

    Args:
        data: The text, in any encoding that Keras would read.
        what: The name of the file, for messages.
        limits: The limits on size, depth and number of objects.
        legacy: Whether tuples are written as objects, as in the HDF5 files of Keras 2; they become lists.
    """
    if len(data) > limits.text_size:
        allowed = f"at most {limits.text_size:,} bytes"
        reason = "it is longer than a config may be"
        raise cannot_read(what, reason, OutOfBudgetError, expected=allowed, found=f"{len(data):,}")
    try:
        # Python's own reader, and therefore Keras, accepts half of a surrogate pair as a character.
        text = data if isinstance(data, str) else data.decode(json.detect_encoding(data), "surrogatepass")
    except UnicodeDecodeError as error:
        raise cannot_read(what, "it is not text", ModelFileError, found=str(error.reason)) from None
    try:
        found = _parse(text, what, limits, legacy=legacy)
    except RecursionError:  # the text is deeply nested, or the caller is already deep in calls
        # Python's whole recursion limit is available in a new thread: deep models have deep configs.
        with ThreadPoolExecutor(1, thread_name_prefix="ramet-json") as pool:
            try:
                found = pool.submit(_parse, text, what, limits, legacy=legacy).result()
            except RecursionError:
                raise cannot_read(what, "it is nested too deeply for Python") from None
    _check_size(found, what, limits)
    return found


def _parse(text: str, what: str, limits: Limits, *, legacy: bool) -> Json:
    def integer(digits: str) -> int:
        if len(digits) > limits.digits:
            raise cannot_read(what, f"a number in it has {len(digits):,} digits")
        return int(digits)

    left = limits.parts

    def fields(pairs: list[tuple[str, Json]]) -> Json:
        nonlocal left
        left -= 1
        if left < 0:
            raise _too_many(what, limits)
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
            where = f"an object in it has the field {twice[:80]!a} twice"
            raise cannot_read(what, f"{where}, and readers differ in which one they use")
        if legacy and found.get("class_name") in _TUPLES:
            return found.get("items")
        return found

    try:
        return json.loads(text, parse_int=integer, object_pairs_hook=fields)
    except json.JSONDecodeError as error:
        position = f"line {error.lineno}, column {error.colno}"
        raise cannot_read(what, "it is not valid JSON", ModelFileError, found=f"{error.msg}, {position}") from None


def _too_many(what: str, limits: Limits) -> ModelFileError:
    return cannot_read(what, f"it has more than {limits.parts:,} objects and lists", OutOfBudgetError)


def _check_size(value: Json, what: str, limits: Limits) -> None:
    """Refuse data that is nested too deeply, or whose nested names add up to too much text.

    Whatever is built from a config later, such as positions of values and paths of layers, is no longer than that.
    """
    total = parts = 0
    waiting = [(value, 1, 0)]
    while waiting:
        item, depth, length = waiting.pop()
        if depth > limits.depth:
            raise cannot_read(what, f"it is nested more than {limits.depth:,} levels deep")
        if type(item) is dict:
            name = item.get("name")
            longest = max(map(len, item), default=0)
            longest = max(longest, len(name)) if isinstance(name, str) else longest
            if longest > limits.name:
                raise cannot_read(what, f"a name in it has {longest:,} characters")
            length += len(name) if isinstance(name, str) else 0
            total += len(item) * length
            for key, part in item.items():
                total += len(key)
                if type(part) in _HOLDERS:
                    parts += 1
                    if part:
                        waiting.append((part, depth + 1, length + len(key)))
        elif type(item) is list:
            total += length + len(item)
            holders = [part for part in item if type(part) in _HOLDERS]
            parts += len(holders)
            waiting.extend((part, depth + 1, length + 8) for part in holders if part)
        if parts > limits.parts:
            raise _too_many(what, limits)
        if total > limits.names:
            reason = f"its nested names add up to more than {limits.names:,} characters"
            raise cannot_read(what, reason, OutOfBudgetError)
