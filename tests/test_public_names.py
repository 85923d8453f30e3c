"""`ramet.__all__` is the truth about what is public."""

import inspect
import types
from importlib import metadata

import pytest

import ramet


def test_all_is_sorted_and_names_each_thing_once() -> None:
    assert list(ramet.__all__) == sorted(set(ramet.__all__))


@pytest.mark.parametrize("name", ramet.__all__)
def test_a_public_name_exists_and_is_listed_by_dir(name: str) -> None:
    assert hasattr(ramet, name)
    assert name in dir(ramet)


def test_nothing_public_is_missing_from_all() -> None:
    for name in ramet.__all__:  # names that are loaded on first use stand in the namespace after it
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
    # A dataclass without a docstring is given its signature as one.
    assert not text.startswith(f"{name}(")


def test_the_version_is_that_of_the_installed_package() -> None:
    assert ramet.__version__ == metadata.version("ramet")
