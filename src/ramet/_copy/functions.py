"""Functions, and the cells that they close over.

Functions are shared unless something that can change is reached through them. Keras' registry is keyed by the function
object: a copied function has lost its registered name, so only those are copied that must be.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Iterable
from typing import Any

from ramet._copy.atoms import ATOMS, are_constant
from ramet._copy.copier import Copier
from ramet._copy.library import is_of_a_library
from ramet._copy.plan import MISSING, Plan, Shell
from ramet._copy.values_by_name import copy_attributes, copy_known_attributes


def is_importable(value: Any) -> bool:
    """Whether the object is what its own module and qualified name lead to: a global, of which there is one."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if module is None or not isinstance(name, str) or "<locals>" in name:
        return False
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is value


def cell_contents(function: Any) -> list[Any]:
    """What the cells of a closure hold; empty cells hold nothing."""
    contents = []
    for cell in function.__closure__ or ():
        try:
            contents.append(cell.cell_contents)
        except ValueError:  # an empty cell
            continue
    return contents


@functools.lru_cache(maxsize=4096)
def rebinds_its_closure(code: types.CodeType) -> bool:
    """Whether the function assigns to a `nonlocal` name: its cells are state then, whatever they hold."""
    free = set(code.co_freevars)
    waiting = [code]
    while waiting:
        part = waiting.pop()
        inside = free.intersection(part.co_freevars)
        if any(
            step.opname in ("STORE_DEREF", "DELETE_DEREF") and step.argval in inside
            for step in dis.get_instructions(part)
        ):
            return True
        # A function written inside may assign to it instead.
        waiting.extend(const for const in part.co_consts if isinstance(const, types.CodeType))
    return False


def function_parts(function: Any) -> list[Any]:
    """Everything a function holds besides its code and globals."""
    return [
        *cell_contents(function),
        *(function.__defaults__ or ()),
        *(function.__kwdefaults__ or {}).values(),
        *function.__dict__.values(),
    ]


def holds_nothing(function: Any) -> bool:
    """Whether a function is its code and globals, and nothing else."""
    return function.__closure__ is None and not (function.__defaults__ or function.__kwdefaults__ or function.__dict__)


class FunctionPlan(Plan):
    """A Python function: shared, or copied with its cells, defaults and attributes."""

    form = "function"

    def copy(self, old: Any, copier: Copier) -> Any:
        if holds_nothing(old):
            if not is_of_a_library(old):
                copier.records["functions"].append(old)  # it may still read globals
            copier.memo[id(old)] = old
            return old
        copier.records["functions"].append(old)
        if id(old) not in copier.forced and not reaches_state(old, copier):
            copier.memo[id(old)] = old
            return old
        cells = tuple(copier.copy_each(old.__closure__ or ()))
        defaults = old.__defaults__ if are_constant(old.__defaults__ or ()) else None
        new = copier.memo[id(old)] = types.FunctionType(old.__code__, old.__globals__, old.__name__, defaults, cells)
        new.__qualname__ = old.__qualname__
        new.__module__ = old.__module__
        new.__doc__ = old.__doc__
        if old.__annotations__:
            new.__annotations__ = dict(old.__annotations__)
        if getattr(old, "__type_params__", ()):  # since Python 3.12
            new.__type_params__ = old.__type_params__  # type: ignore[attr-defined]
        if old.__defaults__ is not defaults or old.__kwdefaults__ or not copy_known_attributes(old, new, copier):
            copier.todo.append((self, old, new))
        return new

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        """Defaults and attributes of a copied function."""
        if old.__defaults__:
            new.__defaults__ = copier.copy(old.__defaults__)
        if old.__kwdefaults__:
            new.__kwdefaults__ = {k: copier.copy(v) for k, v in old.__kwdefaults__.items()}
        copy_attributes(old, new, copier)

    def shares(self, old: Any, copier: Copier) -> bool:
        return holds_nothing(old) or (id(old) not in copier.forced and not reaches_state(old, copier))


