"""The position of every visible box: rows and columns pushed apart. `page/placement.js` does the same.

Rows lie one below the other (`rankdir="TB"`) or side by side (`"LR"`). The code uses the directions *along* (that of the edges)
and *across*, and turns them into x and y at the end. A long container can be folded: its rows are split into several columns,
and each edge from one column to the next has its own lane, so that no two of them overlap.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from ramet._draw.drawing import Box, Drawing, Edge

BOX_GAP = 30.0
BEND_WIDTH = 10.0
PADDING = 18.0
HEADER = 30.0
# Lanes between two columns of a folded container: their distance, the room for all of them, and the free space before them: at
# the end of a column, beside it, and at the start of the next. With "TB", shapes are written below and beside the boxes.
LANE, LANES = 6.0, 24.0
LEADS = {"TB": (34.0, 66.0, 14.0), "LR": (14.0, 30.0, 14.0)}
BESIDE = 20.0
# A nested model or block is folded, too, if it has at least this many rows per column.
ROWS_TO_FOLD = 6


@dataclass(slots=True)
class Turn:
    """The path of edges from the last row of a column to the next column."""

    out: float  # where they turn sideways after the row, along
    beside: float  # where they go back beside the column, across
    back: float  # where they turn sideways before the next column, along


@dataclass(slots=True)
class Spot:
    """The position of the upper left corner of a box, and its size."""

    x: float = 0.0
    y: float = 0.0
    width: float = 0.0
    height: float = 0.0
    row_start: float = 0.0  # its row, along
    row_end: float = 0.0
    fold: int = 0  # the number of its column in a folded container
    turn: Turn | None = None  # in the last row of a column, the path of its edges to the next column


@dataclass(slots=True)
class Placement:
    """The spots of all visible boxes, and of the bends of each open container."""

    spots: dict[int, Spot]
    bends: dict[int, list[Spot]]
    is_down: bool


# How an edge reaches a point: in a straight line, or in a curve that begins and ends along.
Step: TypeAlias = tuple[Literal["line", "curve"], float, float]


def place_boxes(drawing: Drawing, is_open: Callable[[Box], bool]) -> Placement:
    """Return the spots of all visible boxes."""
    seen = [0]
    for number in seen:
        box = drawing.boxes[number]
        if box.children and (number == 0 or is_open(box)):
            seen += box.children
    placement = Placement({number: Spot() for number in seen}, {}, drawing.rankdir == "TB")
    # The boxes inside a box have higher numbers, so from the last to the first, sizes are known when they are needed.
    for number in reversed(seen):
        box = drawing.boxes[number]
        spot = placement.spots[number]
        if not box.children or box.children[0] not in placement.spots:
            spot.width, spot.height = box.width, box.height
        else:
            _fit(box, drawing, placement)
    for number in seen:
        box, spot = drawing.boxes[number], placement.spots[number]
        if number in placement.bends:
            for item in [*(placement.spots[child] for child in box.children), *placement.bends[number]]:
                _move(item, spot.x, spot.y, is_down=placement.is_down)
    return placement


def _move(item: Spot, x: float, y: float, *, is_down: bool) -> None:
    along, across = (y, x) if is_down else (x, y)
    item.x += x
    item.y += y
    item.row_start += along
    item.row_end += along
    if item.turn is not None:
        turn = item.turn
        item.turn = Turn(turn.out + along, turn.beside + across, turn.back + along)


def _fit(box: Box, drawing: Drawing, placement: Placement) -> None:
    """Place the children of an open box relative to it, and compute its size.

    First across: the items of each row are pushed apart. Then along: each row is as long as its longest item, and rows follow
    each other with a gap. If the box is folded, the rows are distributed over columns, which are shifted side by side with room
    for the lanes between them. At the end, along and across become x and y, and the last row of each column gets its lanes.
    """
    is_down = placement.is_down
    children = [drawing.boxes[child] for child in box.children]
    bends = [Spot(width=BEND_WIDTH) if is_down else Spot(height=BEND_WIDTH) for _ in box.bends]
    items = [placement.spots[child] for child in box.children] + bends
    ranks = [child.rank for child in children] + [bend.rank for bend in box.bends]
    columns = [child.x for child in children] + [bend.x for bend in box.bends]
    breadths = [item.width if is_down else item.height for item in items]
    depths = [item.height if is_down else item.width for item in items]
    centers = push_apart(ranks, columns, breadths)
    lengths: dict[int, float] = {}
    for rank, size in zip(ranks, depths, strict=True):
        lengths[rank] = max(lengths.get(rank, 0.0), size)
    starts, end = {}, 0.0
    for rank in sorted(lengths):
        starts[rank] = end
        end += lengths[rank] + box.row_gap
    folds = _folds(starts, lengths, end - box.row_gap, _columns_of(box, drawing, len(starts)))
    count = max(folds.values()) + 1
    out_lead, beside_lead, back_lead = LEADS[drawing.rankdir]
    before, after = (back_lead + LANES, out_lead + LANES) if count > 1 else (0.0, 0.0)
    between = beside_lead + LANES + BESIDE
    first = dict(reversed([(folds[rank], start) for rank, start in starts.items()]))
    low, high = [float("inf")] * count, [float("-inf")] * count
    for rank, center, size in zip(ranks, centers, breadths, strict=True):
        fold = folds[rank]
        low[fold], high[fold] = min(low[fold], center - size / 2), max(high[fold], center + size / 2)
    offsets, breadth = [], 0.0
    for fold in range(count):
        offsets.append(breadth - low[fold])
        breadth += high[fold] - low[fold] + between
    breadth -= between
    length = before + max(starts[rank] + lengths[rank] - first[folds[rank]] for rank in starts) + after
    width, height = (breadth, length) if is_down else (length, breadth)
    header, padding = (0.0, 0.0) if box.parent is None else (HEADER, PADDING)
    own = placement.spots[box.number]
    own.height = height + header + 2 * padding
    own.width = max(width + 2 * padding, box.open_width if box.parent is not None else 0.0)
    left, top = (own.width - width) / 2, header + padding
    along, across = (top, left) if is_down else (left, top)
    for item, rank, center, deep, wide in zip(items, ranks, centers, depths, breadths, strict=True):
        fold = folds[rank]
        item.fold, item.turn = fold, None
        item.row_start = along + before + starts[rank] - first[fold]
        item.row_end = item.row_start + lengths[rank]
        main = item.row_start + (lengths[rank] - deep) / 2
        side = across + center + offsets[fold] - wide / 2
        item.x, item.y = (side, main) if is_down else (main, side)
    for fold in range(count - 1):
        last = max(rank for rank in folds if folds[rank] == fold)
        row = sorted((index for index, rank in enumerate(ranks) if rank == last), key=lambda index: -centers[index])
        step = min(LANE, LANES / len(row))
        # The lanes are nested, so that edges that keep their order do not cross.
        for lane, number in enumerate(row):
            items[number].turn = Turn(
                items[number].row_end + out_lead + lane * step,
                across + high[fold] + offsets[fold] + beside_lead + lane * step,
                along + before - back_lead - (len(row) - 1 - lane) * step,
            )
    placement.bends[box.number] = bends


def _columns_of(box: Box, drawing: Drawing, rows: int) -> int:
    if not box.edges:
        return 1
    if box.parent is None:
        return min(drawing.columns, rows)
    return drawing.columns if rows >= ROWS_TO_FOLD * drawing.columns else 1


def _folds(starts: dict[int, float], lengths: dict[int, float], total: float, columns: int) -> dict[int, int]:
    """Return the column of each row, by its middle: the columns have about the same length."""
    wanted = {
        rank: int(columns * (starts[rank] + lengths[rank] / 2) / total) if total else 0 for rank in sorted(starts)
    }
    numbers = {fold: number for number, fold in enumerate(dict.fromkeys(wanted.values()))}
    return {rank: numbers[fold] for rank, fold in wanted.items()}


def push_apart(ranks: Sequence[int], columns: Sequence[float], widths: Sequence[float]) -> list[float]:
    """Return centers that are far enough apart in each row; items of one column stay in one column.

    Items are pushed once to the right and once to the left. In the middle of both, a box that opens grows to both sides.
    """
    to_right = _push(ranks, columns, widths)
    to_left = _push(ranks, [-column for column in columns], widths)
    return [(one - other) / 2 for one, other in zip(to_right, to_left, strict=True)]


def _push(ranks: Sequence[int], columns: Sequence[float], widths: Sequence[float]) -> list[float]:
    centers = [0.0] * len(columns)
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
                shift = max(shift, centers[before] + gap - columns[item])
        for item in order[start:end]:
            centers[item] = columns[item] + shift
            last[ranks[item]] = item
        start = end
    return centers


def center_across(spot: Spot, *, is_down: bool) -> float:
    """Return the middle of a box, across."""
    return spot.x + spot.width / 2 if is_down else spot.y + spot.height / 2


def edge_path(edge: Edge, placement: Placement, container: int) -> list[Step]:
    """Return the path of an edge: straight within a row, curved between two rows, in a lane between two columns."""
    is_down = placement.is_down
    source, target = placement.spots[edge.source], placement.spots[edge.target]
    across = center_across(source, is_down=is_down)
    start = source.y + source.height if is_down else source.x + source.width
    steps: list[Step] = [("line", start, across), ("line", source.row_end, across)]
    spot = source
    for item in [*(placement.bends[container][number] for number in edge.bends), target]:
        across = center_across(item, is_down=is_down)
        if spot.turn is not None and item.fold == spot.fold + 1:
            turn = spot.turn
            steps += [("line", turn.out, steps[-1][2]), ("line", turn.out, turn.beside)]
            steps += [("line", turn.back, turn.beside), ("line", turn.back, across), ("line", item.row_start, across)]
        else:
            steps.append(("curve", item.row_start, across))
        end = item.row_end if item is not target else (target.y if is_down else target.x)
        steps.append(("line", end, across))
        spot = item
    return [(kind, across, along) if is_down else (kind, along, across) for kind, along, across in steps]
