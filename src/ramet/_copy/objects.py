"""Objects of ordinary classes: copied by attributes, by their own copy protocol, or by a function of the user."""

from __future__ import annotations

import contextlib
import copyreg
import gc
import warnings
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from ramet._copy.attributes import AttributesRule, has_bare_new
from ramet._copy.copier import Copier, reached
from ramet._copy.functions import is_importable
from ramet._copy.refusal import RefusalError, ValuesChangedError
from ramet._copy.rule import AssemblyRule, CopyRule
from ramet.errors import RametError


class GlobalOrAttributesRule(AttributesRule):
    """An object that may be importable under its own name, like a decorated function: then it is shared."""

    def copy(self, old: Any, copier: Copier) -> Any:
        return old if self.shares(old, copier) else super().copy(old, copier)

    def shares(self, old: Any, copier: Copier) -> bool:
        return callable(old) and is_importable(old)


class DeepCopyRule(CopyRule):
    """A class with its own `__deepcopy__`, which is called with the copier's memo."""

    def copy(self, old: Any, copier: Copier) -> Any:
        if self.shares(old, copier):
            return old
        copier.begin_foreign_copy(old)
        # Objects of Keras inside are copied first: `__deepcopy__` would copy them by Keras' own method, which saves and loads.
        for part in reached(old):
            if copier.rules[type(part)].is_state:
                copier.copy(part)
        for part in gc.get_referents(old):
            copier.fill_reached(part)
        try:
            new = old.__deepcopy__(copier.lend_memo())
            copier.take_memo_back()
        except Exception as error:  # noqa: BLE001  # foreign code may raise anything
            copier.refuse(old, f"its own __deepcopy__ failed: {type(error).__name__}: {error}")
        copier.end_foreign_copy(old)
        copier.memo[id(old)] = new
        copier.kept_alive.append(old)
        return new

    def shares(self, old: Any, copier: Copier) -> bool:
        return callable(old) and is_importable(old)


class ReduceRule(AssemblyRule):
    """An object recreated from what `__reduce_ex__` returns. Each part goes through the copier."""

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
        copier.begin_foreign_copy(old)
        try:
            # A constructor may look into its arguments, so they must be complete.
            new = copier.copy(make)(*map(copier.copy_whole, arguments))
        except (RefusalError, ValuesChangedError, RametError, MemoryError):
            raise
        except Exception as error:  # noqa: BLE001  # foreign code may raise anything
            copier.refuse(old, f"recreating it failed: {type(error).__name__}: {error}")
        finally:
            copier.end_foreign_copy(old)
        if state is not None or items is not None or pairs is not None:
            held = (state, list(items or ()), list(pairs or ()), setter)
            copier.kept_alive.append(held)
            copier.todo.append((self, held, new))
        return new

    def fill(self, held: Any, new: Any, copier: Copier) -> None:
        """Fill in the state that came with the reduction."""
        state, items, pairs, setter = held
        if items:
            new.extend([copier.copy(item) for item in items])
        for key, value in pairs:
            new[copier.copy(key)] = copier.copy(value)
        if state is None:
            return
        if setter is not None or hasattr(new, "__setstate__"):
            # `__setstate__` may use the state, so the state must be complete.
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
            copier.prepare_for_foreign_code()
            try:
                with _quiet() if type(old).__module__ == "itertools" else contextlib.nullcontext():
                    cache[id(old)] = reducer(old) if reducer else old.__reduce_ex__(4)
            except Exception as error:  # noqa: BLE001  # foreign code may raise anything
                copier.refuse(old, f"ramet does not know how to copy it ({type(error).__name__}: {error})")
            copier.kept_alive.append(old)
        return cache[id(old)]


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Suppress warnings that Python 3.14 cannot copy iterators of itertools; ramet refuses them there."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        yield


class RefuseRule(CopyRule):
    """A class that cannot be copied."""

    def __init__(self, reason: str, fix: str | None = None) -> None:
        self.reason = reason
        self.fix = fix

    def copy(self, old: Any, copier: Copier) -> Any:
        copier.refuse(old, self.reason, self.fix)


class CustomRule(CopyRule):
    """A copy function of the user, registered for a class or defined by it as `__ramet_copy__`."""

    def __init__(self, how: Callable[[Any, Callable[[Any], Any]], Any]) -> None:
        self.how = how

    def copy(self, old: Any, copier: Copier) -> Any:
        copier.begin_foreign_copy(old)
        copier.has_requests = True
        try:
            new = self.how(old, copier.copy_whole)
        except (RefusalError, RametError):
            raise
        except Exception as error:
            raise RefusalError(old, f"its copy function failed: {type(error).__name__}: {error}") from error
        copier.end_foreign_copy(old)
        copier.memo[id(old)] = new
        return new


def is_plain(cls: type) -> bool:
    """Return whether instances consist of attributes only: no copy protocol of their own, and no base written in C."""
    if any(getattr(cls, name) is not getattr(object, name) for name in ("__reduce_ex__", "__reduce__", "__getstate__")):
        return False
    if hasattr(cls, "__setstate__") or hasattr(cls, "__deepcopy__") or cls in copyreg.dispatch_table:
        return False
    return has_bare_new(cls)


def generic_rule(cls: type) -> CopyRule:
    """Return the copy rule for a class without a special one."""
    if is_plain(cls):
        return GlobalOrAttributesRule(cls) if "__call__" in dir(cls) else AttributesRule(cls)
    if hasattr(cls, "__deepcopy__"):
        return DeepCopyRule()
    return ReduceRule()
