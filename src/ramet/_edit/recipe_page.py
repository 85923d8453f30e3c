"""A recipe's text while it is read, and errors that point into it."""

from __future__ import annotations

from typing import Any

from ramet._edit.toml_place import KeyPath, Places
from ramet._graph import shortened
from ramet.errors import RecipeError

__all__ = ["Page", "problem"]

# Keys and values of a recipe may be of any length.
_LONGEST = 300


class Page:
    """A recipe's text while it is read: what its errors point at.

    Args:
        name: The name of the file.
        places: Where its keys and values stand.
    """

    def __init__(self, name: str, places: Places) -> None:
        self.name, self._places = name, places

    def at_key(self, path: KeyPath) -> str:
        """Where a key stands: `slim.toml:7:9`."""
        return self._told(self._places.key(path))

    def at_value(self, path: KeyPath) -> str:
        """Where a value begins."""
        return self._told(self._places.value(path))

    def at_character(self, path: KeyPath, index: int) -> str:
        """Where a character of a string stands."""
        return self._told(self._places.inside(path, index))

    def _told(self, place: int) -> str:
        line, column = self._places.position(place)
        return f"{self.name}:{line}:{column}"


def problem(place: str, reason: str, **parts: Any) -> RecipeError:
    """The error about one place of a recipe."""
    return RecipeError(f"{place}: {shortened(reason, _LONGEST)}.", path=place, **parts)
