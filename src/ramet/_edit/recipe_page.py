"""A recipe's text while it is read, and errors that point into it."""

from __future__ import annotations

from typing import Any

from ramet._edit.toml_place import KeyPath, Places, line_and_column
from ramet.errors import RecipeError

__all__ = ["Page", "problem"]


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

    def below(self, path: KeyPath) -> dict[KeyPath, tuple[str, str]]:
        """Where the keys and values inside a value stand, by the path from there on."""
        inner = [key for key in self._places.keys if key[: len(path)] == path]
        return {key[len(path) :]: (self.at_key(key), self.at_value(key)) for key in (path, *inner)}

    def _told(self, place: int) -> str:
        line, column = line_and_column(self._places.text, place)
        return f"{self.name}:{line}:{column}"


def problem(place: str, reason: str, **parts: Any) -> RecipeError:
    """The error about one place of a recipe."""
    return RecipeError(f"{place}: {reason}.", path=place, **parts)
