"""`ramet.__all__` lists exactly what is public."""

import ast
import inspect
import re
import types
from importlib import metadata
from pathlib import Path

import pytest

import ramet


def test_all_is_sorted_without_duplicates() -> None:
    assert list(ramet.__all__) == sorted(set(ramet.__all__))


@pytest.mark.parametrize("name", ramet.__all__)
def test_a_public_name_exists_and_is_listed_by_dir(name: str) -> None:
    assert hasattr(ramet, name)
    assert name in dir(ramet)


def test_nothing_public_is_missing_from_all() -> None:
    for name in ramet.__all__:  # names are loaded on first use
        getattr(ramet, name)
    public = {
        name
        for name, thing in vars(ramet).items()
        if not name.startswith("_") and not isinstance(thing, types.ModuleType)
    }

    # `from typing import TYPE_CHECKING` and `from __future__ import annotations` leave their own names behind.
    assert public - set(ramet.__all__) - {"TYPE_CHECKING", "annotations"} == set()


@pytest.mark.parametrize("name", ramet.__all__)
def test_a_public_function_or_class_has_a_docstring(name: str) -> None:
    thing = getattr(ramet, name)
    if not (inspect.isclass(thing) or callable(thing)):
        return
    text = thing.__doc__ or ""

    assert text.strip()
    # A dataclass without a docstring gets its signature as one.
    assert not text.startswith(f"{name}(")


def test_every_public_name_has_a_room() -> None:
    assert {*ramet._ROOMS, "edits", "errors"} == set(ramet.__all__)


def test_type_checkers_see_every_public_name() -> None:
    tree = ast.parse(Path(ramet.__file__).read_text(encoding="utf-8"))
    block = next(node for node in tree.body if isinstance(node, ast.If))
    imports = {
        name.name: (node.module or "").removeprefix("ramet.")
        for node in block.body
        if isinstance(node, ast.ImportFrom) and node.module != "ramet"
        for name in node.names
    }

    assert imports == ramet._ROOMS


@pytest.mark.parametrize("name", ["capture", "clone", "cut", "diff", "draw", "edit", "plan", "scan", "select", "show"])
def test_a_public_function_is_defined_once(name: str) -> None:
    sources = Path(ramet.__file__).parent.rglob("*.py")
    found = [
        path.name for path in sources if re.search(rf"^def {name}\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    ]

    assert len(found) == 1


def test_the_annotations_of_public_functions_name_public_types() -> None:
    results = {
        "capture": "Graph",
        "diff": "Diff",
        "draw": "Picture",
        "plan": "Plan",
        "read_recipe": "Recipe",
        "scan": "ScanReport",
        "select": "Selection",
        "transfer": "TransferReport",
        "verify": "Report",
    }

    assert {name: inspect.signature(getattr(ramet, name)).return_annotation for name in results} == results


def test_version_is_that_of_the_installed_package() -> None:
    assert ramet.__version__ == metadata.version("ramet")
