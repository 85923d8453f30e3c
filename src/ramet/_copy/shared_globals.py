"""Warnings about state outside of the model that functions and classes reach. It is not copied, so both models use it."""

from __future__ import annotations

import dis
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

import keras

from ramet._copy.atoms import is_from_library
from ramet._copy.copier import Copier
from ramet.errors import SharedGlobalWarning

_CONTAINERS = (list, tuple, set, frozenset)


def warn_about_globals(copier: Copier) -> None:
    """Warn about variables outside of the model that a function or class of the model reaches."""
    found: dict[str, str] = {}
    for what, value, advice in [*_globals(copier), *_in_classes(copier)]:
        if _holds_variables(value) and copier.find(value) is not value:
            found[what.format(kind=type(value).__name__)] = advice
    for what, advice in found.items():
        warnings.warn(f"{what} {advice}", SharedGlobalWarning, stacklevel=_caller_stack_level())


def _caller_stack_level() -> int:
    """Return the stack level of the user's code: the first frame outside of ramet."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == "ramet":
        frame, level = frame.f_back, level + 1
    return level


def _globals(copier: Copier) -> Iterator[tuple[str, Any, str]]:
    advice = (
        "Globals are not copied: the original and the twin both use it. "
        "To give the twin its own, make it an attribute of the layer or a default argument of the function."
    )
    for function in _functions(copier):
        for name in names_read(function.__code__):
            what = f"The function '{function.__qualname__}' reads the global '{name}', a {{kind}} that holds variables."
            yield what, function.__globals__.get(name), advice


def _in_classes(copier: Copier) -> Iterator[tuple[str, Any, str]]:
    advice = (
        "Classes are not copied: the original and the twin both use it. "
        "To give the twin its own, make it an attribute of the layer."
    )
    for cls in _classes(copier):
        for name, value in vars(cls).items():
            yield (
                f"The class '{cls.__qualname__}' has the attribute '{name}', a {{kind}} that holds variables.",
                value,
                advice,
            )
            if not isinstance(value, types.FunctionType):
                continue
            for variable, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
                what = f"The method '{value.__qualname__}' reads '{variable}', a {{kind}} that holds variables."
                try:
                    yield what, cell.cell_contents, advice
                except ValueError:  # an empty cell
                    continue


def _holds_variables(root: Any) -> bool:
    """Return whether an object is a variable, a layer or metric with variables, or a collection that leads to one."""
    seen: set[int] = set()
    stack = [root]
    while stack:
        value = stack.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        if isinstance(value, keras.Variable):
            return True
        if isinstance(value, keras.Layer | keras.metrics.Metric):
            if value.variables:
                return True
        elif isinstance(value, dict):
            stack.extend(dict.values(value))
        elif isinstance(value, _CONTAINERS):
            stack.extend(value)
    return False


def _functions(copier: Copier) -> list[Any]:
    """Return the functions that the model holds, and the methods of the user's classes."""
    functions = [f for f in copier.records["functions"] if not is_from_library(f)]
    for cls in _classes(copier):
        functions.extend(f for f in vars(cls).values() if isinstance(f, types.FunctionType))
    return functions


def _classes(copier: Copier) -> list[type]:
    classes = dict.fromkeys(type(old) for old, _ in copier.records["ops"])
    found = dict.fromkeys(base for cls in classes for base in cls.__mro__)
    return [cls for cls in found if not is_from_library(cls)]


def names_read(code: types.CodeType) -> list[str]:
    """Return the global names that a function and the functions nested in it read; attribute names are left out."""
    names: dict[str, None] = {}
    waiting = [code]
    while waiting:
        code = waiting.pop()
        names.update((step.argval, None) for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL")
        waiting.extend(part for part in code.co_consts if isinstance(part, types.CodeType))
    return list(names)
