"""The page without a mouse, with a screen reader's eyes, in both themes."""

import re
from collections.abc import Callable

import pytest

from ramet._draw import draw_graph
from ramet._draw.palette import DARK, FAMILIES, GROUPS, LIGHT, STATUS, Theme
from tests.draw.sample import chain, diff_picture, inception, tree
from tests.draw.visit import Visit
from tests.graph import sample

pytestmark = pytest.mark.no_backend

Open = Callable[..., Visit]


def contrast(one: str, other: str) -> float:
    """The contrast of two colours as WCAG defines it."""

    def light(colour: str) -> float:
        parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((light(one), light(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.kind)
def test_text_has_contrast_enough_everywhere(theme: Theme) -> None:
    grounds = [theme.page, theme.card, *(make(family) for family in FAMILIES for make in (theme.fill, theme.inside))]
    texts = [theme.text, theme.quiet, theme.mask]
    texts_on_page = [colours[0 if theme is LIGHT else 1] for colours in STATUS.values()]

    assert min(contrast(text, ground) for text in texts for ground in grounds) >= 4.5
    assert min(contrast(text, theme.page) for text in texts_on_page) >= 4.5
    assert min(contrast("#ffffff", mark) for mark in GROUPS) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.kind)
def test_outlines_edges_and_focus_can_be_told_from_the_page(theme: Theme) -> None:
    lines = [theme.edge, theme.focus, *(colours[0 if theme is LIGHT else 1] for colours in STATUS.values())]

    assert min(contrast(line, theme.page) for line in lines) >= 3


def test_everything_that_can_be_focused_has_a_name(visit: Open) -> None:
    page = visit(diff_picture(), "#first")
    names = page.page.evaluate("""() => [...document.querySelectorAll('button, input, a, [tabindex]')]
      .filter(one => one.checkVisibility())
      .map(one => one.getAttribute('aria-label') || one.textContent.trim())""")

    assert len(names) > 15
    assert all(names)


def test_tab_goes_through_the_tools_to_one_box_and_then_to_the_panel(visit: Open) -> None:
    page = visit(draw_graph(sample.small()), "#d")
    page.page.evaluate("document.activeElement.blur(); document.getElementById('skip').focus()")
    order = []
    for _ in range(12):
        page.press("Tab")
        order.append(page.focused().split(",")[0])

    assert order == [
        "Find by name",
        "open-all",
        "close-all",
        "fit",
        "Zoom out (-)",
        "Zoom in (+)",
        "Light or dark (d)",
        "Keys (?)",
        "Dense",
        "Close the details (Escape)",
        "copy",
        "",
    ]


def test_the_keyboard_alone_reaches_every_box(visit: Open) -> None:
    page = visit(draw_graph(sample.small()))
    page.press("ArrowDown")
    seen = [page.focused()]
    for _ in range(4):
        page.press("ArrowDown")
        seen.append(page.focused())

    assert [label.split(", ")[:2] for label in seen] == [
        ["Input", "x"],
        ["Dense", "d"],
        ["Dense", "d#2"],
        ["Add", "add"],
        ["Output"],
    ]
    page.press("ArrowUp", "Enter")
    assert "Add" in page.panel()
    page.press("Escape")
    assert page.panel() == ""
    assert page.focused().startswith("Add")


def test_keys_open_close_go_in_and_out(visit: Open) -> None:
    page = visit(draw_graph(tree()))
    page.press("w", "ArrowDown")
    closed = page.focused()
    page.press("i")
    inside = page.focused()
    page.press("ArrowRight")
    beside = page.focused()
    page.press("u")
    outside = page.focused()
    expanded = page.box("attention").get_attribute("aria-expanded")
    page.press("o")

    assert [one.split(", ")[1] for one in (closed, inside, beside, outside)] == [
        "attention",
        "query",
        "key",
        "attention",
    ]
    assert (expanded, page.box("attention").get_attribute("aria-expanded")) == ("true", "false")


def test_s_goes_round_the_boxes_of_a_mark(visit: Open) -> None:
    page = visit(draw_graph(sample.small()), "#d")
    page.press("s")
    there = page.focused()
    page.press("s")

    assert [one.split(", ")[1] for one in (there, page.focused())] == ["d#2", "d"]


def test_the_list_of_keys_opens_and_closes(visit: Open) -> None:
    page = visit(draw_graph(chain("a")))
    page.press("?")
    listed = page.page.inner_text("#keys")
    page.press("Escape")

    assert "copy the path that named(...) takes" in listed
    assert not page.page.locator("#keys").is_visible()
    assert page.focused().startswith("Keys")


def test_what_happens_is_said(visit: Open) -> None:
    page = visit(draw_graph(inception(10)))
    page.press("e")
    said = page.page.inner_text("#said")
    page.press("ArrowDown", "Enter")

    assert said == "Everything is open"
    assert page.page.inner_text("#said").startswith("Input, x")


def test_nothing_moves_by_itself_where_less_motion_is_wished_for(visit: Open) -> None:
    calm = visit(draw_graph(chain("a")), reduced_motion="reduce")
    lively = visit(draw_graph(chain("a")), reduced_motion="no-preference")
    script = "getComputedStyle(document.querySelector('.frame')).transitionDuration"

    assert re.fullmatch(r"0s", calm.page.evaluate(script))
    assert lively.page.evaluate(script) == "0.1s"
