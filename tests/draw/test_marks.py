"""Marks on a drawing: sharing, the changes of a diff with the distances of weights, the findings of a check."""

import json
import re

import pytest

from ramet._diff import DISTANCE_STEPS, Change, Diff, diff_graphs
from ramet._draw import Picture, draw_graph
from ramet._draw.builder import build_drawing
from ramet._draw.marks import mark_changes, mark_findings
from ramet._draw.palette import DARK, LIGHT
from ramet._graph import Graph, freeze_dict
from tests.draw.drawings import at, drawn, edges, inside
from tests.draw.sample import before_and_after, chain, wide_tree
from tests.graph import sample
from tests.graph.sample import config, nested, small

pytestmark = pytest.mark.no_backend


def test_shared_layer_has_a_box_for_each_call_and_one_mark() -> None:
    drawing = drawn(sample.small())

    assert inside(drawing, drawing.boxes[0]) == ["x", "d", "d#2", "add", "Output"]
    assert [(group.label, group.boxes) for group in drawing.groups] == [
        ("A", [at(drawing, "d").number, at(drawing, "d#2").number])
    ]


def test_shared_ops_and_tied_variables_are_marked() -> None:
    drawing = drawn(sample.nested())

    marked = {box.key: [drawing.groups[group].label for group in box.groups] for box in drawing.boxes if box.groups}
    assert marked == {
        "encoder": ["A"],
        "encoder#2": ["A"],
        "encoder/d": ["B", "C"],
        "decoder/d": ["B", "C"],
        "decoder/out": ["C"],
    }


def test_tied_variables_of_a_model_without_calls_are_marked() -> None:
    drawing = drawn(wide_tree())

    assert [(group.text, group.boxes) for group in drawing.groups] == [("one variable: a/kernel", [1, 2])]


def test_layer_inside_a_shared_model_has_its_mark() -> None:
    drawing = drawn(sample.nested())

    assert {box.key: drawing.groups[box.within].label for box in drawing.boxes if box.within is not None} == {
        "encoder/d": "A"
    }


def test_diff_marks_boxes_and_draws_removed_ops() -> None:
    before, after = before_and_after()
    diff = diff_graphs(before, after)
    drawing = build_drawing(after, diff)
    mark_changes(drawing, diff)

    assert {box.name: box.status for box in drawing.boxes if box.status} == {
        "first": "changed",
        "second → zweite": "renamed",
        "gone": "removed",
        "new": "added",
    }
    assert [edge for edge in edges(drawing, drawing.boxes[0]) if "-gone" in edge] == [
        ("zweite", "-gone", ""),
        ("-gone", "last", ""),
    ]
    notes = {(note.kind, note.what, note.old, note.new) for note in drawing.notes if note.kind == "setting"}
    assert notes == {("setting", "activation", "not set", "'gelu'")}


def noted(graph: Graph, *findings: tuple[str, str]) -> list[tuple[str, str, str]]:
    drawing = build_drawing(graph)
    mark_findings(drawing, graph, findings)
    return [
        (note.text, drawing.boxes[note.box].key or drawing.boxes[note.box].title, note.at) for note in drawing.notes
    ]


def test_finding_is_noted_at_the_nearest_box() -> None:
    findings = [
        ("encoder/d/kernel", "differs by 3"),
        ("decoder.rate", "1 became 2"),
        ("decoder", "odd"),
        ("no/where", "x"),
    ]

    assert noted(sample.nested(), *findings) == [
        ("encoder/d/kernel: differs by 3", "encoder/d", ""),
        ("decoder.rate: 1 became 2", "decoder", ""),
        ("odd", "decoder", ""),
        ("no/where: x", "Functional", ""),
    ]


def test_name_with_special_characters_is_no_attribute() -> None:
    assert noted(chain("a.b", "a", "c[0]"), ("a.b", "one"), ("a.b.units", "two"), ("c[0]", "three")) == [
        ("one", "a.b", ""),
        ("a.b.units: two", "a.b", ""),
        ("three", "c[0]", ""),
    ]


def test_finding_at_an_output_is_noted_at_its_box() -> None:
    nested, split = sample.nested(), sample.split()

    assert [place for _, place, _ in noted(nested, ("outputs[1]", "x"), ("outputs", "x"))] == ["Output", "Functional"]
    assert [place for _, place, _ in noted(split, ("outputs['class']", "x"))] == ["Output"]
    assert [place for _, place, _ in noted(chain("a"), ("outputs", "x"))] == ["Output"]


