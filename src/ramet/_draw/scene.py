"""From a graph to boxes: one for each call, and what is inside it."""

from __future__ import annotations

from dataclasses import dataclass

from ramet._diff import Diff
from ramet._draw.box import Box, Scene
from ramet._draw.ghost import Ghost, ghosts_of
from ramet._draw.layout import arrange_grid, arrange_rows
from ramet._draw.level import draw_level
from ramet._draw.palette import family_of
from ramet._draw.text import count, hint_of, shorten, width_of
from ramet._graph import Graph, Op

__all__ = ["draw_scene", "size_boxes"]

_ROW_GAP = 46.0
_GRID_GAP = 16.0
_HEIGHT = 44.0
_NARROWEST, _WIDEST = 128.0, 260.0
_PORT = 10.0
# Boxes that the picture begins with, at most, as far as boxes can be closed.
_AT_FIRST = 40


@dataclass(slots=True)
class _Work:
    """A container still to be filled: with the calls of a graph, or with ops that have no calls."""

    container: Box
    prefix: str
    graph: Graph | None
    ops: tuple[Op, ...]


def draw_scene(graph: Graph, diff: Diff | None = None, before: Graph | None = None) -> Scene:
    """All boxes of a graph, each with its row and column. With a diff, what was removed has boxes, too.

    A worklist, not recursion: models nest deeply.

    Args:
        graph: the model.
        diff: what is different from another.
        before: that other model: it knows what was removed.
    """
    scene = Scene()
    root = scene.add(None, "model", "model", graph.class_name)
    root.name, root.op = graph.name, graph.root
    first = dict(graph.walk())
    ghosts = ghosts_of(diff, before)
    waiting = [_Work(root, "", graph if graph.calls else None, graph.held)]
    while waiting:
        work = waiting.pop()
        made = _fill(scene, work, first, ghosts.get(work.prefix.rstrip("/"), []))
        # A shared model is opened where it is called first; `_show_again` leads its other calls there.
        entered: set[str] = set()
        inner_work = []
        for box in made:
            op = box.op
            if op is None or not op.inside or box.path in entered or first.get(box.path) is not op:
                continue
            entered.add(box.path)
            inner = op.graph if op.graph is not None and op.graph.calls else None
            inner_work.append(_Work(box, f"{box.path}/", inner, op.inside))
        waiting += reversed(inner_work)
    _show_again(scene)
    _open_what_fits(scene)
    return scene


def _fill(scene: Scene, work: _Work, first: dict[str, Op], ghosts: list[Ghost]) -> list[Box]:
    container = work.container
    container.row_gap = _GRID_GAP if work.graph is None else _ROW_GAP
    if work.graph is not None:
        made = draw_level(scene, container, work.graph, ghosts)
        extras = [scene.add_op(container.number, op) for op in work.graph.extras]
    else:
        made, extras = [], [scene.add_op(container.number, op) for op in work.ops]
        for ghost in ghosts:
            ghost.draw(scene, container)
    made += extras
    for box in made:
        _name(box, work.prefix, first)
    containers = [container, *(box for box in map(scene.boxes.__getitem__, container.children) if box.kind == "block")]
    for level in containers:
        size_boxes(scene, level)
        if level.edges:
            arrange_rows(scene, level)
        else:
            arrange_grid(scene, level)
    return made


def _name(box: Box, prefix: str, first: dict[str, Op]) -> None:
    """Path, texts and, for an op that stands first elsewhere, the op there."""
    op = box.op
    if op is None:
        return
    box.path = prefix + op.id
    box.key = prefix + (box.call.id if box.call is not None else op.id)
    if op.same_as is not None:
        op = box.op = first.get(op.same_as, op)
        box.family = family_of(op)
    if box.kind == "input":
        box.title = "Input"
    box.name = box.call.id if box.call is not None else box.path.rpartition("/")[2]
    box.hint = hint_of(op)


def size_boxes(scene: Scene, container: Box) -> None:
    """Sizes of the children when they are closed: boxes of one container are of one width."""
    children = [scene.boxes[number] for number in container.children]
    widest = _NARROWEST
    for box in children:
        if box.kind == "port":
            box.width, box.height = _PORT, _PORT
            continue
        if box.kind == "block" and not box.hint:
            box.hint = count(sum(scene.boxes[number].kind != "port" for number in box.children), "call")
        head = width_of(shorten(box.title), 13) * 1.1 + (width_of(box.hint, 11) + 10 if box.hint else 0)
        # Room for the sign that opens, and for a mark.
        if box.children or (box.op is not None and box.op.inside):
            head += 20
            box.open_width = float(round(width_of(shorten(box.title), 13) * 1.1 + width_of(box.told_open, 11) + 60))
        widest = max(widest, head + 26, width_of(shorten(box.name), 11) + 34 + 62 * bool(box.mask))
    for box in children:
        if box.kind != "port":
            box.width, box.height = float(round(min(widest, _WIDEST))), 30.0 if box.kind == "output" else _HEIGHT


def _show_again(scene: Scene) -> None:
    """Says whose inside the other calls of a shared op show.

    The page makes the boxes when one is opened: models that call each other twice, ten levels deep, have a thousand insides.
    """
    shown = {id(box.op): box.number for box in scene.boxes if box.children and box.op is not None}
    for box in scene.boxes[1:]:
        if not box.children and box.status != "removed":
            box.same = shown.get(id(box.op))


def _open_what_fits(scene: Scene) -> None:
    """Opens models from the outside in, while the picture stays small. Composite layers and blocks start closed."""
    scene.boxes[0].is_open = True
    shown = sum(scene.boxes[number].kind != "port" for number in scene.boxes[0].children)
    waiting = list(scene.boxes[0].children)
    for number in waiting:
        box = scene.boxes[number]
        inside_a_tree = not scene.boxes[box.parent or 0].edges
        if box.kind == "block" or not box.children or not (box.kind == "model" or inside_a_tree):
            continue
        if shown + len(box.children) <= _AT_FIRST:
            shown += len(box.children)
            box.is_open = True
            waiting += box.children
