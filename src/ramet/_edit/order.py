"""Which model or layer is dealt with first: what is inside before what it is inside of."""

from __future__ import annotations

from typing import Any

from ramet._keras import inside


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
