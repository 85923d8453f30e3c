"""Functions, closures, methods, partials and cached functions.

Functions are shared unless mutable state is reached through them. Keras' registry is keyed by the function object: a
copied function would lose its registered name, so functions are copied only if necessary.
"""

from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Iterable
from typing import Any

from ramet._copy.atoms import ATOMS, are_constant, is_from_library
from ramet._copy.attributes import copy_attributes, copy_known_attributes
from ramet._copy.copier import Copier
from ramet._copy.rule import MISSING, AssemblyRule, CopyRule, ShellRule


def is_importable(value: Any) -> bool:
    """Return whether importing an object's module and qualified name yields that object: a global, which exists once."""
    module = sys.modules.get(getattr(value, "__module__", None) or "")
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", None)
    if module is None or not isinstance(name, str) or "<locals>" in name:
        return False
    found: Any = module
    for part in name.split("."):
        found = getattr(found, part, None)
    return found is value


def cell_contents(function: Any) -> list[Any]:
    """Return the contents of the cells of a closure that are not empty."""
    contents = []
    for cell in function.__closure__ or ():
        try:
            contents.append(cell.cell_contents)
        except ValueError:  # an empty cell
            continue
    return contents


@functools.lru_cache(maxsize=4096)
def rebinds_its_closure(code: types.CodeType) -> bool:
    """Return whether a function assigns to a `nonlocal` name: then its cells are state, whatever they hold."""
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
        # A nested function may assign to it instead.
        waiting.extend(const for const in part.co_consts if isinstance(const, types.CodeType))
    return False


def function_parts(function: Any) -> list[Any]:
    """Return everything a function holds besides its code and globals."""
    return [
        *cell_contents(function),
        *(function.__defaults__ or ()),
        *(function.__kwdefaults__ or {}).values(),
        *function.__dict__.values(),
    ]


def holds_nothing(function: Any) -> bool:
    """Return whether a function is only its code and globals."""
    return function.__closure__ is None and not (function.__defaults__ or function.__kwdefaults__ or function.__dict__)


class FunctionRule(CopyRule):
    """A Python function: shared, or copied with its cells, defaults and attributes."""

    form = "function"

    def copy(self, old: Any, copier: Copier) -> Any:
        if holds_nothing(old):
            if not is_from_library(old):
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
        if (annotate := getattr(old, "__annotate__", None)) is not None:
            # Since Python 3.14. Reading `__annotations__` would evaluate them, which fails if a name is not defined.
            new.__annotate__ = copier.copy(annotate)  # type: ignore[attr-defined, unused-ignore]
        elif old.__annotations__:
            new.__annotations__ = dict(old.__annotations__)
        if getattr(old, "__type_params__", ()):  # since Python 3.12
            new.__type_params__ = old.__type_params__  # type: ignore[attr-defined, unused-ignore]
        if old.__defaults__ is not defaults or old.__kwdefaults__ or not copy_known_attributes(old, new, copier):
            copier.todo.append((self, old, new))
        return new

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        """Fill in the defaults and attributes of a copied function."""
        if old.__defaults__:
            new.__defaults__ = copier.copy(old.__defaults__)
        if old.__kwdefaults__:
            new.__kwdefaults__ = {k: copier.copy(v) for k, v in old.__kwdefaults__.items()}
        copy_attributes(old, new, copier)

    def shares(self, old: Any, copier: Copier) -> bool:
        return holds_nothing(old) or (id(old) not in copier.forced and not reaches_state(old, copier))


def reaches_state(function: Any, copier: Copier) -> bool:
    """Return whether a function reaches anything that the twin must not share.

    In an importable function, only Keras state counts: its caches belong to its module, like any other global.
    """
    if _holds_known_state(function, copier):
        return True
    stateful = copier.tables["stateful"]
    if id(function) in stateful:
        return True
    only_keras = is_importable(function)
    seen: dict[int, Any] = {}  # id -> the object that led to it
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
        # Everything on the path to it leads to state as well, so a chain of closures is examined once.
        while value is not None and not only_keras:
            stateful[id(value)] = value
            value = seen[id(value)]
        return True
    return False


def _holds_known_state(function: Any, copier: Copier) -> bool:
    """Return whether a cell holds Keras state that has a twin already, as in Keras' wrapper of `build`."""
    for cell in function.__closure__ or ():
        try:
            value = cell.cell_contents
        except ValueError:  # an empty cell
            continue
        if copier.find(value, value) is not value and copier.rules[type(value)].is_state:
            return True
    return False


def _leads_to(value: Any, function: Any, copier: Copier, *, only_keras: bool) -> Iterable[Any] | None:
    """Return what a value leads to, or None if the value itself is state."""
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
    rule = copier.rules[type(value)]
    if isinstance(rule, WrapperRule):
        return (rule.wrapped(value),)
    return () if copier.shares(value) or not _counts(value, copier, only_keras=only_keras) else None


