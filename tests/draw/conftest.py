"""Fixtures that open pages in a real browser."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ramet._draw import Picture
from tests.draw.visit import Visit


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Start Chromium once per session."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: `pip install playwright` enables these tests"
    )
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("chromium is not installed: `apt-get install chromium` enables these tests")
    with playwright.sync_playwright() as running:
        # Containers often run as root, where the sandbox of Chromium cannot start.
        started = running.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Visit]]:
    """Open pictures from disk; at the end, no page may have logged an error or made a request."""
    visits: list[Visit] = []

    def open_picture(picture: Picture, link: str = "", **options: Any) -> Visit:
        file = tmp_path / f"picture_{len(visits)}.html"
        picture.save(file)
        visits.append(Visit(browser, file, link, options))
        return visits[-1]

    yield open_picture
    for one in visits:
        one.context.close()
    assert [one.errors for one in visits] == [[] for _ in visits]
    assert [one.requests for one in visits] == [[one.address] for one in visits]
