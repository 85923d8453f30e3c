"""Where everything is when some boxes are open: rows and columns pushed apart. `page/place.js` does the same."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ramet._draw.box import Box, Edge, Scene

__all__ = ["HEADER", "PADDING", "Placed", "Spot", "edge_path", "place"]

BOX_GAP = 30.0
BEND_WIDTH = 10.0
PADDING = 18.0
HEADER = 30.0


@dataclass(slots=True)
class Spot:
    """Where a box is: its left upper corner, its size, and the row it stands in."""

    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0
    row_top: float = 0.0
    row_bottom: float = 0.0


@dataclass(slots=True)
class Placed:
    """Spots of the boxes that can be seen, and of the bends of each open container."""

    spots: dict[int, Spot]
    bends: dict[int, list[Spot]]


def place(scene: Scene, is_open: Callable[[Box], bool]) -> Placed:
    """Where each box is that can be seen."""
    seen = [0]
    for number in seen:
        box = scene.boxes[number]
        if box.children and (number == 0 or is_open(box)):
            seen += box.children
    shown = set(seen)
    placed = Placed({number: Spot() for number in seen}, {})
    # What is inside a box has higher numbers: from the last to the first, sizes are known when they are asked for.
    for number in reversed(seen):
        box = scene.boxes[number]
        spot = placed.spots[number]
        if not box.children or box.children[0] not in shown:
            spot.width, spot.height = box.width, box.height
        else:
            _fit(box, [placed.spots[child] for child in box.children], placed, [scene.boxes[c] for c in box.children])
    for number in seen:
        box, spot = scene.boxes[number], placed.spots[number]
        if number in placed.bends:
            for item in [*(placed.spots[child] for child in box.children), *placed.bends[number]]:
                item.x += spot.x
                item.y += spot.y
                item.row_top += spot.y
                item.row_bottom += spot.y
    return placed


def _fit(box: Box, spots: list[Spot], placed: Placed, children: list[Box]) -> None:
    """Places the children of an open box relative to it, and gives it its size."""
    bends = [Spot(width=BEND_WIDTH) for _ in box.bends]
    items = spots + bends
    ranks = [child.rank for child in children] + [bend.rank for bend in box.bends]
    columns = [child.x for child in children] + [bend.x for bend in box.bends]
    centres = push_apart(ranks, columns, [item.width for item in items])
    left = min(centre - item.width / 2 for centre, item in zip(centres, items, strict=True))
    right = max(centre + item.width / 2 for centre, item in zip(centres, items, strict=True))
    heights: dict[int, float] = {}
    for rank, item in zip(ranks, items, strict=True):
        heights[rank] = max(heights.get(rank, 0.0), item.height)
    header, padding = (0.0, 0.0) if box.parent is None else (HEADER, PADDING)
    tops, top = {}, header + padding
    for rank in sorted(heights):
        tops[rank] = top
        top += heights[rank] + box.row_gap
    spot = placed.spots[box.number]
    spot.height = top - box.row_gap + padding
    spot.width = max(right - left + 2 * padding, box.open_width if box.parent is not None else 0.0)
    shift = (spot.width - (right - left)) / 2 - left
    for rank, centre, item in zip(ranks, centres, items, strict=True):
        item.x = centre + shift - item.width / 2
        item.row_top, item.row_bottom = tops[rank], tops[rank] + heights[rank]
        item.y = tops[rank] + (heights[rank] - item.height) / 2
    placed.bends[box.number] = bends


def push_apart(ranks: Sequence[int], columns: Sequence[float], widths: Sequence[float]) -> list[float]:
    """The centres of items, wide enough apart in each row. What stood in one column still does.

    Once pushed to the right, once to the left: in the middle of both, what opens grows to both sides alike.
    """
    to_right = _push(ranks, columns, widths)
    to_left = _push(ranks, [-column for column in columns], widths)
    return [(one - other) / 2 for one, other in zip(to_right, to_left, strict=True)]


def _push(ranks: Sequence[int], columns: Sequence[float], widths: Sequence[float]) -> list[float]:
    centres = [0.0] * len(columns)
    last: dict[int, int] = {}
    shift = 0.0
    order = sorted(range(len(columns)), key=lambda item: (columns[item], ranks[item]))
    start = 0
    while start < len(order):
        end = start
        while end < len(order) and columns[order[end]] == columns[order[start]]:
            end += 1
        for item in order[start:end]:
            before = last.get(ranks[item])
            if before is not None:
                gap = (widths[before] + widths[item]) / 2 + BOX_GAP
                shift = max(shift, centres[before] + gap - columns[item])
        for item in order[start:end]:
            centres[item] = columns[item] + shift
            last[ranks[item]] = item
        start = end
    return centres


def edge_path(edge: Edge, placed: Placed, container: int) -> list[tuple[float, float]]:
    """The points an edge passes, from top to bottom: straight down in a row, curved between two rows."""
    source, target = placed.spots[edge.source], placed.spots[edge.target]
    middle = source.x + source.width / 2
    points = [(middle, source.y + source.height), (middle, source.row_bottom)]
    for number in edge.bends:
        bend = placed.bends[container][number]
        middle = bend.x + bend.width / 2
        points += [(middle, bend.row_top), (middle, bend.row_bottom)]
    middle = target.x + target.width / 2
    return [*points, (middle, target.row_top), (middle, target.y)]