def test_finding_inside_a_later_call_is_noted_at_that_call() -> None:
    assert noted(sample.nested(), ("encoder/d#2", "differs"), ("encoder/d#3", "never ran"), ("encoder#2", "too")) == [
        ("encoder/d#2: differs", "encoder#2", "encoder#2/d"),
        ("encoder/d#3: never ran", "encoder/d", ""),
        ("too", "encoder#2", ""),
    ]


def test_finding_at_a_renamed_or_removed_op_is_noted_at_its_box() -> None:
    before, after = before_and_after()
    diff = diff_graphs(before, after)
    drawing = build_drawing(after, diff, before)
    mark_findings(drawing, after, [("second/kernel", "moved"), ("gone", "is not there")], diff)
    mark_changes(drawing, diff)

    assert [(note.text, drawing.boxes[note.box].key) for note in drawing.notes[:2]] == [
        ("second/kernel: moved", "zweite"),
        ("gone: is not there", "-gone"),
    ]
    assert [at(drawing, key).status for key in ("zweite", "-gone")] == ["differs", "removed"]


def test_changed_argument_is_noted_at_its_call() -> None:
    after = sample.small()
    calls = tuple(one.with_changes(kwargs=config(training=True)) if one.id == "d#2" else one for one in after.calls)
    diff = diff_graphs(after, after.with_changes(calls=calls))
    drawing = build_drawing(after)
    mark_changes(drawing, diff)

    assert [(drawing.boxes[note.box].key, note.kind, note.old, note.new) for note in drawing.notes] == [
        ("d#2", "call", "not set", "True")
    ]


def test_removed_op_keeps_its_settings() -> None:
    before, after = before_and_after()
    diff = diff_graphs(before, after)

    assert at(build_drawing(after, diff, before), "-gone").op is before.op("gone")
    assert at(build_drawing(after, diff), "-gone").op is None


def weights(path: str, difference: float, norm: float = 1.0) -> Change:
    measure = freeze_dict({"size": 4, "changed": 4, "difference": difference, "largest": difference})
    old = freeze_dict({"dtype": "float32", "norm": norm})
    return Change("weights", path, path, "values", old, old, measure)


def picture_of(graph: Graph, *changes: Change) -> Picture:
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
def test_box_has_the_color_and_words_of_its_distance(difference: float, norm: float, step: int, words: str) -> None:
    svg = picture_of(small(), weights("d/kernel", difference, norm)).to_svg()

    assert f'fill="{LIGHT.moved(step)}"' in svg
    assert f">{words}</text>" in svg
    assert f">{DISTANCE_STEPS[step][1]}</text>" in svg
    assert "weights moved, relative to their norm:" in svg


def test_picture_without_moved_weights_has_no_legend_for_them() -> None:
    svg = picture_of(small(), Change("setting", "d", "d", "units", 1, 2)).to_svg()

    assert "weights moved" not in svg


def test_random_state_has_no_distance() -> None:
    assert "weights moved" not in picture_of(small(), weights("d/seed_generator_state", 5.0)).to_svg()


def test_closed_model_has_the_color_of_everything_inside() -> None:
    page = picture_of(nested(), weights("encoder/d/kernel", 0.05)).to_html()
    data = json.loads(re.search(r'<script type="application/json"[^>]*>(.*?)</script>', page, re.DOTALL)[1])

    moved = {box.get("key", ""): box["moved"] for box in data["boxes"] if "moved" in box}
    assert moved["encoder"][0] == 2
    assert moved["encoder/d"] == [2, "changed, 5 %"]
    assert data["moved"] == [words for _, words in DISTANCE_STEPS]


def test_distance_steps_have_different_colors_in_both_themes() -> None:
    for theme in (LIGHT, DARK):
        assert len({theme.moved(step) for step in range(len(DISTANCE_STEPS))}) == len(DISTANCE_STEPS)


def test_closed_block_shows_the_number_of_changes_inside() -> None:
    graph = chain(*(f"block_{n // 4}_{n % 4}" for n in range(100)))
    changes = [Change("setting", f"block_3_{n}", f"block_3_{n}", "trainable", True, False) for n in (0, 2)]

    assert picture_of(graph, *changes).to_svg().count(">2 inside</text>") == 1
    assert "inside</text>" not in picture_of(graph).to_svg()
