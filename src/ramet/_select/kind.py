"""The kinds of selectors that are not made of others by `&`, `|` and `~`."""

from __future__ import annotations

import functools
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ramet._graph import FrozenDict, escape, thaw
from ramet._select.selector import Selector

__all__ = ["Anything", "Exactly", "Feeds", "Named", "Nth", "OfClass", "Reads", "Where", "WithConfig"]

_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Anything(Selector):
    """Every op."""

    def _code(self) -> str:
        return "anything()"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Named(Selector):
    """The ops whose path one of the globs matches."""

    globs: tuple[str, ...]

    def _own(self) -> tuple[object, ...]:
        return self.globs

    def _code(self) -> str:
        return f"named({', '.join(map(repr, self.globs))})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OfClass(Selector):
    """The ops of one of the classes, which stand for themselves or by name."""

    classes: tuple[type | str, ...]

    def _own(self) -> tuple[object, ...]:
        return self.classes

    def _code(self) -> str:
        words = (repr(item) if isinstance(item, str) else item.__qualname__ for item in self.classes)
        return f"of_class({', '.join(words)})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Where(Selector):
    """The ops of which a predicate holds."""

    predicate: Callable[[Any], object]

    def _own(self) -> tuple[object, ...]:
        # Other callable objects may have any equality, or no hash: those are compared by identity.
        return (self.predicate if isinstance(self.predicate, _FUNCTIONS) else id(self.predicate),)

    def _code(self) -> str:
        function = self.predicate
        while isinstance(function, functools.partial):
            function = function.func
        name = getattr(function, "__name__", None)
        return f"where({escape(name) if isinstance(name, str) else f'<{type(function).__qualname__}>'})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WithConfig(Selector):
    """The ops whose config says all of this."""

    settings: FrozenDict

    def _own(self) -> tuple[object, ...]:
        return (self.settings,)

    def _code(self) -> str:
        settings = {str(key): thaw(value, _Bare) for key, value in self.settings.pairs}
        if all(key.isidentifier() for key in settings):
            return f"with_config({', '.join(f'{key}={value!r}' for key, value in settings.items())})"
        return f"with_config({settings!r})"


class _Bare:
    """A constant that is written as it prints, not in quotes."""

    def __init__(self, constant: object) -> None:
        self.constant = constant

    def __repr__(self) -> str:
        return escape(str(self.constant))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Nth(Selector):
    """The ops with these numbers among those that are asked, counted from 0, or from the end with -1."""

    numbers: tuple[int, ...]

    def _own(self) -> tuple[object, ...]:
        return self.numbers

    def _code(self) -> str:
        return f"nth({', '.join(map(repr, self.numbers))})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Neighbour(Selector):
    of: Selector

    @property
    def parts(self) -> tuple[Selector, ...]:
        return (self.of,)


class Reads(_Neighbour):
    """The ops that take a value of an op that matches."""

    __slots__ = ()

    def _code(self) -> tuple[str | Selector, ...]:
        return ("reads(", self.of, ")")


class Feeds(_Neighbour):
    """The ops whose value an op that matches takes."""

    __slots__ = ()

    def _code(self) -> tuple[str | Selector, ...]:
        return ("feeds(", self.of, ")")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Exactly(Selector):
    """These very live ops, and no others that look the same."""

    ops: tuple[Any, ...]

    def _own(self) -> tuple[object, ...]:
        return tuple(map(id, self.ops))

    def _code(self) -> str:
        words = (f"<{type(op).__qualname__} {str(getattr(op, 'name', ''))!r}>" for op in self.ops)
        return f"exactly({', '.join(words)})"
