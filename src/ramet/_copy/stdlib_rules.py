"""Copy rules for the standard library: locks, random generators, files, threads, weak references."""

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
from ramet._copy.objects import ReduceRule, RefuseRule
from ramet._copy.rule import CopyRule, ShellRule


class LockRule(CopyRule):
    """A lock: the twin gets a new, unlocked one, whether or not the original's is held."""

    def __init__(self, make: Callable[[], Any]) -> None:
        self.make = make

    def copy(self, old: Any, copier: Copier) -> Any:
        new = copier.memo[id(old)] = self.make()
        return new


class ThreadLocalRule(ShellRule):
    """A `threading.local`: only this thread's values. Those of other threads cannot be read."""

    def start(self, old: Any, copier: Copier) -> Any:
        return threading.local.__new__(type(old))

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        for name, value in dict(old.__dict__).items():
            new.__dict__[name] = copier.copy(value)


class PythonRandomRule(ReduceRule):
    """A random generator, copied with its state; the global one is shared. `seed=` must find it."""

    def shares(self, old: Any, copier: Copier) -> bool:
        return old is _GLOBAL_GENERATOR

    def make(self, old: Any, copier: Copier) -> Any:
        new = super().make(old, copier)
        if new is not old:
            copier.records["generators"].append((old, new))
        return new


class StreamRule(RefuseRule):
    """A file: refused, except for the standard streams, which exist once and are shared."""

    def copy(self, old: Any, copier: Copier) -> Any:
        return old if self.shares(old, copier) else super().copy(old, copier)

    def shares(self, old: Any, copier: Copier) -> bool:
        return any(old is getattr(sys, name) for name in _STREAMS)


_STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")
# The generator behind `random.random` and similar functions, which `random.seed` seeds.
_GLOBAL_GENERATOR = random.random.__self__  # type: ignore[attr-defined]  # a bound builtin method
_REFUSED: tuple[tuple[type, str, str], ...] = (
    (
        types.GeneratorType,
        "a running generator cannot be copied",
        "keep what it yields, or create it when it is needed",
    ),
    (types.CoroutineType, "a running coroutine cannot be copied", "create it when it is needed"),
    (types.AsyncGeneratorType, "a running generator cannot be copied", "create it when it is needed"),
    (types.FrameType, "a frame of a running program cannot be copied", "remove it from the model"),
    (types.TracebackType, "a traceback cannot be copied", "remove it from the model"),
    (io.IOBase, "an open file cannot be copied", "keep its path and open it when it is needed, or use share=[...]"),
    (socket.socket, "an open connection cannot be copied", "use share=[...], or open it when it is needed"),
    (threading.Thread, "a thread cannot be copied", "use share=[...], or start it when it is needed"),
    (weakref.finalize, "a finalizer belongs to the object it was made for", "register it again for the twin"),
    (weakref.ProxyType, "a weak proxy cannot be distinguished from its target", "use weakref.ref"),
    (weakref.CallableProxyType, "a weak proxy cannot be distinguished from its target", "use weakref.ref"),
)


def stdlib_rule(cls: type) -> CopyRule | None:
    """Return the copy rule for a class of the standard library that needs a special one, or None."""
    if cls is type(threading.Lock()):
        return LockRule(threading.Lock)
    if cls is type(threading.RLock()):
        return LockRule(threading.RLock)
    if issubclass(cls, threading.local):
        return ThreadLocalRule()
    if issubclass(cls, random.Random):
        return PythonRandomRule()
    if issubclass(cls, io.StringIO | io.BytesIO):
        return ReduceRule()  # files in memory: text or bytes, and a position
    for refused, reason, fix in _REFUSED:
        if issubclass(cls, refused):
            return StreamRule(reason, fix) if refused is io.IOBase else RefuseRule(reason, fix)
    return None


class WeakReferenceRule(CopyRule):
    """A `weakref.ref` or `WeakMethod` to a part of the model; a reference to anything else is refused.

    Whether the target is part of the model is known only at the end of the walk, and a reference cannot be changed once
    it exists. So a reference that is found before its target is recorded, and the walk restarts with that knowledge.
    """

    def copy(self, old: Any, copier: Copier) -> Any:
        target = _target(old)
        if target is None or copier.shares(target):
            return old
        if id(target) not in copier.memo and id(old) not in copier.forced:
            copier.records["weak"].append((old, target))
            copier.memo[id(old)] = old
            return old
        copier.copy(target)
        callback = (copier.copy(old.__callback__),) if old.__callback__ else ()
        new = copier.memo[id(old)] = type(old)(copier.copy(old()), *callback)
        copier.kept_alive.append(new)
        return new

    def shares(self, old: Any, copier: Copier) -> bool:
        target = _target(old)
        return target is None or copier.shares(target)


def _target(reference: Any) -> Any:
    target = reference()
    return target.__self__ if isinstance(reference, weakref.WeakMethod) and target is not None else target


def premature_references(copier: Copier) -> set[int]:
    """Return the ids of weak references that were found before their targets.

    References to objects outside of the model are refused.
    """
    again = set()
    for reference, target in copier.records["weak"]:
        if id(target) not in copier.memo:
            copier.refuse(
                reference,
                f"its target, an object of class {type(target).__name__}, is not part of what is cloned",
                "clone both together, ramet.clone([a, b]), or share the target with share=[target]",
            )
        again.add(id(reference))
    return again


class WeakContainerRule(ShellRule):
    """A `WeakSet`, `WeakKeyDictionary` or `WeakValueDictionary`: the twin keeps the entries that are part of it.

    Entries that nothing else holds may disappear at any time, and in the twin nothing would keep them alive.
    """

    def start(self, old: Any, copier: Copier) -> Any:
        return type(old)()

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        copier.finishers.append(lambda copier: self._fill(old, new, copier))

    def _fill(self, old: Any, new: Any, copier: Copier) -> None:
        def belongs(value: Any) -> bool:
            return id(value) in copier.memo or copier.shares(value)

        if isinstance(old, weakref.WeakSet):
            new.update([copier.copy(item) for item in list(old) if belongs(item)])
            return
        for key, value in list(old.items()):
            weak, strong = (key, value) if isinstance(old, weakref.WeakKeyDictionary) else (value, key)
            if belongs(weak):
                copier.copy(strong)
                copier.run()
                new[copier.copy(key)] = copier.copy(value)


def weak_rule(cls: type) -> CopyRule | None:
    """Return the copy rule for a class of weak references, or None."""
    if issubclass(cls, weakref.ReferenceType):
        return WeakReferenceRule()
    if issubclass(cls, weakref.WeakSet | weakref.WeakKeyDictionary | weakref.WeakValueDictionary):
        return WeakContainerRule()
    return None
