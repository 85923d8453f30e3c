"""Selectors as frozen values, combined with `&`, `|` and `~`. A selector knows no model; `Search` evaluates it on one.

Selectors nest at most `MOST_LEVELS` deep and have at most `MOST_PARTS` parts, so the code that handles them may
recurse. Chains are flat (`a | b | c` is one `Or`), so a selector grown in a loop over names does not nest at all.
"""

from __future__ import annotations

import functools
import itertools
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NoReturn, Self

from ramet._graph import FrozenDict, thaw
from ramet._report import escape
from ramet.errors import ArgumentError

MOST_LEVELS = 100
# Parts are counted as often as they are used: a selector inside another twice, inside a third twice, doubles at each level.
MOST_PARTS = 1_000_000

# How tightly the parts of a selector's code bind, as in Python.
_OR, _AND, _NOT, _CALL = range(4)
_FUNCTIONS = (types.FunctionType, types.BuiltinFunctionType, types.MethodType, type)


class Selector:
    """A rule that selects ops of a model; it knows no model itself.

    `ramet.anything`, `ramet.named`, `ramet.of_class`, `ramet.where`, `ramet.with_config`, `ramet.nth`, `ramet.reads`
    and `ramet.feeds` make selectors, which are combined with operators:

    - `a & b` applies `b` to the matches of `a`, from left to right: `of_class("Dense") & nth(-1)` is the last `Dense`.
    - `a | b` selects the ops that match either.
    - `~a` selects the ops that do not match.

    One operand of `&` and `|` may also be a string (short for `named`), a class (short for `of_class`), a live layer,
    which selects itself, or a list of these. A selector prints as the code that makes it, and two selectors are equal
    if their code is.

    >>> import keras, ramet
    >>> selector = ramet.of_class("Dense") & ~ramet.named("head")
    >>> selector
    of_class('Dense') & ~named('head')
    >>> model = keras.Sequential(
    ...     [keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dense(2, name="head")]
    ... )
    >>> ramet.select(model, selector).paths
    ('a',)
    >>> ramet.select(model, selector | "head").paths
    ('a', 'head')
    """

    __slots__ = ()
    _binding: ClassVar[int] = _CALL
    _function: ClassVar[str] = ""  # the public function that makes it

    @property
    def parts(self) -> tuple[Selector, ...]:
        """The selectors it is made of."""
        return ()

    def with_parts(self, parts: tuple[Selector, ...]) -> Selector:
        """Return a selector of the same kind made of other parts."""
        return type(self)(parts) if isinstance(self, _Composite) else self

    def _key(self) -> tuple[object, ...]:
        """Return what distinguishes it from others of its class."""
        return tuple(getattr(self, one.name) for one in fields(self) if one.compare)  # type: ignore[arg-type]

    def _arguments(self) -> Iterable[str]:
        """Return the code of each argument of the function that makes it."""
        return map(repr, itertools.chain.from_iterable(self._key()))  # type: ignore[arg-type]

    def __repr__(self) -> str:
        return f"{self._function}({', '.join(self._arguments())})"

    def __and__(self, other: object) -> Selector:
        return _chain(And, self, other)

    def __rand__(self, other: object) -> Selector:
        return _chain(And, other, self)

    def __or__(self, other: object) -> Selector:
        return _chain(Or, self, other)

    def __ror__(self, other: object) -> Selector:
        return _chain(Or, other, self)

    def __invert__(self) -> Selector:
        return self.part if isinstance(self, Not) else Not((self,))

    def __bool__(self) -> NoReturn:
        # `a and b` would silently be `b`, and `not a` would silently be False.
        raise ArgumentError(
            "Cannot use a selector as true or false: it has not been applied to a model.",
            fix="combine selectors with '&', '|' and '~'; to find out whether anything matches, call select(model, ...).",
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selector):
            return NotImplemented
        return self is other or (type(self) is type(other) and self._key() == other._key())

    def __hash__(self) -> int:
        return hash((type(self), self._key()))

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Anything(Selector):
    """Every op."""

    _function = "anything"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Named(Selector):
    """The ops with a path that matches one of the globs."""

    _function = "named"
    globs: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class OfClass(Selector):
    """The ops of one of the classes, each given as a class or a name."""

    _function = "of_class"
    classes: tuple[type | str, ...]

    def _arguments(self) -> Iterable[str]:
        return (repr(item) if isinstance(item, str) else item.__qualname__ for item in self.classes)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Where(Selector):
    """The ops for which a predicate returns true."""

    _function = "where"
    predicate: Callable[[Any], object]

    def _key(self) -> tuple[object, ...]:
        # Other callable objects may have any equality, or no hash: those are compared by identity.
        return (self.predicate if isinstance(self.predicate, _FUNCTIONS) else id(self.predicate),)

    def _arguments(self) -> Iterable[str]:
        function = self.predicate
        while isinstance(function, functools.partial):
            function = function.func
        name = getattr(function, "__name__", None)
        return (escape(name) if isinstance(name, str) else f"<{type(function).__qualname__}>",)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class WithConfig(Selector):
    """The ops whose config contains all of these settings."""

    _function = "with_config"
    settings: FrozenDict

    def _arguments(self) -> Iterable[str]:
        settings = {str(key): thaw(value, _Bare) for key, value in self.settings.pairs}
        if all(key.isidentifier() for key in settings):
            return (f"{key}={value!r}" for key, value in settings.items())
        return (repr(settings),)


