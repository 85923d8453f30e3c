"""A scene as an SVG for papers and slides: what the page shows when it opens, in plain shapes and attributes.

Only what every program that reads SVG draws alike is used: no `paint-order` (CairoSVG paints the outline over the text), no style
sheet, no script, no filter, no marker, no nested transform; fonts by names that fontconfig knows, and weights by keyword.
"""

from __future__ import annotations

from collections.abc import Iterator
from html import escape as quote

from ramet._diff import HOW_FAR
from ramet._draw.box import Box, Edge, Scene
from ramet._draw.palette import LIGHT, STATUS, mark_colour
from ramet._draw.place import Placed, Spot, Step, centre_across, edge_path, place
from ramet._draw.text import listed_shapes, shorten
from ramet._graph import escape

__all__ = ["curve", "svg"]

_MARGIN = 24.0
# Wide enough for the words of the legend.
_LEGEND = 220.0
# The first name is the one that CairoSVG looks for; fontconfig has a font of the same widths for it.
_FONT = "Arial, Helvetica, 'Liberation Sans', sans-serif"


def svg(scene: Scene, scale: float = 1.0) -> str:
    """The picture as SVG text.

    Args:
        scene: what is drawn.
        scale: how many pixels a unit of the picture measures.
    """
    placed = place(scene, lambda box: box.is_open)
    root = placed.spots[0]
    # Shapes beside the last boxes may be wider than what they stand beside; those below them need a line.
    width, height = root.width + 2 * _MARGIN, root.height + 2 * _MARGIN
    width, height = (width + 60, height) if placed.is_down else (width, height + 12)
    steps = sorted({box.step for box in scene.boxes if box.step is not None})
    below = root.height + _MARGIN
    if steps:
        width, height = max(width, _LEGEND + 2 * _MARGIN), height + 16 * len(steps) + 24
    title = quote(f"{escape(scene.boxes[0].name)} ({escape(scene.boxes[0].title)})")
    view = f"{_n(-_MARGIN)} {_n(-_MARGIN)} {_n(width)} {_n(height)}"
    head = f'width="{_n(width * scale)}" height="{_n(height * scale)}" viewBox="{view}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {head} font-family="{_FONT}" role="img">',
        f"<title>{title}</title>",
        _rect(-_MARGIN, -_MARGIN, width, height, 0, f'fill="{LIGHT.page}"'),
    ]
    for number, spot in placed.spots.items():
        box = scene.boxes[number]
        if number:
            lines += _box(box, spot, scene, is_open=number in placed.bends)
        # What is inside is drawn after what it is in; edges lie under the boxes they join.
        if number in placed.bends:
            lines += _edges(box, placed)
            lines += _shapes(scene, box, placed)
    lines += _legend(steps, 0.0 if placed.is_down else 12.0, below)
    return "\n".join([*lines, "</svg>", ""])


def _legend(steps: list[int], gap: float, top: float) -> Iterator[str]:
    """Which colour says how far weights moved, below the picture."""
    if steps:
        yield _text(0, top + gap, "weights moved, as a part of their norm:", 11, LIGHT.quiet)
    for line, step in enumerate(steps):
        y = top + gap + 8 + 16 * line
        yield _rect(0, y, 13, 12, 3, f'fill="{LIGHT.moved(step)}" stroke="{LIGHT.edge}"')
        yield _text(20, y + 10, HOW_FAR[step][1], 11, LIGHT.quiet)


def curve(steps: list[Step], *, is_down: bool) -> str:
    """The path of an edge."""
    (_, x, y), *rest = steps
    parts = [f"M{_n(x)} {_n(y)}"]
    for kind, next_x, next_y in rest:
        if kind == "curve":
            middle = (y + next_y) / 2 if is_down else (x + next_x) / 2
            first, second = ((x, middle), (next_x, middle)) if is_down else ((middle, y), (middle, next_y))
            parts.append(f"C{_n(first[0])} {_n(first[1])} {_n(second[0])} {_n(second[1])} {_n(next_x)} {_n(next_y)}")
        elif next_y != y:
            parts.append(f"V{_n(next_y)}")
        elif next_x != x:
            parts.append(f"H{_n(next_x)}")
        x, y = next_x, next_y
    return "".join(parts)


