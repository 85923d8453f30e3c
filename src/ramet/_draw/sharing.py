"""Which boxes are one object: calls of one op, an op that stands at several places, variables that are tied."""

from __future__ import annotations

from ramet._draw.box import Group, Scene
from ramet._draw.text import letters, shorten
from ramet._graph import Graph

__all__ = ["mark_sharing"]


def mark_sharing(scene: Scene, graph: Graph) -> None:
    """Gives each group of boxes that are one object, or hold one, a mark of its own; what is inside a shared op has its mark."""
    by_op: dict[int, list[int]] = {}
    by_variable: dict[str, dict[int, None]] = {}
    names = {id(op): path for path, op in graph.walk()}
    for box in scene.boxes[1:]:
        op = box.op
        if op is None or box.kind == "input" or box.status == "removed":
            continue
        # Boxes of an op that stands elsewhere hold the very op that stands there.
        by_op.setdefault(id(op), []).append(box.number)
        for spec in op.variables:
            by_variable.setdefault(spec.tied or f"{names.get(id(op), box.path)}/{spec.id}", {})[id(op)] = None
    shared: dict[int, int] = {}
    for key, boxes in by_op.items():
        if len(boxes) > 1:
            first = scene.boxes[boxes[0]]
            number = _add(scene, f"one {first.title}: {shorten(names.get(key, first.path), 60)}", boxes)
            shared |= dict.fromkeys(boxes, number)
    _mark_inside(scene, shared)
    tied: dict[tuple[int, ...], list[str]] = {}
    for path, holders in by_variable.items():
        if len(holders) > 1:
            tied.setdefault(tuple(holders), []).append(path)
    for holders_key, paths in tied.items():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        boxes = [number for holder in holders_key for number in by_op[holder]]
        _add(scene, f"one variable: {shorten(paths[0], 60)}{more}", boxes, tied=True)


def _mark_inside(scene: Scene, shared: dict[int, int]) -> None:
    """What is inside a shared op is there at each of its calls. What is inside a box has a higher number."""
    around: dict[int, int | None] = {0: None}
    for box in scene.boxes[1:]:
        parent = box.parent or 0
        around[box.number] = shared.get(parent, around[parent])
        if box.kind in ("layer", "model", "operation"):
            box.within = around[box.number]


def _add(scene: Scene, text: str, boxes: list[int], *, tied: bool = False) -> int:
    number = len(scene.groups)
    scene.groups.append(Group(letters(number), text, boxes, tied))
    for box in boxes:
        scene.boxes[box].groups.append(number)
    return number
