"""Recipes: edits read from a TOML file, and written to one. A recipe never runs code from the file."""

from __future__ import annotations

import difflib
import inspect
import itertools
import json
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

from ramet._edit.base import Edit
from ramet._edit.layer_config import LayerConfig, check_layers
from ramet._edit.recipe_file import RecipeLocation, parse_recipe, read_text, recipe_error
from ramet._edit.recipe_values import ANY_SIZE, read_argument
from ramet._edit.selector_text import SelectorTextError, is_expression, read_selector
from ramet._report import Code, Document, Result, Row, Section, count
from ramet._select import Exactly, Named, OfClass, Selector, Where, anything, of_class
from ramet.errors import RecipeError

# Keys of an edit that are compared with the names of edits, for a suggestion.
_COMPARED = 20
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")

_Kinds: TypeAlias = Mapping[str, type[Edit]]
_Parameters: TypeAlias = Mapping[str, inspect.Parameter]


@dataclass(frozen=True, slots=True, repr=False)
class Recipe(Result):
    """A named list of edits, read from a file by `ramet.read_recipe` or made in Python.

    `ramet.edit(model, recipe)` applies it, `ramet.plan(model, recipe)` shows what it would do, and `to_toml` returns
    the text of its file. A recipe has a length and can be iterated over.

    Attributes:
        name: The name of the recipe.
        edits: The edits, in order.

    >>> import ramet
    >>> from ramet import edits as e
    >>> recipe = ramet.Recipe("slim", (e.remove("drop*"), e.freeze("encoder")))
    >>> print(recipe.to_toml())
    name = "slim"
    <BLANKLINE>
    [[edit]]
    remove = "drop*"
    <BLANKLINE>
    [[edit]]
    freeze = "encoder"
    <BLANKLINE>
    >>> ramet.read_recipe(recipe.to_toml()) == recipe
    True
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
        blocks = [f"name = {_toml(self.name)}\n"]
        for edit in self.edits:
            lines = [f"{_key(key)} = {_toml(value)}" for key, value in _pairs(edit)]
            blocks.append("\n".join(["[[edit]]", *lines, ""]))
        return "\n".join(blocks)


def read_recipe(source: str | os.PathLike[str]) -> Recipe:
    r"""Read a recipe, a TOML file with edits for `edit` and `plan`. Code in the file is never run.

    Args:
        source: The path of a file, or the text itself (a string that contains a line break or `[[`).

    Returns:
        The recipe, for `ramet.edit` and `ramet.plan`.

    Raises:
        RecipeError: Something in it is unknown or invalid. The error names the edit, the key and the closest known
            names.

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
        fix = "write each edit below a line [[edit]], not as edit = ..."
        raise recipe_error(top.at("edit"), "it is not a list of tables", fix=fix)
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
    others = _any_argument(kinds[kind])
    arguments: dict[str, Any] = {}
    for name, (place, value) in given.items():
        parameter = parameters.get(name, others)
        if parameter is None:
            raise recipe_error(
                place,
                f"the edit '{kind}' has no argument '{name}'",
                closest=difflib.get_close_matches(name, parameters, n=1) or list(parameters),
                fix=f"see ramet.edits.{kind} for its arguments.",
            )
        arguments[name] = read_argument(place, parameter, value)
    for name, parameter in parameters.items():
        if parameter.default is parameter.empty and parameter != others and name not in arguments:
            raise recipe_error(
                location, f"the edit '{kind}' needs the argument '{name}'", fix=f"add a line {name} = ... to it."
            )
    return kinds[kind](**arguments).located(str(location))


def _any_argument(kind: type[Edit]) -> inspect.Parameter | None:
    """Return the parameter of an edit that takes arguments of any name."""
    parameters = inspect.signature(kind).parameters.values()
    return next((one for one in parameters if one.kind is one.VAR_KEYWORD), None)


def _find_kind(location: RecipeLocation, table: dict[str, Any], kinds: _Kinds) -> str:
    """Return the key that is the name of an edit."""
    found = [key for key in table if key in kinds]
    # The settings of an update may have any name, also that of an edit.
    found = [key for key in found if _any_argument(kinds[key]) is not None] or found
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
        fix='begin with the name of an edit from ramet.edits, for example freeze = "encoder/*".',
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


# Writing a recipe.


def _pairs(edit: Edit) -> Iterator[tuple[str, Any]]:
    """Yield the keys of an edit's table and their values: its first argument, then the others that are not defaults."""
    arguments = edit.arguments()
    first = next(iter(inspect.signature(type(edit)).parameters))
    yield edit.kind, _plain(edit, first, arguments.pop(first, anything()))
    for name, value in arguments.items():
        yield name, _plain(edit, name, value)


def _plain(edit: Edit, name: str, value: Any) -> Any:
    """Return an argument as data that TOML can express."""
    if isinstance(value, LayerConfig):
        return value.table()
    if isinstance(value, Selector):
        return _selector_text(edit, value)
    parameter = inspect.signature(type(edit)).parameters.get(name)
    if parameter is not None and parameter.annotation == "InputShape":
        return [ANY_SIZE if size is None else size for size in value]
    reason = _not_plain(value)
    if reason is not None:
        raise RecipeError(
            f"Cannot write '{edit.kind}' to a recipe: its argument '{name}' {reason}.",
            fix="keep this edit in Python, or describe the layer in a recipe: "
            'layer = { class_name = "Dropout", config = { rate = 0.1 } }.',
        )
    return value


def _not_plain(value: Any) -> str | None:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            waiting += [*item, *item.values()]
        elif isinstance(item, list | tuple):
            waiting += item
        elif item is None:
            return "contains None, which TOML cannot express"
        elif callable(item):
            return "is a function or a live object, which cannot be written as text"
        elif type(item) not in (str, int, float, bool):
            return f"contains an object of class {type(item).__name__}, which TOML cannot express"
    return None


def _selector_text(edit: Edit, selector: Selector) -> str:
    """Return a selector as text, with the names of classes instead of classes."""
    code = repr(_by_names(edit, selector))
    if isinstance(selector, Named) and len(selector.globs) == 1 and not is_expression(selector.globs[0]):
        return selector.globs[0]
    try:
        read_selector(code)
    except SelectorTextError as error:
        raise RecipeError(
            f"Cannot write '{edit.kind}' to a recipe: its selector cannot be read back ({error}).",
            found=code[:80],
            fix="use a simpler selector, or keep this edit in Python.",
        ) from None
    return code


def _by_names(edit: Edit, selector: Selector) -> Selector:
    if isinstance(selector, Where | Exactly):
        what = "calls a function" if isinstance(selector, Where) else "selects a live layer"
        raise RecipeError(
            f"Cannot write '{edit.kind}' to a recipe: its selector {what}, which cannot be written as text.",
            found=repr(selector),
            fix="select by name, class or config.",
        )
    if isinstance(selector, OfClass):
        return of_class(*(one if isinstance(one, str) else _class_name(one) for one in selector.classes))
    return selector.with_parts(tuple(_by_names(edit, part) for part in selector.parts))


def _class_name(cls: type) -> str:
    is_keras = cls.__module__.partition(".")[0] == "keras"
    return cls.__name__ if is_keras else f"{cls.__module__}.{cls.__qualname__}"


def _toml(value: Any) -> str:
    """Return a value in one line of TOML."""
    if isinstance(value, str):
        # JSON's escapes are also TOML's, except for this character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(key)} = {_toml(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_toml, value))}]"
    return repr(value)


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _toml(key)
