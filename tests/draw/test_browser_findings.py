"""Findings of a check on the page: it opens at the first, and keys step through all of them."""

from collections.abc import Callable

import keras
import pytest

import ramet
from ramet._draw import draw_graph
from ramet._verify.report import picture_of
from tests.draw.sample import before_and_after, chain, inception, twice
from tests.draw.visit import Visit
from tests.graph import sample

pytestmark = pytest.mark.no_backend

Open = Callable[..., Visit]


def in_view(page: Visit, name: str) -> bool:
    box = page.box(name).bounding_box()
    return bool(0 <= box["x"] < 820 and 0 <= box["y"] < 760)


def test_page_opens_at_the_first_finding(visit: Open) -> None:
    _, after = before_and_after()
    page = visit(draw_graph(after, findings=[("zweite", "outputs: the first value that differs")]))

    assert "outputs: the first value that differs" in page.panel()
    assert "zweite" in page.focused()
    assert "differs" in page.focused()
    assert page.page.inner_text("#stop") == "1 of 1"
    assert in_view(page, "zweite")


def test_page_opens_the_boxes_around_the_first_finding(visit: Open) -> None:
    page = visit(draw_graph(inception(10), findings=[("concatenate_25", "outputs: the first value that differs")]))

    assert "concatenate_25" in page.focused()
    assert in_view(page, "concatenate_25")


def test_keys_visit_each_box_with_a_finding_once(visit: Open) -> None:
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


def test_finding_inside_a_later_call_opens_that_call(visit: Open) -> None:
    page = visit(draw_graph(sample.nested(), findings=[("encoder/d#2", "outputs: the first value that differs")]))

    assert page.focused().startswith("Dense, d")
    assert "the first value that differs" in page.panel()
    assert page.page.evaluate("decodeURIComponent(location.hash)") == "#encoder#2/d"
    marked = page.page.eval_on_selector_all(".box.differs", "all => all.map(one => one.getAttribute('aria-label'))")
    assert [label.split(", ")[1] for label in marked] == ["encoder#2", "d"]


def test_finding_many_calls_deep_is_shown(visit: Open) -> None:
    page = visit(draw_graph(twice(3), findings=[("m2/m1/m0/d#8", "outputs: the first value that differs")]))

    assert page.page.evaluate("decodeURIComponent(location.hash)") == "#m2#2/m1#2/m0#2/d"
    assert "the first value that differs" in page.panel()
    page.press("w")
    assert page.page.locator(".box.differs .badge").all_text_contents() == ["1"]


def test_deep_link_takes_precedence_over_findings(visit: Open) -> None:
    page = visit(draw_graph(chain("a", "b"), findings=[("b", "differs")]), "#a")

    assert page.focused().startswith("Dense, a")


def test_picture_of_a_failed_verify_opens_at_the_first_difference(visit: Open) -> None:
    names = ("first", "second", "third")
    stack = [keras.layers.Dense(4, name=name) for name in names]
    model = keras.Sequential([keras.Input((4,), name="x"), *stack], name="net")
    twin = ramet.clone(model)
    twin.get_layer("second").bias.assign([0.0, 1.0, 0.0, 0.0])
    page = visit(picture_of(ramet.verify(model, twin, only=["state", "outputs"])))

    assert page.focused().startswith("Dense, second")
    assert "outputs: the first value that differs" in page.panel()
    assert "second/bias: state: 1 of 4 numbers differ" in page.panel()
    marked = page.page.eval_on_selector_all(".box.differs", "all => all.map(one => one.getAttribute('aria-label'))")
    assert [label.split(",")[0] for label in marked] == ["Dense", "Output"]