def _n(number: float) -> str:
    # Zero in one form: -0.0 would be a difference between machines.
    return f"{round(number, 1) + 0.0:.1f}".removesuffix(".0")


def _edges(container: Box, placed: Placed) -> Iterator[str]:
    for edge in container.edges:
        steps = edge_path(edge, placed, container.number)
        colour, style = _edge_look(edge)
        yield f'<path d="{curve(steps, is_down=placed.is_down)}" fill="none" stroke="{colour}" {style}/>'
        _, x, y = steps[-1]
        if placed.spots[edge.target].height > 10:
            corners = [(x - 4, y - 7), (x, y - 1), (x + 4, y - 7)]
            if not placed.is_down:
                corners = [(x - 7, y - 4), (x - 1, y), (x - 7, y + 4)]
            tip = "L".join(f"{_n(one)} {_n(other)}" for one, other in corners)
            yield f'<path d="M{tip}Z" fill="{colour}"/>'


def _edge_look(edge: Edge) -> tuple[str, str]:
    if edge.status:
        return STATUS[edge.status][0], 'stroke-width="1.6" stroke-dasharray="5 4"'
    if edge.mask == "carried":
        return LIGHT.mask, 'stroke-width="2"'
    if edge.mask:
        return LIGHT.mask, f'stroke-width="1.6" stroke-dasharray="{"2 4" if edge.mask == "implicit" else "7 3"}"'
    return LIGHT.edge, 'stroke-width="1.5"'


def _shapes(scene: Scene, container: Box, placed: Placed) -> Iterator[str]:
    """The shapes of what boxes give. From top to bottom, beside the beginning of the edges: where these go right, on the left."""
    ways: dict[int, set[float]] = {}
    for edge in container.edges:
        spot = placed.spots[edge.source]
        follower = placed.bends[container.number][edge.bends[0]] if edge.bends else placed.spots[edge.target]
        turn = centre_across(follower, is_down=True) - centre_across(spot, is_down=True)
        ways.setdefault(edge.source, set()).add(turn)
    # What only gave to something that was removed gives nothing now.
    giving = {edge.source for edge in container.edges if not edge.status}
    for number, turns in ways.items():
        if number not in giving:
            continue
        box, spot = scene.boxes[number], placed.spots[number]
        if not placed.is_down:
            yield from _label(spot.x + spot.width - 2, spot.y + spot.height + 12, _in_a_line(box), 'text-anchor="end"')
            continue
        on_left = max(turns) > 1 and min(turns) >= -1
        # Where they go both ways, beside the one that goes right.
        x = spot.x + spot.width / 2 + (-7 if on_left else 7 + min(max(0.3 * max(turns), 0), 30))
        for line, text in enumerate(listed_shapes(box.shapes, 2)):
            yield from _label(x, spot.row_end + 15 + 12 * line, text, 'text-anchor="end"' if on_left else "")


def _in_a_line(box: Box) -> str:
    return ", ".join(listed_shapes(box.shapes, 2))


def _label(x: float, y: float, text: str, look: str = "") -> Iterator[str]:
    """A text that can be read where an edge passes under it: first its outline in the colour of the page, then the text."""
    if text:
        outline = f'stroke="{LIGHT.page}" stroke-width="3" stroke-linejoin="round" aria-hidden="true"'
        yield _text(x, y, text, 10, LIGHT.page, " ".join(filter(None, [look, outline])))
        yield _text(x, y, text, 10, LIGHT.quiet, look)


