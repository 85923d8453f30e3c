"""Checks of argument values: a wrong type raises an `ArgumentError` that names the argument before any work starts."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable, Sequence
from typing import Any

from ramet.errors import ArgumentError, shown

__all__ = [
    "BACKENDS",
    "as_tuple",
    "check_backend",
    "check_choice",
    "check_flag",
    "check_seed",
    "check_text",
    "is_installed",
]

BACKENDS = ("jax", "torch", "tensorflow")


def check_flag(verb: str, name: str, value: Any) -> None:
    """Raise unless the value is True or False."""
    if not isinstance(value, bool) and type(value).__name__ not in ("bool", "bool_"):  # including numpy's
        raise _wrong_type(verb, name, value, "it is not a boolean", "True or False")


def check_choice(verb: str, name: str, value: Any, choices: Sequence[str]) -> None:
    """Raise unless the value is one of some strings."""
    if not isinstance(value, str) or value not in choices:
        expected = f"{', '.join(repr(choice) for choice in choices[:-1])} or {choices[-1]!r}"
        raise ArgumentError(
            f"Cannot {verb} with {name}={shown(value)}: unknown value.", expected=expected, fix=f"pass {expected}."
        )


def check_text(verb: str, name: str, value: Any) -> None:
    """Raise unless the value is a string."""
    if not isinstance(value, str):
        raise _wrong_type(verb, name, value, "it is not a string", "a string")


def check_seed(verb: str, value: Any) -> None:
    """Raise unless the value is an integer or None."""
    integer = not isinstance(value, bool) and hasattr(value, "__index__") and not hasattr(value, "__len__")
    if value is not None and (isinstance(value, type) or not integer):
        raise _wrong_type(verb, "seed", value, "it is not an integer", "an int, or None")


def check_backend(verb: str, name: Any) -> None:
    """Raise unless the value is the name of a backend that is installed."""
    if name not in BACKENDS:
        raise ArgumentError(
            f"Cannot {verb} the backend {shown(name)}: ramet does not support it.",
            expected=", ".join(BACKENDS),
            fix="use one of these names.",
        )
    if not is_installed(name):
        raise ArgumentError(
            f"Cannot {verb} the backend '{name}': it is not installed.",
            fix=f'pip install "ramet[{name}]", or use another backend.',
        )


def is_installed(backend: str) -> bool:
    """Return whether a backend is installed, without importing it."""
    return importlib.util.find_spec(backend) is not None


def as_tuple(verb: str, name: str, value: Any, expected: str) -> tuple[Any, ...]:
    """Return the items of a list or another iterable; strings, dicts, sets and symbolic tensors are refused."""
    if isinstance(value, str | bytes | dict | set | frozenset | type) or not isinstance(value, Iterable):
        raise _wrong_type(verb, name, value, "it is not a list", expected)
    try:
        return tuple(value)
    except Exception as error:  # an iterable of another library may raise anything
        raise _wrong_type(verb, name, value, "it is not a list", expected) from error


def _wrong_type(verb: str, name: str, value: Any, reason: str, expected: str) -> ArgumentError:
    return ArgumentError(
        f"Cannot {verb} with {name}={shown(value)}: {reason}.",
        expected=expected,
        found=f"an object of class {type(value).__name__}",
        fix=f"pass {expected}.",
    )
