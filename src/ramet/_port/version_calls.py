"""The calls of one layer or operation in a graph, between two releases of Keras 3."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypeAlias

from ramet._files import Json
from ramet._port.releases import KerasClass, release_of

_Object: TypeAlias = dict[str, Json]


@dataclass(slots=True)
class Calls:
    """The calls of one layer or operation in a graph, and its class in both releases."""

    name: str
    before: KerasClass
    after: KerasClass
    value: _Object
    _nodes: list[_Object] = field(init=False)

    def __post_init__(self) -> None:
        nodes = self.value.get("inbound_nodes")
        found = nodes if isinstance(nodes, list) else []
        is_call = [
            isinstance(node, dict) and isinstance(node.get("args"), list) and isinstance(node.get("kwargs"), dict)
            for node in found
        ]
        self._nodes = found if all(is_call) else []

    def __iter__(self) -> Iterator[_Object]:
        return iter(self._nodes)

    def at(self, version: str) -> KerasClass | None:
        """Return the class in another release."""
        return release_of(version).find(self.name)

    def moves_to_call(self, setting: str) -> bool:
        """Return whether a setting is an argument of the call in the target: so it was for many operations until 3.10."""
        is_moved = setting in (self.after.call or {}) and setting not in (self.before.call or {})
        return is_moved and bool(self._nodes)

    def moves_to_settings(self, argument: str) -> bool:
        """Return whether an argument of the call is a setting in the target: so it is for many operations since 3.11."""
        is_new = argument not in self.before.settings or argument in (self.before.call or {})
        return argument in self.after.settings and is_new

    def set_argument(self, name: str, value: Json) -> None:
        """Pass an argument by name in all calls."""
        for call in self._nodes:
            call["kwargs"][name] = value

    def name_arguments(self, call: _Object) -> None:
        """Pass arguments by name from the first one whose position changed."""
        before, after = self.before.positional(), self.after.positional()
        args = call["args"]
        if "*" in (self.before.call or {}) or "*" in (self.after.call or {}):
            return
        # The first argument has the same meaning, even if it got another name.
        kept = next((at for at in range(1, len(args)) if before[at : at + 1] != after[at : at + 1]), len(args))
        moved = before[kept : len(args)]
        if len(moved) == len(args) - kept:
            call["kwargs"] = {**dict(zip(moved, args[kept:], strict=True)), **call["kwargs"]}
            call["args"] = args[:kept]
        first = before[0] if before else ""
        if not args and first in call["kwargs"] and after and not self.after.call_takes(first):
            call["args"] = [call["kwargs"].pop(first)]
