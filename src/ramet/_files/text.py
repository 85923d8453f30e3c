"""JSON from a file that nobody vouches for, as plain data."""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

from ramet._files.limits import Limits
from ramet._files.problem import HostileFileError, ModelFileError, OutOfBudgetError

__all__ = ["Json", "read_json"]

Json: TypeAlias = Any

_HOLDERS = (dict, list)
# Objects that a reader of HDF5 files turns into a tuple of their items before it looks at anything else.
_TUPLES = ("__tuple__", "TensorShape")


def read_json(data: bytes | str, what: str, limits: Limits, *, legacy: bool = False) -> Json:
    """The data that a JSON text stands for.

    Refused is what Keras would never write, and what another reader could take for something else: keys that stand
    twice, numbers without end, endless nesting.

    Args:
        data: the text, in any encoding that Keras would read.
        what: the name of the file, for messages.
        limits: how much it may hold.
        legacy: whether tuples are written as objects, as in the HDF5 files of Keras 2; they become lists.
    """
    if len(data) > limits.text_size:
        raise OutOfBudgetError(
            f"Cannot read '{what}': it is longer than a config may be.",
            expected=f"at most {limits.text_size:,} bytes",
            found=f"{len(data):,}",
            path=what,
        )
    try:
        # As Python's own reader has it, and with it Keras: half of a surrogate pair is a character.
        text = data if isinstance(data, str) else data.decode(json.detect_encoding(data), "surrogatepass")
    except UnicodeDecodeError as error:
        raise ModelFileError(f"Cannot read '{what}': it is no text.", found=str(error.reason), path=what) from None
    try:
        found = _parse(text, what, limits, legacy=legacy)
    except RecursionError:  # it is deep, or whoever asks is deep in calls already
        found = _in_fresh_stack(lambda: _parse(text, what, limits, legacy=legacy), what)
    _check_size(found, what, limits)
    return found


def _parse(text: str, what: str, limits: Limits, *, legacy: bool) -> Json:
    def integer(digits: str) -> int:
        if len(digits) > limits.digits:
            raise HostileFileError(f"Cannot read '{what}': a number in it has {len(digits):,} digits.", path=what)
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
            raise HostileFileError(
                f"Cannot read '{what}': an object in it has the field {twice[:80]!a} twice, and readers differ in which counts.",
                path=what,
            )
        if legacy and found.get("class_name") in _TUPLES:
            return found.get("items")
        return found

    try:
        return json.loads(text, parse_int=integer, object_pairs_hook=fields)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ModelFileError(
            f"Cannot read '{what}': it is no JSON.", found=f"{error.msg}, {place}", path=what
        ) from None


def _too_many(what: str, limits: Limits) -> OutOfBudgetError:
    return OutOfBudgetError(
        f"Cannot read '{what}': it has more than {limits.parts:,} objects and lists in it.", path=what
    )


def _check_size(value: Json, what: str, limits: Limits) -> None:
    """Refuse data that is nested too deeply, or that has too much text in the places of all its parts.

    Whatever is made from a config later, the places of parts and the paths of layers, is no longer than that.
    """
    total = parts = 0
    waiting = [(value, 1, 0)]
    while waiting:
        item, depth, length = waiting.pop()
        if depth > limits.depth:
            raise HostileFileError(
                f"Cannot read '{what}': it is nested more than {limits.depth:,} levels deep.", path=what
            )
        if type(item) is dict:
            name = item.get("name")
            longest = max(map(len, item), default=0)
            longest = max(longest, len(name)) if isinstance(name, str) else longest
            if longest > limits.name:
                raise HostileFileError(f"Cannot read '{what}': a name in it has {longest:,} characters.", path=what)
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
            raise OutOfBudgetError(
                f"Cannot read '{what}': the names in it, one below the other, make more than {limits.names:,} characters.",
                path=what,
            )


def _in_fresh_stack(work: Callable[[], Json], what: str) -> Json:
    """What the work returns, done where Python's whole recursion limit is free: deep models have deep configs."""
    done: list[Json] = []
    failed: list[BaseException] = []

    def run() -> None:
        try:
            done.append(work())
        except RecursionError:
            failed.append(HostileFileError(f"Cannot read '{what}': it is nested too deeply for Python.", path=what))
        except BaseException as error:  # noqa: BLE001  # raised again where it is asked for
            failed.append(error)

    thread = threading.Thread(target=run, name="ramet-json")
    thread.start()
    thread.join()
    if failed:
        raise failed[0]
    return done[0]
