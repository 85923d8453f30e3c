"""Exact, independent twins of Keras models.

Every public name is imported when it is first used: `import ramet` loads neither Keras nor a backend, so that the
command line starts at once and `KERAS_BACKEND` can still be set afterwards.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from ramet import errors

if TYPE_CHECKING:
    from ramet import edits
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
    from ramet._edit import Recipe
    from ramet._select import anything, feeds, named, nth, of_class, reads, where, with_config

# The room of each public name. A name is added here, above for type checkers, and in `__all__` below.
_ROOMS = {
    "Recipe": "_edit",
    "anything": "_select",
    "capture": "_api",
    "clone": "_api",
    "clone_model": "_api",
    "cut": "_api",
    "diff": "_api",
    "draw": "_api",
    "edit": "_api",
    "feeds": "_select",
    "named": "_select",
    "nth": "_select",
    "of_class": "_select",
    "plan": "_api",
    "read_recipe": "_api",
    "reads": "_select",
    "register_copy": "_api",
    "select": "_api",
    "sync": "_api",
    "transfer": "_api",
    "verify": "_api",
    "where": "_select",
    "with_config": "_select",
}

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


def __getattr__(name: str) -> object:
    if name == "edits":
        return importlib.import_module("ramet.edits")
    if name not in _ROOMS:
        raise AttributeError(f"module 'ramet' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(f"ramet.{_ROOMS[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
