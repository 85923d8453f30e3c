"""Run every example in the README, the docs and docstrings. A `text` block after an example is its output or its error."""

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
    # A file named after a backend can only be imported where that backend is installed.
    return ["ramet", *(name for name in names if not re.search(r"\.(jax|torch|tensorflow)(_\w+)?$", name))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_a_page_run(page, tmp_path, monkeypatch):
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
def test_examples_of_docstrings_run(name):
    result = doctest.testmod(importlib.import_module(name))

    assert result.failed == 0


def test_commands_of_the_readme_are_targets():
    commands = re.findall(r"^\$ make (\w+)", (ROOT / "README.md").read_text(), re.MULTILINE)
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)

    assert commands == ["demo", "test"]
    assert set(commands) <= set(targets)


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
