"""Rows and columns of the boxes of one container, by layered (Sugiyama) layout.

Every container is laid out once, by itself, as if all boxes in it were closed. The result is kept as rows and columns, not as
points: when a box opens or closes, `placement.py` here and `placement.js` on the page push rows and columns apart, but never
change their order. So opening a box needs no new layout, readers keep their bearings, and the page needs no layout library.
`test_page_and_svg_place_boxes_and_edges_alike` keeps the two implementations in step.
"""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias, cast

from ramet._draw.drawing import Bend, Box, Drawing

# One column of the layout, before boxes push each other apart.
_COLUMN = 72.0
# Bends take most of the time of a layout. Beyond this many, the longest edges go straight to their targets.
_MOST_BENDS = 4_000
_LONGEST_EDGE = 400
# The most that a layout may cost: the sum over all rows of edges below times boxes and bends. It takes a few seconds.
_MOST_WORK = 400_000

# Boxes and bends with their positions, the width and height of all, and the edges between them.
_Part: TypeAlias = tuple[list[tuple[int, tuple[float, float]]], float, float, list[tuple[int, int]] | None]


def arrange_rows(drawing: Drawing, container: Box) -> None:
    """Set row and column of each child of a container with edges, and the bends of the edges."""
    joined = [edge for edge in container.edges if edge.source != edge.target]
    pairs = list(dict.fromkeys((edge.source, edge.target) for edge in joined))
    numbers = {box: index for index, box in enumerate(dict.fromkeys(end for pair in pairs for end in pair))}
    kept = _affordable([(numbers[source], numbers[target]) for source, target in pairs], len(numbers))
    boxes = [drawing.boxes[number] for number in numbers]
    paths: dict[tuple[int, int], list[int]] = {}
    rows = 0
    if kept and _work(kept, len(numbers)) <= _MOST_WORK:
        paths, rows = _lay_out(kept, boxes, container)
    elif kept:
        rows = _lay_out_plainly(kept, boxes)
    for edge in joined:
        edge.bends = paths.get((numbers[edge.source], numbers[edge.target]), [])
    connected = {end for pair in kept for end in pair}
    alone = [number for number in container.children if numbers.get(number) not in connected]
    _fill_grid(drawing, alone, rows, max(4, round(len(alone) ** 0.5)))


def arrange_grid(drawing: Drawing, container: Box) -> None:
    """Set row and column of each child of a container without edges: line by line, in reading order."""
    count = len(container.children)
    columns = count if count <= 3 else min(6, max(3, round(count**0.5)))
    _fill_grid(drawing, container.children, 0, columns)


def _fill_grid(drawing: Drawing, numbers: list[int], first_row: int, columns: int) -> None:
    for index, number in enumerate(numbers):
        box = drawing.boxes[number]
        box.rank, box.x = first_row + index // columns, index % columns * _COLUMN


def _affordable(pairs: list[tuple[int, int]], count: int) -> list[tuple[int, int]]:
    """Return the edges for the layout. If possible, each box keeps one edge from above, which determines its row."""
    ranks = _ranks(pairs, count)
    spans = [ranks[target] - ranks[source] for source, target in pairs]
    bends = sum(span - 1 for span in spans if span > 1)
    if bends <= _MOST_BENDS and max(spans, default=0) <= _LONGEST_EDGE:
        return pairs
    kept: set[int] = set()
    held: set[int] = set()
    holding: set[int] = set()
    budget = _MOST_BENDS
    for index in sorted(range(len(pairs)), key=spans.__getitem__):
        source, target = pairs[index]
        needed = source not in holding or target not in held
        is_short = spans[index] <= _LONGEST_EDGE or needed
        # Required edges may take as much again as all the others.
        if is_short and spans[index] - 1 <= budget + _MOST_BENDS * needed:
            kept.add(index)
            held.add(target)
            holding.add(source)
            budget -= max(spans[index] - 1, 0)
    return [pair for index, pair in enumerate(pairs) if index in kept]


def _ranks(pairs: list[tuple[int, int]], count: int) -> list[int]:
    """Return the length of the longest path to each box; 0 for boxes on a cycle, which invalid graphs may have."""
    after: list[list[int]] = [[] for _ in range(count)]
    open_before = [0] * count
    for source, target in pairs:
        after[source].append(target)
        open_before[target] += 1
    ranks = [0] * count
    ready = [vertex for vertex in range(count) if not open_before[vertex]]
    while ready:
        vertex = ready.pop()
        for other in after[vertex]:
            ranks[other] = max(ranks[other], ranks[vertex] + 1)
            open_before[other] -= 1
            if not open_before[other]:
                ready.append(other)
    return ranks


def _work(pairs: list[tuple[int, int]], count: int) -> int:
    """Return the cost of a layout of these edges."""
    ranks = _ranks(pairs, count)
    edges, widths = Counter[int](), Counter[int](ranks)
    for source, target in pairs:
        edges.update(range(ranks[source], ranks[target]))
        widths.update(range(ranks[source] + 1, ranks[target]))
    return sum(number * widths[row] for row, number in edges.items())


def _lay_out_plainly(pairs: list[tuple[int, int]], boxes: list[Box]) -> int:
    """Put the boxes into rows, each below the middle of its inputs, and return the number of rows.

    For graphs that no reader could follow anyway: rows of hundreds of boxes, with edges between all of them.
    """
    before: dict[int, list[int]] = {}
    for source, target in pairs:
        before.setdefault(target, []).append(source)
    ranks = _ranks(pairs, len(boxes))
    rows: dict[int, list[int]] = {}
    for number in sorted({end for pair in pairs for end in pair}):
        rows.setdefault(ranks[number], []).append(number)
    column: dict[int, int] = {}
    for rank, row in sorted(rows.items()):
        middle = {
            one: sum(column.get(other, 0) for other in before.get(one, ())) / len(before.get(one, " ")) for one in row
        }
        for index, number in enumerate(sorted(row, key=lambda one: (middle[one], one))):
            column[number] = index
            boxes[number].rank, boxes[number].x = rank, index * _COLUMN
    return max(rows) + 1


def _lay_out(
    pairs: list[tuple[int, int]], boxes: list[Box], container: Box
) -> tuple[dict[tuple[int, int], list[int]], int]:
    """Put the boxes into rows and columns, and return the bends of each pair and the number of rows."""
    from fast_sugiyama import from_edges

    bends: dict[int, int] = {}
    targets: dict[int, list[int]] = {}
    offset, rows = 0.0, 0
    # The vertices are numbers, because numbers were passed.
    parts = cast("list[_Part]", from_edges(pairs, vertex_spacing=1, dummy_vertices=True))
    for positions, width, height, edges in parts:
        left = min(x for _, (x, _) in positions)
        # Sorted by number: the order in which the engine returns them varies.
        for number, (x, y) in sorted(positions):
            rank, column = round(height - y), (x - left + offset) * _COLUMN
            if number < len(boxes):
                boxes[number].rank, boxes[number].x = rank, column
            else:
                bends[number] = len(container.bends)
                container.bends.append(Bend(rank, column))
        for source, target in sorted(edges or ()):
            targets.setdefault(source, []).append(target)
        offset += width + 1.5
        rows = max(rows, round(height) + 1)
    paths: dict[tuple[int, int], list[int]] = {}
    for source in range(len(boxes)):
        for vertex in targets.get(source, ()):
            passed = []
            while vertex in bends:
                passed.append(bends[vertex])
                vertex = targets[vertex][0]
            paths[source, vertex] = passed
    return paths, rows
