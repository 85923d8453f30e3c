"""The compiled walk. If it was not built, `ramet._copy.walk` does the same in Python, at about a third of the speed."""

from __future__ import annotations

import importlib.util
import os


def uses_compiled_walk() -> bool:
    """Return whether the compiled walk is installed and not switched off, without importing it."""
    switched_off = bool(os.environ.get("RAMET_PURE_PYTHON"))
    return not switched_off and importlib.util.find_spec("ramet._copy._compiled.walk") is not None
