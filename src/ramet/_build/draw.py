"""Random choices that a seed decides."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from ramet._keras import randomness


@contextlib.contextmanager
def drawn_from(seed: int | None) -> Iterator[None]:
    """With a seed, whatever users' functions make draws from it, by whichever generator; without one, nothing changes."""
    if seed is None:
        yield
        return
    with randomness.drawn_from(seed):
        yield
