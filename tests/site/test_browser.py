"""The site in a real browser: no errors, search, keyboard, contrast, phones."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tools.docs.contents import PAGES, PARTS

pytestmark = [pytest.mark.site, pytest.mark.no_backend]

NAMES = [*PAGES, *(f"{part.folder}/index" for part in PARTS), "search"]


class Reader:
    """A tab of the browser, which collects what goes wrong."""

    def __init__(self, browser: Any, site: Path, **options: Any) -> None:
        self.problems: list[str] = []
        self.site = site
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.on("pageerror", lambda error: self.problems.append(str(error)))
        self.page.on("console", self.hear)
        self.page.on("requestfailed", lambda request: self.problems.append(f"failed: {request.url}"))
        self.page.on("request", self.see)

    def hear(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.problems.append(message.text)

    def see(self, request: Any) -> None:
        if not request.url.startswith(("file:", "data:", "blob:")):
            self.problems.append(f"from the network: {request.url}")

    def open(self, name: str) -> None:
        self.page.goto((self.site / f"{name.partition('?')[0]}.html").as_uri() + "".join(name.partition("?")[1:]))


@pytest.fixture
def reader(browser: Any, site: Path) -> Iterator[Reader]:
    one = Reader(browser, site, viewport={"width": 1280, "height": 900})
    yield one
    one.context.close()
    assert one.problems == []


@pytest.mark.parametrize("name", NAMES)
def test_page_has_no_errors_and_is_accessible_in_both_themes(browser: Any, site: Path, name: str) -> None:
    from axe_playwright_python.sync_playwright import Axe

    for theme in ("light", "dark"):
        one = Reader(browser, site, viewport={"width": 1280, "height": 900}, color_scheme=theme)
        one.open(name)
        # A page opened from disk may not read style sheets again, which "preload" would do.
        found = Axe().run(one.page, options={"iframes": False, "preload": False, "resultTypes": ["violations"]})
        one.context.close()
        violations = [
            f"{rule['id']}: {node['html'][:150]} {node['any'][0]['message'] if node['any'] else ''}"
            for rule in found.response["violations"]
            for node in rule["nodes"]
        ]

        assert one.problems == []
        assert violations == []


@pytest.mark.parametrize("name", NAMES)
def test_page_fits_a_phone(browser: Any, site: Path, name: str) -> None:
    one = Reader(browser, site, viewport={"width": 390, "height": 800}, is_mobile=True)
    one.open(name)
    width = one.page.evaluate("document.documentElement.scrollWidth")
    one.context.close()

    assert width <= 390
    assert one.problems == []


def test_search_finds_every_public_name(reader: Reader) -> None:
    from tools.docs.reference import public_names  # needs the extra `docs`

    missing = []
    for path in public_names():
        reader.open(f"search?q={path}")
        reader.page.wait_for_selector("#search-results p.search-summary")
        reader.page.wait_for_function("!/Searching/.test(document.querySelector('#search-results').textContent)")
        links = reader.page.eval_on_selector_all("#search-results li a", "all => all.map(one => one.href)")
        if not any(link.endswith(f"#{path}") for link in links):
            missing.append(path)

    assert missing == []


def test_search_opens_with_the_keyboard_and_leads_to_a_page(reader: Reader) -> None:
    reader.open("index")
    reader.page.keyboard.press("Control+k")
    reader.page.keyboard.type("fold_batchnorm")
    reader.page.keyboard.press("Enter")
    reader.page.wait_for_selector("#search-results li a")

    assert "search.html" in reader.page.url


def test_first_tab_stop_skips_to_the_content(reader: Reader) -> None:
    reader.open("guides/lora")
    reader.page.keyboard.press("Tab")
    text = reader.page.evaluate("document.activeElement.textContent.trim()")
    reader.page.keyboard.press("Enter")

    assert text == "Skip to main content"
    assert reader.page.url.endswith("#main-content")


def test_every_focused_link_has_a_visible_outline(reader: Reader) -> None:
    reader.open("start/install")
    hidden = []
    for _ in range(25):
        reader.page.keyboard.press("Tab")
        seen = reader.page.evaluate(
            """() => { const one = document.activeElement, style = getComputedStyle(one);
              return [one.outerHTML.slice(0, 80), style.outlineStyle, style.boxShadow, one.checkVisibility()] }"""
        )
        if seen[1] == "none" and seen[2] == "none":
            hidden.append(seen)

    assert hidden == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_embedded_pages_follow_the_theme_of_the_site(browser: Any, site: Path, theme: str) -> None:
    # "null" turns the emulation of a color scheme off, which would reach into frames.
    one = Reader(browser, site, color_scheme="null", viewport={"width": 1280, "height": 900})
    one.context.add_init_script(
        f"localStorage.setItem('mode', {json.dumps(theme)}); localStorage.setItem('theme', {json.dumps(theme)})"
    )
    one.open("index")
    frame = one.page.wait_for_selector("iframe").content_frame()
    dark = frame.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
    one.context.close()

    assert dark == (theme == "dark")
    assert one.problems == []


@pytest.mark.parametrize("name", [name for name, source in PAGES.items() if source])
def test_embedded_page_shows_something(reader: Reader, name: str) -> None:
    reader.open(name)
    frames = [one.content_frame() for one in reader.page.query_selector_all("iframe")]

    assert [frame.url for frame in frames if not frame.evaluate("document.body.innerText.trim()")] == []
