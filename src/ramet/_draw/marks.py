"""Marks on the drawing of a model: for sharing, the changes of a diff, the findings of a check."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ramet._diff import ABSENT, Change, Diff, describe_value, label, relative_distance, words
from ramet._draw.drawing import Box, Drawing, Group, Note, Status
from ramet._draw.text import hint_of, letters, shorten
from ramet._graph import Argument, FrozenDict, FrozenList, Graph, Op, Ref, call_id, split_call_id
from ramet._report import escape, more

_STATUS: dict[str, Status] = {"added": "added", "removed": "removed", "renamed": "renamed"}
# The most consequences of changes that get a note: nobody reads more.
_MOST_CONSEQUENCES = 2_000
# Changes of the whole model, and variables whose distance means nothing.
_ABOUT_MODEL = frozenset({"optimizer", "metric", "file"})
_RANDOM_STATE = "seed_generator_state"
# How a diff names the later calls of an op.
_LATER_CALL = re.compile(r"(?s).* of call #([0-9]+)")


# Sharing.


def mark_sharing(drawing: Drawing, graph: Graph) -> None:
    """Give each group of boxes that show one object, or hold one variable, a mark; boxes inside a shared op get it, too."""
    by_op: dict[int, list[int]] = {}
    by_variable: dict[str, dict[int, None]] = {}
    names = {id(op): path for path, op in graph.walk()}
    for box in drawing.boxes[1:]:
        op = box.op
        if op is None or box.kind == "input" or box.status == "removed":
            continue
        # All boxes of a shared op hold the op from its first place.
        by_op.setdefault(id(op), []).append(box.number)
        for spec in op.variables:
            by_variable.setdefault(spec.tied or f"{names.get(id(op), box.path)}/{spec.id}", {})[id(op)] = None
    shared: dict[int, int] = {}
    for key, boxes in by_op.items():
        if len(boxes) > 1:
            first = drawing.boxes[boxes[0]]
            number = _add_group(drawing, f"one {first.title}: {shorten(names.get(key, first.path), 60)}", boxes)
            shared |= dict.fromkeys(boxes, number)
    # Boxes inside a shared op; they have higher numbers than the box around them.
    around: dict[int, int | None] = {0: None}
    for box in drawing.boxes[1:]:
        parent = box.parent or 0
        around[box.number] = shared.get(parent, around[parent])
        if box.kind in ("layer", "model", "operation"):
            box.within = around[box.number]
    tied: dict[tuple[int, ...], list[str]] = {}
    for path, holders in by_variable.items():
        if len(holders) > 1:
            tied.setdefault(tuple(holders), []).append(path)
    for ops, paths in tied.items():
        others = f" {more(len(paths) - 1)}" if len(paths) > 1 else ""
        boxes = [number for op_id in ops for number in by_op[op_id]]
        _add_group(drawing, f"one variable: {shorten(paths[0], 60)}{others}", boxes, tied=True)


def _add_group(drawing: Drawing, text: str, boxes: list[int], *, tied: bool = False) -> int:
    number = len(drawing.groups)
    drawing.groups.append(Group(letters(number), text, boxes, tied))
    for box in boxes:
        drawing.boxes[box].groups.append(number)
    return number


# Removed ops, and the paths before a diff.


@dataclass(slots=True)
class RemovedOp:
    """An op that a diff reports as removed; it is drawn at its old position."""

    path: str  # before
    class_name: str
    op: Op | None  # None if the model before is not known
    takes: tuple[str, ...]  # the ids of the calls whose values it received, by their current names
    feeds: tuple[str, ...]  # the ids of the calls that received its values

    @property
    def old_name(self) -> str:
        """Its name without the path."""
        return self.path.rpartition("/")[2]

    def draw(self, drawing: Drawing, container: Box) -> Box:
        """Add a box for it to the container."""
        box = drawing.add_op(container.number, self.op or Op(self.old_name or "?", "layer", self.class_name or "?"))
        # The op that was made up for the box is not shown in the panel.
        box.op = self.op
        box.name, box.status, box.hint = self.old_name, "removed", hint_of(self.op) if self.op else ""
        # It has no path: there is none in the model that is drawn.
        box.key = f"-{self.path}"
        return box


def removed_ops(diff: Diff | None, before: Graph | None) -> dict[str, list[RemovedOp]]:
    """Return the removed ops, by the current path of the op that held them."""
    found: dict[str, list[RemovedOp]] = {}
    if diff is None:
        return found
    moves = _moved_paths(diff)
    known = dict(before.walk()) if before is not None else {}

    def calls(facts: FrozenDict, key: str, parent: str) -> Iterator[str]:
        refs = facts.get(key)
        for ref in refs if isinstance(refs, tuple) else ():
            if isinstance(ref, Ref):
                op, _ = split_call_id(ref.call) or (ref.call, 1)
                path = f"{parent}/{op}".lstrip("/")
                current = _current_path(path, moves)
                yield ref.call if current == path else current.rpartition("/")[2]

    for change in diff.changes:
        if change.kind == "removed" and change.before:
            parent = change.before.rpartition("/")[0]
            facts = change.old if isinstance(change.old, FrozenDict) else FrozenDict()
            takes, feeds = (tuple(calls(facts, key, parent)) for key in ("takes", "feeds"))
            removed = RemovedOp(change.before, change.what, _op_before(change.before, known), takes, feeds)
            found.setdefault(_current_path(parent, moves), []).append(removed)
    return found


def _moved_paths(diff: Diff) -> dict[str, str]:
    """Return the path after of everything whose path differs, by its path before."""
    return {
        change.before: change.after
        for change in (*diff.changes, *diff.consequences)
        if change.before and change.after and change.before != change.after and change.kind != "weights"
    }


def _current_path(path: str, moves: Mapping[str, str]) -> str:
    """Return the path after: the longest beginning of the path that moved is replaced."""
    head, tail = path, ""
    while head:
        if head in moves:
            return moves[head] + tail
        head, _, last = head.rpartition("/")
        tail = f"/{last}{tail}"
    return path


def _op_before(path: str, known: Mapping[str, Op]) -> Op | None:
    op = known.get(path)
    return op if op is None or op.same_as is None else known.get(op.same_as, op)


# Boxes by path.


class _BoxFinder:
    """Finds the box for the path of an op, a call, a variable, an attribute or an output."""

    def __init__(self, drawing: Drawing) -> None:
        self._drawing = drawing
        self._calls: dict[str, list[str]] = {}
        # The numbers of boxes by path and by deep link; the model itself has the empty path.
        self.at: dict[str, int] = {}
        # Those of removed ops, by their old paths.
        self.removed: dict[str, int] = {}
        for box in drawing.boxes:
            if box.status == "removed":
                self.removed[box.key.removeprefix("-")] = box.number
            elif box.kind not in ("block", "port", "output"):
                self.at.setdefault(box.path, box.number)
                self.at.setdefault(box.key, box.number)
                self._calls.setdefault(box.path, []).append(box.key.rpartition("/")[2])
        self.at[""] = 0

    def nearest(self, path: str) -> int:
        """Return the box at the path or the longest beginning of it: variables and attributes are shown at their op."""
        while path not in self.at:
            path = path[: max(0, *(path.rfind(sign) for sign in "/.[#"))]
        return self.at[path]

    def outputs(self, graph: Graph) -> dict[str, int]:
        """Return the boxes of the outputs by the expressions for them: `outputs`, `outputs[0]`, `outputs['mask']`."""
        numbers = [box.number for box in self._drawing.boxes if box.kind == "output" and box.parent == 0]
        paths: list[str] = []
        waiting: list[tuple[str, Argument]] = [("outputs", graph.outputs)]
        while waiting:
            path, value = waiting.pop()
            if isinstance(value, FrozenDict):
                waiting += reversed([(f"{path}[{key!r}]", part) for key, part in value.pairs])
            elif isinstance(value, tuple | FrozenList):
                waiting += reversed([(f"{path}[{number}]", part) for number, part in enumerate(value)])
            elif isinstance(value, Ref):
                paths.append(path)
        # In an invalid graph, an output may have no box.
        return dict(zip(paths, numbers, strict=True)) if len(paths) == len(numbers) else {}

    def inside_later_call(self, path: str) -> tuple[int, str] | None:
        """Return, for the n-th run of an op inside a shared op, the box of the call that ran it, and its deep link there.

        `encoder/d#2` is the first `d` of the second call of `encoder`, if that calls it once: `encoder#2/d`. None if the run
        belongs to a first call, whose content has boxes.
        """
        tail = ""
        while True:
            parent, slash, last = path.rpartition("/")
            op, number = split_call_id(last) or (last, 1)
            calls = self._calls.get(parent + slash + op)
            if not calls:
                return None
            runs, index = divmod(number - 1, len(calls))
            if not runs:
                key = parent + slash + calls[index]
                return (self.at[key], key + tail) if tail else None
            if not parent:
                return None
            path, tail = f"{parent}#{runs + 1}", f"/{calls[index]}{tail}"


# Findings.


def mark_findings(
    drawing: Drawing, graph: Graph, findings: Iterable[tuple[str, str]], diff: Diff | None = None
) -> None:
    """Add a note for each finding of a check, in their order; they come before all other notes.

    Args:
        drawing: The drawing.
        graph: The model that is drawn.
        findings: Pairs of a path and a text. The path is that of an op, a call, a variable, an attribute or an output.
        diff: The diff from the model of the paths, if that is another model.
    """
    finder = _BoxFinder(drawing)
    outputs = finder.outputs(graph)
    moves = _moved_paths(diff) if diff is not None else {}
    for path, text in findings:
        number, link = _locate(path, finder, outputs, moves)
        # If the path has no box of its own, the text begins with it.
        is_exact = path in (drawing.boxes[number].path, drawing.boxes[number].key)
        full = escape(text) if is_exact else f"{escape(path)}: {escape(text)}"
        drawing.add_note(Note("differs", number, full.removeprefix(": "), at=link), "differs")


def _locate(path: str, finder: _BoxFinder, outputs: dict[str, int], moves: dict[str, str]) -> tuple[int, str]:
    """Return the box for a path, and the deep link of a box that exists only when a later call of a shared op is open."""
    current = _current_path(path, moves)
    for candidate in dict.fromkeys((current, path)):
        if candidate in finder.at:
            return finder.at[candidate], ""
        if candidate in outputs:
            return outputs[candidate], ""
        later = finder.inside_later_call(candidate)
        if later is not None:
            return later
    if path in finder.removed:
        return finder.removed[path], ""
    return finder.nearest(current), ""


# Changes.


def mark_changes(drawing: Drawing, diff: Diff, before: Graph | None = None) -> None:
    """Add a note for each change, in the order of the diff, then for their consequences.

    The drawing shows the model after; the model before has the settings of replaced ops.
    """
    finder = _BoxFinder(drawing)
    known = dict(before.walk()) if before is not None else {}
    for change in diff.changes:
        number = _box_of(change, finder)
        _add_note(drawing, change, number, follows=False)
        if change.kind == "replaced" and change.before:
            drawing.boxes[number].was = _op_before(change.before, known)
    for change in diff.consequences[:_MOST_CONSEQUENCES]:
        _add_note(drawing, change, _box_of(change, finder), follows=True)
    _set_distances(drawing, diff, finder)


def _set_distances(drawing: Drawing, diff: Diff, finder: _BoxFinder) -> None:
    """Set how far the weights in each box moved; a container has the distance of everything inside."""
    found: dict[int, list[Change]] = {}
    for change in diff.changes:
        if change.kind == "weights" and change.after is not None and not change.after.endswith(_RANDOM_STATE):
            number: int | None = finder.nearest(change.after.rpartition("/")[0])
            while number:
                found.setdefault(number, []).append(change)
                number = drawing.boxes[number].parent
    for number, changes in found.items():
        drawing.boxes[number].moved = relative_distance(changes)
    # Other calls of a shared layer have the same weights.
    for box in drawing.boxes[1:]:
        first = finder.at.get(box.path)
        if box.moved is None and box.path and first and box.status != "removed":
            box.moved = drawing.boxes[first].moved


def _box_of(change: Change, finder: _BoxFinder) -> int:
    """Return the box of a change: that of the call, if it is about one of several."""
    if change.kind in _ABOUT_MODEL and change.path not in finder.at:
        return 0
    removed = finder.removed.get(change.before or "") if change.kind == "removed" else None
    if removed is not None:
        return removed
    later = _LATER_CALL.fullmatch(change.what)
    parent, slash, op = change.path.rpartition("/")
    key = f"{parent}{slash}{call_id(op, int(later[1]))}" if later else change.path
    return finder.at.get(key) or finder.nearest(change.path)


def _add_note(drawing: Drawing, change: Change, number: int, *, follows: bool) -> None:
    has_values = change.kind not in ("added", "removed", "moved", "weights", "order") and not len(change.measure)
    has_values = has_values and change.what not in ("content", "group")
    box = drawing.boxes[number]
    if has_values:
        old, new = ("not set" if value == ABSENT else describe_value(value) for value in (change.old, change.new))
        # They need no words, unless the change is about something without a box of its own.
        text = "" if change.path == box.path else label(change)
    else:
        old = new = ""
        text = f"{label(change)}: {''.join(words(change))}"
    note = Note(change.kind, number, text, escape(change.what), old, new, follows=follows)
    drawing.add_note(note, "" if follows else _STATUS.get(change.kind, "changed"))
    if change.kind == "renamed" and not follows and number:
        old, new = ((path or "").rpartition("/")[2] for path in (change.before, change.after))
        box.name = f"{old} → {new}"
