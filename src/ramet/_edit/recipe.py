"""Recipes: edits read from a TOML file, and written to one. A recipe never runs code from the file."""

from __future__ import annotations

import difflib
import inspect
import itertools
import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ramet._edit.base import Edit
from ramet._edit.layer_config import check_layers
from ramet._edit.recipe_file import RecipeLocation, parse_recipe, read_text, recipe_error
from ramet._edit.recipe_values import read_argument
from ramet._edit.recipe_writer import write_recipe
from ramet._report import Code, Document, Result, Row, Section, count

# Keys of an edit that are compared with the names of edits, for a suggestion.
_COMPARED = 20

_Kinds: TypeAlias = Mapping[str, type[Edit]]
_Parameters: TypeAlias = Mapping[str, inspect.Parameter]


@dataclass(frozen=True, slots=True, repr=False)
class Recipe(Result):
    """A named list of edits; `ramet.edit(model, recipe)` applies them.

    Attributes:
        name: The name of the recipe.
        edits: The edits, in order.
    """

    name: str
    edits: tuple[Edit, ...]

    def __len__(self) -> int:
        return len(self.edits)

    def __iter__(self) -> Iterator[Edit]:
        return iter(self.edits)

    def _summary(self) -> str:
        return f"'{self.name}': {count(len(self), 'edit')}"

    def __report__(self) -> Document:
        rows = tuple(Row(((f"{number}. ", Code(repr(edit))),)) for number, edit in enumerate(self.edits, 1))
        return Document(f"Recipe {self._summary()}", (Section(rows=rows),))

    def to_toml(self) -> str:
        """Return the text of a file from which `read_recipe` reads this recipe.

        Raises:
            RecipeError: An edit contains a function, a live layer or a selector that cannot be written as text.
        """
        return write_recipe(self.name, self.edits)


def read_recipe(source: str | os.PathLike[str]) -> Recipe:
    r"""Read a recipe, a TOML file with edits for `edit` and `plan`. Code in the file is never run.

    Args:
        source: The path of a file, or the text itself (a string that contains a line break or `[[`).

    Raises:
        RecipeError: Something in it is unknown or invalid. The error names the edit, the key and the closest known names.

    >>> import ramet
    >>> print(ramet.read_recipe("[[edit]]\nremove = 'drop*'"))
    Recipe 'recipe': 1 edit
      1. remove(named('drop*'))
    """
    from ramet import edits

    kinds = {name: getattr(edits, name) for name in edits.__all__}
    name, file, text = read_text(source)
    data = parse_recipe(text, file)
    top = RecipeLocation(file)
    for key in data:
        if key not in ("name", "edit"):
            raise recipe_error(
                top.at(key),
                "unknown key",
                expected="'name', and one [[edit]] for each edit",
                closest=difflib.get_close_matches(key, ("name", "edit"), n=1),
                fix="write each edit as a table of its own, below a line [[edit]].",
            )
    tables = data.get("edit", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise recipe_error(
            top.at("edit"), "it is not a list of tables", fix="write each edit below a line [[edit]], not as edit = ..."
        )
    if not isinstance(data.get("name", ""), str):
        raise recipe_error(top.at("name"), "it is not a string")
    read = (_read_edit(replace(top, edit=number), table, kinds) for number, table in enumerate(tables, 1))
    recipe = Recipe(data.get("name") or name, tuple(read))
    check_layers(recipe.edits)
    return recipe


def _read_edit(location: RecipeLocation, table: dict[str, Any], kinds: _Kinds) -> Edit:
    kind = _find_kind(location, table, kinds)
    parameters = inspect.signature(kinds[kind]).parameters
    given = _first_arguments(location.at(kind), kind, table[kind], parameters)
    given |= {name: (location.at(name), value) for name, value in table.items() if name != kind}
    arguments: dict[str, Any] = {}
    for name, (place, value) in given.items():
        parameter = _find_parameter(place, kind, name, parameters)
        arguments[name] = read_argument(place, parameter, value)
    required = (one.name for one in parameters.values() if one.default is one.empty and one.kind is not one.VAR_KEYWORD)
    missing = next((name for name in required if name not in arguments), None)
    if missing is not None:
        raise recipe_error(
            location, f"the edit '{kind}' needs the argument '{missing}'", fix=f"add a line {missing} = ... to it."
        )
    return kinds[kind](**arguments).located(str(location))


def _find_kind(location: RecipeLocation, table: dict[str, Any], kinds: _Kinds) -> str:
    """Return the key that is the name of an edit."""
    found = [key for key in table if key in kinds]
    # The settings of an update may have any name, also that of an edit.
    found = [key for key in found if _takes_any_argument(inspect.signature(kinds[key]).parameters)] or found
    if len(found) == 1:
        return found[0]
    if found:
        raise recipe_error(
            location, f"it is both '{found[0]}' and '{found[1]}'", fix="write a line [[edit]] before each of them."
        )
    # The first key is most likely the misspelled name; other keys may be similar to the name of an edit by chance.
    first = next(iter(table), None)
    if first is None:
        raise recipe_error(location, "the edit is empty", fix='write, for example, freeze = "encoder/*" below it.')
    near = {key: difflib.get_close_matches(key, kinds, n=1) for key in itertools.islice(table, _COMPARED)}
    misspelled = next((key for key in near if near[key]), first)
    raise recipe_error(
        location.at(misspelled),
        "there is no edit with this name",
        closest=near[misspelled] or sorted(kinds),
        fix="begin with the name of an edit from ramet.edits.",
    )


def _first_arguments(
    location: RecipeLocation, kind: str, value: Any, parameters: _Parameters
) -> dict[str, tuple[RecipeLocation, Any]]:
    """Return the arguments in the value of an edit's key: a table has them by name, any other value is the first."""
    first = next(iter(parameters.values()))
    if isinstance(value, dict):
        return {name: (location.at(name), item) for name, item in value.items()}
    if isinstance(value, bool):
        if value and first.default is not first.empty:
            return {}  # `flatten = true`: everything
        raise recipe_error(
            location,
            f"it is {str(value).lower()}",
            expected=f"the argument '{first.name}' of '{kind}'",
            fix=f"write {kind} = ... with its {first.name}, or remove the edit.",
        )
    return {first.name: (location, value)}


def _takes_any_argument(parameters: _Parameters) -> bool:
    return any(one.kind is one.VAR_KEYWORD for one in parameters.values())


def _find_parameter(location: RecipeLocation, kind: str, name: str, parameters: _Parameters) -> inspect.Parameter:
    """Return the parameter with this name, or the one that takes any name."""
    others = next((one for one in parameters.values() if one.kind is one.VAR_KEYWORD), None)
    found = parameters.get(name, others)
    if found is None:
        raise recipe_error(
            location,
            f"the edit '{kind}' has no argument '{name}'",
            closest=difflib.get_close_matches(name, parameters, n=1) or list(parameters),
            fix=f"see ramet.edits.{kind} for its arguments.",
        )
    return found
