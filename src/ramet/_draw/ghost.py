"""What a diff says was removed: it has a box where it stood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ramet._diff import Diff
from ramet._draw.box import Box, Scene
from ramet._draw.text import hint_of
from ramet._graph import FrozenDict, Graph, Op, Ref, split_call_id

__all__ = ["Ghost", "ghosts_of", "moves_of", "op_before", "path_now"]


@dataclass(slots=True)
class Ghost:
    """An op that is no longer there.

    Attributes:
        path: where it stood.
        class_name: of what class it was.
        op: the op, where it is known.
        takes: the ids of the calls it took from, by their names now.
        feeds: the ids of the calls that took from it.
    """

    path: str
    class_name: str
    op: Op | None
    takes: tuple[str, ...]
    feeds: tuple[str, ...]

    @property
    def old_name(self) -> str:
        """Its own name."""
        return self.path.rpartition("/")[2]

    def draw(self, scene: Scene, container: Box) -> Box:
        """A box for it, in the container."""
        box = scene.add_op(container.number, self.op or Op(self.old_name or "?", "layer", self.class_name or "?"))
        # What is not known is not told.
        box.op = self.op
        box.name, box.status, box.hint = self.old_name, "removed", hint_of(self.op) if self.op else ""
        # No path: the model on the picture has none for it.
        box.key = f"-{self.path}"
        return box


def ghosts_of(diff: Diff | None, before: Graph | None) -> dict[str, list[Ghost]]:
    """What was removed, by the path, now, of what held it."""
    found: dict[str, list[Ghost]] = {}
    if diff is None:
        return found
    moves = moves_of(diff)
    known = dict(before.walk()) if before is not None else {}
    for change in diff.changes:
        if change.kind == "removed" and change.before:
            home = change.before.rpartition("/")[0]
            facts = change.old if isinstance(change.old, FrozenDict) else FrozenDict()
            takes, feeds = (_calls(facts, key, home, moves) for key in ("takes", "feeds"))
            ghost = Ghost(change.before, change.what, op_before(change.before, known), takes, feeds)
            found.setdefault(path_now(home, moves), []).append(ghost)
    return found


def moves_of(diff: Diff) -> dict[str, str]:
    """The path after, by the path before, of what has another one."""
    changes = (*diff.changes, *diff.consequences)
    return {
        change.before: change.after
        for change in changes
        if change.before and change.after and change.before != change.after and change.kind != "weights"
    }


def path_now(path: str, moves: Mapping[str, str]) -> str:
    """The path that something has now: the longest part of it that moved says where the rest is."""
    head, tail = path, ""
    while head:
        if head in moves:
            return moves[head] + tail
        head, _, last = head.rpartition("/")
        tail = f"/{last}{tail}"
    return path


def op_before(path: str, known: Mapping[str, Op]) -> Op | None:
    """The op that stood at a path, by the ops of the model before."""
    op = known.get(path)
    return op if op is None or op.same_as is None else known.get(op.same_as, op)


def _calls(facts: FrozenDict, key: str, home: str, moves: Mapping[str, str]) -> tuple[str, ...]:
    value = facts.get(key)
    names = [item.call for item in value if isinstance(item, Ref)] if isinstance(value, tuple) else []
    return tuple(_call_now(name, home, moves) for name in names)


def _call_now(name: str, home: str, moves: Mapping[str, str]) -> str:
    op, _ = split_call_id(name) or (name, 1)
    path = f"{home}/{op}".lstrip("/")
    now = path_now(path, moves)
    return name if now == path else now.rpartition("/")[2]
