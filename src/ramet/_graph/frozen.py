"""What all frozen values have in common: compared by value, copied by not copying, changed by making another."""

from __future__ import annotations

import dataclasses
from typing import Any, Self

__all__ = ["Changeable", "Frozen"]


class Changeable:
    """A frozen dataclass that makes changed copies of itself."""

    __slots__ = ()

    def with_changes(self, **changes: Any) -> Self:
        """The same value with other fields: `call.with_changes(op="conv_2")`."""
        return dataclasses.replace(self, **changes)  # type: ignore[type-var]  # subclasses are dataclasses


class Frozen(Changeable):
    """A value that may be nested to any depth: equal to another when both are written as the same JSON.

    Python's own comparison would recurse, hold 1, 1.0 and True for the same argument, and NaN for different from
    itself.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        return self._text() == other._text()

    def __hash__(self) -> int:
        return hash(self._text())

    def __repr__(self) -> str:
        from ramet._graph.render import represent

        return represent(self)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def _text(self) -> str:
        from ramet._graph.encode import text_of

        return text_of(self)
