"""Exact, independent twins of Keras models."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ramet import errors
from ramet._api import (
    capture,
    clone,
    clone_model,
    cut,
    diff,
    draw,
    edit,
    plan,
    read_recipe,
    register_copy,
    select,
    sync,
    transfer,
    verify,
)

if TYPE_CHECKING:
    from ramet import edits
    from ramet._edit import Recipe
    from ramet._select import anything, feeds, named, nth, of_class, reads, where, with_config

__all__ = [
    "Recipe",
    "anything",
    "capture",
    "clone",
    "clone_model",
    "cut",
    "diff",
    "draw",
    "edit",
    "edits",
    "errors",
    "feeds",
    "named",
    "nth",
    "of_class",
    "plan",
    "read_recipe",
    "reads",
    "register_copy",
    "select",
    "sync",
    "transfer",
    "verify",
    "where",
    "with_config",
]
__version__ = "0.1.0"

_SELECTORS = ("anything", "feeds", "named", "nth", "of_class", "reads", "where", "with_config")
# Where the names are that are imported when they are first asked for: the command line starts without them.
_LATER = {"Recipe": "ramet._edit", **dict.fromkeys(_SELECTORS, "ramet._select")}


def __getattr__(name: str) -> object:
    if name == "edits":
        return importlib.import_module("ramet.edits")
    if name not in _LATER:
        raise AttributeError(f"module 'ramet' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_LATER[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
