"""A drawing as SVG, for papers and slides: what the page shows when it opens, in plain shapes and attributes.

Only features that every SVG renderer draws alike are used: no `paint-order` (CairoSVG paints the outline over the text), no style
sheet, script, filter, marker or nested transform; fonts have names that fontconfig knows, and weights are keywords.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape as quote

from ramet._diff import DISTANCE_STEPS
from ramet._draw.drawing import Box, Drawing, Edge
from ramet._draw.palette import LIGHT, STATUS, mark_color
from ramet._draw.placement import Placement, Spot, Step, center_across, edge_path, place_boxes
from ramet._draw.text import listed_shapes, shorten
from ramet._report import escape

_MARGIN = 24.0
# Wide enough for the text of the legend.
_LEGEND = 220.0
# CairoSVG looks for the first name only, for which fontconfig has a font of the same widths.
_FONT = "Arial, Helvetica, 'Liberation Sans', sans-serif"


def svg(drawing: Drawing, scale: float = 1.0) -> str:
    """Return the picture as SVG text, with `scale` pixels per unit of the picture."""
    placement = place_boxes(drawing, lambda box: box.is_open)
    root = placement.spots[0]
    # Room for the shapes beside the last boxes, or below them.
    width, height = root.width + 2 * _MARGIN, root.height + 2 * _MARGIN
    width, height = (width + 60, height) if placement.is_down else (width, height + 12)
    steps = sorted({box.distance_step for box in drawing.boxes if box.distance_step is not None})
    below = root.height + _MARGIN
    if steps:
        width, height = max(width, _LEGEND + 2 * _MARGIN), height + 16 * len(steps) + 24
    title = quote(f"{escape(drawing.boxes[0].name)} ({escape(drawing.boxes[0].title)})")
    view = f"{_number(-_MARGIN)} {_number(-_MARGIN)} {_number(width)} {_number(height)}"
    head = f'width="{_number(width * scale)}" height="{_number(height * scale)}" viewBox="{view}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {head} font-family="{_FONT}" role="img">',
        f"<title>{title}</title>",
        _rect(-_MARGIN, -_MARGIN, width, height, 0, f'fill="{LIGHT.page}"'),
    ]
    for number, spot in placement.spots.items():
        box = drawing.boxes[number]
        if number:
            lines += _box(box, spot, drawing, is_open=number in placement.bends)
        # The content of a box is drawn after it, and the edges below the boxes that they connect.
        if number in placement.bends:
            lines += _edges(box, placement)
            lines += _shapes(drawing, box, placement)
    lines += _legend(steps, 0.0 if placement.is_down else 12.0, below)
    return "\n".join([*lines, "</svg>", ""])


def _legend(steps: list[int], gap: float, top: float) -> Iterator[str]:
    """Yield the legend below the picture: the colors for how far weights moved."""
    if steps:
        yield _text(0, top + gap, "weights moved, relative to their norm:", 11, LIGHT.quiet)
    for line, step in enumerate(steps):
        y = top + gap + 8 + 16 * line
        yield _rect(0, y, 13, 12, 3, f'fill="{LIGHT.moved(step)}" stroke="{LIGHT.edge}"')
        yield _text(20, y + 10, DISTANCE_STEPS[step][1], 11, LIGHT.quiet)


def _path_data(steps: list[Step], *, is_down: bool) -> str:
    """Return the path of an edge as SVG data."""
    (_, x, y), *rest = steps
    parts = [f"M{_point(x, y)}"]
    for kind, next_x, next_y in rest:
        if kind == "curve":
            middle = (y + next_y) / 2 if is_down else (x + next_x) / 2
            first, second = ((x, middle), (next_x, middle)) if is_down else ((middle, y), (middle, next_y))
            parts.append(f"C{_point(*first)} {_point(*second)} {_point(next_x, next_y)}")
        elif next_y != y:
            parts.append(f"V{_number(next_y)}")
        elif next_x != x:
            parts.append(f"H{_number(next_x)}")
        x, y = next_x, next_y
    return "".join(parts)


def _point(x: float, y: float) -> str:
    return f"{_number(x)} {_number(y)}"


def _number(number: float) -> str:
    # Zero in one form: -0.0 would differ between machines.
    return f"{round(number, 1) + 0.0:.1f}".removesuffix(".0")


def _edges(container: Box, placement: Placement) -> Iterator[str]:
    for edge in container.edges:
        steps = edge_path(edge, placement, container.number)
        color, style = _edge_look(edge)
        yield f'<path d="{_path_data(steps, is_down=placement.is_down)}" fill="none" stroke="{color}" {style}/>'
        _, x, y = steps[-1]
        if placement.spots[edge.target].height > 10:
            corners = [(x - 4, y - 7), (x, y - 1), (x + 4, y - 7)]
            if not placement.is_down:
                corners = [(x - 7, y - 4), (x - 1, y), (x - 7, y + 4)]
            tip = "L".join(_point(*corner) for corner in corners)
            yield f'<path d="M{tip}Z" fill="{color}"/>'


def _edge_look(edge: Edge) -> tuple[str, str]:
    if edge.status:
        return STATUS[edge.status][0], 'stroke-width="1.6" stroke-dasharray="5 4"'
    if edge.mask == "carried":
        return LIGHT.mask, 'stroke-width="2"'
    if edge.mask:
        return LIGHT.mask, f'stroke-width="1.6" stroke-dasharray="{"2 4" if edge.mask == "implicit" else "7 3"}"'
    return LIGHT.edge, 'stroke-width="1.5"'


def _shapes(drawing: Drawing, container: Box, placement: Placement) -> Iterator[str]:
    """Yield the shapes of outputs. With "TB", they are beside the start of the edges: on the left if these go to the right."""
    directions: dict[int, set[float]] = {}
    for edge in container.edges:
        spot = placement.spots[edge.source]
        follower = placement.bends[container.number][edge.bends[0]] if edge.bends else placement.spots[edge.target]
        turn = center_across(follower, is_down=True) - center_across(spot, is_down=True)
        directions.setdefault(edge.source, set()).add(turn)
    # A box whose consumers were all removed has no output now.
    sources = {edge.source for edge in container.edges if not edge.status}
    for number, turns in directions.items():
        if number not in sources:
            continue
        box, spot = drawing.boxes[number], placement.spots[number]
        if not placement.is_down:
            shapes = ", ".join(listed_shapes(box.shapes, 2))
            yield from _label(spot.x + spot.width - 2, spot.y + spot.height + 12, shapes, 'text-anchor="end"')
            continue
        on_left = max(turns) > 1 and min(turns) >= -1
        # If the edges go both ways, beside the one to the right.
        x = spot.x + spot.width / 2 + (-7 if on_left else 7 + min(max(0.3 * max(turns), 0), 30))
        for line, text in enumerate(listed_shapes(box.shapes, 2)):
            yield from _label(x, spot.row_end + 15 + 12 * line, text, 'text-anchor="end"' if on_left else "")


def _label(x: float, y: float, text: str, look: str = "") -> Iterator[str]:
    """Yield a text that is legible over an edge: first its outline in the color of the page, then the text."""
    if text:
        outline = f'stroke="{LIGHT.page}" stroke-width="3" stroke-linejoin="round" aria-hidden="true"'
        yield _text(x, y, text, 10, LIGHT.page, " ".join(filter(None, [look, outline])))
        yield _text(x, y, text, 10, LIGHT.quiet, look)


def _box(box: Box, spot: Spot, drawing: Drawing, *, is_open: bool) -> Iterator[str]:
    stroke = STATUS[box.status][0] if box.status else LIGHT.stroke(box.family)
    if box.kind == "port":
        yield f'<circle cx="{_number(spot.x + 5)}" cy="{_number(spot.y + 5)}" r="3" fill="{LIGHT.edge}"/>'
        return
    radius = spot.height / 2 if box.kind in ("input", "output") and not is_open else 8
    look = f'stroke="{stroke}" stroke-width="{2.2 if box.status else 1.2}"'
    if box.status == "removed":
        look += ' stroke-dasharray="5 4"'
    fill = LIGHT.inside(box.family) if is_open else LIGHT.fill(box.family)
    if box.distance_step is not None and not is_open:
        fill = LIGHT.moved(box.distance_step)
    yield "<g>"
    yield f"<title>{quote(escape(box.key or box.name))}</title>"
    if box.kind == "block" and not is_open:
        yield _rect(spot.x + 4, spot.y + 4, spot.width, spot.height, 8, f'fill="{fill}" {look}')
    yield _rect(spot.x, spot.y, spot.width, spot.height, radius, f'fill="{fill}" {look}')
    yield from _texts(box, spot, is_open=is_open)
    inside = 0 if is_open else _marked_inside(box, drawing)
    if box.status or inside:
        # Not by color alone. The page has a badge instead, because its boxes open.
        words = box.status_text or f"{inside:,} inside"
        stroke = stroke if box.status else STATUS["changed"][0]
        width = 6 * len(words) + 11
        yield _rect(spot.x + 8, spot.y - 9, width, 13, 6.5, f'fill="{stroke}"')
        look = 'text-anchor="middle" font-weight="bold"'
        yield _text(spot.x + 8 + width / 2, spot.y + 0.5, words, 9, LIGHT.page, look)
    yield from _marks(box, spot, drawing)
    yield "</g>"


def _marked_inside(box: Box, drawing: Drawing) -> int:
    """Return the number of boxes inside a box that have a status."""
    found, waiting = 0, [*box.children]
    while waiting:
        child = drawing.boxes[waiting.pop()]
        found += bool(child.status)
        waiting += child.children
    return found


def _marks(box: Box, spot: Spot, drawing: Drawing) -> Iterator[str]:
    """Yield the marks of shared objects, and a hollow one for the shared op around the box."""
    marks = [(group, mark_color(group), LIGHT.page, "#ffffff") for group in box.groups[:3]]
    if box.within is not None:
        marks.append((box.within, LIGHT.page, mark_color(box.within), LIGHT.text))
    for index, (group, fill, stroke, ink) in enumerate(marks):
        x, y = spot.x + spot.width - 2 - 20 * index, spot.y - 2
        yield f'<circle cx="{_number(x)}" cy="{_number(y)}" r="9" fill="{fill}" stroke="{stroke}" stroke-width="1.5"/>'
        yield _text(x, y + 3.5, drawing.groups[group].label, 10, ink, 'text-anchor="middle" font-weight="bold"')


def _texts(box: Box, spot: Spot, *, is_open: bool) -> Iterator[str]:
    x, y, middle = spot.x + 12, spot.y, spot.y + spot.height / 2 + 4.5
    title, name = shorten(box.title), shorten(box.name)
    if box.kind == "output":
        words = f"{title} {name}" if name else title
        yield _text(spot.x + spot.width / 2, middle, words, 12, LIGHT.text, 'text-anchor="middle" font-weight="bold"')
        return
    base = y + 19 if is_open or box.name else middle
    yield _text(x, base, title, 13, LIGHT.text, 'font-weight="bold"')
    right = spot.x + spot.width - 12
    if is_open:
        yield _text(right, base, box.open_text, 11, LIGHT.quiet, 'text-anchor="end"')
        return
    if box.hint:
        yield _text(right, base, box.hint, 11, LIGHT.quiet, 'text-anchor="end"')
    if name:
        yield _text(x, y + 35, name, 11, LIGHT.quiet)
    if box.mask:
        words = {"made": "+ mask", "dropped": "mask ends", "made dropped": "new mask"}[box.mask]
        yield _text(right, y + 35, words, 10, LIGHT.mask, 'text-anchor="end" font-weight="bold"')


def _rect(x: float, y: float, width: float, height: float, radius: float, look: str) -> str:
    return f'<rect x="{_number(x)}" y="{_number(y)}" width="{_number(width)}" height="{_number(height)}" rx="{_number(radius)}" {look}/>'


def _text(x: float, y: float, text: str, size: int, color: str, more: str = "") -> str:
    return f'<text x="{_number(x)}" y="{_number(y)}" font-size="{size}" fill="{color}"{" " * bool(more)}{more}>{quote(text)}</text>'
