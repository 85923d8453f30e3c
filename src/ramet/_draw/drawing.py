"""A drawing as data: boxes inside boxes, the edges between them, marks and notes."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ramet._diff import DISTANCE_STEPS, percent
from ramet._draw.palette import family_of
from ramet._draw.text import shorten
from ramet._graph import Call, Op

BoxKind: TypeAlias = Literal["input", "layer", "model", "operation", "output", "block", "port"]
MaskUse: TypeAlias = Literal["", "carried", "implicit", "explicit"]
Rankdir: TypeAlias = Literal["TB", "LR"]
Status: TypeAlias = Literal["", "added", "removed", "changed", "renamed", "differs"]

# Beyond this many times the norm, percent mean nothing to a reader.
_TIMES = 10.0
# A box with several statuses shows the last of them.
_PRIORITY: tuple[Status, ...] = ("", "renamed", "changed", "added", "differs", "removed")


@dataclass(slots=True)
class Bend:
    """A point where a long edge passes a row between its ends."""

    rank: int
    x: float


@dataclass(slots=True)
class Edge:
    """A value that flows from one box to another in the same container.

    Attributes:
        source: The number of the box it comes from.
        target: The number of the box it goes to.
        mask: "carried" if the value carries a mask; "implicit" or "explicit" if the value is a mask argument.
        status: "added" or "removed" on the picture of a diff.
        bends: The numbers of its bends in the container, from the source to the target.
    """

    source: int
    target: int
    mask: MaskUse = ""
    status: Status = ""
    bends: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Box:
    """A call, an op without calls, or a block of calls, with the boxes inside it.

    Attributes:
        number: Its index in the drawing; the boxes inside it have higher numbers.
        kind: The kind of the op, "output", "block" for calls drawn as one box, or "port" where an edge enters or leaves a block.
        family: The family of ops that gives it its color.
        title: The class.
        name: The name.
        hint: A setting or two that distinguish it from others of its class.
        key: Its deep link: the path with the number of the call.
        path: The path that `named(...)` takes; "" if it is no op.
        op: The op, from its first place in the model.
        call: The call, if there is one.
        was: On the picture of a diff, the op that it replaced.
        shapes: The shapes of its outputs, as text.
        dtypes: The dtypes of its outputs.
        parent: The number of its container.
        children, edges, bends: The content.
        row_gap: The space between the rows of the content.
        rank, x: Row and column in the container, from the layout.
        width, height: The size when closed.
        open_width: The smallest width when open, with title and name side by side.
        is_open: Whether it is open at first.
        same: For a later call of an op, the number of the box that shows the content of the op.
        groups: The numbers of its groups.
        within: The number of the group of the innermost shared op around it.
        mask: "made", "dropped", or both, separated by a space.
        status: Its status on the picture of a diff.
        moved: On the picture of a diff, the relative distance of the weights inside; None if they are unchanged.
        notes: The numbers of the notes about it.
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
    def status_text(self) -> str:
        """The words on its label: the status, and how far weights moved."""
        share = "" if self.moved is None or not 0 < self.moved < _TIMES else f", {percent(self.moved)}"
        return f"{self.status}{share}" if self.status else ""

    @property
    def distance_step(self) -> int | None:
        """The index in `DISTANCE_STEPS` of how far the weights inside moved; None if they are unchanged."""
        if self.moved is None:
            return None
        return sum(self.moved >= least for least, _ in DISTANCE_STEPS) - 1

    @property
    def open_text(self) -> str:
        """The words beside the title when it is open. A block has its name as the title."""
        return self.hint if self.kind == "block" else shorten(self.name)


@dataclass(slots=True)
class Group:
    """Boxes that show one shared object, or hold one shared variable.

    Attributes:
        label: The letters of the mark.
        text: What they have in common.
        boxes: Their numbers.
        tied: Whether they only share a variable.
    """

    label: str
    text: str
    boxes: list[int]
    tied: bool = False


@dataclass(slots=True)
class Note:
    """A change or a finding at a box; a reader can step through the notes.

    Attributes:
        kind: The kind of the change, or "differs" for a finding of a check.
        box: The number of the box; 0 for the model.
        text: The sentence.
        what: The part that changed.
        old, new: The values before and after; "" if there is nothing to show.
        follows: Whether it is only a consequence.
        at: The deep link of a box that exists only when `box`, a later call of a shared op, is open; "" for `box` itself.
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
class Drawing:
    """All boxes of a picture, the model itself first, with the groups and the notes in reading order.

    Attributes:
        boxes, groups, notes: The content.
        rankdir: "TB" to draw from top to bottom, "LR" from left to right.
        columns: The number of columns into which a long picture is folded; with "LR", of lines.
    """

    boxes: list[Box] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    rankdir: Rankdir = "TB"
    columns: int = 1

    def add(self, parent: int | None, kind: BoxKind, family: str, title: str) -> Box:
        """Add a box inside the parent."""
        box = Box(len(self.boxes), kind, family, title, parent=parent)
        self.boxes.append(box)
        if parent is not None:
            self.boxes[parent].children.append(box.number)
        return box

    def add_op(self, parent: int, op: Op, call: Call | None = None) -> Box:
        """Add a box for an op, or for one call of it."""
        box = self.add(parent, op.kind, family_of(op), op.class_name)
        box.op, box.call = op, call
        return box

    def add_note(self, note: Note, status: Status) -> None:
        """Add a note, and set the status of its box unless the box has a more important one."""
        box = self.boxes[note.box]
        box.notes.append(len(self.notes))
        self.notes.append(note)
        if _PRIORITY.index(status) > _PRIORITY.index(box.status):
            box.status = status
