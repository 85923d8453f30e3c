"""Functions that wait for each other without recursion.

A nested model is rebuilt before the model around it can go on. Written as generators that yield the work they wait for,
however deep they nest, only one of them is ever on Python's stack.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

Work = Generator["Work", Any, Any]


def run(work: Work) -> Any:
    """The result of the work, and of all work it waits for."""
    stack = [work]
    result: Any = None
    while stack:
        try:
            stack.append(stack[-1].send(result))
            result = None
        except StopIteration as done:
            stack.pop()
            result = done.value
    return result
