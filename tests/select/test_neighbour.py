"""Neighbours: who takes whose values, in nested models too."""

import pytest

from ramet._graph import Ref, freeze
from ramet._select import anything, feeds, named, of_class, reads
from tests.graph import sample
from tests.select.sample import blocks, nested_deep, paths

pytestmark = pytest.mark.no_backend


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (reads("image"), ["stem"]),
        # Into the block: the model, its input, and what takes the input.
        (reads("stem"), ["block1", "block1/x", "block1/conv", "block2", "block2/skip", "block2/add"]),
        (reads("block1/x"), ["block1/conv"]),
        (reads("block1/conv"), ["block1/drop"]),
        # Out of the one and into the other.
        (reads("block1"), ["block2", "block2/x", "block2/add", "block2/drop"]),
        (reads("block1/drop"), ["block2", "block2/x", "block2/add", "block2/drop"]),
        # By output: each inner op makes its own.
        (reads("block2"), ["head", "aux"]),
        (reads("block2/drop"), ["head"]),
        (reads("block2/add"), ["aux"]),
        (reads("head"), []),
        (feeds("image"), []),
        (feeds("stem"), ["image"]),
        (feeds("block1"), ["stem"]),
        (feeds("block1/x"), ["stem"]),
        (feeds("block1/conv"), ["stem", "block1/x"]),
        (feeds("block2/skip"), ["stem"]),
        (feeds("block2/add"), ["stem", "block1", "block1/drop", "block2/x", "block2/skip"]),
        (feeds("head"), ["block2", "block2/drop"]),
        (feeds("aux"), ["block2", "block2/add"]),
        (reads(of_class("Conv2D")) & of_class("Dropout"), ["block1/drop"]),
        (reads(reads("image")) & named("block1"), ["block1"]),
        (feeds(anything()) & of_class("Add"), ["block2/add"]),
        (~reads(anything()), ["image"]),
    ],
)
def test_selector_and_the_neighbours_it_finds(selector, expected):
    assert paths(blocks(), selector) == expected


@pytest.mark.parametrize(
    "given",
    [
        freeze([Ref("block1"), Ref("stem")]),
        (Ref("block1"), Ref("stem")),
        freeze({"skip": Ref("stem"), "x": Ref("block1")}),
    ],
)
def test_inputs_are_told_apart_however_they_are_passed(given):
    graph = blocks()
    calls = [call.with_changes(args=(given,)) if call.id == "block2" else call for call in graph.calls]

    again = graph.with_changes(calls=tuple(calls))

    assert paths(again, reads("stem") & "block2/*") == ["block2/skip", "block2/add"]


def test_a_mask_the_user_passed_is_a_value_and_one_that_keras_found_is_none():
    graph = sample.masked()

    assert paths(graph, feeds("lstm")) == ["embedding"]
    assert paths(graph, feeds("attention")) == ["keep", "lstm"]
    assert paths(graph, reads("not_equal")) == []


def test_every_call_of_a_shared_op_counts():
    graph = sample.small()

    assert paths(graph, reads("d")) == ["d", "add"]
    assert paths(graph, feeds("d")) == ["x", "d"]


def test_a_nested_model_that_is_called_on_its_own_output_feeds_itself():
    graph = sample.nested()

    assert paths(graph, feeds("encoder/d")) == ["a", "encoder", "encoder/x", "encoder/d"]
    assert paths(graph, reads("encoder")) == ["encoder", "encoder/x", "encoder/d", "decoder"]


def test_values_go_through_many_levels():
    graph = nested_deep(4)

    assert paths(graph, reads(named("x") & ~named("*/x"))) == [
        "m2",
        "m2/x",
        "m2/m1",
        "m2/m1/x",
        "m2/m1/m0",
        "m2/m1/m0/x",
        "m2/m1/m0/d",
    ]


def test_what_is_inside_a_layer_has_no_neighbours():
    assert paths(sample.nested(), reads("query") | feeds("query")) == []
