"""Values in a few words: `Adam(learning_rate=0.001)` for the config of an optimizer."""

from __future__ import annotations

import struct

from ramet._diff.value import class_of
from ramet._graph import Argument, FrozenDict, escape, map_leaves, render

__all__ = ["show"]

_LONGEST = 100


def show(value: Argument) -> str:
    """The value as text of about a hundred characters at most."""
    if isinstance(value, FrozenDict) and isinstance(name := class_of(value), str):
        config = value.get("config")
        inner = _settings(config) if isinstance(config, FrozenDict) else _render(config)
        return _shortened(f"{escape(name)}({inner})")
    return _render(value)


def _settings(config: FrozenDict) -> str:
    # What is off says little; the JSON has it.
    told = [
        (key, part) for key, part in config.pairs[:_LONGEST] if key != "name" and part is not None and part is not False
    ]
    return ", ".join(f"{escape(str(key))}={_show_part(part)}" for key, part in told)


def _show_part(value: Argument) -> str:
    """A value inside another, in fewer words still."""
    if isinstance(value, FrozenDict) and isinstance(name := class_of(value), str):
        return f"{escape(name)}(...)"
    return _render(value)


def _render(value: Argument) -> str:
    return render(map_leaves(value, _readable), lambda ref: escape(str(ref)), limit=_LONGEST)


def _shortened(text: str) -> str:
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."


def _readable(leaf: Argument) -> Argument:
    """A number that was kept in single precision with the digits it was given: 0.001, not 0.0010000000474974513."""
    if type(leaf) is not float or _single(leaf) != leaf:
        return leaf
    return next((short for digits in (6, 7, 8) if _single(short := float(f"{leaf:.{digits}g}")) == leaf), leaf)


def _single(number: float) -> float | None:
    try:
        found: float = struct.unpack("f", struct.pack("f", number))[0]
    except OverflowError:
        return None
    return found
