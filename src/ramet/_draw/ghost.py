"""What a diff says was removed: it has a box where it stood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ramet._diff import Change, Diff
from ramet._draw.box import Box, Scene
from ramet._draw.palette import family_of
from ramet._graph import FrozenDict, Op, Ref, split_call_id

__all__ = ["Ghost", "ghosts_of", "moves_of"]


@dataclass(slots=True)
class Ghost:
    """An op that is no longer there.

    Attributes:
        change: the change that says so.
        old_name: its own name.
        takes: the ids of the calls it took from, by their names now.
        feeds: the ids of the calls that took from it.
    """

    change: Change
    old_name: str
    takes: tuple[str, ...]
    feeds: tuple[str, ...]

    def draw(self, scene: Scene, container: Box) -> Box:
        """A box for it, in the container."""
        op = Op(self.old_name or "?", "layer", self.change.what or "?")
        box = scene.add(container.number, "layer", family_of(op), op.class_name)
        box.name, box.status = self.old_name, "removed"
        # No path: the model on the picture has none for it.
        box.key = f"-{self.change.before}"
        return box


def ghosts_of(diff: Diff | None) -> dict[str, list[Ghost]]:
    """What was removed, by the path, now, of what held it."""
    found: dict[str, list[Ghost]] = {}
    if diff is None:
        return found
    moves = moves_of(diff)
    for change in diff.changes:
        if change.kind == "removed" and change.before:
            home, _, name = change.before.rpartition("/")
            facts = change.old if isinstance(change.old, FrozenDict) else FrozenDict()
            ghost = Ghost(change, name, _calls(facts, "takes", home, moves), _calls(facts, "feeds", home, moves))
            found.setdefault(_now(home, moves), []).append(ghost)
    return found


def moves_of(diff: Diff) -> dict[str, str]:
    """The path after, by the path before, of what has another one."""
    changes = (*diff.changes, *diff.consequences)
    return {
        change.before: change.after
        for change in changes
        if change.before and change.after and change.before != change.after and change.kind != "weights"
    }


def _now(path: str, moves: Mapping[str, str]) -> str:
    """The path that something has now: the longest part of it that moved says where the rest is."""
    head, tail = path, ""
    while head:
        if head in moves:
            return moves[head] + tail
        head, _, last = head.rpartition("/")
        tail = f"/{last}{tail}"
    return path


def _calls(facts: FrozenDict, key: str, home: str, moves: Mapping[str, str]) -> tuple[str, ...]:
    value = facts.get(key)
    names = [item.call for item in value if isinstance(item, Ref)] if isinstance(value, tuple) else []
    return tuple(_call_now(name, home, moves) for name in names)


def _call_now(name: str, home: str, moves: Mapping[str, str]) -> str:
    op, _ = split_call_id(name) or (name, 1)
    path = f"{home}/{op}".lstrip("/")
    now = _now(path, moves)
    return name if now == path else now.rpartition("/")[2]
