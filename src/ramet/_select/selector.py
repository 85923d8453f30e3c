"""Who is meant: small frozen values, combined with `&`, `|` and `~`. A selector knows no model; `find` asks one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, NoReturn, TypeVar

from ramet.errors import ArgumentError

__all__ = ["And", "Not", "Or", "Selector", "fold_once"]

Result = TypeVar("Result")

# How tightly the parts of a selector's code hold together, as in Python.
_OR, _AND, _NOT, _WORD = range(4)
_LONGEST = 1_000_000


class Selector:
    """A rule that says which ops of a model are meant.

    `a & b` asks `b` among the matches of `a`, from left to right: `of_class("Dense") & nth(-1)` is the last `Dense`.
    `a | b` is what matches either, `~a` what does not match. A string, a class, an op or a list of them may stand on one
    side of `&` and `|` and is read as `as_selector` does. Two selectors are equal when their code is the same.
    """

    __slots__ = ()

    @property
    def parts(self) -> tuple[Selector, ...]:
        """The selectors it is made of."""
        return ()

    def _own(self) -> tuple[object, ...]:
        """What it says itself, without its parts; hashable."""
        return ()

    def _code(self) -> str | tuple[str | Selector, ...]:
        """The code that makes it, with its parts still to be written."""
        raise NotImplementedError

    @property
    def _binding(self) -> int:
        return _WORD

    def __and__(self, other: object) -> Selector:
        return _chain(And, self, other)

    def __rand__(self, other: object) -> Selector:
        return _chain(And, other, self)

    def __or__(self, other: object) -> Selector:
        return _chain(Or, self, other)

    def __ror__(self, other: object) -> Selector:
        return _chain(Or, other, self)

    def __invert__(self) -> Selector:
        return self.part if isinstance(self, Not) else Not(self)

    def __bool__(self) -> NoReturn:
        # `a and b` would quietly be b, `not a` would quietly be False.
        raise ArgumentError(
            "Cannot use a selector as true or false: it has not been asked of a model.",
            fix="combine selectors with '&', '|' and '~'; to know whether anything matches, select(model, ...) first.",
        )

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Selector):
            return NotImplemented
        waiting: list[tuple[Selector, Selector]] = [(self, other)]
        while waiting:
            ours, theirs = waiting.pop()
            if ours is theirs:
                continue
            if type(ours) is not type(theirs) or len(ours.parts) != len(theirs.parts) or ours._own() != theirs._own():
                return False
            waiting.extend(zip(ours.parts, theirs.parts, strict=True))
        return True

    def __hash__(self) -> int:
        return fold_once(self, lambda item, parts: hash((type(item), item._own(), tuple(parts))))

    def __repr__(self) -> str:
        return self.to_text(_LONGEST)

    def to_text(self, limit: int) -> str:
        """The code that makes it, of at most `limit` characters; what is longer ends in three dots."""
        # A selector that stands in another twice, which stands in a third twice, is written out for ever.
        written: list[str] = []
        size = 0
        for piece in _pieces(self):
            written.append(piece)
            size += len(piece)
            if size > limit:
                return "".join(written)[: limit - 3] + "..."
        return "".join(written)

    def __copy__(self) -> Selector:
        return self

    def __deepcopy__(self, memo: object) -> Selector:
        return self


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class _Chain(Selector):
    several: tuple[Selector, ...]

    @property
    def parts(self) -> tuple[Selector, ...]:
        return self.several


class And(_Chain):
    """Each part is asked among the matches of those before it."""

    __slots__ = ()

    @property
    def _binding(self) -> int:
        return _AND

    def _code(self) -> tuple[str | Selector, ...]:
        return _joined(" & ", self.several)


class Or(_Chain):
    """What matches at least one of the parts."""

    __slots__ = ()

    @property
    def _binding(self) -> int:
        return _OR

    def _code(self) -> tuple[str | Selector, ...]:
        return _joined(" | ", self.several)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Not(Selector):
    """What does not match the part."""

    part: Selector

    @property
    def parts(self) -> tuple[Selector, ...]:
        return (self.part,)

    @property
    def _binding(self) -> int:
        return _NOT

    def _code(self) -> tuple[str | Selector, ...]:
        return ("~", self.part)


def _chain(kind: type[And] | type[Or], left: object, right: object) -> Selector:
    """Both, as one flat chain: a chain grown in a loop must not be as deep as it is long."""
    from ramet._select.convert import as_selector

    several: list[Selector] = []
    for side in (as_selector(left), as_selector(right)):
        several += side.parts if isinstance(side, kind) else (side,)
    return kind(tuple(several))


def _joined(word: str, parts: tuple[Selector, ...]) -> tuple[str | Selector, ...]:
    code: list[str | Selector] = []
    for part in parts:
        code += (word, part)
    return tuple(code[1:])


def _pieces(selector: Selector) -> Iterator[str]:
    """The code of a selector, piece by piece: selectors nest deeper than Python's own stack would allow."""
    waiting: list[str | Selector] = [selector]
    while waiting:
        item = waiting.pop()
        if isinstance(item, str):
            yield item
            continue
        code = item._code()
        if isinstance(code, str):
            yield code
            continue
        for piece in reversed(code):
            # In the brackets of a call, as in reads(a | b), nothing else needs brackets.
            loose = isinstance(piece, Selector) and item._binding != _WORD and piece._binding < item._binding
            waiting += (")", piece, "(") if loose else (piece,)


def fold_once(root: Selector, join: Callable[[Selector, list[Any]], Result]) -> Result:
    """What `join` makes of a selector and of the results of its parts; a part that stands twice is asked once."""
    done: dict[int, Result] = {}
    waiting = [root]
    while waiting:
        item = waiting[-1]
        missing = [part for part in item.parts if id(part) not in done]
        if missing:
            waiting += missing
            continue
        waiting.pop()
        if id(item) not in done:
            done[id(item)] = join(item, [done[id(part)] for part in item.parts])
    return done[id(root)]
