"""Where an object stands in a model, said so that a person finds it. Only asked when something went wrong."""

from __future__ import annotations

import contextlib
import functools
import types
from collections import deque
from collections.abc import Iterator
from typing import Any

import keras

from ramet._keras import kinds


def path_to(culprit: Any, root: Any, start: str) -> tuple[str, Any]:
    """The shortest way from `root` to the object, as Python would write it, and the layer or model it stands in."""
    seen = {id(root)}
    waiting: deque[tuple[Any, str, Any]] = deque([(root, start, root)])
    while waiting:
        value, path, owner = waiting.popleft()
        if value is culprit:
            return path, owner
        if isinstance(value, keras.Operation | keras.optimizers.Optimizer | keras.metrics.Metric):
            owner = value
        for step, part in steps(value):
            if id(part) not in seen:
                seen.add(id(part))
                waiting.append((part, path + step, owner))
    return start, root


def steps(value: Any) -> Iterator[tuple[str, Any]]:
    """The parts of an object, each with the step that leads there; public names first."""
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
        named = sorted(attributes.items(), key=lambda item: item[0].startswith("_"))
        yield from ((f".{name}", part) for name, part in named)
    for base in type(value).__mro__:
        slots = base.__dict__.get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if hasattr(value, name) and name != "__dict__":
                yield f".{name}", getattr(value, name)


def describe(owner: Any, path: str) -> str:
    """Which attribute of which layer, as the second line of an error says it."""
    kind = kinds.kind_of(owner)
    last = path.rpartition(".")[2]
    return f"attribute '{last}' of {kind} '{getattr(owner, 'name', '?')}' (class {type(owner).__name__})"
