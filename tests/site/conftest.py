"""The built site, and a browser to read it with."""

from pathlib import Path

import pytest

SITE = Path(__file__).parents[2] / "build" / "site"


@pytest.fixture(scope="session")
def site() -> Path:
    """Return the folder of the built site."""
    if not (SITE / "index.html").exists():
        pytest.fail("the site is not built: run `make docs`")
    return SITE
