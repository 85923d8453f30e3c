"""Checks of arguments: a value of a wrong type is an `ArgumentError` that names it, before anything is done."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from ramet.errors import ArgumentError, shown

__all__ = ["as_tuple", "check_choice", "check_flag", "check_seed", "check_text"]


def check_flag(verb: str, name: str, value: Any) -> None:
    """Refuse what is neither True nor False."""
    if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):  # numpy's own, too
        raise _wrong(verb, name, value, "it is not a flag", "True or False")


def check_choice(verb: str, name: str, value: Any, choices: Sequence[str]) -> None:
    """Refuse what is not one of some words."""
    if not isinstance(value, str) or value not in choices:
        expected = f"{', '.join(repr(choice) for choice in choices[:-1])} or {choices[-1]!r}"
        raise ArgumentError(
            f"Cannot {verb} with {name}={shown(value)}: there is no such way.",
            expected=expected,
            fix="pass one of these.",
        )


def check_text(verb: str, name: str, value: Any) -> None:
    """Refuse what is not a string."""
    if not isinstance(value, str):
        raise _wrong(verb, name, value, "it is not a string", "a string")


def check_seed(verb: str, value: Any) -> None:
    """Refuse what is neither a whole number nor None."""
    whole = not isinstance(value, bool) and hasattr(value, "__index__") and not hasattr(value, "__len__")
    if value is not None and (isinstance(value, type) or not whole):
        raise _wrong(verb, "seed", value, "a seed is an int", "an int, or None")


def as_tuple(verb: str, name: str, value: Any, expected: str) -> tuple[Any, ...]:
    """The items of a list or the like. A string, a dict or a set is none, and neither is a symbolic tensor."""
    if isinstance(value, str | bytes | dict | set | frozenset | type) or not isinstance(value, Iterable):
        raise _wrong(verb, name, value, "it is not a list", expected)
    try:
        return tuple(value)
    except Exception as error:  # what a class of another library raises
        raise _wrong(verb, name, value, "it is not a list", expected) from error


def _wrong(verb: str, name: str, value: Any, why: str, expected: str) -> ArgumentError:
    return ArgumentError(
        f"Cannot {verb} with {name}={shown(value)}: {why}.",
        expected=expected,
        found=f"an object of class {type(value).__name__}",
        fix=f"pass {expected}.",
    )
