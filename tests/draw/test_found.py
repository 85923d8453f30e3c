"""What a check found, on the page: it opens there, and keys walk over all of it."""

from collections.abc import Callable

import pytest

from ramet._draw import draw_graph
from tests.draw.sample import before_and_after, chain, inception, twice
from tests.draw.visit import Visit
from tests.graph import sample

pytestmark = pytest.mark.no_backend

Open = Callable[..., Visit]


def in_view(page: Visit, name: str) -> bool:
    box = page.box(name).bounding_box()
    return bool(0 <= box["x"] < 820 and 0 <= box["y"] < 760)


def test_the_page_opens_where_values_begin_to_differ(visit: Open) -> None:
    _, after = before_and_after()
    page = visit(draw_graph(after, findings=[("zweite", "outputs: the first value that differs")]))

    assert "outputs: the first value that differs" in page.panel()
    assert "zweite" in page.focused()
    assert "differs" in page.focused()
    assert page.page.inner_text("#walked") == "1 of 1"
    assert in_view(page, "zweite")


def test_the_page_opens_what_is_around_the_first_difference(visit: Open) -> None:
    page = visit(draw_graph(inception(10), findings=[("concatenate_25", "outputs: the first value that differs")]))

    assert "concatenate_25" in page.focused()
    assert in_view(page, "concatenate_25")


def test_keys_walk_over_each_marked_place_once(visit: Open) -> None:
    findings = [
        ("b", "outputs: began"),
        ("b", "training: began"),
        ("b/kernel", "state: differs"),
        ("d", "masks"),
        ("", "file"),
    ]
    page = visit(draw_graph(chain("a", "b", "c", "d"), findings=findings))
    first = page.focused()
    page.press("n")
    second = page.focused()
    page.press("n")
    model = page.panel()
    page.press("n")
    again = page.focused()
    page.press("p", "p")

    assert [one.split(", ")[1] for one in (first, second, again, page.focused())] == ["b", "d", "b", "d"]
    assert "file" in model
    page.press("p")
    notes = page.page.locator("#panel .note.differs").all_inner_texts()
    assert [note.replace("\n", "") for note in notes] == [
        "outputs: began",
        "training: began",
        "b/kernel: state: differs",
    ]


def test_a_difference_inside_a_later_call_of_a_shared_model_opens_that_call(visit: Open) -> None:
    page = visit(draw_graph(sample.nested(), findings=[("encoder/d#2", "outputs: the first value that differs")]))

    assert page.focused().startswith("Dense, d")
    assert "the first value that differs" in page.panel()
    assert page.page.evaluate("decodeURIComponent(location.hash)") == "#encoder#2/d"
    marked = page.page.eval_on_selector_all(".box.differs", "all => all.map(one => one.getAttribute('aria-label'))")
    assert [label.split(", ")[1] for label in marked] == ["encoder#2", "d"]


def test_a_difference_many_calls_deep_is_found(visit: Open) -> None:
    page = visit(draw_graph(twice(3), findings=[("m2/m1/m0/d#8", "outputs: the first value that differs")]))

    assert page.page.evaluate("decodeURIComponent(location.hash)") == "#m2#2/m1#2/m0#2/d"
    assert "the first value that differs" in page.panel()
    page.press("w")
    assert page.page.locator(".box.differs .badge").all_text_contents() == ["1"]


def test_a_link_still_leads_where_it_says(visit: Open) -> None:
    page = visit(draw_graph(chain("a", "b"), findings=[("b", "differs")]), "#a")

    assert page.focused().startswith("Dense, a")
