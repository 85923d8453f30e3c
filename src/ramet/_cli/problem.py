"""What can go wrong on the command line only."""

from __future__ import annotations

from ramet.errors import ModelFileError

__all__ = ["UnsafeFileError"]


class UnsafeFileError(ModelFileError):
    """Loading the file would run code that nobody has said to trust."""
