"""Load an untrusted file: from a private copy, after a scan, under guard."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import keras

from ramet._files import private_copy, scan, unsafe_file
from ramet._graph import escape
from ramet._keras.guard import guarded
from ramet.errors import UnsafeFileError

__all__ = ["load_copy", "safe_copy", "under_guard"]

_FIX = "look at ramet.scan(path); if you trust the file, load it with keras.saving.load_model and pass the model."


@contextlib.contextmanager
def safe_copy(path: Path) -> Iterator[Path]:
    """Yield a private copy of a file without unsafe findings. The caller must register custom classes."""
    with private_copy(path) as copy:
        found = [one for one in scan(copy).findings if one.severity == "unsafe"]
        if found:
            raise unsafe_file(copy, found, _FIX)
        yield copy


def load_copy(path: Path) -> Any:
    """Return the model in a private copy, loaded under guard."""
    with under_guard(path, _FIX):
        return keras.saving.load_model(path)


@contextlib.contextmanager
def under_guard(path: Path, fix: str) -> Iterator[None]:
    """Raise an error for anything that was refused while a file was loaded, even if the loader swallowed it.

    Args:
        path: The private copy. Files in its folder may be read and written.
        fix: What the user can do, for the message.
    """
    with guarded(path.parent) as guard:
        try:
            yield
        finally:
            if guard.refused:
                raise UnsafeFileError(
                    f"Cannot load '{escape(path.name)}': while it was loaded, it tried to {escape(guard.refused[0])}.",
                    fix=fix,
                    path=str(path),
                )
