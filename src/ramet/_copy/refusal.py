"""Reasons not to copy: errors inside the copier, and the path to an object that cannot be copied."""

from __future__ import annotations

import contextlib
import functools
import re
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

import keras

from ramet._copy.attributes import slot_names
from ramet._keras import structure
from ramet.errors import CannotCopyError


class ValuesChangedError(Exception):
    """Values changed while they were read; another attempt may succeed."""


class RefusalError(Exception):
    """An object cannot be copied. Raised inside the copier, before the path to the object is known."""

    def __init__(self, culprit: Any, reason: str, fix: str | None = None) -> None:
        super().__init__(reason)
        self.culprit = culprit
        self.reason = reason
        self.fix = fix


def explain(refusal: RefusalError, roots: list[Any]) -> CannotCopyError:
    """Return the error for the user, with the path to the object."""
    root = roots[0]
    path, found = root.name, ""
    for candidate in roots:
        path, found = _path_to(refusal.culprit, candidate, candidate.name)
        if path != candidate.name:
            root = candidate
            break
    kind = type(refusal.culprit)
    fix = (
        refusal.fix or f"register a copy rule, ramet.register_copy({kind.__name__}, how), or share it with share=[...]."
    )
    return CannotCopyError(
        f"Cannot clone '{root.name}': {path} is a {kind.__name__}; {refusal.reason}.",
        found=found,
        fix=fix if fix.endswith(".") else f"{fix}.",
        path=path,
    )


def _path_to(culprit: Any, root: Any, start: str) -> tuple[str, str]:
    """Return the shortest path from `root` to the object as a Python expression, and a description of the owner."""
    seen = {id(root)}
    waiting: deque[tuple[Any, str, Any, str]] = deque([(root, start, root, start)])
    while waiting:
        value, path, owner, owner_path = waiting.popleft()
        if value is culprit:
            return path, _describe(owner, path.removeprefix(owner_path))
        if isinstance(value, keras.Operation | keras.optimizers.Optimizer | keras.metrics.Metric):
            owner, owner_path = value, path
        for step, part in _steps(value):
            if id(part) not in seen:
                seen.add(id(part))
                waiting.append((part, path + step, owner, owner_path))
    return start, _describe(root, "")


def _steps(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the parts of an object, each with the step that leads to it; public names first."""
    if isinstance(value, keras.Model) and not isinstance(value, type):
        # A user's property may raise anything; the attributes follow below.
        with contextlib.suppress(Exception):
            yield from ((f".layers[{index}]", layer) for index, layer in enumerate(value.layers))
    if isinstance(value, dict):
        for key, part in list(value.items()):
            yield f"[{key!r}]" if isinstance(key, str | int) else "[...]", part
            yield ".keys()[...]", key
    elif isinstance(value, list | tuple):
        yield from ((f"[{index}]", part) for index, part in enumerate(list(value)))
    elif isinstance(value, set | frozenset):
        yield from (("{...}", part) for part in list(value))
    elif isinstance(value, types.FunctionType):
        names = value.__code__.co_freevars
        for name, cell in zip(names, value.__closure__ or (), strict=True):
            try:
                yield f".<closure of {value.__name__}>.{name}", cell.cell_contents
            except ValueError:  # an empty cell
                continue
        for index, part in enumerate(value.__defaults__ or ()):
            yield f".__defaults__[{index}]", part
        for name, part in (value.__kwdefaults__ or {}).items():
            yield f".__kwdefaults__[{name!r}]", part
    elif isinstance(value, types.MethodType):
        yield ".__self__", value.__self__
        yield ".__func__", value.__func__
    elif isinstance(value, functools.partial):
        yield ".func", value.func
        yield ".args", value.args
        yield ".keywords", value.keywords
    elif isinstance(value, type | types.ModuleType | keras.KerasTensor):
        return
    attributes = getattr(value, "__dict__", None)
    if isinstance(attributes, dict):
        held = list(attributes.items())
        # torch stores tracked objects separately from other attributes.
        for store in ("_modules", "_parameters", "_buffers"):
            held.extend((attributes.get(store) or {}).items())
        named = sorted(held, key=lambda item: item[0].startswith("_"))
        yield from ((f".{name}", part) for name, part in named)
    for name in slot_names(type(value)):
        try:
            yield f".{name}", getattr(value, name)
        except Exception:  # noqa: BLE001  # never filled, or not for Python to read
            continue


def _describe(owner: Any, rest: str) -> str:
    """Describe the attribute and its layer for the second line of an error. `rest` is the path below the owner."""
    whose = f"{structure.kind_of(owner)} '{getattr(owner, 'name', '?')}' (class {type(owner).__name__})"
    attribute = re.match(r"\.(\w+)", rest)
    return f"attribute '{attribute[1]}' of {whose}" if attribute else whose
