"""Whether two objects that were made in the same way say the same: by structure, where classes have no equality."""

from __future__ import annotations

import functools
import types
from typing import Any

import keras
import numpy as np

_ATOMS = (int, float, complex, str, bytes, bool, type(None), type, range)

_CLOSED = (keras.Layer, keras.Variable, keras.random.SeedGenerator, types.ModuleType, types.CodeType)


def alike(first: Any, second: Any) -> bool:
    """Whether two attributes of two layers of one class are the same setting. Layers inside are compared elsewhere."""
    waiting = [(first, second)]
    seen: set[tuple[int, int]] = set()
    while waiting:
        a, b = waiting.pop()
        if a is b or (id(a), id(b)) in seen:
            continue
        seen.add((id(a), id(b)))
        if type(a) is not type(b):
            return False
        if isinstance(a, keras.Layer | keras.Variable):
            continue
        if isinstance(a, keras.random.SeedGenerator):
            waiting.append((a.get_config()["seed"], b.get_config()["seed"]))
        elif isinstance(a, _ATOMS) and not (a == b or (a != a and b != b)):  # noqa: PLR0124  # NaN
            return False
        elif isinstance(a, np.ndarray) or keras.ops.is_tensor(a):
            if not np.array_equal(keras.ops.convert_to_numpy(a), keras.ops.convert_to_numpy(b)):
                return False
        else:
            ours, theirs = _parts(a), _parts(b)
            if ours is None or theirs is None:
                if a != b:
                    return False
            elif [key for key, _ in ours] != [key for key, _ in theirs]:
                return False
            else:
                waiting.extend((x, y) for (_, x), (_, y) in zip(ours, theirs, strict=True))
    return True


def reached(value: Any) -> list[Any]:
    """Everything that a value consists of, through containers, closures and attributes; layers are not entered."""
    found: list[Any] = []
    waiting, seen = [value], {id(value)}
    while waiting:
        item = waiting.pop()
        found.append(item)
        if isinstance(item, (*_ATOMS, *_CLOSED)) or keras.ops.is_tensor(item):
            continue
        parts = [part for pair in _parts(item) or () for part in pair]
        if isinstance(item, types.MethodType):
            parts.append(item.__self__)
        new = [part for part in parts if id(part) not in seen]
        seen.update(map(id, new))
        waiting.extend(new)
    return found


def _parts(value: Any) -> list[tuple[Any, Any]] | None:
    """What an object consists of, by name or place; None for one that only its own equality knows."""
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, list | tuple):
        return list(enumerate(value))
    if isinstance(value, set | frozenset):
        return [(item, None) for item in sorted(value, key=repr)]
    if isinstance(value, functools.partial):
        return [("function", value.func), ("args", value.args), ("keywords", value.keywords)]
    if callable(value) and hasattr(value, "__code__"):
        cells = [_content(cell) for cell in value.__closure__ or ()]
        return [("code", value.__code__), ("defaults", value.__defaults__), ("closure", cells)]
    if hasattr(value, "__func__") and hasattr(value, "__self__"):
        return [("function", value.__func__)]
    attributes = getattr(value, "__dict__", None)
    return list(attributes.items()) if attributes else None


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # an empty cell
        return None
