"""JSON from a file that nobody vouches for, as plain data."""

from __future__ import annotations

import json
import re
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any, TypeAlias

from ramet._files.limits import Limits
from ramet._files.problem import HostileFileError, ModelFileError

__all__ = ["Json", "read_json"]

Json: TypeAlias = Any

# Levels that can be read on whatever stack there is.
_SHALLOW = 100

# All that matters for depth and count: strings are skipped whole, and brackets inside them with them.
_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[\]{},]', re.DOTALL)


def read_json(data: bytes, what: str, limits: Limits) -> Json:
    """The data that a JSON text stands for.

    Refused is what Keras would never write, and what another reader could take for something else: keys that stand
    twice, numbers without end, endless nesting.

    Args:
        data: the text, in any encoding that Keras would read.
        what: the name of the file, for messages.
        limits: how much it may hold.
    """
    if len(data) > limits.text_size:
        raise HostileFileError(
            f"Cannot read '{what}': it is longer than a config may be.",
            expected=f"at most {limits.text_size:,} bytes",
            found=f"{len(data):,}",
            path=what,
        )
    try:
        text = data.decode(json.detect_encoding(data))
    except UnicodeDecodeError as error:
        raise ModelFileError(f"Cannot read '{what}': it is no text.", found=str(error.reason), path=what) from None
    if _nesting(text, what, limits) <= _SHALLOW:
        # A thread would take longer than the reading.
        try:
            return _parse(text, what, limits)
        except RecursionError:  # whoever asks is deep in calls already
            pass
    return _in_fresh_stack(lambda: _parse(text, what, limits), what)


def _nesting(text: str, what: str, limits: Limits) -> int:
    """How deep a text is nested. Python's reader recurses: that is asked before it is read."""
    depth = deepest = values = levels = 0
    for token in _TOKEN.finditer(text):
        char = text[token.start()]
        if char in "[{":
            depth += 1
            deepest = max(deepest, depth)
            if depth > limits.depth:
                raise HostileFileError(
                    f"Cannot read '{what}': it is nested more than {limits.depth:,} levels deep.", path=what
                )
        elif char in "]}":
            depth -= 1
        elif char == ",":
            values += 1
            levels += depth
            if values > limits.values or levels > limits.levels:
                most = f"{limits.values:,} values" if values > limits.values else f"{limits.levels:,} levels in all"
                raise HostileFileError(f"Cannot read '{what}': it holds more than {most}.", path=what)
    return deepest


def _parse(text: str, what: str, limits: Limits) -> Json:
    def integer(digits: str) -> int:
        if len(digits) > limits.digits:
            raise HostileFileError(f"Cannot read '{what}': a number in it has {len(digits):,} digits.", path=what)
        return int(digits)

    def fields(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        found = dict(pairs)
        if len(found) < len(pairs):
            twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
            raise HostileFileError(
                f"Cannot read '{what}': an object in it has the field {twice!a} twice, and readers differ in which counts.",
                path=what,
            )
        return found

    try:
        return json.loads(text, parse_int=integer, object_pairs_hook=fields)
    except json.JSONDecodeError as error:
        place = f"line {error.lineno}, column {error.colno}"
        raise ModelFileError(
            f"Cannot read '{what}': it is no JSON.", found=f"{error.msg}, {place}", path=what
        ) from None


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
