"""Hearing of every call of a layer or operation while a model runs."""

from __future__ import annotations

import contextlib
import functools
import threading
from collections.abc import Callable, Iterator
from typing import Any

import keras

Hear = Callable[[Any, Any], None]


@contextlib.contextmanager
def watched(hear: Hear) -> Iterator[None]:
    """Call `hear(op, outputs)` after every call that this thread makes, at all depths, in the order of running.

    The classes listen, not the layers: nothing is written to a user's object, and layers inside wrappers and
    subclassed models are heard, too.
    """
    before = {cls: cls.__dict__["__call__"] for cls in (keras.Operation, keras.Layer)}
    try:
        for cls, call in before.items():
            cls.__call__ = _heard(call, hear, threading.get_ident(), cls)
        yield
    finally:
        for cls, call in before.items():
            cls.__call__ = call


def _heard(call: Callable[..., Any], hear: Hear, thread: int, cls: type) -> Callable[..., Any]:
    @functools.wraps(call)
    def listening(op: Any, *args: Any, **kwargs: Any) -> Any:
        outputs = call(op, *args, **kwargs)
        # A layer comes through both classes, and has its mask only after the second.
        inner = cls is keras.Operation and isinstance(op, keras.Layer)
        if not inner and threading.get_ident() == thread:
            hear(op, outputs)
        return outputs

    return listening
