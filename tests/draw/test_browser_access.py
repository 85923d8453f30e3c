"""Accessibility of the page: keyboard, screen readers, contrast in both themes."""

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
    """Return the contrast of two colors as defined by WCAG."""

    def luminance(color: str) -> float:
        parts = [int(color[place : place + 2], 16) / 255 for place in (1, 3, 5)]
        red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    high, low = sorted((luminance(one), luminance(other)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.kind)
def test_text_has_enough_contrast_everywhere(theme: Theme) -> None:
    grounds = [theme.page, theme.card, *(make(family) for family in FAMILIES for make in (theme.fill, theme.inside))]
    texts = [theme.text, theme.quiet, theme.mask]
    texts_on_page = [colors[0 if theme is LIGHT else 1] for colors in STATUS.values()]

    assert min(contrast(text, ground) for text in texts for ground in grounds) >= 4.5
    assert min(contrast(text, theme.page) for text in texts_on_page) >= 4.5
    assert min(contrast("#ffffff", mark) for mark in GROUPS) >= 4.5


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=lambda theme: theme.kind)
def test_outlines_edges_and_focus_have_enough_contrast(theme: Theme) -> None:
    lines = [theme.edge, theme.focus, *(colors[0 if theme is LIGHT else 1] for colors in STATUS.values())]

    assert min(contrast(line, theme.page) for line in lines) >= 3


def test_every_focusable_element_has_a_name(visit: Open) -> None:
    page = visit(diff_picture(), "#first")
    names = page.page.evaluate("""() => [...document.querySelectorAll('button, input, a, [tabindex]')]
      .filter(one => one.checkVisibility())
      .map(one => one.getAttribute('aria-label') || one.textContent.trim())""")

    assert len(names) > 15
    assert all(names)


def test_tab_order_is_tools_then_one_box_then_panel(visit: Open) -> None:
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
        "Light or dark theme (d)",
        "Keys (?)",
        "Dense",
        "Close the details (Escape)",
        "copy",
        "",
    ]


def test_every_box_is_reachable_by_keyboard(visit: Open) -> None:
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


def test_keys_open_close_enter_and_leave_boxes(visit: Open) -> None:
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


def test_s_cycles_through_the_boxes_of_a_mark(visit: Open) -> None:
    page = visit(draw_graph(sample.small()), "#d")
    page.press("s")
    there = page.focused()
    page.press("s")

    assert [one.split(", ")[1] for one in (there, page.focused())] == ["d#2", "d"]


def test_list_of_keys_opens_and_closes(visit: Open) -> None:
    page = visit(draw_graph(chain("a")))
    page.press("?")
    listed = page.page.inner_text("#keys")
    page.press("Escape")

    assert "copy the path for named(...)" in listed
    assert not page.page.locator("#keys").is_visible()
    assert page.focused().startswith("Keys")


def test_actions_are_announced(visit: Open) -> None:
    page = visit(draw_graph(inception(10)))
    page.press("e")
    announced = page.page.inner_text("#announcement")
    page.press("ArrowDown", "Enter")

    assert announced == "All boxes are open"
    assert page.page.inner_text("#announcement").startswith("Input, x")


def test_reduced_motion_turns_animations_off(visit: Open) -> None:
    calm = visit(draw_graph(chain("a")), reduced_motion="reduce")
    lively = visit(draw_graph(chain("a")), reduced_motion="no-preference")
    script = "getComputedStyle(document.querySelector('.frame')).transitionDuration"

    assert re.fullmatch(r"0s", calm.page.evaluate(script))
    assert lively.page.evaluate(script) == "0.1s"
