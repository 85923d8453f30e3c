"""Later calls of a shared op: they open in place, and their content is that of the first call."""

from collections.abc import Callable

import pytest

from ramet._draw import draw_graph
from tests.draw.sample import chain, twice
from tests.draw.visit import Visit
from tests.graph import sample
from tests.graph.sample import call, layer

pytestmark = pytest.mark.no_backend

Open = Callable[..., Visit]


def second_call(visit: Open, link: str = "") -> Visit:
    return visit(draw_graph(sample.nested()), link)


def test_later_call_opens_and_closes_in_place(visit: Open) -> None:
    page = second_call(visit)
    before = page.names().count("d")
    page.box("encoder#2").dblclick()
    page.settle()
    opened = page.names().count("d")
    expanded = page.box("encoder#2").get_attribute("aria-expanded")
    page.box("encoder#2").focus()
    page.press("Space")

    assert (opened - before, expanded) == (1, "true")
    assert page.names().count("d") == before


def test_later_call_has_the_layout_of_the_first(visit: Open) -> None:
    page = second_call(visit)
    page.press("w")
    for name in ("encoder, ", "encoder#2"):
        page.box(name).focus()
        page.press("o")
    script = "all => all.map(one => Math.round(one.getBoundingClientRect().height))"
    first, second = page.page.eval_on_selector_all(".box.open > .frame", script)

    assert first == second
    assert page.page.locator(".edges path.edge").count() == 5 + 2 * 2


def test_hovering_an_inner_layer_highlights_it_in_the_other_call(visit: Open) -> None:
    page = second_call(visit)
    page.box("encoder#2").dblclick()
    page.settle()
    inner = page.page.locator('.box[aria-label^="Input, x"]')
    inner.first.hover()

    assert page.page.locator(".box.lit").count() == 2


def test_s_goes_to_the_same_layer_in_the_other_call(visit: Open) -> None:
    page = visit(draw_graph(twice(1)), "#m0/d")
    seen = []
    for _ in range(2):
        page.press("s")
        seen.append(page.page.evaluate("decodeURIComponent(location.hash)"))

    assert seen == ["#m0#2/d", "#m0/d"]
    assert "also runs in m0#2" in page.panel().replace("\n", " ")
    assert "inside A\tone Functional: m0" in page.panel()


def test_panel_links_to_the_same_layer_in_the_other_call(visit: Open) -> None:
    page = visit(draw_graph(twice(1)), "#m0/d")
    page.page.locator("#panel .link", has_text="m0#2").click()

    assert page.page.evaluate("decodeURIComponent(location.hash)") == "#m0#2/d"


def test_deep_link_leads_into_a_later_call(visit: Open) -> None:
    page = second_call(visit, "#encoder#2/d")

    assert page.focused().startswith("Dense, d")
    assert "encoder/d" in page.panel()
    assert page.page.evaluate("decodeURIComponent(location.hash)") == "#encoder#2/d"


def test_later_calls_inside_later_calls_open(visit: Open) -> None:
    page = visit(draw_graph(twice(3)), "#m2#2/m1#2/m0#2/d")

    assert page.focused().startswith("Dense, d")
    assert page.panel() != ""


def test_open_all_opens_later_calls_and_terminates(visit: Open) -> None:
    few, many = visit(draw_graph(twice(2))), visit(draw_graph(twice(18)))
    few.press("e")
    many.press("e")

    assert few.names().count("d") == 4
    assert len(many.labels()) > 0


def test_shared_composite_layer_opens_at_each_call(visit: Open) -> None:
    graph = chain("a", "b")
    parts = (layer("query", "Dense"), layer("key", "Dense"))
    ops = (graph.ops[0], layer("a", "MultiHeadAttention", children=parts))
    calls = (graph.calls[0], graph.calls[1], call("a#2", *graph.calls[2].args))
    page = visit(draw_graph(graph.with_changes(ops=ops, calls=calls, outputs=None)))
    page.press("e")

    assert page.names().count("query") == 2
