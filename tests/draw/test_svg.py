"""The SVG, compared with stored pictures. RAMET_STORE_PICTURES=1 updates them: look at them before committing."""

import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path
from typing import Any

import pytest

from ramet._diff import diff_graphs
from ramet._draw import draw_graph
from ramet._draw.text import width_of
from tests.draw.sample import HOSTILE, PICTURES, chain, hostile, unet

pytestmark = pytest.mark.no_backend

SVG = "{http://www.w3.org/2000/svg}"
STORED = Path(__file__).parent / "pictures"


@pytest.mark.parametrize("name", PICTURES)
def test_svg_equals_the_stored_picture(name: str) -> None:
    drawn = PICTURES[name]().to_svg()
    file = STORED / f"{name}.svg"
    if os.environ.get("RAMET_STORE_PICTURES"):
        file.write_text(drawn, encoding="utf-8")

    assert drawn == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PICTURES)
def test_svg_is_xml_without_scripts_or_links(name: str) -> None:
    drawn = PICTURES[name]().to_svg()
    root = ET.fromstring(drawn)

    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "rect", "g", "path", "text", "circle"}
    assert re.findall(r"\w+://[^\"]*", drawn) == ["http://www.w3.org/2000/svg"]


def test_renamed_box_is_wide_enough_for_both_names() -> None:
    before, after = chain("long_name_a"), chain("long_name_b")
    for rankdir in ("TB", "LR"):
        root = ET.fromstring(
            draw_graph(after, diff_graphs(before, after), before=before, rankdir=rankdir).to_svg()  # type: ignore[arg-type]
        )
        [box] = [group for group in root.iter(f"{SVG}g") if "long_name_b" in (group.findtext(f"{SVG}title") or "")]
        frame = box.find(f"{SVG}rect")
        [name] = [text for text in box.iter(f"{SVG}text") if "→" in (text.text or "")]

        assert frame is not None
        right = float(frame.get("x", "0")) + float(frame.get("width", "0"))
        assert float(name.get("x", "0")) + width_of(name.text or "", 11) <= right


# Attributes that CairoSVG, librsvg, Inkscape, Chromium and svglib draw alike. Others were not tried in all of them.
ATTRIBUTES = {
    "svg": {"width", "height", "viewBox", "font-family", "role"},
    "title": set(),
    "g": set(),
    "rect": {"x", "y", "width", "height", "rx", "fill", "stroke", "stroke-width", "stroke-dasharray"},
    "circle": {"cx", "cy", "r", "fill", "stroke", "stroke-width"},
    "path": {"d", "fill", "stroke", "stroke-width", "stroke-dasharray"},
    "text": {"x", "y", "font-size", "fill", "text-anchor", "font-weight"},
}
# The outline of a label, painted before the label itself.
OUTLINE = {"stroke", "stroke-width", "stroke-linejoin", "aria-hidden"}


@pytest.mark.parametrize("name", PICTURES)
def test_svg_uses_only_features_that_every_renderer_has(name: str) -> None:
    root = ET.fromstring(PICTURES[name]().to_svg())

    for element in root.iter():
        tag = element.tag.rpartition("}")[2]
        allowed = ATTRIBUTES[tag] | (OUTLINE if element.get("aria-hidden") else set())
        assert set(element.attrib) <= allowed, ET.tostring(element)
        for key in ("fill", "stroke"):
            assert re.fullmatch(r"#[0-9a-f]{6}|none", element.get(key, "none"))
        assert element.get("font-weight", "bold") == "bold"
        assert re.fullmatch(r"[MLHVCZ0-9. -]*", element.get("d", ""))


@pytest.mark.parametrize("name", PICTURES)
def test_outline_of_a_label_is_painted_below_it(name: str) -> None:
    """CairoSVG does not support `paint-order`: an outline of the label itself would cover its letters."""
    texts = list(ET.fromstring(PICTURES[name]().to_svg()).iter("{http://www.w3.org/2000/svg}text"))
    for text, after in zip(texts, [*texts[1:], None], strict=True):
        if text.get("stroke") is None:
            assert text.get("fill") != "#ffffff" or text.get("font-weight") == "bold"  # on a colored background
            continue
        assert after is not None
        assert (after.text, after.get("x"), after.get("y"), after.get("text-anchor")) == (
            text.text,
            text.get("x"),
            text.get("y"),
            text.get("text-anchor"),
        )
        assert after.get("stroke") is None
        assert after.get("fill") != text.get("stroke")


def test_hostile_name_is_shown_as_text() -> None:
    root = ET.fromstring(draw_graph(hostile()).to_svg())

    titles = {element.text for element in root.iter("{http://www.w3.org/2000/svg}title")}
    assert HOSTILE in titles
    assert "a\\u202eb\\x1b[31m\\n" in titles


@pytest.mark.parametrize("rankdir", ["TB", "LR"])
@pytest.mark.parametrize("columns", [1, 2, 3, 5])
def test_boxes_do_not_overlap(rankdir: Any, columns: int) -> None:
    root = ET.fromstring(draw_graph(unet(), rankdir=rankdir, columns=columns).to_svg())

    frames = [
        tuple(float(rect.get(key, "0")) for key in ("x", "y", "width", "height"))
        for rect in list(root.iter("{http://www.w3.org/2000/svg}rect"))[1:]
    ]
    overlaps = [
        (one, other)
        for place, one in enumerate(frames)
        for other in frames[place + 1 :]
        if one[0] < other[0] + other[2] and other[0] < one[0] + one[2]
        if one[1] < other[1] + other[3] and other[1] < one[1] + one[3]
    ]
    assert len(frames) == 14
    assert overlaps == []