def _box(box: Box, spot: Spot, scene: Scene, *, is_open: bool) -> Iterator[str]:
    stroke = STATUS[box.status][0] if box.status else LIGHT.stroke(box.family)
    if box.kind == "port":
        yield f'<circle cx="{_n(spot.x + 5)}" cy="{_n(spot.y + 5)}" r="3" fill="{LIGHT.edge}"/>'
        return
    round_ = spot.height / 2 if box.kind in ("input", "output") and not is_open else 8
    look = f'stroke="{stroke}" stroke-width="{2.2 if box.status else 1.2}"'
    if box.status == "removed":
        look += ' stroke-dasharray="5 4"'
    fill = LIGHT.inside(box.family) if is_open else LIGHT.fill(box.family)
    if box.step is not None and not is_open:
        fill = LIGHT.moved(box.step)
    yield "<g>"
    yield f"<title>{quote(escape(box.key or box.name))}</title>"
    if box.kind == "block" and not is_open:
        yield _rect(spot.x + 4, spot.y + 4, spot.width, spot.height, 8, f'fill="{fill}" {look}')
    yield _rect(spot.x, spot.y, spot.width, spot.height, round_, f'fill="{fill}" {look}')
    yield from _words(box, spot, is_open=is_open)
    inside = 0 if is_open else _marked_inside(box, scene)
    if box.status or inside:
        # Not by colour alone. A page has a badge in the place of the words, because its boxes open.
        told = box.told_status or f"{inside:,} inside"
        stroke = stroke if box.status else STATUS["changed"][0]
        width = 6 * len(told) + 11
        yield _rect(spot.x + 8, spot.y - 9, width, 13, 6.5, f'fill="{stroke}"')
        look = 'text-anchor="middle" font-weight="bold"'
        yield _text(spot.x + 8 + width / 2, spot.y + 0.5, told, 9, LIGHT.page, look)
    yield from _marks(box, spot, scene)
    yield "</g>"


def _marked_inside(box: Box, scene: Scene) -> int:
    """How many boxes inside a box have a status."""
    found, waiting = 0, [*box.children]
    while waiting:
        child = scene.boxes[waiting.pop()]
        found += bool(child.status)
        waiting += child.children
    return found


def _marks(box: Box, spot: Spot, scene: Scene) -> Iterator[str]:
    """The marks of what is one object; hollow, that of the shared op around it."""
    shown = [(group, mark_colour(group), LIGHT.page, "#ffffff") for group in box.groups[:3]]
    if box.within is not None:
        shown.append((box.within, LIGHT.page, mark_colour(box.within), LIGHT.text))
    for place_, (group, fill, stroke, ink) in enumerate(shown):
        x, y = spot.x + spot.width - 2 - 20 * place_, spot.y - 2
        yield f'<circle cx="{_n(x)}" cy="{_n(y)}" r="9" fill="{fill}" stroke="{stroke}" stroke-width="1.5"/>'
        yield _text(x, y + 3.5, scene.groups[group].label, 10, ink, 'text-anchor="middle" font-weight="bold"')


def _words(box: Box, spot: Spot, *, is_open: bool) -> Iterator[str]:
    x, y = spot.x + 12, spot.y
    pill = box.kind == "output"
    base = y + (19 if is_open or not (pill or not box.name) else spot.height / 2 + 4.5)
    title, name = shorten(box.title), shorten(box.name)
    if pill:
        title, name = (f"{title} {name}" if name else title), ""
        yield _text(spot.x + spot.width / 2, base, title, 12, LIGHT.text, 'text-anchor="middle" font-weight="bold"')
        return
    yield _text(x, base, title, 13, LIGHT.text, 'font-weight="bold"')
    right = spot.x + spot.width - 12
    if is_open:
        yield _text(right, base, box.told_open, 11, LIGHT.quiet, 'text-anchor="end"')
        return
    if box.hint:
        yield _text(right, base, box.hint, 11, LIGHT.quiet, 'text-anchor="end"')
    if name:
        yield _text(x, y + 35, name, 11, LIGHT.quiet)
    if box.mask:
        words = {"made": "+ mask", "dropped": "mask ends", "made dropped": "other mask"}[box.mask]
        yield _text(right, y + 35, words, 10, LIGHT.mask, 'text-anchor="end" font-weight="bold"')


def _rect(x: float, y: float, width: float, height: float, radius: float, look: str) -> str:
    return f'<rect x="{_n(x)}" y="{_n(y)}" width="{_n(width)}" height="{_n(height)}" rx="{_n(radius)}" {look}/>'


def _text(x: float, y: float, text: str, size: int, colour: str, more: str = "") -> str:
    return (
        f'<text x="{_n(x)}" y="{_n(y)}" font-size="{size}" fill="{colour}"{" " * bool(more)}{more}>{quote(text)}</text>'
    )