class _Bare:
    """A constant whose repr has no quotes."""

    def __init__(self, constant: object) -> None:
        self.constant = constant

    def __repr__(self) -> str:
        return escape(str(self.constant))


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Nth(Selector):
    """The ops at these positions among those it is applied to, counted from 0, or from the end with -1."""

    _function = "nth"
    numbers: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Exactly(Selector):
    """These live ops, and no others that look the same."""

    _function = "exactly"
    ops: tuple[Any, ...]

    def _key(self) -> tuple[object, ...]:
        return tuple(map(id, self.ops))

    def _arguments(self) -> Iterable[str]:
        return (f"<{type(op).__qualname__} {str(getattr(op, 'name', ''))!r}>" for op in self.ops)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Composite(Selector):
    """A selector made of others; it knows its depth and the number of its parts."""

    several: tuple[Selector, ...]
    depth: int = field(init=False, compare=False)
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        inner = [part for part in self.several if isinstance(part, _Composite)]
        depth = 1 + max((part.depth for part in inner), default=0)
        size = 1 + len(self.several) - len(inner) + sum(part.size for part in inner)
        if depth > MOST_LEVELS or size > MOST_PARTS:
            raise ArgumentError(
                "Cannot combine these selectors: the result is nested too deeply or has too many parts.",
                expected=f"at most {MOST_LEVELS} levels and {MOST_PARTS:,} parts",
                found=f"{depth:,} levels and {size:,} parts",
                fix='select the ops by name, as a flat list: named("a", "b", ...).',
            )
        object.__setattr__(self, "depth", depth)
        object.__setattr__(self, "size", size)

    @property
    def parts(self) -> tuple[Selector, ...]:
        return self.several

    @property
    def part(self) -> Selector:
        """The only part of `Not`, `Reads` and `Feeds`."""
        return self.several[0]

    def _code(self, part: Selector) -> str:
        return f"({part!r})" if part._binding < self._binding else repr(part)


class And(_Composite):
    """The ops that remain when each part is applied to the matches of those before it."""

    __slots__ = ()
    _binding = _AND

    def __repr__(self) -> str:
        return " & ".join(map(self._code, self.several))


class Or(_Composite):
    """The ops that match at least one of the parts."""

    __slots__ = ()
    _binding = _OR

    def __repr__(self) -> str:
        return " | ".join(map(self._code, self.several))


class Not(_Composite):
    """The ops that do not match the part."""

    __slots__ = ()
    _binding = _NOT

    def __repr__(self) -> str:
        return f"~{self._code(self.part)}"


class Reads(_Composite):
    """The ops that use a value of an op that matches the part."""

    __slots__ = ()
    _function = "reads"


class Feeds(_Composite):
    """The ops whose value is used by an op that matches the part."""

    __slots__ = ()
    _function = "feeds"


def _chain(kind: type[And] | type[Or], left: object, right: object) -> Selector:
    """Return both as one flat chain: a chain grown in a loop must not nest."""
    several: list[Selector] = []
    for side in (as_selector(left), as_selector(right)):
        several += side.several if isinstance(side, kind) else (side,)
    return kind(tuple(several))


def as_selector(thing: object) -> Selector:
    """Return the selector that an object denotes.

    A string is a glob over paths (`named`), a class is `of_class`, a live layer or operation selects itself only, and a
    list or tuple selects any of its items.
    """
    if isinstance(thing, list | tuple):
        several: list[Selector] = []
        for item in thing:
            selector = _single(item)
            several += selector.several if isinstance(selector, Or) else (selector,)
        if len(several) == 1:
            return several[0]
        return Or(tuple(several)) if several else Not((Anything(),))
    return _single(thing)


def _single(thing: object) -> Selector:
    if isinstance(thing, Selector):
        return thing
    if isinstance(thing, str) and thing:
        return Named((thing,))
    if isinstance(thing, type):
        return OfClass((thing,))
    # A live op is recognized by its attributes, since this room does not know Keras: it has a name and can be called.
    # Functions only have `__name__`.
    if callable(thing) and isinstance(getattr(thing, "name", None), str):
        return Exactly((thing,))
    raise ArgumentError(
        f"Cannot select by {thing!r}: the string is empty."
        if isinstance(thing, str)
        else f"Cannot select by an object of class {type(thing).__qualname__}: it is not a selector.",
        expected="a selector, a path or glob, a class, a layer of the model, or a list of these",
        fix="write where(function)." if callable(thing) else 'write named("..."), of_class(...) or where(function).',
    )
