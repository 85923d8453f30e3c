"""Every example in README, docs and docstrings runs. A `text` block after an example is what it prints, or its error."""

import contextlib
import doctest
import importlib
import io
import pkgutil
import re
import warnings
from pathlib import Path

import pytest

import ramet

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.MULTILINE | re.DOTALL)


def modules():
    names = [name for _, name, _ in pkgutil.walk_packages(ramet.__path__, "ramet.") if not name.endswith("__main__")]
    # A backend's file can only be imported where that backend is installed.
    return ["ramet", *(name for name in names if not name.endswith(("_plans", "_blend", "saved_model")))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(warnings, "showwarning", lambda *_: None)
    names = {}
    blocks = BLOCK.findall(page.read_text())
    for index, (kind, source) in enumerate(blocks):
        if kind != "python":
            continue
        following = blocks[index + 1] if index + 1 < len(blocks) else ("", "")
        code = compile(source, str(page), "exec")
        shown = io.StringIO()
        try:
            with contextlib.redirect_stdout(shown):
                exec(code, names)
        except ramet.errors.RametError as error:
            shown = io.StringIO(str(error))
            if following[0] != "text":
                raise
        if following[0] == "text":
            assert shown.getvalue().strip() == following[1].strip()
    for value in names.values():
        if isinstance(getattr(value, "log", None), io.IOBase):
            value.log.close()


@pytest.mark.parametrize("name", modules())
def test_the_examples_of_docstrings_run(name):
    result = doctest.testmod(importlib.import_module(name))

    assert result.failed == 0


def test_the_commands_of_the_readme_are_targets():
    commands = re.findall(r"^\$ make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert commands == ["demo", "test"]
    assert set(commands) <= set(targets)


def test_the_tests_that_the_origins_name_exist():
    named = set(re.findall(r"`(test_\w+)`", (ROOT / "docs" / "origins.md").read_text()))
    there = set(re.findall(r"^def (test_\w+)", (ROOT / "tests" / "test_origins.py").read_text(), re.MULTILINE))

    assert named
    assert named <= there
