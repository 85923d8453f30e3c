"""A diff on the picture: which box each change is about, and what the panel says of it."""

from __future__ import annotations

from collections.abc import Mapping

from ramet._diff import ABSENT, Change, Diff
from ramet._diff.line import label, words
from ramet._diff.show import show
from ramet._draw.box import Note, Scene, Status
from ramet._graph import Argument, escape

__all__ = ["mark_changes", "mark_problems"]

_STATUS: dict[str, Status] = {"added": "added", "removed": "removed", "renamed": "renamed"}
# What is told of a box that has several changes.
_RANK: tuple[Status, ...] = ("", "renamed", "changed", "added", "removed", "problem")
# What follows from the changes is told as far as a reader would read.
_FOLLOWING = 2_000


def mark_changes(scene: Scene, diff: Diff) -> None:
    """Notes for each change, in the order of the diff, then for what follows from them."""
    at = _boxes_by_path(scene)
    gone = {box.key: box.number for box in scene.boxes if box.status == "removed"}
    for change in diff.changes:
        number = gone.get(f"-{change.before}") if change.kind == "removed" else None
        _add(scene, change, _box_of(change, at) if number is None else number, follows=False)
    for change in diff.consequences[:_FOLLOWING]:
        _add(scene, change, _box_of(change, at), follows=True)


def mark_problems(scene: Scene, problems: Mapping[str, str]) -> None:
    """Notes for what a check found, before all others."""
    at = _boxes_by_path(scene)
    for path, text in problems.items():
        number = _nearest(path, at)
        _note(scene, Note("problem", number, f"{escape(path)}: {escape(text)}"), "problem")


def _boxes_by_path(scene: Scene) -> dict[str, int]:
    """The first box of each path and of each call; the model itself under the empty one."""
    found: dict[str, int] = {}
    for box in scene.boxes:
        if box.status != "removed" and box.kind not in ("block", "port", "output"):
            found.setdefault(box.path, box.number)
            found.setdefault(box.key, box.number)
    found[""] = 0
    return found


def _box_of(change: Change, at: Mapping[str, int]) -> int:
    return _nearest(change.path, at)


def _nearest(path: str, at: Mapping[str, int]) -> int:
    """The box at the path, or at the beginning of it: variables are told at their op."""
    while path not in at:
        path = path.rpartition("/")[0]
    return at[path]


def _add(scene: Scene, change: Change, box: int, *, follows: bool) -> None:
    text = f"{label(change)}: {''.join(words(change))}"
    told = change.kind not in ("added", "removed", "weights", "order")
    old, new = (_text(change.old), _text(change.new)) if told else ("", "")
    note = Note(change.kind, box, text, escape(change.what), old, new, follows=follows)
    _note(scene, note, "" if follows else _STATUS.get(change.kind, "changed"))
    if change.kind == "renamed" and not follows:
        scene.boxes[box].name = f"{_last(change.before)} → {_last(change.after)}" if box else scene.boxes[box].name


def _last(path: str | None) -> str:
    return (path or "").rpartition("/")[2]


def _note(scene: Scene, note: Note, status: Status) -> None:
    box = scene.boxes[note.box]
    box.notes.append(len(scene.notes))
    scene.notes.append(note)
    if _RANK.index(status) > _RANK.index(box.status):
        box.status = status


def _text(value: Argument) -> str:
    return "not set" if value == ABSENT else show(value)
