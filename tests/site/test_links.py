"""Every link of the site leads somewhere, and nothing comes from the network."""

from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

pytestmark = [pytest.mark.site, pytest.mark.no_backend]


@dataclass
class Page(HTMLParser):
    """The links, loaded files and anchors of a page."""

    links: list[str] = field(default_factory=list)
    loaded: list[str] = field(default_factory=list)
    anchors: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__init__()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = {name: value for name, value in attrs if value}
        self.anchors |= {values[name] for name in ("id", "name") if name in values}
        if tag == "a" and "href" in values:
            self.links.append(values["href"])
        elif tag == "link" and values.get("rel") not in ("index", "search", "next", "prev", "canonical"):
            self.loaded.append(values.get("href", ""))
        elif "src" in values:
            self.loaded.append(values["src"])


def read(path: Path) -> Page:
    page = Page()
    page.feed(path.read_text(encoding="utf-8"))
    return page


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    """Return every page of the site. Pages drawn by ramet have tests of their own, and are linked like pictures."""
    return {path: read(path) for path in site.rglob("*.html") if "_static" not in path.parts}


def test_every_link_and_anchor_resolves(pages: dict[Path, Page], site: Path) -> None:
    broken = []
    for path, page in pages.items():
        for link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            fragment = unquote(parts.fragment)
            if not target.exists() or (fragment and target in pages and fragment not in pages[target].anchors):
                broken.append(f"{path.relative_to(site)}: {link}")

    assert len(pages) > 40
    assert broken == []


def test_every_loaded_file_is_part_of_the_site(pages: dict[Path, Page], site: Path) -> None:
    missing = [
        f"{path.relative_to(site)}: {file}"
        for path, page in pages.items()
        for file in page.loaded
        if not file.startswith("data:") and not (path.parent / unquote(urlsplit(file).path)).exists()
    ]

    assert missing == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    (tmp_path / "page.html").write_text(
        '<a href="gone.html">x</a><a href="#nowhere">y</a><p id="here">', encoding="utf-8"
    )
    page = read(tmp_path / "page.html")

    assert page.links == ["gone.html", "#nowhere"]
    assert page.anchors == {"here"}
