"""The text of a recipe, from a file or as it is, and what it says as TOML."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from pathlib import Path
from typing import Any

from ramet._edit.recipe_page import problem
from ramet._graph import escape
from ramet.errors import ArgumentError, RecipeError, shown

__all__ = ["parsed", "text_of"]

_LARGEST = 256 * 1024
# Tables inside tables and lists inside lists. Layers of Keras nest three or four levels deep.
_DEEPEST = 50
# A key with that many dots. `tomllib` needs time and memory that grow with the square of their number.
_LONG_KEY = re.compile(rf"""(?<![\w-])(?:(?:[\w-]++|"[^"\n]*+"|'[^'\n]*+')[ \t]*+\.[ \t]*+){{{_DEEPEST}}}""")
_TOML_PLACE = re.compile(r" \(at (?:line (\d+), column (\d+)|end of document)\)$")


def text_of(source: str | os.PathLike[str]) -> tuple[str, str, str]:
    """The name of a recipe, the name of its file in messages, and its text."""
    if isinstance(source, str) and ("\n" in source or "[[" in source):
        return "recipe", "recipe", _lines(source, "recipe")
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
        raise RecipeError(
            f"Cannot read '{escape(str(source))}': "
            + ("there is no such file." if missing else f"{getattr(error, 'strerror', None) or error}."),
            closest=_files_like(path) if missing else (),
            fix="pass the path of a TOML file, or the text of a recipe.",
            path=str(source),
        ) from error
    if size > _LARGEST:
        raise RecipeError(
            f"Cannot read '{escape(str(source))}': it is too large for a recipe.",
            expected=f"at most {_LARGEST:,} bytes",
            found=f"{size:,}",
            path=str(source),
        )
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        column = error.start - data.rfind(b"\n", 0, error.start)
        place = f"{escape(path.name)}:{line}:{column}"
        raise problem(place, "Cannot read the recipe: it is not UTF-8", fix="save the file as UTF-8.") from None
    name = escape(path.name)
    return escape(path.stem), name, _lines(text, name)


def _lines(text: str, file: str) -> str:
    if len(text) > _LARGEST:
        raise RecipeError(f"Cannot read '{file}': it is too large for a recipe.", path=file)
    return text.replace("\r\n", "\n")


def _files_like(path: Path) -> list[str]:
    folder = path.parent
    names = [other.stem for other in folder.glob("*.toml")] if folder.is_dir() else []
    return [f"{name}.toml" for name in difflib.get_close_matches(path.stem, names, n=3)]


def parsed(text: str, file: str) -> dict[str, Any]:
    """What a text says, as TOML."""
    if _LONG_KEY.search(text):
        raise _too_deep(file)
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        said = str(error)
        found = _TOML_PLACE.search(said)
        line, column = (found[1], found[2]) if found is not None and found[1] else _end_of(text)
        reason = _TOML_PLACE.sub("", said)
        raise problem(f"{file}:{line}:{column}", f"Cannot read the recipe: it is no TOML ({reason})") from None
    except RecursionError:
        raise _too_deep(file) from None
    except ValueError as error:  # a number with thousands of digits
        raise problem(f"{file}:1:1", f"Cannot read the recipe: {error}") from None
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
    return problem(f"{file}:1:1", f"Cannot read the recipe: it is nested too deeply, more than {_DEEPEST} levels")


def _end_of(text: str) -> tuple[int, int]:
    lines = text.rstrip("\n").split("\n")
    return len(lines), len(lines[-1]) + 1
