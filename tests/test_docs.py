"""Run every example in the README, the docs and docstrings, and compare what they print with what the page shows."""

import doctest
import importlib
import json
import pkgutil
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

import ramet
from ramet._cli import build_parser
from ramet._verify.checks import CHECKS
from tests.support.versions import KERAS
from tools.docs import contents, performance, pictures
from tools.docs.examples import ExampleError, run_examples

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]

QUOTES_KERAS = ("comparison", "features", "replace-and-insert")


def modules():
    names = [name for _, name, _ in pkgutil.walk_packages(ramet.__path__, "ramet.") if not name.endswith("__main__")]
    # A file named after a backend can only be imported where that backend is installed.
    return ["ramet", *(name for name in names if not re.search(r"\.(jax|torch|tensorflow)(_\w+)?$", name))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).with_suffix("").as_posix())
def test_examples_of_a_page_run(page, tmp_path):
    if page.stem in QUOTES_KERAS and KERAS < (3, 15):
        pytest.skip("the page shows what Keras 3.15 itself says or does; the run on that version covers it")
    run_examples(page, tmp_path)


@pytest.mark.parametrize(
    ("page", "problem"),
    [
        ("```python\nprint(1)\n```\n```text\n2\n```\n", "the output is not the one shown"),
        ("```python\n1 / 0\n```\n", "ZeroDivisionError"),
        ("```python\n1 / 0\n```\n```text\nTypeError: no\n```\n", "the output is not the one shown"),
        ("```console\n$ ramet scan gone.keras\nsafe\n```\n", "the output is not the one shown"),
        ("```console\n$ rm -r model.keras\n```\n", "'rm' is not run"),
        ("- a list\n\n  ```python\n  print(1)\n  ```\n  ```text\n  2\n  ```\n", "the output is not the one shown"),
    ],
)
def test_an_example_with_another_result_is_reported(page, problem, tmp_path):
    path = tmp_path / "page.md"
    path.write_text(page, encoding="utf-8")

    with pytest.raises(ExampleError, match=problem):
        run_examples(path, tmp_path)


@pytest.mark.parametrize("name", modules())
def test_examples_of_docstrings_run(name):
    result = doctest.testmod(importlib.import_module(name))

    assert result.failed == 0


def test_commands_of_the_readme_are_targets():
    commands = re.findall(r"^\$ make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert commands == ["demo", "test"]
    assert set(commands) <= set(targets)


def test_the_page_on_verify_has_a_row_for_each_check():
    text = (ROOT / "docs" / "understand" / "verify.md").read_text()
    rows = text.partition("| check | proves |")[2].partition("\n\n")[0].splitlines()[2:]

    assert [row.split(" | ")[0].removeprefix("| ") for row in rows] == list(CHECKS)
    assert all(len(row.strip("| ").split(" | ")) == 3 for row in rows)


def test_tables_of_the_page_on_performance_are_the_stored_results():
    text = (ROOT / "docs" / "understand" / "performance.md").read_text()

    for table in (performance.growth(), performance.verbs()):
        assert table in text, f"Replace the table in docs/understand/performance.md:\n\n{table}"
    assert text.count("<!-- benchmark table -->") == text.count("<!-- benchmark plot -->") == 1


def test_table_of_the_benchmark_has_each_model_that_was_measured():
    stored = json.loads((ROOT / "bench" / "stored.json").read_text())["backends"]
    rows = [row.strip("| ").split(" | ") for row in performance.table().splitlines()[2:]]
    found = {(backend.lower(), name): numbers for backend, name, *numbers in rows}

    assert found.keys() == {(backend, name) for backend in stored for name in stored[backend]["cases"]}
    for (backend, name), (time, *times) in found.items():
        seconds = stored[backend]["cases"][name]["seconds"]
        others = [seconds[way] for way in ("clone_model + set_weights", "deepcopy", "save + load")]
        assert float(time.removesuffix(" ms")) == pytest.approx(seconds["ramet.clone"] * 1000, abs=0.051)
        ratios = [float(number.removesuffix("x")) for number in times]
        assert ratios == pytest.approx([other / seconds["ramet.clone"] for other in others], abs=0.51)


def test_plot_of_the_benchmark_is_an_accessible_picture_for_light_and_dark_pages():
    picture = ElementTree.fromstring(performance.plot())
    name = "{http://www.w3.org/2000/svg}"
    bars = [one for one in picture.iter(f"{name}rect") if one.get("width") != "12"]
    labels = {one.get("id"): one.text for one in picture if one.tag in (f"{name}title", f"{name}desc")}

    assert len(bars) == len(performance.table().splitlines()[2:])  # three ways there, three backends here
    # A group of bars of which deepcopy is longer than clone_model, as in the table.
    assert all(
        float(usual.get("width")) < float(deep.get("width")) for usual, deep in zip(bars[::3], bars[1::3], strict=True)
    )
    assert all(one.get("fill") == "currentColor" for one in picture.iter(f"{name}text"))
    assert picture.get("aria-labelledby").split() == list(labels)
    assert all(labels.values())


def test_every_page_is_part_of_the_site():
    listed = {source for source in contents.PAGES.values() if source is not None}
    existing = {page.relative_to(ROOT).as_posix() for page in PAGES} - {"README.md"}

    assert existing - listed == set()  # add it to tools/docs/contents.py
    assert [source for source in sorted(listed) if not (ROOT / source).exists()] == []


def test_page_on_the_command_line_shows_every_command():
    text = (ROOT / "docs" / "cli.md").read_text(encoding="utf-8")
    shown = set(re.findall(r"^\$ ramet (\S+)", text, re.MULTILINE))
    commands = next(action for action in build_parser()._actions if isinstance(action.choices, dict)).choices

    # The demo takes a minute, and git runs the last one, in tests/cli/test_diff.py.
    assert set(commands) - shown == {"demo", "git-diff"}


def test_picture_of_the_readme_is_up_to_date(tmp_path):
    pictures.draw(tmp_path / "edit.svg")

    # `python -m tools.docs.pictures` draws it again.
    assert pictures.PICTURE.read_text(encoding="utf-8") == (tmp_path / "edit.svg").read_text(encoding="utf-8")


def test_tests_named_in_origins_exist():
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "origins.md").read_text()))
    existing = set(
        re.findall(r"^def (test_\w+)", (ROOT / "tests" / "copy" / "test_origins.py").read_text(), re.MULTILINE)
    )

    assert named
    assert named <= existing


def test_files_named_in_the_design_exist():
    text = (ROOT / "docs" / "design.md").read_text()
    named = {f"src/ramet/{name}" for name in re.findall(r"(?<![\w/])(_[a-z]+/(?:[\w]+/)*\w+\.py)\b(?!x)", text)}
    named |= set(re.findall(r"`((?:tests|bench|tools)/[\w/]+\.py)`", text))

    assert named
    assert [name for name in sorted(named) if not (ROOT / name).exists()] == []
