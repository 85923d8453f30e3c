"""The page as text: one file without links, in which names cannot act; and saving it."""

import base64
import json
import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramet
from ramet._draw import draw_graph
from ramet._draw.html import histogram
from ramet.errors import ArgumentError
from tests.draw.sample import PICTURES, before_and_after, chain, hostile
from tests.graph import big
from tests.support.platforms import posix

pytestmark = pytest.mark.no_backend


def data_of(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", PICTURES)
def test_page_refers_to_nothing_outside(name: str) -> None:
    page = PICTURES[name]().to_html()

    assert re.findall(r"\w+://|\bsrc=\"|\burl\(|@import|<link", page) == []


def test_names_cannot_break_out_of_the_data() -> None:
    page = draw_graph(hostile()).to_html()

    head, _, rest = page.partition('id="data">')
    data, _, script = rest.partition("</script>")
    assert page.count("<script") == 2
    assert "<img" not in page
    assert not set("<>&") & set(data)
    assert "onerror" not in head.replace("&lt;/title&gt;&lt;img src=x onerror=alert(1)&gt;", "")
    assert "onerror" not in script


def test_name_that_looks_like_a_placeholder_is_shown() -> None:
    page = draw_graph(chain("{{data}}", "{{script}}").with_changes(name="{{data}}{{style}}")).to_html()

    assert [box["key"] for box in data_of(page)["boxes"] if "key" in box] == ["x", "{{data}}", "{{script}}"]  # type: ignore[attr-defined]
    assert "<title>{{data}}{{style}}</title>" in page


def test_page_of_a_thousand_calls_is_under_three_megabytes() -> None:
    page = draw_graph(big.grow(1000)).to_html()

    assert len(page.encode()) < 3_000_000


def test_policy_allows_only_the_script_of_the_page() -> None:
    page = draw_graph(chain("a")).to_html()

    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert re.fullmatch(
        r"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-[A-Za-z0-9+/=]{44}'", policy[1]
    )


class Parts(HTMLParser):
    """The attributes of the frames and images in a text."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: dict[str, list[dict[str, str | None]]] = {"iframe": [], "img": []}
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in self.found:
            self.found[tag].append(dict(attrs))


def test_notebook_gets_a_sandboxed_frame_with_the_page() -> None:
    picture = draw_graph(hostile())
    [frame] = Parts(picture._repr_html_()).found["iframe"]

    assert frame["sandbox"] == "allow-scripts"
    assert frame["srcdoc"] == picture.to_html()


def test_notebook_without_frames_gets_the_drawing() -> None:
    picture = draw_graph(hostile())
    [image] = Parts(picture._repr_html_()).found["img"]
    head, _, data = str(image["src"]).partition(",")

    assert head == "data:image/svg+xml;base64"
    assert base64.b64decode(data).decode() == picture.to_svg()


def test_extension_chooses_the_format(tmp_path: Path) -> None:
    picture = draw_graph(chain("a"))
    picture.save(tmp_path / "m.html")
    picture.save(str(tmp_path / "m.SVG"))

    assert (tmp_path / "m.html").read_text(encoding="utf-8") == picture.to_html()
    assert (tmp_path / "m.SVG").read_text(encoding="utf-8") == picture.to_svg()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.SVG", "m.html"]


def test_unsupported_extension_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ArgumentError) as caught:
        draw_graph(chain("a")).save(tmp_path / "m.jpeg")

    assert str(caught.value) == (
        "Cannot save the picture as 'm.jpeg': the file extension '.jpeg' is not supported.\n"
        "  expected: a name that ends in .html, .svg, .png or .pdf\n"
        "  fix: save it as 'm.html' or 'm.svg'."
    )
    with pytest.raises(ArgumentError, match="it has no file extension"):
        draw_graph(chain("a")).save(tmp_path / "m")
    assert list(tmp_path.iterdir()) == []


def test_missing_folder_is_refused_before_anything_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "folder.svg").mkdir()
    for name, reason in (("nowhere/m.svg", "does not exist"), ("folder.svg", "this is a folder")):
        with pytest.raises(ArgumentError, match=reason):
            ramet.draw(chain("a"), tmp_path / name)


@posix
def test_saving_keeps_links_and_permissions(tmp_path: Path) -> None:
    file, link = tmp_path / "m.svg", tmp_path / "link.svg"
    file.write_text("old", encoding="utf-8")
    file.chmod(0o640)
    link.symlink_to(file)
    draw_graph(chain("a"), columns=np.int64(2)).save(link)  # type: ignore[arg-type]

    assert link.is_symlink()
    assert file.read_text(encoding="utf-8") == draw_graph(chain("a"), columns=2).to_svg()
    assert file.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rankdir": "RL"}, "Cannot draw with rankdir='RL'.\n  expected: 'TB', from top to bottom, or 'LR'"),
        ({"columns": 0}, "Cannot draw with columns=0.\n  expected: an integer of at least 1"),
        ({"columns": 2.5}, "Cannot draw with columns=2.5."),
    ],
)
def test_invalid_direction_is_refused(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        draw_graph(chain("a"), **options)

    assert str(caught.value).startswith(message)


def test_draw_takes_a_direction_for_a_model_and_for_a_diff(tmp_path: Path) -> None:
    before, after = before_and_after()
    ramet.draw(after, tmp_path / "m.svg", rankdir="LR")
    ramet.draw(after, tmp_path / "d.svg", before=before, rankdir="LR", columns=2)

    assert (tmp_path / "m.svg").read_text(encoding="utf-8") == draw_graph(after, rankdir="LR").to_svg()
    assert (tmp_path / "d.svg").read_text(encoding="utf-8") == PICTURES["diff_from_left"]().to_svg()
    with pytest.raises(ArgumentError, match=r"scale= needs a \.png path"):
        ramet.draw(after, scale=2)


def test_old_file_survives_if_saving_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "m.svg"
    file.write_text("old", encoding="utf-8")

    def fail(self: Path, target: Path) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="the disk is full"):
        draw_graph(chain("a")).save(file)

    assert file.read_text(encoding="utf-8") == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["m.svg"]


def test_histogram_has_bars_and_statistics() -> None:
    found = histogram(np.array([0.0] * 10 + [1.0] * 5))

    assert found == {
        "bars": "z" + "0" * 30 + "V",
        "odd": 0,
        "low": "0",
        "high": "1",
        "mean": "0.3333",
        "deviation": "0.4714",
    }


@pytest.mark.parametrize(
    ("values", "low", "high", "odd"),
    [
        (np.zeros(4), "0", "0", 0),
        (np.array([1.0, np.nan, np.inf, 3.0]), "1", "3", 2),
        (np.array([-1e308, 1e308]), "-1e+308", "1e+308", 0),
        (np.array([True, False]), "0", "1", 0),
        (np.array(7, dtype="int8"), "7", "7", 0),
        (np.full(3, 1e-40, dtype="float32"), "1e-40", "1e-40", 0),
    ],
)
def test_histogram_of_unusual_numbers(values: np.ndarray, low: str, high: str, odd: int) -> None:
    found = histogram(values)

    assert found is not None
    assert (found["low"], found["high"], found["odd"]) == (low, high, odd)
    assert len(found["bars"]) == 32


def test_values_that_are_no_numbers_have_no_histogram() -> None:
    assert histogram(np.array(["a", "b"])) is None
    assert histogram(np.array([np.nan])) == {"bars": "", "odd": 1}
    assert histogram(np.zeros((0, 3))) == {"bars": "", "odd": 0}


class Reader:
    def paths(self) -> list[str]:
        return ["a/kernel"]

    def read(self, path: str) -> np.ndarray:
        return np.full((8, 8), 0.5)


def test_page_distinguishes_stored_and_missing_weights() -> None:
    data = data_of(draw_graph(chain("a"), weights=Reader()).to_html())

    kernel, bias = data["ops"][1]["variables"]  # type: ignore[index]
    assert (kernel["histogram"]["low"], bias.get("histogram"), bias["missing"]) == ("0.5", None, True)


class Filed(Reader):
    def array_path(self, path: str) -> str:
        return f"layers/{path}s/vars/0"


def test_page_has_the_location_of_weights_in_their_file() -> None:
    data = data_of(draw_graph(chain("a"), weights=Filed()).to_html())

    kernel, bias = data["ops"][1]["variables"]  # type: ignore[index]
    assert (kernel["array"], bias.get("array")) == ("layers/a/kernels/vars/0", None)
