"""The compiled walk. Where it cannot be used, `ramet._copy.walk` does the same in Python, at about a third of the speed.

`hatch_build.py` loads this file on its own before it compiles the walk, so it imports nothing but the standard library.
"""

from __future__ import annotations

import importlib.util
import os
import sys
import sysconfig

# The newest Python that the tests were run on with the compiled walk, which uses the layout of Python's own objects.
NEWEST_TESTED = (3, 14)


def why_not_compile() -> str | None:
    """Return why the walk must not be compiled for this Python, or None if it may be."""
    if os.environ.get("RAMET_PURE_PYTHON"):
        return "RAMET_PURE_PYTHON is set"
    if sys.implementation.name != "cpython":
        return "the compiled walk is written for CPython"
    if sys.version_info[:2] > NEWEST_TESTED:
        return f"the compiled walk is not tested on Python newer than {'.'.join(map(str, NEWEST_TESTED))}"
    # It borrows references, which only the GIL keeps alive. That the GIL of such a Python can be switched on is no
    # reason to make an exception.
    if sysconfig.get_config_var("Py_GIL_DISABLED"):
        return "the compiled walk needs the GIL, and this is a free-threaded Python"
    return None


def why_python_walk() -> str | None:
    """Return why the walk in Python is used, or None if the compiled one is. Neither is imported."""
    reason = why_not_compile()
    if reason is None and importlib.util.find_spec("ramet._copy._compiled.walk") is None:
        reason = "the compiled walk is not installed"
    return reason


def uses_compiled_walk() -> bool:
    """Return whether the compiled walk is used."""
    return why_python_walk() is None
