"""The picture of a diff is coloured by how far weights moved, with a legend and a word for each colour."""

import json
import re

import pytest

from ramet._diff import Change, Diff
from ramet._diff.far import HOW_FAR
from ramet._draw import draw_graph
from ramet._draw.palette import DARK, LIGHT
from ramet._graph import freeze_dict
from tests.draw.sample import chain
from tests.graph.sample import nested, small

pytestmark = pytest.mark.no_backend


def weights(path, difference, norm=1.0):
    measure = freeze_dict({"size": 4, "changed": 4, "difference": difference, "largest": difference})
    old = freeze_dict({"dtype": "float32", "norm": norm})
    return Change("weights", path, path, "values", old, old, measure)


def drawn(graph, *changes):
    return draw_graph(graph, Diff(graph.name, graph.name, changes), before=graph)


@pytest.mark.parametrize(
    ("difference", "norm", "step", "words"),
    [
        (0.0001, 1.0, 0, "changed, 0.01 %"),
        (0.005, 1.0, 1, "changed, 0.5 %"),
        (0.05, 1.0, 2, "changed, 5 %"),
        (0.5, 1.0, 3, "changed, 50 %"),
        (2.0, 1.0, 4, "changed, 200 %"),
        (384.0, 1.0, 4, "changed"),
        (1.0, 0.0, 4, "changed"),
    ],
)
def test_a_box_has_the_colour_and_the_words_of_its_distance(difference, norm, step, words):
    svg = drawn(small(), weights("d/kernel", difference, norm)).to_svg()

    assert f'fill="{LIGHT.moved(step)}"' in svg
    assert f">{words}</text>" in svg
    assert f">{HOW_FAR[step][1]}</text>" in svg
    assert "weights moved, as a part of their norm:" in svg


def test_a_picture_without_moved_weights_has_no_such_legend():
    svg = drawn(small(), Change("setting", "d", "d", "units", 1, 2)).to_svg()

    assert "weights moved" not in svg


def test_a_random_state_has_no_distance():
    assert "weights moved" not in drawn(small(), weights("d/seed_generator_state", 5.0)).to_svg()


def test_a_closed_model_has_the_colour_of_all_that_is_inside():
    page = drawn(nested(), weights("encoder/d/kernel", 0.05)).to_html()
    data = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)[1])

    moved = {box.get("key", ""): box["moved"] for box in data["boxes"] if "moved" in box}
    assert moved["encoder"][0] == 2
    assert moved["encoder/d"] == [2, "changed, 5 %"]
    assert data["moved"] == [words for _, words in HOW_FAR]


def test_the_steps_can_be_told_apart_in_both_themes():
    for theme in (LIGHT, DARK):
        assert len({theme.moved(step) for step in range(len(HOW_FAR))}) == len(HOW_FAR)


def test_a_closed_block_says_how_many_boxes_inside_are_marked():
    graph = chain(*(f"block_{n // 4}_{n % 4}" for n in range(100)))
    changes = [Change("setting", f"block_3_{n}", f"block_3_{n}", "trainable", True, False) for n in (0, 2)]

    assert drawn(graph, *changes).to_svg().count(">2 inside</text>") == 1
    assert "inside</text>" not in drawn(graph).to_svg()
