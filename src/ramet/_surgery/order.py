"""Which model or layer is dealt with first: what is inside before what it is inside of."""

from __future__ import annotations

from typing import Any

from ramet._keras import structure


def inside_first(root: Any) -> list[Any]:
    """Every op below a model, and the model last; each once, after everything inside it."""
    found: list[Any] = []
    begun: set[int] = set()
    waiting = [(root, False)]
    while waiting:
        op, entered = waiting.pop()
        if entered:
            found.append(op)
        elif id(op) not in begun:
            begun.add(id(op))
            waiting.append((op, True))
            waiting.extend((child, False) for child in inside(op) if id(child) not in begun)
    return found


def inside(op: Any) -> list[Any]:
    """The ops directly inside one: those it calls, and those it only holds."""
    function = structure.function_of(op)
    ops = structure.layers_of(op) + ([] if function is None else list(function.operations))
    return list({id(child): child for child in ops}.values())
