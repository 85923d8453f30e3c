"""Arguments of edits in a recipe: which TOML values are allowed, and what they become.

The type of a field of an edit selects its reader, so a new edit needs none of its own unless only a few values are allowed.
"""

from __future__ import annotations

import datetime
import difflib
import inspect
import re
from collections.abc import Callable
from typing import Any, TypeAlias, get_args

from ramet._edit.base import WeightPolicy, is_integer
from ramet._edit.layer_config import LayerConfig, find_refused, values_in
from ramet._edit.recipe_file import RecipeLocation, recipe_error
from ramet._edit.selector_text import SelectorTextError, read_selector
from ramet._select import as_selector
from ramet.errors import RecipeError

# TOML has no null: this is a size that may be any.
ANY_SIZE = "any"
_DTYPES = ("bfloat16", "float16", "float32", "float64", "mixed_bfloat16", "mixed_float16")
_QUANTIZED = re.compile(r"(int8|int4|float8|gptq|awq)(\W\S*|_from_\w+)?")
_MODES = ("int8", "int4", "float8")
_LAYER_KEYS = ("class_name", "config", "module", "registered_name", "build_config", "compile_config")
_LAYER = '{ class_name = "...", config = { ... } }'

_Reader: TypeAlias = Callable[[RecipeLocation, Any], Any]


def read_argument(location: RecipeLocation, parameter: inspect.Parameter, value: Any) -> Any:
    """Return the value of an edit's argument; the type of the constructor's parameter decides how it is read."""
    annotation = str(parameter.annotation).removesuffix(" | None")
    return _READERS.get(annotation, _read_setting)(location, value)


def _reads(is_valid: Callable[[Any], bool], expected: str) -> _Reader:
    """Return a reader of plain values."""

    def read(location: RecipeLocation, value: Any) -> Any:
        if not is_valid(value):
            raise _invalid(location, value, expected)
        return tuple(value) if isinstance(value, list) else value

    return read


def _is_number(value: Any) -> bool:
    return isinstance(value, float) or is_integer(value)


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and value != ""


def _are_calls(value: Any) -> bool:
    items = value if isinstance(value, list) else [value]
    return bool(items) and all(is_integer(item) or isinstance(item, str) for item in items)


def _are_inputs(value: Any) -> bool:
    return all(map(is_integer, value if isinstance(value, list) else [value]))


def _read_shape(location: RecipeLocation, value: Any) -> tuple[int | None, ...]:
    if isinstance(value, list) and all(size == ANY_SIZE or is_integer(size) for size in value):
        return tuple(None if size == ANY_SIZE else size for size in value)
    raise _invalid(location, value, f'a list of sizes such as [32, 32, 3], with "{ANY_SIZE}" for a free dimension')


def _read_policy(location: RecipeLocation, value: Any) -> str:
    known = get_args(WeightPolicy)
    if value in known:
        return str(value)
    raise _invalid(location, value, ", ".join(map(repr, known)), known=known)


def _read_dtype_policy(location: RecipeLocation, value: Any) -> str:
    if isinstance(value, str) and value in _DTYPES:
        return value
    if isinstance(value, str) and (quantized := _QUANTIZED.fullmatch(value)):
        raise recipe_error(
            location,
            f"casting to '{value}' would round the weights instead of quantizing them",
            fix=f'write quantize = "anything()" and mode = "{quantized[1]}" instead.',
        )
    raise _invalid(location, value, "the name of a dtype policy", known=_DTYPES)


def _read_mode(location: RecipeLocation, value: Any) -> str:
    if value in _MODES:
        return str(value)
    expected = ", ".join(map(repr, _MODES))
    if value in ("gptq", "awq"):
        raise recipe_error(
            location,
            f"the mode {value!r} needs calibration data, which a recipe cannot contain",
            expected=expected,
            fix=f"in Python, make a twin and quantize it: twin.quantize({value!r}, config=...).",
        )
    raise _invalid(location, value, expected, known=_MODES)


def _read_selector(location: RecipeLocation, value: Any) -> Any:
    if isinstance(value, list) and value:
        return as_selector([_read_selector(location.at(number), item) for number, item in enumerate(value)])
    if not isinstance(value, str):
        raise _invalid(location, value, "a selector as a string, or a list of these")
    try:
        return read_selector(value)
    except SelectorTextError as error:
        raise recipe_error(
            location,
            f"{error} (character {error.position + 1} of the selector)",
            closest=error.closest,
            fix=error.fix,
        ) from None


def _read_layer(location: RecipeLocation, value: Any) -> LayerConfig:
    if not isinstance(value, dict):
        raise _invalid(location, value, _LAYER)
    for key in value:
        if key not in _LAYER_KEYS:
            raise recipe_error(
                location.at(key),
                "unknown key of a layer",
                closest=difflib.get_close_matches(key, _LAYER_KEYS, n=1),
                fix='put the settings of the layer into its config: { class_name = "Dropout", config = { rate = 0.1 } }.',
            )
    if not isinstance(value.get("class_name"), str):
        raise recipe_error(
            location, "the layer has no class_name", expected=_LAYER, fix='add class_name = "..." to the layer.'
        )
    if not isinstance(value.get("config", {}), dict):
        raise _invalid(location.at("config"), value["config"], "a table of settings")
    return LayerConfig.from_table(_read_setting(location, value), location=location)


def _read_setting(location: RecipeLocation, value: Any) -> Any:
    """Return any value, but refuse values that would run code, and values that no config contains."""
    if (wrong := find_refused(value, str(location.keys[-1]))) is not None:
        keys, reason = wrong
        raise recipe_error(
            location.at(*keys),
            reason,
            fix="register the class with keras.saving.register_keras_serializable and write its registered_name, "
            "or make the edit in Python.",
        )
    for keys, item in values_in(value):
        if isinstance(item, datetime.date | datetime.time):
            raise _invalid(location.at(*keys), item, "a string, a number, true, false, a list or a table")
    return value


def _invalid(location: RecipeLocation, value: Any, expected: str, *, known: tuple[str, ...] = ()) -> RecipeError:
    closest = difflib.get_close_matches(value, known, n=1) if isinstance(value, str) else ()
    return recipe_error(location, "invalid value", expected=expected, found=_describe(value), closest=closest)


def _describe(value: Any) -> str:
    if isinstance(value, str):
        return f"the string {value[:40]!r}" if value else "an empty string"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"the number {value}"
    if isinstance(value, dict):
        return "a table"
    return "a list" if isinstance(value, list) else "a date or a time"


# By the annotation of a parameter, as it is written in the class, without " | None".
_READERS: dict[str, _Reader] = {
    "CallChoice": _reads(_are_calls, "numbers of calls, from 1, or ids of calls"),
    "DtypePolicyLike": _read_dtype_policy,
    "InputShape": _read_shape,
    "LayerSource": _read_layer,
    "QuantizationMode": _read_mode,
    "SelectorLike": _read_selector,
    "WeightPolicy": _read_policy,
    "bool": _reads(lambda value: isinstance(value, bool), "true or false"),
    "float": _reads(_is_number, "a number"),
    "int": _reads(is_integer, "an integer"),
    "int | Iterable[int]": _reads(_are_inputs, "the number of an input, from 0, or a list of them"),
    "str": _reads(_is_text, "a string that is not empty"),
    "str | Callable[[str], str]": _reads(_is_text, "a string that is not empty"),
}
