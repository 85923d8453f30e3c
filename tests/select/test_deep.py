"""Selectors grown in loops and models of any size: nothing recurses, nothing is slow for its size."""

import sys

import pytest

from ramet._select import anything, candidates, feeds, find, named, of_class, reads, select_in
from tests.graph.big import grow
from tests.graph.sample import dense, layer
from tests.select.sample import chain, nested_deep, paths

pytestmark = pytest.mark.no_backend

DEEP = 5_000
assert sys.getrecursionlimit() < DEEP


def test_a_chain_grown_in_a_loop_is_asked_written_and_compared():
    first = second = named("d0")
    for place in range(1, DEEP):
        first |= f"d{place}"
        second |= named(f"d{place}")

    assert first == second
    assert hash(first) == hash(second)
    assert repr(first).count(" | ") == DEEP - 1
    assert len(find(chain(DEEP), first)) == DEEP


def test_a_selector_of_alternating_depth_is_asked_written_and_compared():
    first = second = named("d0")
    for _ in range(DEEP):
        first = (first | "d1") & of_class("Dense")
        second = (second | "d1") & of_class("Dense")

    assert first == second
    assert hash(first) == hash(second)
    assert repr(first).startswith("(" * 100)
    assert paths(chain(3), first) == ["d0", "d1"]


def test_a_long_list_of_exceptions():
    selector = of_class("Dense")
    for place in range(1, 2_000):
        selector &= ~named(f"d{place}")

    assert paths(chain(2_001), selector) == ["d0", "d2000"]


def test_neighbours_of_neighbours_far_along_a_chain():
    selector = named("x")
    for _ in range(1_000):
        selector = reads(selector)

    assert paths(chain(1_200), selector) == ["d999"]


def test_a_selector_that_stands_in_itself_many_times_is_asked_once():
    near = halves = named("d5")
    for _ in range(60):
        near = reads(near) | feeds(near)
        halves = (halves & "d*") | (halves & "x")

    # An even number of steps back and forth along a chain that begins with an input.
    assert paths(chain(10), near) == ["x", "d1", "d3", "d5", "d7", "d9"]
    assert paths(chain(10), of_class("Dense") & halves) == ["d5"]
    assert isinstance(hash(near), int)
    assert repr(near).endswith("...")


def test_a_model_nested_to_any_depth():
    graph = nested_deep(2_000)

    assert len(find(graph, of_class("Dense"))) == 1
    assert len(find(graph, reads(named("x") & ~named("*/x")))) == 2 * 2_000 - 1
    assert select_in(graph, anything()).parameters == 72


def test_a_large_model_is_asked_anything():
    graph = grow(20_000)
    selector = (of_class("Conv2D") & ~named("block_1*")) | reads(of_class("ReLU")) | feeds(named("*_add"))

    found = find(graph, selector)

    assert len(candidates(graph)) > 20_000
    assert 4_000 < len(found) < 20_000
    assert len(select_in(graph, anything()).to_text(limit=None).splitlines()) == len(candidates(graph)) + 1


def test_a_thousand_globs_and_names_at_once():
    wanted = [f"d{place}" for place in range(0, 5_000, 5)] + [f"*{place}1" for place in range(200)]

    found = paths(chain(5_000), wanted)

    assert found == [f"d{n}" for n in range(5_000) if n % 5 == 0 or (n % 10 == 1 and n > 10)]


def test_an_op_that_is_shared_at_every_level_has_a_bounded_number_of_paths():
    # Two ways down at each of 30 levels: a thousand million paths.
    ops = [layer("l0", "Leaf", children=(dense("d", 1, 1),))]
    for level in range(1, 30):
        below = f"l{level - 1}"
        ops.append(
            layer(
                f"l{level}",
                "Pair",
                children=tuple(
                    layer(side, "Half", children=(layer("in", "Pair", same_as=below, config=None),))
                    for side in ("a", "b")
                ),
            )
        )
    graph = chain(1).with_changes(extras=tuple(ops))
    [deepest] = find(graph, named("d"))

    assert deepest.path == "l0/d"
    assert len(deepest.paths) == 100
    assert all(graph.find(path) is deepest.op for path in deepest.paths)
