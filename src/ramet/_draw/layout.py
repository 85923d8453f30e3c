"""Rows and columns of the boxes of one container, by layered (Sugiyama) layout.

Every container is laid out once, by itself, as if all that is in it were closed. What the layout gives is kept as rows and
columns, not as points: when a box opens or closes, `place.py` here and `place.js` on the page push rows and columns apart, and
nothing changes its order. So opening a box costs no new layout, the eye keeps its place, and the page needs no layout
library. `test_the_page_places_boxes_as_the_svg_does` keeps the two of them alike.
"""

from __future__ import annotations

from collections import Counter
from typing import TypeAlias, cast

from ramet._draw.box import Bend, Box, Scene

__all__ = ["arrange_grid", "arrange_rows"]

# One column of the layout, before boxes push each other apart.
_COLUMN = 72.0
# Bends are what a layout spends its time on. Beyond this many, the longest edges go straight to where they end.
_MOST_BENDS = 4_000
_LONGEST_EDGE = 400
# The most that a layout may cost: the sum over all rows of edges below times boxes and bends. This takes a few seconds.
_MOST_WORK = 400_000

# Boxes and bends with their positions, width and height of them all, and the edges between them.
_Part: TypeAlias = tuple[list[tuple[int, tuple[float, float]]], float, float, list[tuple[int, int]] | None]


def arrange_rows(scene: Scene, container: Box) -> None:
    """Row and column for each child of a container whose children are joined by edges, and the bends of the edges."""
    joined = [edge for edge in container.edges if edge.source != edge.target]
    pairs = list(dict.fromkeys((edge.source, edge.target) for edge in joined))
    numbers = {box: place for place, box in enumerate(dict.fromkeys(end for pair in pairs for end in pair))}
    kept = _affordable([(numbers[source], numbers[target]) for source, target in pairs], len(numbers))
    boxes = [scene.boxes[number] for number in numbers]
    paths: dict[tuple[int, int], list[int]] = {}
    rows = 0
    if kept and _work(kept, len(numbers)) <= _MOST_WORK:
        paths, rows = _lay_out(kept, boxes, container)
    elif kept:
        rows = _lay_out_plainly(kept, boxes)
    for edge in joined:
        edge.bends = paths.get((numbers[edge.source], numbers[edge.target]), [])
    placed = {end for pair in kept for end in pair}
    alone = [number for number in container.children if numbers.get(number) not in placed]
    _fill_grid(scene, alone, rows, max(4, round(len(alone) ** 0.5)))


def arrange_grid(scene: Scene, container: Box) -> None:
    """Row and column for each child of a container that has no edges: line by line, as one reads."""
    count = len(container.children)
    columns = count if count <= 3 else min(6, max(3, round(count**0.5)))
    _fill_grid(scene, container.children, 0, columns)


def _fill_grid(scene: Scene, numbers: list[int], first_row: int, columns: int) -> None:
    for place, number in enumerate(numbers):
        box = scene.boxes[number]
        box.rank, box.x = first_row + place // columns, place % columns * _COLUMN


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
    for place in sorted(range(len(pairs)), key=lambda place: spans[place]):
        source, target = pairs[place]
        needed = source not in holding or target not in held
        is_short = spans[place] <= _LONGEST_EDGE or needed
        # Required edges may take as much again as all the others.
        if is_short and spans[place] - 1 <= budget + _MOST_BENDS * needed:
            kept.add(place)
            held.add(target)
            holding.add(source)
            budget -= max(spans[place] - 1, 0)
    return [pair for place, pair in enumerate(pairs) if place in kept]


def _ranks(pairs: list[tuple[int, int]], count: int) -> list[int]:
    """The longest way from above to each box; boxes on a cycle (a broken graph has some) stay where they are."""
    after: list[list[int]] = [[] for _ in range(count)]
    open_before = [0] * count
    for source, target in pairs:
        after[source].append(target)
        open_before[target] += 1
    ranks = [0] * count
    ready = [place for place in range(count) if not open_before[place]]
    while ready:
        place = ready.pop()
        for other in after[place]:
            ranks[other] = max(ranks[other], ranks[place] + 1)
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

    For what nobody could follow with the eye anyway: rows of hundreds of boxes, with edges from everywhere to everywhere.
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
        for place, number in enumerate(sorted(row, key=lambda one: (middle[one], one))):
            column[number] = place
            boxes[number].rank, boxes[number].x = rank, place * _COLUMN
    return max(rows) + 1


def _lay_out(
    pairs: list[tuple[int, int]], boxes: list[Box], container: Box
) -> tuple[dict[tuple[int, int], list[int]], int]:
    """Puts the boxes into rows and columns; returns the bends of each pair, and how many rows there are."""
    from fast_sugiyama import from_edges

    bends: dict[int, int] = {}
    ways: dict[int, list[int]] = {}
    offset, rows = 0.0, 0
    # Numbers come back, because numbers were passed.
    parts = cast("list[_Part]", from_edges(pairs, vertex_spacing=1, dummy_vertices=True))
    for positions, width, height, edges in parts:
        left = min(x for _, (x, _) in positions)
        # In the order of their numbers: the engine hands them out in none that lasts.
        for number, (x, y) in sorted(positions):
            rank, column = round(height - y), (x - left + offset) * _COLUMN
            if number < len(boxes):
                boxes[number].rank, boxes[number].x = rank, column
            else:
                bends[number] = len(container.bends)
                container.bends.append(Bend(rank, column))
        for source, target in sorted(edges or ()):
            ways.setdefault(source, []).append(target)
        offset += width + 1.5
        rows = max(rows, round(height) + 1)
    return {pair: way for source in range(len(boxes)) for pair, way in _follow(source, ways, bends)}, rows


def _follow(source: int, ways: dict[int, list[int]], bends: dict[int, int]) -> list[tuple[tuple[int, int], list[int]]]:
    """The edges that leave a box, each with the bends on its way."""
    found = []
    for step in ways.get(source, ()):
        passed = []
        while step in bends:
            passed.append(bends[step])
            step = ways[step][0]
        found.append(((source, step), passed))
    return found
