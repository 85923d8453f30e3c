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
    from ramet._build import clone, clone_model, cut
    from ramet._copy import register_copy
    from ramet._diff import Diff
    from ramet._draw import Picture
    from ramet._edit import Edit, Plan, Recipe, edit, plan, read_recipe
    from ramet._files import FileListing, ScanReport, scan
    from ramet._graph import Call, Graph, Op
    from ramet._reading import capture, diff, draw, select, show
    from ramet._select import (
        Selection,
        Selector,
        anything,
        feeds,
        named,
        nth,
        of_class,
        reads,
        where,
        with_config,
    )
    from ramet._verify import Report, verify
    from ramet._weights import TransferReport, sync, transfer

# The room of each public name. A name is added here, above for type checkers, and in `__all__` below.
_ROOMS = {
    "Call": "_graph",
    "Diff": "_diff",
    "Edit": "_edit",
    "FileListing": "_files",
    "Graph": "_graph",
    "Op": "_graph",
    "Picture": "_draw",
    "Plan": "_edit",
    "Recipe": "_edit",
    "Report": "_verify",
    "ScanReport": "_files",
    "Selection": "_select",
    "Selector": "_select",
    "TransferReport": "_weights",
    "anything": "_select",
    "capture": "_reading",
    "clone": "_build",
    "clone_model": "_build",
    "cut": "_build",
    "diff": "_reading",
    "draw": "_reading",
    "edit": "_edit",
    "feeds": "_select",
    "named": "_select",
    "nth": "_select",
    "of_class": "_select",
    "plan": "_edit",
    "read_recipe": "_edit",
    "reads": "_select",
    "register_copy": "_copy",
    "scan": "_files",
    "select": "_reading",
    "show": "_reading",
    "sync": "_weights",
    "transfer": "_weights",
    "verify": "_verify",
    "where": "_select",
    "with_config": "_select",
}

__all__ = [
    "Call",
    "Diff",
    "Edit",
    "FileListing",
    "Graph",
    "Op",
    "Picture",
    "Plan",
    "Recipe",
    "Report",
    "ScanReport",
    "Selection",
    "Selector",
    "TransferReport",
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
    "scan",
    "select",
    "show",
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
