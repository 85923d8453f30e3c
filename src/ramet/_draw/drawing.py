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
    """A value that flows from one box to another in the same container. Boxes are referred to by their numbers."""

    source: int
    target: int
    mask: MaskUse = ""  # "carried" if the value carries a mask; "implicit" or "explicit" if it is a mask argument
    status: Status = ""  # "added" or "removed" on the picture of a diff
    bends: list[int] = field(default_factory=list)  # indices of the container's bends, from the source to the target


@dataclass(slots=True)
class Box:
    """A call, an op without calls, or a block of calls, with the boxes inside it."""

    number: int  # its index in the drawing; the boxes inside it have higher numbers
    kind: BoxKind  # a "block" is several calls drawn as one box, a "port" is where an edge enters or leaves it
    family: str  # the family of ops that gives it its color
    title: str  # the class
    name: str = ""
    hint: str = ""  # a setting or two that distinguish it from others of its class
    key: str = ""  # its deep link: the path with the number of the call
    path: str = ""  # the path that `named(...)` takes; "" if it is no op
    op: Op | None = None  # from its first place in the model
    was: Op | None = None  # on the picture of a diff, the op that it replaced
    shapes: tuple[str, ...] = ()  # of its outputs
    dtypes: tuple[str, ...] = ()
    parent: int | None = None
    children: list[int] = field(default_factory=list)
    edges: list[Edge] = field(default_factory=list)
    bends: list[Bend] = field(default_factory=list)
    row_gap: float = 0.0  # the space between the rows of its content
    rank: int = 0  # its row and column in the container, from the layout
    x: float = 0.0
    width: float = 0.0  # its size when closed
    height: float = 0.0
    open_width: float = 0.0  # the smallest width when open, with title and name side by side
    is_open: bool = False  # whether it is open at first
    same: int | None = None  # for a later call of an op, the number of the box that shows the content of the op
    groups: list[int] = field(default_factory=list)
    within: int | None = None  # the number of the group of the innermost shared op around it
    mask: str = ""  # "made", "dropped", or both, separated by a space
    status: Status = ""
    moved: float | None = None  # the relative distance of the weights inside; None if they are unchanged
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
    """Boxes that show one shared object, or, if they are only tied, hold one shared variable."""

    label: str  # the letters of the mark
    text: str  # what they have in common
    boxes: list[int]
    tied: bool = False


@dataclass(slots=True)
class Note:
    """A change or a finding at a box; a reader can step through the notes."""

    kind: str  # the kind of the change, or "differs" for a finding of a check
    box: int  # the number of the box; 0 for the model
    text: str
    what: str = ""  # the part that changed
    old: str = ""  # the values before and after; "" if there is nothing to show
    new: str = ""
    follows: bool = False  # whether it is only a consequence
    at: str = ""  # the deep link of a box that exists only when `box`, a later call of a shared op, is open


@dataclass(slots=True)
class Drawing:
    """All boxes of a picture, the model itself first, with the groups, and the notes in reading order."""

    boxes: list[Box] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)
    rankdir: Rankdir = "TB"
    columns: int = 1  # into which a long picture is folded; with "LR", lines

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
        box.op, box.key = op, op.id if call is None else call.id
        box.name = op.id.rpartition("/")[2] if call is None else call.id
        return box

    def add_note(self, note: Note, status: Status) -> None:
        """Add a note, and set the status of its box unless the box has a more important one."""
        box = self.boxes[note.box]
        box.notes.append(len(self.notes))
        self.notes.append(note)
        if _PRIORITY.index(status) > _PRIORITY.index(box.status):
            box.status = status
