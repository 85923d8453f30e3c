"""Things of the standard library with a life of their own: locks, generators, files, threads."""

from __future__ import annotations

import io
import random
import socket
import sys
import threading
import types
import weakref
from collections.abc import Callable
from typing import Any

from ramet._copy.copier import Copier
from ramet._copy.objects import ReducePlan, RefusePlan
from ramet._copy.plan import Plan, Shell


class FreshPlan(Plan):
    """A lock: the twin has its own, open one. Who holds the original's is no business of the twin's."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def copy(self, old: Any, copier: Copier) -> Any:
        new = copier.memo[id(old)] = self.make()
        return new


class ThreadLocalPlan(Shell):
    """A `threading.local`: what this thread sees of it. Other threads' values cannot be reached."""

    def start(self, old: Any, copier: Copier) -> Any:
        return threading.local.__new__(type(old))

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        for name, value in dict(old.__dict__).items():
            new.__dict__[name] = copier.copy(value)


class GeneratorPlan(ReducePlan):
    """A random generator, copied with its state; the global one is shared. `seed=` must find it."""

    def shares(self, old: Any, copier: Copier) -> bool:
        return old is _GLOBAL_GENERATOR

    def make(self, old: Any, copier: Copier) -> Any:
        new = super().make(old, copier)
        if new is not old:
            copier.record("generators").append((old, new))
        return new


class StreamPlan(RefusePlan):
    """A file: refused, but for the program's own input and output, of which there is one each."""

    def copy(self, old: Any, copier: Copier) -> Any:
        return old if self.shares(old, copier) else super().copy(old, copier)

    def shares(self, old: Any, copier: Copier) -> bool:
        return any(old is getattr(sys, name) for name in _STREAMS)


_STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")

# The one behind `random.random` and its kin, which `random.seed` governs.
_GLOBAL_GENERATOR = random.random.__self__  # type: ignore[attr-defined]  # a builtin method has one

_REFUSED: tuple[tuple[type, str, str], ...] = (
    (types.GeneratorType, "a running generator cannot be copied", "keep what it yields, or make it when it is needed"),
    (types.CoroutineType, "a running coroutine cannot be copied", "make it when it is needed"),
    (types.AsyncGeneratorType, "a running generator cannot be copied", "make it when it is needed"),
    (types.FrameType, "a frame of a running program cannot be copied", "remove it from the model"),
    (types.TracebackType, "a traceback cannot be copied", "remove it from the model"),
    (io.IOBase, "an open file cannot be copied", "keep its path and open it when it is needed, or use share=[...]"),
    (socket.socket, "an open connection cannot be copied", "use share=[...], or open it when it is needed"),
    (threading.Thread, "a thread cannot be copied", "use share=[...], or start it when it is needed"),
    (weakref.finalize, "a finalizer belongs to the object it was made for", "register it again for the twin"),
    (weakref.ProxyType, "a weak proxy cannot be told from what it stands for", "use weakref.ref"),
    (weakref.CallableProxyType, "a weak proxy cannot be told from what it stands for", "use weakref.ref"),
)


def stdlib_plan(cls: type) -> Plan | None:
    """The plan for a class of the standard library that needs a special one, or None."""
    if cls is type(threading.Lock()):
        return FreshPlan(threading.Lock)
    if cls is type(threading.RLock()):
        return FreshPlan(threading.RLock)
    if issubclass(cls, threading.local):
        return ThreadLocalPlan()
    if issubclass(cls, random.Random):
        return GeneratorPlan()
    if issubclass(cls, io.StringIO | io.BytesIO):
        return ReducePlan()  # files in memory: text or bytes, and a position
    for refused, reason, fix in _REFUSED:
        if issubclass(cls, refused):
            return StreamPlan(reason, fix) if refused is io.IOBase else RefusePlan(reason, fix)
    return None
