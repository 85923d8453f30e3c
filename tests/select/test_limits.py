"""Limits: selectors grown in loops, and models of any size."""

import functools
import sys

import pytest

from ramet._select import Catalog, anything, feeds, find, named, of_class, reads, select_in
from ramet.errors import ArgumentError
from tests.graph.big import grow
from tests.graph.sample import dense, layer
from tests.select.sample import chain, nested_deep, paths

pytestmark = pytest.mark.no_backend

DEEP = 5_000
assert sys.getrecursionlimit() < DEEP


def test_chain_grown_in_a_loop_is_evaluated_printed_and_compared():
    first = second = named("d0")
    for number in range(1, DEEP):
        first |= f"d{number}"
        second |= named(f"d{number}")

    assert first == second
    assert hash(first) == hash(second)
    assert repr(first).count(" | ") == DEEP - 1
    assert len(find(chain(DEEP), first)) == DEEP


def alternating(levels):
    selector = named("d0")
    for _ in range(levels // 2):
        selector = (selector | "d1") & of_class("Dense")
    return selector


def test_selector_of_the_greatest_depth_is_evaluated_printed_and_compared():
    selector = alternating(100)

    assert selector == alternating(100)
    assert hash(selector) == hash(alternating(100))
    assert repr(selector).startswith("(" * 50)
    assert paths(chain(3), selector) == ["d0", "d1"]


@pytest.mark.parametrize("combine", [reads, feeds, lambda part: ~(part & "d*"), lambda part: (part | "a") & "b"])
def test_deeper_selector_is_refused(combine):
    with pytest.raises(ArgumentError, match="nested too deeply") as caught:
        functools.reduce(lambda part, _: combine(part), range(200), named("x"))

    assert caught.value.expected == "at most 100 levels and 1,000,000 parts"
    assert caught.value.found.startswith("101 levels")


def test_selector_that_doubles_at_each_level_is_refused_before_it_grows_huge():
    with pytest.raises(ArgumentError, match="has too many parts"):
        functools.reduce(lambda part, _: reads(part) | feeds(part), range(60), named("d5"))

    # An even number of steps back and forth along a chain that begins with an input.
    near = named("d5")
    for _ in range(8):
        near = reads(near) | feeds(near)
    assert paths(chain(10), near) == ["x", "d1", "d3", "d5", "d7", "d9"]


def test_long_chain_of_exclusions_is_evaluated():
    selector = of_class("Dense")
    for number in range(1, 2_000):
        selector &= ~named(f"d{number}")

    assert paths(chain(2_001), selector) == ["d0", "d2000"]


def test_neighbors_far_along_a_chain_are_found():
    selector = named("x")
    for _ in range(100):
        selector = reads(selector)

    assert paths(chain(120), selector) == ["d99"]


def test_deeply_nested_model_is_searched():
    graph = nested_deep(2_000)

    assert len(find(graph, of_class("Dense"))) == 1
    assert len(find(graph, reads(named("x") & ~named("*/x")))) == 2 * 2_000 - 1
    assert select_in(graph, anything()).parameters == 72


def test_large_model_is_searched():
    graph = grow(20_000)
    selector = (of_class("Conv2D") & ~named("block_1*")) | reads(of_class("ReLU")) | feeds(named("*_add"))

    found = find(graph, selector)

    assert len(Catalog(graph)) > 20_000
    assert 4_000 < len(found) < 20_000
    assert len(select_in(graph, anything()).to_text(limit=None).splitlines()) == len(Catalog(graph)) + 1


def test_thousand_globs_and_names_are_evaluated():
    wanted = [f"d{number}" for number in range(0, 5_000, 5)] + [f"*{number}1" for number in range(200)]

    found = paths(chain(5_000), wanted)

    assert found == [f"d{n}" for n in range(5_000) if n % 5 == 0 or (n % 10 == 1 and n > 10)]


def test_op_shared_at_every_level_has_a_bounded_number_of_paths():
    # Two branches at each of 30 levels: a billion paths.
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
