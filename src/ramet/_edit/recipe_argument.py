"""The arguments of edits as a recipe writes them: what each may be, and what it becomes."""

from __future__ import annotations

import datetime
import difflib
import re
from collections.abc import Callable
from typing import Any

from ramet._edit.layer_config import LayerConfig, refused
from ramet._edit.recipe_page import Page, problem
from ramet._edit.selector_text import read_selector
from ramet._edit.selector_token import SelectorTextError
from ramet._edit.toml_place import KeyPath
from ramet._select import as_selector
from ramet.errors import RecipeError

__all__ = ["ANY_SIZE", "WEIGHT_POLICIES", "read_argument"]

WEIGHT_POLICIES = ("refuse", "slice", "pad", "mean", "repeat", "fresh")
# TOML has no null: this stands for a size that may be any.
ANY_SIZE = "any"
_DTYPES = ("bfloat16", "float16", "float32", "float64", "mixed_bfloat16", "mixed_float16")
_QUANTIZED = re.compile(r"(int8|int4|float8|gptq|awq)(\W\S*|_from_\w+)?")
MODES = ("int8", "int4", "float8")
_LAYER_KEYS = ("class_name", "config", "module", "registered_name", "build_config", "compile_config")


def read_argument(page: Page, path: KeyPath, edit: str, name: str, value: Any) -> Any:
    """The value of an edit's argument.

    Args:
        page: The recipe.
        path: Where the value stands in it.
        edit: The name of the edit.
        name: The name of the argument.
        value: What TOML says.
    """
    if edit == "replace" and name == "weights":
        return _flag(page, path, name, value)
    if (edit, name) in _OF_ONE:
        return _OF_ONE[edit, name](page, path, name, value)
    if name == "layer":
        return _layer(page, path, value, holds_old=edit == "wrap")
    return _READERS.get(name, _setting)(page, path, name, value)


def _flag(page: Page, path: KeyPath, name: str, value: Any) -> bool:
    if isinstance(value, bool):
        return value
    raise _wrong(page, path, name, "true or false", value)


def _number(page: Page, path: KeyPath, name: str, value: Any) -> int:
    if _is_number(value):
        return int(value)
    raise _wrong(page, path, name, "a whole number", value)


def _text(page: Page, path: KeyPath, name: str, value: Any) -> str:
    if isinstance(value, str) and value:
        return value
    raise _wrong(page, path, name, "a text", value)


def _shape(page: Page, path: KeyPath, name: str, value: Any) -> tuple[int | None, ...]:
    if isinstance(value, list) and all(size == ANY_SIZE or _is_number(size) for size in value):
        return tuple(None if size == ANY_SIZE else size for size in value)
    raise _wrong(page, path, name, f'a list of sizes, like [32, 32, 3]; "{ANY_SIZE}" for a size that may be any', value)


def _calls(page: Page, path: KeyPath, name: str, value: Any) -> Any:
    several = value if isinstance(value, list) else [value]
    if all(_is_number(item) or isinstance(item, str) for item in several):
        return tuple(value) if isinstance(value, list) else value
    raise _wrong(page, path, name, "numbers from 1 on, or ids of calls", value)


def _keep(page: Page, path: KeyPath, name: str, value: Any) -> Any:
    several = value if isinstance(value, list) else [value]
    if all(map(_is_number, several)):
        return tuple(value) if isinstance(value, list) else value
    raise _wrong(page, path, name, "the number of an input, from 0 on, or a list of them", value)


def _weights(page: Page, path: KeyPath, name: str, value: Any) -> str:
    if value in WEIGHT_POLICIES:
        return str(value)
    raise _wrong(page, path, name, ", ".join(map(repr, WEIGHT_POLICIES)), value, known=WEIGHT_POLICIES)


def _dtype_policy(page: Page, path: KeyPath, name: str, value: Any) -> str:
    if isinstance(value, str) and value in _DTYPES:
        return value
    if isinstance(value, str) and (quantised := _QUANTIZED.fullmatch(value)):
        raise problem(
            page.at_value(path),
            f"Cannot cast to '{value}': that would round the weights instead of quantising them",
            fix=f'write quantize = "anything()" and mode = "{quantised[1]}" instead.',
        )
    raise _wrong(page, path, name, "the name of a dtype policy", value, known=_DTYPES)


