"""The fixture that opens pictures in a real browser."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ramet._draw import Picture
from tests.draw.visit import Visit


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
