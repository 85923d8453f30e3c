"""Helpers for tests of drawings."""

from ramet._draw.builder import build_drawing
from ramet._draw.drawing import Box, Drawing
from ramet._draw.marks import mark_sharing
from ramet._graph import Graph


def drawn(graph: Graph) -> Drawing:
    drawing = build_drawing(graph)
    mark_sharing(drawing, graph)
    return drawing


def inside(drawing: Drawing, box: Box) -> list[str]:
    return [drawing.boxes[number].key or drawing.boxes[number].title for number in box.children]


def at(drawing: Drawing, key: str) -> Box:
    return next(box for box in drawing.boxes if box.key == key)


def edges(drawing: Drawing, box: Box) -> list[tuple[str, str, str]]:
    def name(number: int) -> str:
        return drawing.boxes[number].key or drawing.boxes[number].title

    return [(name(edge.source), name(edge.target), edge.mask) for edge in box.edges]
