"""Pausing the garbage collector.

A walk over a model makes many objects and no garbage; the collector would look at all of them again and again. A fifth
of the time of a clone went there.
"""

from __future__ import annotations

import contextlib
import gc
import threading
from collections.abc import Iterator

_lock = threading.Lock()
_resting = 0
_was_enabled = False


@contextlib.contextmanager
def collector_paused() -> Iterator[None]:
    """No collection until the last of the threads that are inside has left."""
    global _resting, _was_enabled  # noqa: PLW0603  # the collector is global, so is how many threads paused it
    with _lock:
        if _resting == 0:
            _was_enabled = gc.isenabled()
            gc.disable()
        _resting += 1
    try:
        yield
    finally:
        with _lock:
            _resting -= 1
            if _resting == 0 and _was_enabled:
                gc.enable()


@contextlib.contextmanager
def collections_bounded() -> Iterator[None]:
    """Make forced garbage collections skip all objects that already exist.

    Keras forces a collection whenever a layer deletes a variable. In a process with a large heap each takes 0.2 s, and
    quantising deletes one or two variables per layer.
    """
    if gc.get_freeze_count():  # the user froze objects, and unfreezing would release those, too
        yield
        return
    gc.freeze()
    try:
        yield
    finally:
        gc.unfreeze()
