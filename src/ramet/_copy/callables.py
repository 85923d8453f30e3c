"""What stands for a call besides functions: methods, partials, cached functions; and which plan is whose."""

from __future__ import annotations

import functools
import types
from collections.abc import Iterable
from typing import Any

from ramet._copy.copier import Copier
from ramet._copy.functions import CellPlan, FunctionPlan, is_importable
from ramet._copy.plan import MISSING, Assembly


class MethodPlan(Assembly):
    """A bound method: the function bound to the twin."""

    def copy(self, old: Any, copier: Copier) -> Any:
        function, owner = old.__func__, copier.find(old.__self__, MISSING)
        if owner is MISSING or type(function) is not types.FunctionType:
            return copier.assemble(old)
        twin_function = copier.copy(function)
        shared = twin_function is function and owner is old.__self__
        new = copier.memo[id(old)] = old if shared else types.MethodType(twin_function, owner)
        copier.kept.append(old)
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


class BuiltinMethodPlan(Assembly):
    """A builtin function (shared), or a builtin method of an object (that of the object's twin)."""

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        return (old.__self__,)

    def make(self, old: Any, copier: Copier) -> Any:
        owner = copier.copy(old.__self__)
        return old if owner is old.__self__ else getattr(owner, old.__name__)

    def shares(self, old: Any, copier: Copier) -> bool:
        return copier.shares(old.__self__)


class PartialPlan(Assembly):
    """A `functools.partial`. Its keywords are a dict that can change, so it is never shared."""

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


class CachedFunctionPlan(Assembly):
    """A function behind `functools.lru_cache`: shared, or wrapped anew, with an empty cache."""

    def wrapped(self, old: Any) -> Any:
        """The function behind it."""
        return old.__wrapped__

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        return (old.__wrapped__,)

    def make(self, old: Any, copier: Copier) -> Any:
        function = copier.copy(old.__wrapped__)
        if function is old.__wrapped__:
            return old
        return functools.lru_cache(**old.cache_parameters())(function)

    def shares(self, old: Any, copier: Copier) -> bool:
        return is_importable(old) or copier.shares(old.__wrapped__)


FUNCTION_PLANS: dict[type, Any] = {
    types.FunctionType: FunctionPlan(),
    types.CellType: CellPlan(),
    types.MethodType: MethodPlan(),
    types.BuiltinFunctionType: BuiltinMethodPlan(),
    types.MethodWrapperType: BuiltinMethodPlan(),
    functools.partial: PartialPlan(),
    functools._lru_cache_wrapper: CachedFunctionPlan(),
}
