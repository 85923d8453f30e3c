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
    from ramet._loading import load
    from ramet._port import PortReport, port
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

# The public names of each room. A name is added here, above for type checkers, and in `__all__` below.
_NAMES = {
    "_build": ("clone", "clone_model", "cut"),
    "_copy": ("register_copy",),
    "_diff": ("Diff",),
    "_draw": ("Picture",),
    "_edit": ("Edit", "Plan", "Recipe", "edit", "plan", "read_recipe"),
    "_files": ("FileListing", "ScanReport", "scan"),
    "_graph": ("Call", "Graph", "Op"),
    "_loading": ("load",),
    "_port": ("PortReport", "port"),
    "_reading": ("capture", "diff", "draw", "select", "show"),
    "_select": (
        "Selection",
        "Selector",
        "anything",
        "feeds",
        "named",
        "nth",
        "of_class",
        "reads",
        "where",
        "with_config",
    ),
    "_verify": ("Report", "verify"),
    "_weights": ("TransferReport", "sync", "transfer"),
}
_ROOMS = {name: room for room, names in _NAMES.items() for name in names}

__all__ = [
    "Call",
    "Diff",
    "Edit",
    "FileListing",
    "Graph",
    "Op",
    "Picture",
    "Plan",
    "PortReport",
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
    "load",
    "named",
    "nth",
    "of_class",
    "plan",
    "port",
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
