"""Random choices that a seed decides."""

from __future__ import annotations

import contextlib
import random
from collections.abc import Iterator

import numpy as np


@contextlib.contextmanager
def drawn_from(seed: int | None) -> Iterator[None]:
    """With a seed, whatever users' functions make draws from it; Keras' layers draw theirs from Python's generator."""
    if seed is None:
        yield
        return
    python, numpy = random.getstate(), np.random.get_state()
    random.seed(seed)
    np.random.seed(seed % 2**32)
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
