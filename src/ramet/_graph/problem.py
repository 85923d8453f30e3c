"""What can be wrong with a graph, or with a text that should be one."""

from __future__ import annotations

from dataclasses import dataclass

from ramet.errors import FormatError, GraphError, UnknownPathError

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
