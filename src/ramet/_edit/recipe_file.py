"""The file of a recipe: its text, its content as TOML, and locations in it for error messages."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, TypeAlias

from ramet._report import abbreviate, escape
from ramet.errors import ArgumentError, RecipeError, shown

# Keys of tables and positions in lists.
KeyPath: TypeAlias = tuple[str | int, ...]

# The name of a recipe without a file.
TEXT = "recipe"

_LARGEST = 256 * 1024
# Tables inside tables and lists inside lists. Layers of Keras nest three or four levels deep.
_DEEPEST = 50
# Keys and values of a recipe may be of any length.
_LONGEST = 300
# A key with that many dots. `tomllib` needs time and memory that grow with the square of their number.
_LONG_KEY = re.compile(rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{_DEEPEST}}}""")
_MEND = "correct the syntax: strings need quotes, and each edit begins with [[edit]]."
_POSITION = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


@dataclass(frozen=True, slots=True)
class RecipeLocation:
    """A location in a recipe: `edit 2, key 'layer.config.rate' in slim.toml`.

    Attributes:
        file: The name of the file; `TEXT` for a recipe that was passed as text.
        edit: The number of the edit, from 1; None outside of edits.
        keys: The keys that lead to a value.
    """

    file: str
    edit: int | None = None
    keys: KeyPath = ()

    def at(self, *keys: str | int) -> RecipeLocation:
        """Return the location of a value inside this one."""
        return replace(self, keys=(*self.keys, *keys))

    def __str__(self) -> str:
        parts = [] if self.edit is None else [f"edit {self.edit}"]
        if self.keys:
            path = "".join(f"[{key}]" if isinstance(key, int) else f".{key}" for key in self.keys).removeprefix(".")
            parts.append(f"key '{escape(abbreviate(path))}'")
        file = "the recipe" if self.file == TEXT else self.file
        return f"{', '.join(parts)} in {file}" if parts else file


def recipe_error(location: RecipeLocation | str, reason: str, **parts: Any) -> RecipeError:
    """Return the error that a part of a recipe cannot be read."""
    return RecipeError(f"Cannot read {location}: {abbreviate(reason, _LONGEST)}.", path=str(location), **parts)


def read_text(source: str | os.PathLike[str]) -> tuple[str, str, str]:
    """Return the name of a recipe, the name of its file for messages, and its text."""
    if isinstance(source, str) and ("\n" in source or "[[" in source):
        return TEXT, TEXT, _normalized(source, TEXT)
    if not isinstance(source, str | os.PathLike):
        raise ArgumentError(
            f"Cannot read a recipe from {shown(source)}: it is neither a path nor a text.",
            found=f"an object of class {type(source).__name__}",
            fix="pass the path of a TOML file, or the text of a recipe.",
        )
    path = Path(source)
    try:
        size = path.stat().st_size
        data = path.read_bytes() if size <= _LARGEST else b""
    except (OSError, ValueError) as error:
        missing = isinstance(error, FileNotFoundError)
        reason = "there is no such file" if missing else getattr(error, "strerror", None) or str(error)
        raise RecipeError(
            f"Cannot read '{escape(str(source))}': {reason}.",
            closest=_similar_files(path) if missing else (),
            fix=f"pass the path of a TOML file{', or the text of a recipe' if isinstance(source, str) else ''}.",
            path=str(source),
        ) from error
    if size > _LARGEST:
        raise _too_large(str(source), size)
    name = escape(path.name)
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        raise recipe_error(f"{name}:{line}:{column}", "the file is not UTF-8", fix="save the file as UTF-8.") from None
    return escape(path.stem), name, _normalized(text, name)


def _normalized(text: str, file: str) -> str:
    if len(text) > _LARGEST:
        raise _too_large(file, len(text))
    return text.replace("\r\n", "\n")


def _too_large(file: str, size: int) -> RecipeError:
    return RecipeError(
        f"Cannot read '{escape(file)}': it is too large for a recipe.",
        expected=f"at most {_LARGEST:,} bytes",
        found=f"{size:,}",
        path=file,
    )


def _similar_files(path: Path) -> list[str]:
    folder = path.parent
    names = [other.stem for other in folder.glob("*.toml")] if folder.is_dir() else []
    return [f"{name}.toml" for name in difflib.get_close_matches(path.stem, names, n=3)]


def parse_recipe(text: str, file: str) -> dict[str, Any]:
    """Return the content of a recipe as TOML, which is bounded in depth."""
    if _LONG_KEY.search(text):
        raise _too_deep(file)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        found = _POSITION.search(message)
        line, column = (found[1], found[2]) if found is not None and found[1] else _end_of(text)
        reason = _POSITION.sub("", message)
        raise recipe_error(f"{file}:{line}:{column}", f"invalid TOML ({reason})", fix=_MEND) from None
    except RecursionError:
        raise _too_deep(file) from None
    except ValueError as error:  # a number with thousands of digits
        raise recipe_error(RecipeLocation(file), f"invalid TOML ({error})", fix=_MEND) from None
    level: list[Any] = [data]
    for _ in range(_DEEPEST):
        level = [
            item
            for holder in level
            for item in (holder.values() if isinstance(holder, dict) else holder)
            if isinstance(item, dict | list)
        ]
    if level:
        raise _too_deep(file)
    return data


def _too_deep(file: str) -> RecipeError:
    return recipe_error(RecipeLocation(file), f"it is nested more than {_DEEPEST} levels deep")


def _end_of(text: str) -> tuple[int, int]:
    lines = text.rstrip("\n").split("\n")
    return len(lines), len(lines[-1]) + 1
