"""What can be wrong with a graph, or with a text that should be one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from ramet.errors import RametError

__all__ = ["FormatError", "GraphError", "Problem", "UnknownPathError"]


@dataclass(frozen=True, slots=True)
class Problem:
    """One rule that a graph breaks.

    Attributes:
        rule: the name of the rule.
        path: where: the path of the nested graph, if any, and the id of the op or call.
        message: a sentence that stands alone.
    """

    rule: str
    path: str
    message: str

    def __str__(self) -> str:
        return f"{self.path}: {self.message}" if self.path else self.message


class GraphError(RametError, ValueError):
    """A graph breaks its own rules. `problems` lists all of them."""

    def __init__(self, summary: str, *, problems: Sequence[Problem] = (), **parts: object) -> None:
        self.problems = tuple(problems)
        super().__init__(summary, **parts)  # type: ignore[arg-type]  # the parts of any error

    def __reduce__(self) -> tuple[object, ...]:
        revive, (cls, summary, parts) = cast("Any", super().__reduce__())
        return revive, (cls, summary, {**parts, "problems": self.problems})


class FormatError(RametError, ValueError):
    """A text is not the JSON of a graph. `path` says where in the text."""


class UnknownPathError(RametError, LookupError):
    """No op, call or variable stands at this path."""
