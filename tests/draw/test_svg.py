"""The SVG, compared with stored pictures. RAMET_STORE_PICTURES=1 stores them anew: look at them before they go in."""

import os
import re
import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from ramet._draw import draw_graph
from tests.draw.sample import HOSTILE, PICTURES, hostile, unet

STORED = Path(__file__).parent / "pictures"


@pytest.mark.parametrize("name", PICTURES)
def test_the_svg_is_the_stored_picture(name: str) -> None:
    drawn = PICTURES[name]().to_svg()
    file = STORED / f"{name}.svg"
    if os.environ.get("RAMET_STORE_PICTURES"):
        file.write_text(drawn, encoding="utf-8")

    assert drawn == file.read_text(encoding="utf-8")


@pytest.mark.parametrize("name", PICTURES)
def test_the_svg_is_xml_without_scripts_or_addresses(name: str) -> None:
    drawn = PICTURES[name]().to_svg()
    root = ET.fromstring(drawn)

    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "rect", "g", "path", "text", "circle"}
    assert re.findall(r"\w+://[^\"]*", drawn) == ["http://www.w3.org/2000/svg"]


def test_a_hostile_name_is_shown_as_text() -> None:
    root = ET.fromstring(draw_graph(hostile()).to_svg())

    titles = {element.text for element in root.iter("{http://www.w3.org/2000/svg}title")}
    assert HOSTILE in titles
    assert "a\\u202eb\\x1b[31m\\n" in titles


def test_boxes_of_one_row_do_not_overlap() -> None:
    root = ET.fromstring(draw_graph(unet()).to_svg())

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
