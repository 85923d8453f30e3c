"""The data side knows no backend: its tests run once, with JAX. Pages are opened in a real browser."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ramet._draw import Picture
from tests.draw.visit import Visit


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    """Chromium, started once."""
    playwright = pytest.importorskip(
        "playwright.sync_api", reason="playwright is not installed: pip install playwright runs these tests"
    )
    program = shutil.which("chromium") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("there is no chromium: `apt-get install chromium` runs these tests")
    with playwright.sync_playwright() as running:
        # Containers often run as root, where Chromium's own sandbox cannot start.
        started = running.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def visit(browser: Any, tmp_path: Path) -> Iterator[Callable[..., Visit]]:
    """Opens pictures from disk; afterwards, no page may have complained or asked for anything else."""
    visits: list[Visit] = []

    def open_picture(picture: Picture, link: str = "", **options: Any) -> Visit:
        file = tmp_path / f"picture_{len(visits)}.html"
        picture.save(file)
        visits.append(Visit(browser, file, link, options))
        return visits[-1]

    yield open_picture
    for one in visits:
        one.context.close()
    assert [one.complaints for one in visits] == [[] for _ in visits]
    assert [one.requests for one in visits] == [[one.address] for one in visits]
