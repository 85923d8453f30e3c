"""The libraries that models are made with: what is theirs and holds nothing needs no further look."""

from __future__ import annotations

import functools
from typing import Any

_LIBRARIES = frozenset({"keras", "jax", "torch", "tensorflow", "numpy", "builtins", "functools", "abc"})


def is_of_a_library(value: Any) -> bool:
    """Whether a function or class comes from one of them."""
    return _is_library(getattr(value, "__module__", "") or "")


@functools.lru_cache(maxsize=4096)
def _is_library(module: str) -> bool:
    return module.partition(".")[0] in _LIBRARIES
