"""Edits written as the TOML text of a recipe."""

from __future__ import annotations

import inspect
import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ramet._edit.base import Edit
from ramet._edit.layer_config import LayerConfig
from ramet._edit.recipe_values import ANY_SIZE
from ramet._edit.selector_text import SelectorTextError, is_expression, read_selector
from ramet._select import Exactly, Named, OfClass, Selector, Where, anything, of_class
from ramet.errors import RecipeError

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")


def write_recipe(name: str, edits: tuple[Edit, ...]) -> str:
    """Return a text from which `read_recipe` reads these edits."""
    blocks = [f"name = {_toml(name)}\n"]
    for edit in edits:
        lines = [f"{_key(key)} = {_toml(value)}" for key, value in _pairs(edit)]
        blocks.append("\n".join(["[[edit]]", *lines, ""]))
    return "\n".join(blocks)


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
