"""The type of a scan rule, and the parts of a file that rules look at.

A rule is one frozen value: what it looks at, a function that yields findings, and an example of each outcome. Rules are
in `ramet._files.scanner.rules`; `ramet._files.scanner.walk` walks a file once and applies them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ramet._files.json_data import Json
from ramet._files.scanner.finding import Finding, Severity
from ramet._report import abbreviate

# What `safe_mode` does about most findings.
NOT_CHECKED = "Not checked."

Subject: TypeAlias = Literal["object", "text", "member", "archive problem", "weights problem"]

_NUMBERS = {int, float, bool, type(None)}
_LONGEST_LOCATION = 400


@dataclass(frozen=True, slots=True)
class Rule:
    """One thing that the scan looks for.

    Attributes:
        name: A few words, unique among the rules: "pickled torch module".
        looks_at: What `find` is called with.
            "object": each object in a config that names a class or function, as a `ConfigValue`;
            "text": each string in a config, as a `ConfigValue`, except names of classes and layers and the words of
            vocabularies;
            "member": each file in an archive that Keras does not expect there, as a `Member`;
            "archive problem", "weights problem": what the readers refuse, as an `EntryProblem` or `H5Problem`.
        find: Yields the findings for one of these.
        example: What the rule finds. For "object" and "text", a value that may occur anywhere in a config; for "member",
            the name of a file and its first bytes; otherwise a problem.
        harmless: The same kind of value, without findings of this rule. None if the rule finds everything it is shown.
        classes: For "object", the only classes to look at; empty for all.
        in_lists: For "text", what a string in a list must contain for the rule to look at it; None for any string. A list
            may have millions of strings.
    """

    name: str
    looks_at: Subject
    find: Callable[[Any], Iterator[Finding]]
    example: Any
    harmless: Any = None
    classes: frozenset[str] = frozenset()
    in_lists: re.Pattern[str] | None = None


@dataclass(slots=True, eq=False)  # not frozen: a large config has a million of them, and frozen ones take twice as long
class ConfigValue:
    """One value in a config. Its location and layer are computed only on demand: few values have findings.

    Attributes:
        value: The value itself.
        step: The key or index of the value in its parent.
        key: The key of the value; for an item of a list, the key of the list.
        parent: The dict or list that contains it; None for the whole config.
        legacy: Whether the file has the HDF5 format of Keras 2.
    """

    value: Json
    step: str | int
    key: str = ""
    parent: ConfigValue | None = None
    legacy: bool = False

    def children(self, is_plain: Callable[[str], bool]) -> Iterator[ConfigValue]:
        """Yield the direct children that rules must see: no numbers, nothing empty, no plain strings in a list."""
        if isinstance(self.value, dict):
            for key, item in self.value.items():
                if item and type(item) not in _NUMBERS:
                    yield ConfigValue(item, key, key, self, self.legacy)
        elif isinstance(self.value, list):
            for number, item in enumerate(self.value):
                if item and type(item) not in _NUMBERS and not (type(item) is str and is_plain(item)):
                    yield ConfigValue(item, number, self.key, self, self.legacy)

    def finding(
        self,
        severity: Severity,
        kind: str,
        what: str,
        effect: str,
        safe_mode: str = NOT_CHECKED,
        advisories: tuple[str, ...] = (),
        *,
        setting: str = "",
        name: str = "",
    ) -> Finding:
        """Return a finding at this value, or at a setting of this object."""
        place = f"{self.location}.config.{setting}" if setting else self.location
        return Finding(severity, kind, what, effect, place, self.layer, safe_mode, advisories, name)

    @property
    def class_name(self) -> Any:
        """The class that an object names; anything but a string is an attack."""
        return self.value.get("class_name")

    @property
    def settings(self) -> dict[str, Json]:
        """The config of an object; empty where it has none."""
        config = self.value.get("config")
        return config if isinstance(config, dict) else {}

    @property
    def location(self) -> str:
        """The position in the config: `config.layers[2].config.function`."""
        steps = [value._step_text() for value in self._with_parents()]
        return abbreviate("".join(reversed(steps)), _LONGEST_LOCATION)

    @property
    def steps(self) -> tuple[str | int, ...]:
        """The keys and indices from the whole config to this value."""
        return tuple(reversed([value.step for value in self._with_parents()[:-1]]))

    @property
    def layer(self) -> str:
        """The path of the layer that this value is or belongs to, without the name of the model."""
        names = (value._layer_name() for value in self._with_parents())
        path = "/".join(reversed([abbreviate(name) for name in names if name is not None]))
        return abbreviate(path, _LONGEST_LOCATION)

    @property
    def owner(self) -> str:
        """The class of the object whose config contains this value."""
        for value in self._with_parents()[1:]:
            name = value.value.get("class_name") if isinstance(value.value, dict) else None
            if isinstance(name, str):
                return name
        return ""

    def key_above(self, keys: Collection[str], depth: int) -> str:
        """Return the first of these keys that leads to a parent of this value within the same object, or ""."""
        parent = self.parent
        for _ in range(depth):
            if parent is None or (isinstance(parent.value, dict) and "class_name" in parent.value):
                break
            if parent.key in keys:
                return parent.key
            parent = parent.parent
        return ""

    def _step_text(self) -> str:
        if isinstance(self.step, int):
            return f"[{self.step}]"
        return abbreviate(self.step) if self.parent is None else f".{abbreviate(self.step)}"

    def _with_parents(self) -> list[ConfigValue]:
        found: list[ConfigValue] = []
        value: ConfigValue | None = self
        while value is not None:
            found.append(value)
            value = value.parent
        return found

    def _layer_name(self) -> str | None:
        """Return the name of the layer with this config; None for anything else, and for the model itself.

        Layers have names and can be trainable; initializers and the like are not part of a path.
        """
        config = self.value.get("config") if isinstance(self.value, dict) else None
        name = config.get("name") if isinstance(config, dict) else None
        if self.parent is None or not isinstance(config, dict) or not isinstance(name, str):
            return None
        is_layer = "trainable" in config or "inbound_nodes" in self.value or self.key == "layers"
        return name if is_layer else None


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive: its name, and its first bytes."""

    name: str
    start: bytes

    def finding(self, severity: Severity, kind: str, what: str, effect: str, safe_mode: str = "") -> Finding:
        """Return a finding at this file."""
        return Finding(severity, kind, what, effect, self.name, safe_mode=safe_mode)
