"""What is drawn: boxes inside boxes, and the edges between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ramet._diff import HOW_FAR, percent
from ramet._draw.palette import family_of
from ramet._draw.text import shorten
from ramet._graph import Call, Op

__all__ = ["Bend", "Box", "BoxKind", "Edge", "Group", "MaskUse", "Note", "Rankdir", "Scene", "Status"]

BoxKind: TypeAlias = Literal["input", "layer", "model", "operation", "output", "block", "port"]
MaskUse: TypeAlias = Literal["", "carried", "implicit", "explicit"]
Rankdir: TypeAlias = Literal["TB", "LR"]
Status: TypeAlias = Literal["", "added", "removed", "changed", "renamed", "differs"]

# Beyond this many times their norm, a share in per cent says nothing to a reader.
_TIMES = 10.0
# What is told of a box that has several marks.
_RANK: tuple[Status, ...] = ("", "renamed", "changed", "added", "differs", "removed")


@dataclass(slots=True)
class Bend:
    """Where a long edge passes a row that is not its own."""

    rank: int
    x: float


@dataclass(slots=True)
class Edge:
    """A value on its way from one box to another of the same container.

    Attributes:
        source: the number of the box it comes from.
        target: the number of the box it goes to.
        mask: "carried" when a mask travels with the value; "implicit" or "explicit" when the value is a mask argument.
        status: "added" or "removed" on the picture of a diff.
        bends: numbers of bends of the container, from the source to the target.
    """

    source: int
    target: int
    mask: MaskUse = ""
    status: Status = ""
    bends: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Box:
    """One call, or an op without calls, or a block of calls; what is inside it are boxes again.

    Attributes:
        number: its place in the scene; what is inside a box has higher numbers.
        kind: an op's kind, "output", "block" for calls shown as one, "port" where an edge enters or leaves a block.
        family: which colour it has.
        title: the class.
        name: what it is called.
        hint: a setting or two that tell it from others of its class.
        key: its deep link: the path, with the number of the call.
        path: the path that `named(...)` takes; "" for what is no op.
        op: the op, looked up where it stands first.
        call: its call, where there is one.
        was: the op that stood here before, on the picture of a diff, where another one does now.
        shapes: of what it gives, for a reader.
        dtypes: of the same.
        parent: the number of the container.
        children, edges, bends: what is inside.
        row_gap: the space between the rows inside.
        rank, x: row and column in the container, as the layout found them.
        width, height: when it is closed.
        open_width: when it is open, at least: title and name stand beside each other then.
        is_open: whether the picture begins with its inside shown.
        same: the number of the box that shows the inside, where this one is another call of the same op.
        groups: numbers of the groups it is in.
        within: the number of the group of the innermost shared op around it.
        mask: "made", "dropped", or both, divided by a space.
        status: on the picture of a diff.
        moved: on the picture of a diff, how far the weights in it moved, as a part of their norm; None where they did not.
        notes: numbers of the notes about it.
    """

    number: int
    kind: BoxKind
    family: str
    title: str
    name: str = ""
    hint: str = ""
    key: str = ""
    path: str = ""
    op: Op | None = None
    call: Call | None = None
    was: Op | None = None
    shapes: tuple[str, ...] = ()
    dtypes: tuple[str, ...] = ()
    parent: int | None = None
    children: list[int] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    bends: list[Bend] = field(default_factory=list)
    row_gap: float = 0.0
    rank: int = 0
    x: float = 0.0
    width: float = 0.0
    height: float = 0.0
    open_width: float = 0.0
    is_open: bool = False
    same: int | None = None
    groups: list[int] = field(default_factory=list)
    within: int | None = None
    mask: str = ""
    status: Status = ""
    moved: float | None = None
    notes: list[int] = field(default_factory=list)

    @property
    def told_status(self) -> str:
        """What the sign above it says: the status, and how far weights moved."""
        share = "" if self.moved is None or not 0 < self.moved < _TIMES else f", {percent(self.moved)}"
        return f"{self.status}{share}" if self.status else ""

    @property
    def step(self) -> int | None:
        """How far the weights in it moved, as a step of `HOW_FAR`; None where they did not."""
        if self.moved is None:
            return None
        return sum(self.moved >= least for least, _ in HOW_FAR) - 1

    @property
    def told_open(self) -> str:
        """What stands beside the title when it is open. A block is called by its title."""
        return self.hint if self.kind == "block" else shorten(self.name)


@dataclass(slots=True)
class Group:
    """Boxes that are one object, or hold one.

    Attributes:
        label: the letters of the mark.
        text: what they have in common.
        boxes: their numbers.
        tied: whether they only hold one variable.
    """

    label: str
    text: str
    boxes: list[int]
    tied: bool = False


@dataclass(slots=True)
class Note:
    """A change, or something else worth walking to.

    Attributes:
        kind: the kind of the change, or "differs" for what a check found.
        box: the number of the box it is about; 0 for the model.
        text: the sentence.
        what: which part.
        old, new: what stood there and what stands there now; "" where there is nothing to say.
        follows: whether it is only a consequence.
        at: the deep link of a box that is there once `box`, a later call of something shared, is open; "" for `box` itself.
    """

    kind: str
    box: int
    text: str
    what: str = ""
    old: str = ""
    new: str = ""
    follows: bool = False
    at: str = ""


@dataclass(slots=True)
class Scene:
    """All boxes, the model itself first; groups of boxes that are one object; notes in the order to walk them.

    Attributes:
        boxes, groups, notes: what is drawn.
        rankdir: "TB" to draw from top to bottom, "LR" from left to right.
        columns: into how many columns a long picture is folded; with "LR", into how many lines.
    """

    boxes: list[Box] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    rankdir: Rankdir = "TB"
    columns: int = 1

    def add(self, parent: int | None, kind: BoxKind, family: str, title: str) -> Box:
        """A new box, inside the parent."""
        box = Box(len(self.boxes), kind, family, title, parent=parent)
        self.boxes.append(box)
        if parent is not None:
            self.boxes[parent].children.append(box.number)
        return box

    def add_op(self, parent: int, op: Op, call: Call | None = None) -> Box:
        """A new box for an op, or for one call of it."""
        box = self.add(parent, op.kind, family_of(op), op.class_name)
        box.op, box.call = op, call
        return box

    def note(self, note: Note, status: Status) -> None:
        """Adds a note, and marks the box it is about; of several marks, the one that says most stays."""
        box = self.boxes[note.box]
        box.notes.append(len(self.notes))
        self.notes.append(note)
        if _RANK.index(status) > _RANK.index(box.status):
            box.status = status
