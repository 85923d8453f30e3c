"""Which versions are at work, told without importing any of them."""

from __future__ import annotations

import platform
from importlib import metadata

import ramet
from ramet._cli.option import BACKENDS
from ramet._copy import is_at_work

__all__ = ["versions"]


def versions() -> str:
    """The versions of ramet, Python, Keras and the backends that are installed."""
    others = ["compiled" if is_at_work() else "not compiled", f"Python {platform.python_version()}"]
    for package in ("keras", *BACKENDS):
        # TensorFlow for the CPU goes by a name of its own.
        for name in (package, f"{package}-cpu"):
            try:
                others.append(f"{package} {metadata.version(name)}")
                break
            except metadata.PackageNotFoundError:
                continue
    return f"ramet {ramet.__version__} ({', '.join(others)})"