def _mode(page: Page, path: KeyPath, name: str, value: Any) -> str:
    if value in MODES:
        return str(value)
    if value in ("gptq", "awq"):
        raise problem(
            page.at_value(path),
            f"Cannot quantise to {value} by a recipe: it needs calibration data",
            expected=", ".join(map(repr, MODES)),
            fix=f"in Python, make a twin and calibrate that: twin.quantize({value!r}, config=...).",
        )
    raise _wrong(page, path, name, ", ".join(map(repr, MODES)), value, known=MODES)


def _real(page: Page, path: KeyPath, name: str, value: Any) -> int | float:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return value
    raise _wrong(page, path, name, "a number", value)


def _selector(page: Page, path: KeyPath, name: str, value: Any) -> Any:
    if isinstance(value, list) and value:
        return as_selector([_selector(page, (*path, number), name, item) for number, item in enumerate(value)])
    if not isinstance(value, str):
        raise _wrong(page, path, name, "a selector as text, or a list of them", value)
    try:
        return read_selector(value)
    except SelectorTextError as error:
        raise problem(
            page.at_character(path, error.place),
            f"Cannot read the selector: {error}",
            closest=error.closest,
            fix=error.fix,
        ) from None


def _layer(page: Page, path: KeyPath, value: Any, *, holds_old: bool) -> LayerConfig:
    if not isinstance(value, dict):
        raise _wrong(page, path, "layer", '{ class_name = "...", config = { ... } }', value)
    for key in value:
        if key not in _LAYER_KEYS:
            raise problem(
                page.at_key((*path, key)),
                f"Cannot read the layer: it has no '{key}'",
                closest=difflib.get_close_matches(key, _LAYER_KEYS, n=1),
                fix='settings of the layer stand inside its config: { class_name = "Dropout", config = { rate = 0.1 } }.',
            )
    if not isinstance(value.get("class_name"), str):
        raise problem(
            page.at_value(path),
            "Cannot read the layer: it does not say its class",
            expected='{ class_name = "...", config = { ... } }',
            fix="give it a class_name.",
        )
    if not isinstance(value.get("config", {}), dict):
        raise _wrong(page, (*path, "config"), "config", "a table of settings", value["config"])
    _check_plain(page, path, "layer", value)
    return LayerConfig.of(value, holds_old=holds_old, page=page, path=path)


def _setting(page: Page, path: KeyPath, name: str, value: Any) -> Any:
    """Any value that a config may hold."""
    _check_plain(page, path, name, value)
    return value


def _check_plain(page: Page, path: KeyPath, name: str, value: Any) -> None:
    """Refuse what would bring code, and what no config holds."""
    if (wrong := refused(value, name)) is not None:
        steps, reason = wrong
        raise problem(
            page.at_value((*path, *steps)),
            f"Cannot take '{name}' from a recipe: {reason}",
            fix="register the class with keras.saving.register_keras_serializable and give its registered_name, "
            "or make the edit in Python.",
        )
    waiting: list[tuple[KeyPath, Any]] = [(path, value)]
    while waiting:
        place, item = waiting.pop()
        if isinstance(item, datetime.date | datetime.time):
            raise _wrong(page, place, name, "a text, a number, true, false, a list or a table", item)
        parts = item.items() if isinstance(item, dict) else enumerate(item) if isinstance(item, list) else ()
        waiting += [((*place, key), part) for key, part in parts]


def _is_number(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _wrong(
    page: Page, path: KeyPath, name: str, expected: str, value: Any, *, known: tuple[str, ...] = ()
) -> RecipeError:
    return problem(
        page.at_value(path),
        f"Cannot read '{name}': it is {_described(value)}",
        expected=expected,
        closest=difflib.get_close_matches(value, known, n=1) if isinstance(value, str) else (),
    )


def _described(value: Any) -> str:
    if isinstance(value, str):
        return f"the text {value[:40]!r}" if value else "empty"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, dict):
        return "a table"
    return "a list" if isinstance(value, list) else "a date or a time"


_Reader = Callable[[Page, KeyPath, str, Any], Any]
_READERS: dict[str, _Reader] = {
    "after": _selector,
    "before": _selector,
    "calls": _calls,
    "classes": _number,
    "head": _selector,
    "input": _text,
    "keep": _keep,
    "name": _text,
    "policy": _dtype_policy,
    "required": _flag,
    "selector": _selector,
    "shape": _shape,
    "text": _text,
    "weights": _weights,
}
# Arguments of one edit, whose names may be settings of a layer in an update.
_OF_ONE: dict[tuple[str, str], _Reader] = {
    ("lora", "rank"): _number,
    ("lora", "alpha"): _real,
    ("lora", "freeze_rest"): _flag,
    ("lora", "seed"): _number,
    ("quantize", "mode"): _mode,
}
