"""Edits written as the TOML text of a recipe."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from ramet._edit.edit import Edit
from ramet._edit.layer_config import LayerConfig
from ramet._edit.recipe_argument import ANY_SIZE
from ramet._edit.selector_text import is_expression, read_selector
from ramet._edit.selector_token import SelectorTextError
from ramet._select import Exactly, Named, OfClass, Selector, Where, fold_once, of_class
from ramet.errors import RecipeError

__all__ = ["write"]

_BARE = re.compile(r"[A-Za-z0-9_-]+")
# What a key of an edit stands for, where that is not its selector.
_FIRST = {"prefix": "text", "cast": "policy", "resize_input": "shape", "swap_head": "classes"}
_SELECTOR = {"swap_head": "head"}
# What need not be written, because an edit has it anyway.
_DEFAULTS = {"replace": True, "swap_head": "fresh", "update": "refuse", "resize_input": "refuse"}


def write(name: str, edits: tuple[Edit, ...]) -> str:
    """The text that reads as these edits."""
    blocks = [f"name = {_value(name)}\n"]
    for edit in edits:
        lines = [f"{_key(key)} = {_value(value)}" for key, value in _pairs(edit)]
        blocks.append("\n".join(["[[edit]]", *lines, ""]))
    return "\n".join(blocks)


def _pairs(edit: Edit) -> Iterator[tuple[str, Any]]:
    """The keys of an edit's table and their values, without those that are left to their defaults."""
    settings = {name: _plain(edit, name, value) for name, value in edit.settings if value is not None}
    if settings.get("weights") == _DEFAULTS.get(edit.kind):
        settings.pop("weights", None)
    settings |= settings.pop("settings", {})
    selector = None if edit.selector is None else _code(edit, edit.selector)
    first = _FIRST.get(edit.kind)
    yield edit.kind, selector if first is None else settings.pop(first)
    if first is not None and selector is not None:
        yield _SELECTOR.get(edit.kind, "selector"), selector
    yield from settings.items()
    if not edit.required and not _never_required(edit.kind):
        yield "required", False


def _never_required(kind: str) -> bool:
    return kind in ("flatten", "fold_batchnorm", "drop_dropout", "split_activation", "merge_lora")


def _plain(edit: Edit, name: str, value: Any) -> Any:
    """A setting as TOML can say it."""
    if name == "settings":  # of an update
        return {key: _plain(edit, key, item) for key, item in value}
    if isinstance(value, LayerConfig):
        return value.table()
    if isinstance(value, Selector):
        return _code(edit, value)
    if name == "shape":
        return [ANY_SIZE if size is None else size for size in value]
    reason = _unsayable(value)
    if reason is not None:
        raise RecipeError(
            f"Cannot write '{edit.kind}' to a recipe: its '{name}' {reason}.",
            fix="keep this edit in Python, or describe the layer in a recipe: "
            'layer = { class_name = "Dropout", config = { rate = 0.1 } }.',
        )
    return value


def _unsayable(value: Any) -> str | None:
    waiting = [value]
    while waiting:
        item = waiting.pop()
        if isinstance(item, Mapping):
            waiting += [*item, *item.values()]
        elif isinstance(item, list | tuple):
            waiting += item
        elif item is None:
            return "holds None, which TOML cannot say"
        elif callable(item):
            return "is a function or a live object, which no text can say"
        elif type(item) not in (str, int, float, bool):
            return f"holds an object of class {type(item).__name__}, which TOML cannot say"
    return None


def _code(edit: Edit, selector: Selector) -> str:
    """A selector as text, with the names of classes in the place of classes."""
    waiting = [selector]
    while waiting:
        part = waiting.pop()
        if isinstance(part, Where | Exactly):
            what = "asks a function" if isinstance(part, Where) else "means a live layer"
            raise RecipeError(
                f"Cannot write '{edit.kind}' to a recipe: its selector {what}, which no text can say.",
                found=repr(part),
                fix="select by name, class or config.",
            )
        waiting += part.parts
    code = repr(_by_names(selector))
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


def _by_names(selector: Selector) -> Selector:
    """The same selector with classes by their names; what holds no class stays what it is."""
    return fold_once(selector, _named_one)


def _named_one(item: Selector, parts: list[Selector]) -> Selector:
    if isinstance(item, OfClass):
        return of_class(*(one if isinstance(one, str) else _class_name(one) for one in item.classes))
    if all(new is old for new, old in zip(parts, item.parts, strict=True)):
        return item
    made: Selector = type(item)(tuple(parts)) if hasattr(item, "several") else type(item)(parts[0])  # type: ignore[call-arg]
    return made


def _class_name(cls: type) -> str:
    own = cls.__module__.partition(".")[0] == "keras"
    return cls.__name__ if own else f"{cls.__module__}.{cls.__qualname__}"


def _value(value: Any) -> str:
    """A value in one line of TOML."""
    if isinstance(value, str):
        # JSON's escapes are TOML's, too, but for this one character.
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{_key(key)} = {_value(item)}" for key, item in value.items())
        return f"{{ {pairs} }}" if pairs else "{}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    return repr(value)


def _key(key: str) -> str:
    return key if _BARE.fullmatch(key) else _value(key)