def _counts(value: Any, copier: Copier, *, only_keras: bool) -> bool:
    return not only_keras or copier.rules[type(value)].is_state


class CellRule(ShellRule):
    """A cell of a closure. It is filled immediately if the twin of its contents is known."""

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
            copier.replace_id_later(lambda twin_id: setattr(new, "cell_contents", twin_id), old.cell_contents)
        except ValueError:  # an empty cell stays empty
            return


def _is_quick(method: Any, copier: Copier) -> bool:
    """Return whether a bound method can be copied directly: its owner is known, and its function has no closure."""
    function = method.__func__
    is_plain = type(function) is types.FunctionType and function.__closure__ is None
    return is_plain and copier.find(method.__self__, MISSING) is not MISSING


def wrongly_shared(copier: Copier) -> set[int]:
    """Return the ids of functions that were shared although one of their cells was copied for another function.

    Two functions may share a cell that only one of them assigns to. This is not yet known when the
    first one is visited.
    """
    shared = [function for function in copier.records["functions"] if copier.find(function) is function]
    return {
        id(function)
        for function in shared
        if any(copier.find(cell, cell) is not cell for cell in function.__closure__ or ())
    }


class MethodRule(AssemblyRule):
    """A bound method: the function bound to the twin."""

    def copy(self, old: Any, copier: Copier) -> Any:
        function, owner = old.__func__, copier.find(old.__self__, MISSING)
        if owner is MISSING or type(function) is not types.FunctionType:
            return copier.assemble(old)
        twin_function = copier.copy(function)
        shared = twin_function is function and owner is old.__self__
        new = copier.memo[id(old)] = old if shared else types.MethodType(twin_function, owner)
        copier.kept_alive.append(old)
        return new

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        return (old.__func__, old.__self__)

    def make(self, old: Any, copier: Copier) -> Any:
        function, owner = copier.copy(old.__func__), copier.copy(old.__self__)
        if function is old.__func__ and owner is old.__self__:
            return old
        return types.MethodType(function, owner)

    def shares(self, old: Any, copier: Copier) -> bool:
        return copier.shares(old.__func__) and copier.shares(old.__self__)


class BuiltinMethodRule(AssemblyRule):
    """A builtin function (shared), or a builtin method of an object (that of the object's twin)."""

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        return (old.__self__,)

    def make(self, old: Any, copier: Copier) -> Any:
        owner = copier.copy(old.__self__)
        return old if owner is old.__self__ else getattr(owner, old.__name__)

    def shares(self, old: Any, copier: Copier) -> bool:
        return copier.shares(old.__self__)


class PartialRule(AssemblyRule):
    """A `functools.partial`. Its keywords are a mutable dict, so it is never shared."""

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        return (old.func, old.args, *old.keywords.values())

    def make(self, old: Any, copier: Copier) -> Any:
        new = functools.partial.__new__(
            type(old),
            copier.copy(old.func),
            *copier.copy(old.args),
            **{k: copier.copy(v) for k, v in old.keywords.items()},
        )
        for name, value in old.__dict__.items():
            new.__dict__[name] = copier.copy(value)
        return new


class WrapperRule(AssemblyRule):
    """A callable around a Python function: shared, or recreated around the copied function."""

    def copy(self, old: Any, copier: Copier) -> Any:
        return old if self.shares(old, copier) else copier.assemble(old)

    def wrapped(self, old: Any) -> Any:
        """Return the function inside."""
        return old.__wrapped__

    def wrap(self, old: Any, function: Any, copier: Copier) -> Any:
        """Return a new wrapper like `old` around the copied function."""
        raise NotImplementedError

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        return (self.wrapped(old),)

    def make(self, old: Any, copier: Copier) -> Any:
        function = copier.copy(self.wrapped(old))
        return old if function is self.wrapped(old) else self.wrap(old, function, copier)

    def shares(self, old: Any, copier: Copier) -> bool:
        return is_importable(old) or copier.shares(self.wrapped(old))


class CachedFunctionRule(WrapperRule):
    """A function with `functools.lru_cache`: the new one has an empty cache."""

    def copy(self, old: Any, copier: Copier) -> Any:
        return copier.assemble(old)

    def wrap(self, old: Any, function: Any, copier: Copier) -> Any:
        return functools.lru_cache(**old.cache_parameters())(function)


FUNCTION_RULES: dict[type, Any] = {
    types.FunctionType: FunctionRule(),
    types.CellType: CellRule(),
    types.MethodType: MethodRule(),
    types.BuiltinFunctionType: BuiltinMethodRule(),
    types.MethodWrapperType: BuiltinMethodRule(),
    functools.partial: PartialRule(),
    functools._lru_cache_wrapper: CachedFunctionRule(),
}
