"""The classes of each Keras 3 release with their settings, from the table that `tools/keras_settings.py` writes."""

from __future__ import annotations

import difflib
import functools
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ramet._files import Json
from ramet.errors import ArgumentError

MARK = "?"  # {"?": "required"} is a parameter without a default, {"?": "object"} one whose default is no JSON
_NUMBERS = re.compile(r"(\d+)\.(\d+)(?:\.\w+)*(?:[-+]\S+)?")


def known_versions() -> tuple[str, ...]:
    """Return the releases of Keras 3 that files can be ported to, such as "3.8", oldest first."""
    return tuple(release.rpartition(".")[0] for release in settings_table()["releases"])


def resolve_version(text: str) -> str:
    """Return the release for "3.8" or "3.8.0", as in `known_versions()`; raise `ArgumentError` for an unknown one."""
    if not isinstance(text, str):
        raise ArgumentError(
            f"Cannot port a file for Keras {text!r}: the release must be a string.",  # 3.10 is the number 3.1
            fix=f'write it in quotes, such as to="{known_versions()[-1]}".',
        )
    match = _NUMBERS.fullmatch(text.strip())
    found = f"{match[1]}.{match[2]}" if match else None
    known = known_versions()
    if found not in known:
        raise ArgumentError(
            f"Cannot port a file for Keras {text!a}: this release is unknown.",
            expected=f"one of {', '.join(known)}, or tf_keras",
            closest=difflib.get_close_matches(text, ["tf_keras"]),
            fix="use tf_keras for Keras 2, and the closest older release for others.",
        )
    return found


@functools.cache
def settings_table() -> dict[str, Any]:
    """Return the table, as `tools/keras_settings.py` describes it."""
    path = Path(__file__).with_name("keras_settings.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


@dataclass(frozen=True, slots=True)
class KerasClass:
    """One class of Keras in one release: its settings and the arguments of its call, with their defaults."""

    settings: dict[str, Json]
    keys: frozenset[str]
    call: dict[str, Json] | None
    texts: dict[str, list[str]]
    compile: dict[str, Json]
    is_layer: bool

    def takes(self, setting: str) -> bool:
        """Return whether a config may contain a setting."""
        return setting in self.settings or setting in self.keys

    def call_takes(self, argument: str) -> bool:
        """Return whether the call takes an argument by name."""
        return self.call is None or argument in self.call or "**" in self.call

    def positional(self) -> list[str]:
        """The names of the arguments of the call that can be given by position."""
        return [name for name in self.call or {} if name not in ("*", "**")]


@dataclass(frozen=True, slots=True)
class Release:
    """The classes, functions and names of one release."""

    version: str
    number: int

    def find(self, name: str) -> KerasClass | None:
        """Return a class by its full name, such as `keras.layers.Dense`, or None if the release does not have it."""
        return _class(self.number, name)

    def other_names(self, name: str) -> list[str]:
        """Return the other names of a class: the public ones, and for operations those in other modules."""
        classes = settings_table()["classes"]
        room = ".".join(name.split(".")[:3])
        own = name.rpartition(".")[2]
        moved = [each for each in classes if each.startswith(f"{room}.") and each.endswith(f".{own}") and each != name]
        same = [each for each, spans in classes.items() if (_at(spans, self.number) or {}).get("same") == name]
        return [*same, *(moved if room.startswith("keras.src.") else ())]

    def names(self, *kinds: str) -> frozenset[str]:
        """Return the short names of functions and classes of some kinds, such as "relu" for `activations`."""
        return frozenset(
            name for kind in kinds for name in settings_table()["names"][kind] if self._has("names", kind, name)
        )

    def function(self, name: str) -> dict[str, Json] | None:
        """Return the parameters of a function with their defaults, or None if the release does not have it."""
        found: dict[str, Json] | None = _at(settings_table()["functions"].get(name, ()), self.number)
        return found

    def _has(self, kind: str, group: str, name: str) -> bool:
        return any(first <= self.number <= last for first, last in settings_table()[kind][group][name])


@functools.cache
def release_of(version: str) -> Release:
    """Return a known release, such as "3.8"."""
    return Release(version, known_versions().index(version))


def _at(spans: Iterable[Sequence[Any]], number: int) -> Any:
    return next((found for first, last, found in spans if first <= number <= last), None)


@functools.cache
def _class(number: int, name: str) -> KerasClass | None:
    found = _at(settings_table()["classes"].get(name, ()), number)
    if found is None:
        return None
    if "same" in found:
        return _class(number, found["same"])
    settings, keys = found["init"], {*found.get("keys", ())}
    if "more" in found:
        base = _at(settings_table()["classes"]["keras.Layer"], number)
        settings = {**base["init"], **settings}
        keys |= {*base.get("keys", ())}
    return KerasClass(
        settings,
        frozenset(keys),
        found.get("call"),
        found.get("values", {}),
        found.get("compile", {}),
        "layer" in found,
    )


def first_release(has: Iterator[bool]) -> str:
    """Return the first of the releases for which something is true."""
    return next((version for version, is_there in zip(known_versions(), has, strict=True) if is_there), "")


def has_no_default(value: Json) -> bool:
    """Return whether this is the mark of a parameter without a default in JSON."""
    return isinstance(value, dict) and MARK in value


def is_same(one: Json, other: Json) -> bool:
    """Return whether two JSON values are the same; 1 and 1.0 are, 1 and true are not."""
    if has_no_default(one) or has_no_default(other):
        return False
    return one == other and json.dumps(one, default=str).count("true") == json.dumps(other, default=str).count("true")
