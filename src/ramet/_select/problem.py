"""What can go wrong when ops are selected."""

from __future__ import annotations

from ramet.errors import RametError

__all__ = ["NoMatchError"]


class NoMatchError(RametError, LookupError):
    """No op of the model matches, and at least one was asked for."""
