"""Selections, printed and counted."""

import json

import pytest

from ramet._graph import Graph, VariableSpec
from ramet._select import anything, named, of_class, select_in
from tests.graph import sample
from tests.graph.sample import dense, layer
from tests.select.sample import blocks, chain, wrapped

pytestmark = pytest.mark.no_backend


def test_selection_prints_as_a_table():
    assert str(select_in(sample.nested(), of_class("Dense", "Functional"))) == (
        "4 of 9 ops match of_class('Dense', 'Functional'), 216 parameters\n"
        "  encoder                  Functional  (None, 8)  72  2 calls\n"
        "  encoder/d                Dense       (None, 8)  72  also decoder/d\n"
        "  decoder/attention/query  Dense                  72\n"
        "  decoder/attention/key    Dense                  72"
    )


def test_outputs_are_abbreviated():
    assert str(select_in(blocks(), named("block2", "block1", "image"))) == (
        "3 of 13 ops match named('block2', 'block1', 'image'), 0 parameters\n"
        "  image   Input       (None, 8)\n"
        "  block1  Functional  (None, 8)\n"
        "  block2  Functional  (None, 8), (None, 4)"
    )


def test_title_for_one_match_and_for_none():
    assert str(select_in(chain(1), "d0")) == ("1 of 2 ops matches named('d0'), 2 parameters\n  d0  Dense  (None, 1)  2")
    assert str(select_in(chain(1), "y")) == "0 of 2 ops match named('y')"


def test_long_selection_is_cut_unless_there_is_no_limit():
    selection = select_in(chain(50), of_class("Dense"))

    assert str(selection).splitlines()[-2:] == ["  d39  Dense  (None, 1)  2", "  and 10 more"]
    assert selection.to_text(limit=1).splitlines()[1:] == ["  d0  Dense  (None, 1)  2", "  and 49 more"]
    assert len(selection.to_text(limit=None).splitlines()) == 51


def test_long_selector_is_cut():
    selection = select_in(chain(1), [f"name_{number}" for number in range(100)])

    assert len(str(selection)) < 200
    assert str(selection).endswith("...")


def test_hostile_names_are_escaped():
    graph = Graph("g", "Mine", "subclassed", ops=(layer("a\x1b[31m\n", "<b>"),))

    text = str(select_in(graph, named("a*", "\x1b")))

    assert text == "1 of 1 op matches named('a*', '\\x1b'), 0 parameters\n  a\\x1b[31m\\n  <b>"


def test_html_is_a_table_with_escaped_names():
    graph = Graph("g", "Mine", "subclassed", ops=(layer("<script>", "<b>"),))

    page = select_in(graph, "<*")._repr_html_()

    assert "<script>" not in page
    assert "<b>" not in page
    assert "&lt;script&gt;" in page
    assert "path</th>" in page
    assert "and 11 more" in select_in(chain(50), anything())._repr_html_()
    assert "<table" not in select_in(graph, "x")._repr_html_()


def test_json_has_the_same_content():
    selection = select_in(sample.nested(), "d")

    assert json.loads(selection.to_json()) == {
        "ramet": "selection",
        "version": 1,
        "selector": "named('d')",
        "total": 9,
        "parameters": 72,
        "matches": [
            {
                "path": "encoder/d",
                "paths": ["encoder/d", "decoder/d"],
                "class": "Dense",
                "shapes": [[[None, 8]]],
                "parameters": 72,
                "calls": 1,
            }
        ],
    }
    assert json.loads(select_in(chain(1), "y").to_json())["matches"] == []


def test_selection_is_a_sequence_of_matches():
    selection = select_in(chain(3), "d*", {"d1": "live"})

    assert selection.paths == ("d0", "d1", "d2")
    assert (len(selection), bool(selection), bool(select_in(chain(3), "y"))) == (3, True, False)
    assert [match.path for match in selection] == ["d0", "d1", "d2"]
    assert selection[-1].path == "d2"
    assert [match.path for match in selection[1:]] == ["d1", "d2"]
    assert selection[1] in selection
    assert (selection[1].live, selection[1].op.class_name, selection[1].calls) == ("live", "Dense", 1)


def test_selections_are_compared_by_value():
    first, second = (select_in(chain(3), "d*", live) for live in ({"d0": 1}, None))

    assert first == second
    assert hash(first) == hash(second)
    assert first != select_in(chain(3), anything())
    with pytest.raises(AttributeError):
        first.total = 3


def test_parameters_include_everything_inside_and_count_once():
    selection = select_in(wrapped(), anything())

    assert {match.path: match.parameters for match in selection} == {
        "left": 8,
        "left/cell": 6,
        "left/cell/gate": 6,
        "left/norm": 2,
        "right": 6,
    }
    assert selection.parameters == 8


def test_tied_variable_counts_in_each_op_and_once_in_total():
    tied = VariableSpec("kernel", (8, 8), "float32", tied="a/kernel")
    graph = Graph(
        "g",
        "Mine",
        "subclassed",
        ops=(dense("a", 8, 8), layer("b", "Tied", variables=(tied, tied.with_changes(id="k")))),
    )
    selection = select_in(graph, anything())

    assert [match.parameters for match in selection] == [72, 64]
    assert selection.parameters == 72
