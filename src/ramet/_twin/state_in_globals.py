"""State that functions reach through global names. It is not copied; who relies on it should know."""

from __future__ import annotations

import types
import warnings
from typing import Any

import keras

from ramet._twin.copier import Copier
from ramet.errors import SharedGlobalWarning


def report_globals(copier: Copier) -> None:
    """Warn of each global with variables that a function of the model reads: original and twin both use it."""
    for function, name, value in _found(copier):
        warnings.warn(
            f"The function '{function}' reads the global '{name}', a {type(value).__name__} that holds variables. "
            "Globals are not copied: the original and the twin both use it. "
            "To give the twin its own, make it an attribute of the layer or a default argument of the function.",
            SharedGlobalWarning,
            stacklevel=4,
        )


def _found(copier: Copier) -> list[tuple[str, str, Any]]:
    found: dict[tuple[str, str], Any] = {}
    for function in _functions(copier):
        for name in _names_read(function.__code__):
            value = function.__globals__.get(name)
            if _holds_variables(value) and id(value) not in copier.memo:
                found[function.__qualname__, name] = value
    return [(function, name, value) for (function, name), value in found.items()]


def _holds_variables(value: Any) -> bool:
    if isinstance(value, keras.Layer | keras.metrics.Metric):
        return bool(value.variables)
    return isinstance(value, keras.Variable)


def _functions(copier: Copier) -> list[Any]:
    """The functions the model holds, and the methods of classes that are the user's."""
    functions = [f for f in copier.record("functions") if not _is_library(f)]
    classes = {type(old) for old, _ in copier.record("ops")}
    for cls in classes:
        for base in cls.__mro__:
            if not _is_library(base):
                functions.extend(f for f in vars(base).values() if isinstance(f, types.FunctionType))
    return functions


def _is_library(value: Any) -> bool:
    root = (getattr(value, "__module__", "") or "").partition(".")[0]
    return root in ("keras", "jax", "torch", "tensorflow", "numpy", "builtins", "functools", "abc")


def _names_read(code: types.CodeType) -> set[str]:
    """The global names in a function and the functions written inside it."""
    names: set[str] = set()
    waiting = [code]
    while waiting:
        code = waiting.pop()
        names.update(code.co_names)
        waiting.extend(part for part in code.co_consts if isinstance(part, types.CodeType))
    return names
