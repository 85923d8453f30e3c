"""What is drawn: boxes inside boxes, and the edges between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal, TypeAlias

from ramet._graph import Call, Op

__all__ = ["Bend", "Box", "BoxKind", "Edge", "Group", "MaskUse", "Note", "Scene", "Status"]

BoxKind: TypeAlias = Literal["input", "layer", "model", "operation", "output", "block", "port"]
MaskUse: TypeAlias = Literal["", "carried", "implicit", "explicit"]
Status: TypeAlias = Literal["", "added", "removed", "changed", "renamed", "problem"]


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
        shapes: of what it gives, for a reader.
        dtypes: of the same.
        parent: the number of the container.
        children, edges, bends: what is inside.
        row_gap: the space between the rows inside.
        rank, x: row and column in the container, as the layout found them.
        width, height: when it is closed.
        is_open: whether the picture begins with its inside shown.
        groups: numbers of the groups it is in.
        mask: "made", "dropped", or both, divided by a space.
        status: on the picture of a diff.
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
    is_open: bool = False
    groups: list[int] = field(default_factory=list)
    mask: str = ""
    status: Status = ""
    notes: list[int] = field(default_factory=list)


@dataclass(slots=True)
class Group:
    """Boxes that are one object, or hold one.

    Attributes:
        label: the letters of the mark.
        text: what they have in common.
        boxes: their numbers.
    """

    label: str
    text: str
    boxes: list[int]


@dataclass(slots=True)
class Note:
    """A change, or something else worth walking to.

    Attributes:
        kind: the kind of the change, or "problem".
        box: the number of the box it is about; 0 for the model.
        text: the sentence.
        what: which part.
        old, new: what stood there and what stands there now; "" where there is nothing to say.
        follows: whether it is only a consequence.
    """

    kind: str
    box: int
    text: str
    what: str = ""
    old: str = ""
    new: str = ""
    follows: bool = False


@dataclass(slots=True)
class Scene:
    """All boxes, the model itself first; groups of boxes that are one object; notes in the order to walk them."""

    boxes: list[Box] = field(default_factory=list)
    groups: list[Group] = field(default_factory=list)
    notes: list[Note] = field(default_factory=list)

    def add(self, parent: int | None, kind: BoxKind, family: str, title: str) -> Box:
        """A new box, inside the parent."""
        box = Box(len(self.boxes), kind, family, title, parent=parent)
        self.boxes.append(box)
        if parent is not None:
            self.boxes[parent].children.append(box.number)
        return box