def reaches_state(function: Any, copier: Copier) -> bool:
    """Whether a function leads to anything that the twin must have for itself.

    Of a global function, only Keras state counts: its caches belong to its module, as any other global does.
    """
    if _holds_known_state(function, copier):
        return True
    stateful = copier.tables["stateful"]
    if id(function) in stateful:
        return True
    only_keras = is_importable(function)
    seen: dict[int, Any] = {}  # what was met, and from where
    stack: list[tuple[Any, Any]] = [(function, None)]
    while stack:
        value, parent = stack.pop()
        if type(value) in ATOMS or id(value) in seen or (only_keras and type(value) is int):
            continue
        seen[id(value)] = parent
        parts = _leads_to(value, function, copier, only_keras=only_keras)
        if parts is not None:
            stack.extend((part, value) for part in parts)
            continue
        # Everything on the way here leads to state as well: a chain of closures is gone through once.
        while value is not None and not only_keras:
            stateful[id(value)] = value
            value = seen[id(value)]
        return True
    return False


def _holds_known_state(function: Any, copier: Copier) -> bool:
    """Whether a cell holds Keras state that has a twin already: so it is with what Keras puts around `build`."""
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # an empty cell
            continue
        if copier.find(value, value) is not value and copier.plans[type(value)].is_state:
            return True
    return False


def _leads_to(value: Any, function: Any, copier: Copier, *, only_keras: bool) -> Iterable[Any] | None:
    """What is reached from a value next; None if the value itself is state."""
    known = copier.find(value)
    if known is not None:
        return None if known is not value and _counts(value, copier, only_keras=only_keras) else ()
    if isinstance(value, types.FunctionType):
        if value is not function and is_importable(value):
            return ()
        if not only_keras and (rebinds_its_closure(value.__code__) or value.__dict__.keys() - {"__wrapped__"}):
            return None
        return None if id(value) in copier.tables["stateful"] else function_parts(value)
    if isinstance(value, tuple | frozenset):
        return value
    if isinstance(value, types.MethodType):
        return (value.__func__, value.__self__)
    plan = copier.plan_of(value)
    if hasattr(plan, "wrapped"):
        return (plan.wrapped(value),)
    return () if copier.shares(value) or not _counts(value, copier, only_keras=only_keras) else None


def _counts(value: Any, copier: Copier, *, only_keras: bool) -> bool:
    return not only_keras or copier.plan_of(value).is_state


class CellPlan(Shell):
    """A cell of a closure. Filled at once where the twin of what it holds is known."""

    def copy(self, old: Any, copier: Copier) -> Any:
        try:
            value = old.cell_contents
        except ValueError:  # an empty cell stays empty
            return super().copy(old, copier)
        known = copier.find(value, MISSING)
        if known is MISSING and type(value) is types.MethodType and _is_quick(value, copier):
            known = copier.copy(value)
        if known is MISSING:
            return super().copy(old, copier)
        new = copier.memo[id(old)] = types.CellType(known)
        return new

    def start(self, old: Any, copier: Copier) -> Any:
        return types.CellType()

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        try:
            new.cell_contents = copier.copy(old.cell_contents)
            copier.look_again(lambda twin_id: setattr(new, "cell_contents", twin_id), old.cell_contents)
        except ValueError:  # an empty cell stays empty
            return


def _is_quick(method: Any, copier: Copier) -> bool:
    """Whether a bound method can be copied without a look at anything else: its owner is known, its function closes over nothing."""
    function = method.__func__
    is_plain = type(function) is types.FunctionType and function.__closure__ is None
    return is_plain and copier.find(method.__self__, MISSING) is not MISSING


def wrongly_shared(copier: Copier) -> set[int]:
    """Functions that were shared although a cell of theirs was copied for another function.

    Two functions may share a cell that only one of them assigns to. Whichever was looked at first could not know.
    """
    shared = [function for function in copier.record("functions") if copier.find(function) is function]
    return {
        id(function)
        for function in shared
        if any(copier.find(cell, cell) is not cell for cell in function.__closure__ or ())
    }
