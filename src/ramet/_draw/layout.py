"""Rows and columns of the boxes of one container, by layered (Sugiyama) layout.

Every container is laid out once, by itself, as if all boxes in it were closed. The result is kept as rows and columns, not as
points: when a box opens or closes, `placement.py` here and `placement.js` on the page push rows and columns apart, but never
change their order. So opening a box needs no new layout, readers keep their bearings, and the page needs no layout library.
`test_page_and_svg_place_boxes_and_edges_alike` keeps the two implementations in step.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from ramet._draw.columns import choose_columns
from ramet._draw.drawing import Bend, Box, Drawing
from ramet._draw.ordering import order_rows
from ramet._draw.ranking import Pair, connected_parts, link, longest_paths, shorten_edges, without_cycles

# One column of the layout, before boxes push each other apart.
_COLUMN = 72.0
# Edges and their bends take most of the time of a layout. Beyond this many, the longest edges go straight to their targets.
_MOST_EDGES, _MOST_BENDS = 20_000, 4_000
# The columns between two connected parts, and the fewest columns of a part.
_PART_GAP, _PART_WIDTH = 1.5, 1.0


def arrange_rows(drawing: Drawing, container: Box) -> None:
    """Set row and column of each child of a container with edges, and the bends of the edges."""
    joined = [edge for edge in container.edges if edge.source != edge.target]
    pairs = list(dict.fromkeys((edge.source, edge.target) for edge in joined))
    numbers = {box: index for index, box in enumerate(dict.fromkeys(end for pair in pairs for end in pair))}
    layered = lay_out([(numbers[source], numbers[target]) for source, target in pairs], len(numbers))
    for box, index in numbers.items():
        drawing.boxes[box].rank, drawing.boxes[box].x = layered.ranks[index], layered.columns[index] * _COLUMN
    bends = zip(layered.ranks[len(numbers) :], layered.columns[len(numbers) :], strict=True)
    container.bends += [Bend(rank, column * _COLUMN) for rank, column in bends]
    for edge in joined:
        path = layered.bends.get((numbers[edge.source], numbers[edge.target]), ())
        edge.bends = [bend - len(numbers) for bend in path]
    alone = [number for number in container.children if number not in numbers]
    _fill_grid(drawing, alone, max(layered.ranks, default=-1) + 1, max(4, round(len(alone) ** 0.5)))


def arrange_grid(drawing: Drawing, container: Box) -> None:
    """Set row and column of each child of a container without edges: line by line, in reading order."""
    count = len(container.children)
    columns = count if count <= 3 else min(6, max(3, round(count**0.5)))
    _fill_grid(drawing, container.children, 0, columns)


def _fill_grid(drawing: Drawing, numbers: list[int], first_row: int, columns: int) -> None:
    for index, number in enumerate(numbers):
        box = drawing.boxes[number]
        box.rank, box.x = first_row + index // columns, index % columns * _COLUMN


@dataclass(frozen=True, slots=True)
class Layered:
    """The row and column of each vertex, then of each bend, and the bends of each edge from top to bottom."""

    ranks: list[int]
    columns: list[float]
    bends: dict[Pair, list[int]]


def lay_out(pairs: Sequence[Pair], count: int) -> Layered:
    """Return the layered layout of a graph.

    Args:
        pairs: The edges, each once. Those that close a cycle are left out.
        count: The number of vertices.
    """
    pairs = without_cycles(pairs, count)
    before, after = link(pairs, count)
    parts = connected_parts(before, after)
    ranks = longest_paths(before, after)
    for part in parts:
        shorten_edges(part, before, after, ranks)
        top = min(ranks[vertex] for vertex in part)
        for vertex in part:
            ranks[vertex] -= top
    bends: dict[Pair, list[int]] = {}
    bends_from: dict[int, list[int]] = {}
    segments: list[Pair] = []
    for source, target in _affordable(pairs, ranks):
        path = list(range(len(ranks), len(ranks) + ranks[target] - ranks[source] - 1))
        ranks += range(ranks[source] + 1, ranks[target])
        segments += itertools.pairwise((source, *path, target))
        bends[source, target] = path
        bends_from.setdefault(source, []).extend(path)
    above, below = link(segments, len(ranks))
    columns = [0.0] * len(ranks)
    offset = 0.0
    for part in parts:
        vertices = part + [bend for vertex in part for bend in bends_from.get(vertex, ())]
        found = choose_columns(order_rows(vertices, ranks, above, below), above, below, count)
        left = min(found.values())
        for vertex, column in found.items():
            columns[vertex] = column - left + offset
        offset += max(max(found.values()) - left, _PART_WIDTH) + _PART_GAP
    return Layered(ranks, columns, bends)


def _affordable(pairs: list[Pair], ranks: list[int]) -> list[Pair]:
    """Return the edges that are part of the layout. The others only determine rows, and have no bends."""
    spans = [ranks[target] - ranks[source] for source, target in pairs]
    shortest = sorted(range(len(pairs)), key=spans.__getitem__)[:_MOST_EDGES]
    bends = itertools.accumulate(spans[index] - 1 for index in shortest)
    kept = {index for index, number in zip(shortest, bends, strict=True) if number <= _MOST_BENDS}
    return [pair for index, pair in enumerate(pairs) if index in kept]
