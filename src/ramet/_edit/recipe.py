"""Recipes: edits read from a TOML file, and written to one. A recipe never runs code from the file."""

from __future__ import annotations

import difflib
import inspect
import itertools
import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ramet._edit.edit import Edit
from ramet._edit.recipe_argument import read_argument
from ramet._edit.recipe_file import parsed, text_of
from ramet._edit.recipe_page import Page, problem
from ramet._edit.toml_place import KeyPath, find_places
from ramet._graph import Shown, escape

__all__ = ["Recipe", "read_recipe"]

# Keys of an edit that are compared with the names of edits, for a suggestion.
_KEYS_COMPARED = 20

Makers = Mapping[str, Callable[..., Edit]]


@dataclass(frozen=True, slots=True, repr=False)
class Recipe(Shown):
    """A list of edits with a name; `ramet.edit(model, recipe)` carries them out.

    Attributes:
        name: What it is called.
        edits: The edits, in order.
    """

    name: str
    edits: tuple[Edit, ...]

    def __len__(self) -> int:
        return len(self.edits)

    def __iter__(self) -> Iterator[Edit]:
        return iter(self.edits)

    def _line(self) -> str:
        return f"'{self.name}': {len(self)} edit{'' if len(self) == 1 else 's'}"

    def __str__(self) -> str:
        lines = [f"Recipe {escape(self._line())}"]
        lines += [f"{number}. {escape(repr(edit))}" for number, edit in enumerate(self.edits, 1)]
        return "\n".join(lines)

    def to_toml(self) -> str:
        """The text of a file that reads as this recipe.

        Raises:
            RecipeError: An edit holds a function, a live layer or a selector that no text can say.
        """
        from ramet._edit.recipe_text import write

        return write(self.name, self.edits)


def read_recipe(source: str | os.PathLike[str], makers: Makers) -> Recipe:
    """The recipe in a file, or in a text.

    Args:
        source: The path of a file; or the text itself, if it has a line break or a `[[` in it.
        makers: The functions that make edits, by name.
    """
    name, file, text = text_of(source)
    data = parsed(text, file)
    page = Page(file, find_places(text))
    for key in data:
        if key not in ("name", "edit"):
            raise problem(
                page.at_key((key,)),
                f"Cannot read the recipe: it has no '{key}'",
                closest=difflib.get_close_matches(key, ("name", "edit"), n=1),
                fix="write each edit as a table of its own, under a line [[edit]].",
            )
    tables = data.get("edit", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise problem(
            page.at_key(("edit",)), "Cannot read the recipe: 'edit' is no list of tables", fix="write [[edit]]."
        )
    if not isinstance(data.get("name", ""), str):
        raise problem(page.at_value(("name",)), "Cannot read the recipe: its name is no text")
    edits = (_edit(page, ("edit", number), table, makers) for number, table in enumerate(tables))
    return Recipe(data.get("name") or name, tuple(edits))


def _edit(page: Page, path: KeyPath, table: dict[str, Any], makers: Makers) -> Edit:
    kind = _kind(page, path, table, makers)
    parameters = inspect.signature(makers[kind]).parameters
    given = _given(page, (*path, kind), table[kind], parameters)
    given |= {name: ((*path, name), value) for name, value in table.items() if name != kind}
    arguments: dict[str, Any] = {}
    for name, (place, value) in given.items():
        _check_known(page, place, kind, name, parameters)
        arguments[name] = read_argument(page, place, kind, name, value)
    missing = [name for name, one in parameters.items() if one.default is one.empty and name not in arguments]
    missing = [name for name in missing if parameters[name].kind is not inspect.Parameter.VAR_KEYWORD]
    if missing:
        raise problem(
            page.at_key((*path, kind)),
            f"Cannot read the edit '{kind}': it does not say '{missing[0]}'",
            fix=f"add a line {missing[0]} = ... to it.",
        )
    made = makers[kind](**arguments)
    return Edit(made.kind, made.selector, made.settings, made.required, where=page.at_key((*path, kind)))


def _kind(page: Page, path: KeyPath, table: dict[str, Any], makers: Makers) -> str:
    """The key that is the name of an edit."""
    # The settings of an update may have any name.
    kinds = ["update"] if "update" in table else [key for key in table if key in makers]
    if len(kinds) == 1:
        return kinds[0]
    if kinds:
        raise problem(
            page.at_key((*path, kinds[1])),
            f"Cannot read the edit: it is both '{kinds[0]}' and '{kinds[1]}'",
            fix="write a line [[edit]] before each.",
        )
    # The first key says what is meant; the others may be close to an edit's name by chance.
    first = next(iter(table), None)
    if first is None:
        raise problem(
            page.at_key(path), "Cannot read the edit: it is empty", fix='write, say, freeze = "encoder/*" under it.'
        )
    near = {key: difflib.get_close_matches(key, makers, n=1) for key in itertools.islice(table, _KEYS_COMPARED)}
    meant = next((key for key in near if near[key]), first)
    raise problem(
        page.at_key((*path, meant)),
        f"Cannot read the edit: there is no edit '{meant}'",
        closest=near[meant] or sorted(makers),
        fix="begin with the name of an edit, as in ramet.edits.",
    )


def _given(
    page: Page, path: KeyPath, value: Any, parameters: Mapping[str, inspect.Parameter]
) -> dict[str, tuple[KeyPath, Any]]:
    """The arguments in the value of an edit's key: a table has them by name, all else is the first of them."""
    first = next(iter(parameters.values()))
    if isinstance(value, dict):
        return {name: ((*path, name), item) for name, item in value.items()}
    if isinstance(value, bool):
        if value and first.default is not first.empty:
            return {}  # `flatten = true`: everything
        raise problem(
            page.at_value(path),
            f"Cannot read the edit '{path[-1]}': it is {str(value).lower()}",
            expected=f"its '{first.name}'",
            fix="leave out an edit that shall not be made; say of others whom or what they mean.",
        )
    return {first.name: (path, value)}


def _check_known(page: Page, place: KeyPath, kind: str, name: str, parameters: Mapping[str, inspect.Parameter]) -> None:
    takes_any = any(one.kind is inspect.Parameter.VAR_KEYWORD for one in parameters.values())
    named = [key for key, one in parameters.items() if one.kind is not inspect.Parameter.VAR_KEYWORD]
    if name in named or takes_any:
        return
    raise problem(
        page.at_key(place),
        f"Cannot read the edit '{kind}': it takes no '{name}'",
        closest=difflib.get_close_matches(name, named, n=1) or named,
        fix=f"see ramet.edits.{kind} for what it takes.",
    )
