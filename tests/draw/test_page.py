"""The page as text: one file, no address, names that stay names."""

import json
import os
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ramet
from ramet._draw import draw_graph
from ramet.errors import ArgumentError
from tests.draw.sample import PICTURES, before_and_after, chain, hostile
from tests.graph import big

pytestmark = pytest.mark.no_backend


def data_of(page: str) -> dict[str, object]:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])  # type: ignore[no-any-return]


@pytest.mark.parametrize("name", PICTURES)
def test_the_page_has_no_address_of_anything(name: str) -> None:
    page = PICTURES[name]().to_html()

    assert re.findall(r"\w+://|\bsrc=\"|\burl\(|@import|<link", page) == []


def test_no_name_can_end_the_data_or_begin_a_tag() -> None:
    page = draw_graph(hostile()).to_html()

    head, _, rest = page.partition('id="data">')
    data, _, script = rest.partition("</script>")
    assert page.count("<script") == 2
    assert "<img" not in page
    assert not set("<>&") & set(data)
    assert "onerror" not in head.replace("&lt;/title&gt;&lt;img src=x onerror=alert(1)&gt;", "")
    assert "onerror" not in script


def test_a_name_that_looks_like_a_place_of_the_page_stays_a_name() -> None:
    page = draw_graph(chain("{{data}}", "{{script}}").with_changes(name="{{data}}{{style}}")).to_html()

    assert [box["key"] for box in data_of(page)["boxes"] if "key" in box] == ["x", "{{data}}", "{{script}}"]  # type: ignore[attr-defined]
    assert "<title>{{data}}{{style}}</title>" in page


def test_a_page_of_a_thousand_calls_is_under_three_megabytes() -> None:
    page = draw_graph(big.grow(1000)).to_html()

    assert len(page.encode()) < 3_000_000


def test_only_the_script_of_the_page_may_run() -> None:
    page = draw_graph(chain("a")).to_html()

    policy = re.search(r'http-equiv="Content-Security-Policy" content="([^"]*)"', page)
    assert policy is not None
    assert re.fullmatch(
        r"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-[A-Za-z0-9+/=]{44}'", policy[1]
    )


def test_a_notebook_gets_a_frame_of_its_own() -> None:
    shown = draw_graph(hostile())._repr_html_()

    assert shown.startswith('<iframe title="picture of a model" sandbox="allow-scripts"')
    assert shown.count("<") == 2


def test_save_goes_by_the_end_of_the_name(tmp_path: Path) -> None:
    picture = draw_graph(chain("a"))
    picture.save(tmp_path / "m.html")
    picture.save(str(tmp_path / "m.SVG"))

    assert (tmp_path / "m.html").read_text(encoding="utf-8") == picture.to_html()
    assert (tmp_path / "m.SVG").read_text(encoding="utf-8") == picture.to_svg()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["m.SVG", "m.html"]


def test_an_unsupported_extension_is_refused_with_the_supported_ones(tmp_path: Path) -> None:
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


def test_a_folder_that_is_not_there_is_named_before_anything_is_drawn(tmp_path: Path) -> None:
    (tmp_path / "folder.svg").mkdir()
    for name, told in (("nowhere/m.svg", "there is no folder"), ("folder.svg", "that is a folder")):
        with pytest.raises(ArgumentError, match=told):
            ramet.draw(chain("a"), tmp_path / name)


@pytest.mark.skipif(os.name == "nt", reason="Windows has other links and file permissions; another system lifts this")
def test_a_link_stays_a_link_and_a_file_keeps_its_rights(tmp_path: Path) -> None:
    file, link = tmp_path / "m.svg", tmp_path / "link.svg"
    file.write_text("old", encoding="utf-8")
    file.chmod(0o640)
    link.symlink_to(file)
    draw_graph(chain("a"), columns=np.int64(2)).save(link)  # type: ignore[arg-type]

    assert link.is_symlink()
    assert file.read_text(encoding="utf-8") == draw_graph(chain("a"), columns=2).to_svg()
    assert file.stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize(
    ("options", "told"),
    [
        ({"rankdir": "RL"}, "Cannot draw with rankdir='RL'.\n  expected: 'TB', from top to bottom, or 'LR'"),
        ({"columns": 0}, "Cannot draw with columns=0.\n  expected: a whole number from 1"),
        ({"columns": 2.5}, "Cannot draw with columns=2.5."),
    ],
)
def test_a_direction_that_does_not_exist_is_refused(options: dict[str, Any], told: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        draw_graph(chain("a"), **options)

    assert str(caught.value).startswith(told)


def test_draw_takes_a_direction_for_a_model_and_for_a_diff(tmp_path: Path) -> None:
    before, after = before_and_after()
    ramet.draw(after, tmp_path / "m.svg", rankdir="LR")
    ramet.draw(after, tmp_path / "d.svg", before=before, rankdir="LR", columns=2)

    assert (tmp_path / "m.svg").read_text(encoding="utf-8") == draw_graph(after, rankdir="LR").to_svg()
    assert (tmp_path / "d.svg").read_text(encoding="utf-8") == PICTURES["diff_from_left"]().to_svg()
    with pytest.raises(ArgumentError, match=r"scale= needs a \.png path"):
        ramet.draw(after, scale=2)


def test_what_was_there_stays_when_saving_fails(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "m.svg"
    file.write_text("old", encoding="utf-8")

    def fail(self: Path, target: Path) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr(Path, "replace", fail)
    with pytest.raises(OSError, match="the disk is full"):
        draw_graph(chain("a")).save(file)

    assert file.read_text(encoding="utf-8") == "old"
    assert [one.name for one in tmp_path.iterdir()] == ["m.svg"]
