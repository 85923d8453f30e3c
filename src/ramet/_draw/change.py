"""A diff on the picture: which box each change is about, and what the panel says of it."""

from __future__ import annotations

import re

from ramet._diff import ABSENT, Change, Diff, label, moved, show, words
from ramet._draw.address import Addresses
from ramet._draw.box import Note, Scene, Status
from ramet._draw.ghost import op_before
from ramet._graph import Argument, Graph, call_id, escape

__all__ = ["mark_changes"]

_STATUS: dict[str, Status] = {"added": "added", "removed": "removed", "renamed": "renamed"}
# What follows from the changes is told as far as a reader would read.
_FOLLOWING = 2_000


# Changes that no box is about, and variables that no distance is said of.
_ABOUT_ALL = frozenset({"optimizer", "metric", "file"})
_RANDOM = "seed_generator_state"
# How a diff names the later calls of an op.
_LATER_CALL = re.compile(r"(?s).* of call #([0-9]+)")


def mark_changes(scene: Scene, diff: Diff, before: Graph | None = None) -> None:
    """Notes for each change, in the order of the diff, then for what follows from them.

    Args:
        scene: the picture of the model after.
        diff: what is different.
        before: the model before, which knows what was replaced.
    """
    addresses = Addresses(scene)
    known = dict(before.walk()) if before is not None else {}
    for change in diff.changes:
        number = _box_of(change, addresses)
        _add(scene, change, number, follows=False)
        if change.kind == "replaced" and change.before:
            scene.boxes[number].was = op_before(change.before, known)
    for change in diff.consequences[:_FOLLOWING]:
        _add(scene, change, _box_of(change, addresses), follows=True)
    _colour(scene, diff, addresses)


def _colour(scene: Scene, diff: Diff, addresses: Addresses) -> None:
    """Let boxes say how far the weights in them moved; those around them say it of all that is inside."""
    found: dict[int, list[Change]] = {}
    for change in diff.changes:
        if change.kind == "weights" and change.after is not None and not change.after.endswith(_RANDOM):
            box: int | None = addresses.nearest(change.after.rpartition("/")[0])
            while box:
                found.setdefault(box, []).append(change)
                box = scene.boxes[box].parent
    for number, changes in found.items():
        scene.boxes[number].moved = moved(changes)
    # Other calls of a shared layer have the same weights.
    for box_ in scene.boxes[1:]:
        first = addresses.at.get(box_.path)
        if box_.moved is None and box_.path and first and box_.status != "removed":
            box_.moved = scene.boxes[first].moved


def _box_of(change: Change, addresses: Addresses) -> int:
    """The number of the box: that of the call, where the change is about one of several."""
    if change.kind in _ABOUT_ALL and change.path not in addresses.at:
        return 0
    gone = addresses.removed.get(change.before or "") if change.kind == "removed" else None
    if gone is not None:
        return gone
    later = _LATER_CALL.fullmatch(change.what)
    home, slash, op = change.path.rpartition("/")
    key = f"{home}{slash}{call_id(op, int(later[1]))}" if later else change.path
    return addresses.at.get(key) or addresses.nearest(change.path)


def _add(scene: Scene, change: Change, box: int, *, follows: bool) -> None:
    told = change.kind not in ("added", "removed", "moved", "weights", "order") and not len(change.measure)
    told = told and change.what not in ("content", "group")
    old, new = (_text(change.old), _text(change.new)) if told else ("", "")
    # Old and new say it all, unless it is about something that has no box of its own.
    here = change.path == scene.boxes[box].path
    text = ("" if here else label(change)) if told else f"{label(change)}: {''.join(words(change))}"
    note = Note(change.kind, box, text, escape(change.what), old, new, follows=follows)
    scene.note(note, "" if follows else _STATUS.get(change.kind, "changed"))
    if change.kind == "renamed" and not follows:
        scene.boxes[box].name = f"{_last(change.before)} → {_last(change.after)}" if box else scene.boxes[box].name


def _last(path: str | None) -> str:
    return (path or "").rpartition("/")[2]


def _text(value: Argument) -> str:
    return "not set" if value == ABSENT else show(value)
