"""The walk once more, compiled. Where it could not be built, `ramet._copy.walk` does the same in Python."""

from __future__ import annotations

import importlib.util
import os


def is_at_work() -> bool:
    """Whether the compiled walk is there and not switched off. Told without importing it."""
    switched_off = bool(os.environ.get("RAMET_PURE_PYTHON"))
    return not switched_off and importlib.util.find_spec("ramet._copy._compiled.walk") is not None
