"""Objects of ordinary classes: attributes into a bare new object, or by the object's own copy protocol."""

from __future__ import annotations

import contextlib
import copyreg
import gc
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ramet._copy.attributes import AttributesPlan
from ramet._copy.classes import has_bare_new
from ramet._copy.copier import Copier, RefusalError, reached
from ramet._copy.functions import is_importable
from ramet._copy.plan import Assembly, Plan
from ramet.errors import RametError


class GlobalOrAttributesPlan(AttributesPlan):
    """An object that may be a global under its own name, as decorated functions are: those are shared."""

    def copy(self, old: Any, copier: Copier) -> Any:
        return old if self.shares(old, copier) else super().copy(old, copier)

    def shares(self, old: Any, copier: Copier) -> bool:
        return callable(old) and is_importable(old)


class DeepCopyPlan(Plan):
    """A class with a `__deepcopy__` of its own: it is asked, with our memo as its memo."""

    def copy(self, old: Any, copier: Copier) -> Any:
        if self.shares(old, copier):
            return old
        copier.enter(old)
        # Its `__deepcopy__` would hand Keras objects inside to Keras' own, which saves and loads. They go first.
        for part in reached(old):
            if copier.plan_of(part).is_state:
                copier.copy(part)
        for part in gc.get_referents(old):
            copier.fill_reached(part)
        try:
            new = old.__deepcopy__(copier.lend_memo())
            copier.take_memo_back()
        except Exception as error:  # noqa: BLE001  # foreign code may raise anything
            copier.refuse(old, f"its own __deepcopy__ failed: {type(error).__name__}: {error}")
        copier.leave(old)
        copier.memo[id(old)] = new
        copier.kept.append(old)
        return new

    def shares(self, old: Any, copier: Copier) -> bool:
        return callable(old) and is_importable(old)


class ReducePlan(Assembly):
    """A class that says by `__reduce_ex__` how to make it again. Each part goes through the copier."""

    def copy(self, old: Any, copier: Copier) -> Any:
        return old if self.shares(old, copier) else copier.assemble(old)

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        reduced = "" if self.shares(old, copier) else self._reduced(old, copier)
        return () if isinstance(reduced, str) else (reduced[0], *reduced[1])

    def make(self, old: Any, copier: Copier) -> Any:
        if self.shares(old, copier):
            return old
        reduced = self._reduced(old, copier)
        if isinstance(reduced, str):  # the name of a global
            return old
        make, arguments, state, items, pairs, setter = (*reduced, *(None,) * 6)[:6]
        try:
            new = copier.copy(make)(*[copier.copy(argument) for argument in arguments])
        except Exception as error:  # noqa: BLE001  # foreign code may raise anything
            copier.refuse(old, f"making it again failed: {type(error).__name__}: {error}")
        if state is not None or items is not None or pairs is not None:
            held = (state, list(items or ()), list(pairs or ()), setter)
            copier.kept.append(held)
            copier.todo.append((self, held, new))
        return new

    def fill(self, held: Any, new: Any, copier: Copier) -> None:
        """The state that came with the reduction."""
        state, items, pairs, setter = held
        if items:
            new.extend([copier.copy(item) for item in items])
        for key, value in pairs:
            new[copier.copy(key)] = copier.copy(value)
        if state is None:
            return
        if setter is not None or hasattr(new, "__setstate__"):
            # `__setstate__` may look into the state, so the state must be complete.
            twin_state = copier.copy(state)
            copier.finishers.insert(0, lambda _: setter(new, twin_state) if setter else new.__setstate__(twin_state))
            return
        attributes, slots = state if isinstance(state, tuple) and len(state) == 2 else (state, None)
        for name, value in (attributes or {}).items():
            new.__dict__[name] = copier.copy(value)
        for name, value in (slots or {}).items():
            object.__setattr__(new, name, copier.copy(value))

    def shares(self, old: Any, copier: Copier) -> bool:
        return callable(old) and is_importable(old)

    def _reduced(self, old: Any, copier: Copier) -> Any:
        cache = copier.tables["reduced"]
        if id(old) not in cache:
            reducer = copyreg.dispatch_table.get(type(old))
            copier.expect_anything()
            try:
                with _quiet() if type(old).__module__ == "itertools" else contextlib.nullcontext():
                    cache[id(old)] = reducer(old) if reducer else old.__reduce_ex__(4)
            except Exception as error:  # noqa: BLE001  # foreign code may raise anything
                copier.refuse(old, f"ramet does not know how to copy it ({type(error).__name__}: {error})")
            copier.kept.append(old)
        return cache[id(old)]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Python 3.12 and 3.13 warn that 3.14 will not copy the iterators of itertools; there, they are refused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


class RefusePlan(Plan):
    """A class that cannot be copied."""

    def __init__(self, reason: str, fix: str | None = None) -> None:
        self.reason = reason
        self.fix = fix

    def copy(self, old: Any, copier: Copier) -> Any:
        copier.refuse(old, self.reason, self.fix)


class CustomPlan(Plan):
    """A function of the user's, registered for a class or defined by it as `__ramet_copy__`."""

    def __init__(self, how: Callable[[Any, Callable[[Any], Any]], Any]) -> None:
        self.how = how

    def copy(self, old: Any, copier: Copier) -> Any:
        copier.enter(old)
        copier.has_wishes = True
        try:
            new = self.how(old, copier.copy_whole)
        except (RefusalError, RametError):
            raise
        except Exception as error:
            raise RefusalError(old, f"its copy function failed: {type(error).__name__}: {error}") from error
        copier.leave(old)
        copier.memo[id(old)] = new
        return new


def is_plain(cls: type) -> bool:
    """Whether instances are made of attributes alone: no copy protocol of their own, no base written in C."""
    if any(getattr(cls, name) is not getattr(object, name) for name in ("__reduce_ex__", "__reduce__", "__getstate__")):
        return False
    if hasattr(cls, "__setstate__") or hasattr(cls, "__deepcopy__") or cls in copyreg.dispatch_table:
        return False
    return has_bare_new(cls)


def generic_plan(cls: type) -> Plan:
    """The plan for a class nobody made a special one for."""
    if is_plain(cls):
        return GlobalOrAttributesPlan(cls) if "__call__" in dir(cls) else AttributesPlan(cls)
    if hasattr(cls, "__deepcopy__"):
        return DeepCopyPlan()
    return ReducePlan()
