"""What `transfer` answers: what became of each weight, as frozen values."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ramet._graph import Shown
from ramet._weights.match import How

__all__ = ["Outcome", "TransferReport", "TransferredWeight", "UnusedWeight"]

Outcome: TypeAlias = Literal["copied", "adapted", "left"]
Shape: TypeAlias = tuple[int, ...]

# Raised by one whenever a reader of the JSON would have to change.
VERSION = 1
NOT_SELECTED = "not selected"


@dataclass(frozen=True, slots=True, repr=False)
class TransferredWeight(Shown):
    """What became of one weight of the target.

    Attributes:
        path: of the weight in the target.
        outcome: "copied", "adapted" or "left".
        source: the path of the weight it was filled from, or would have been; None where there is none.
        how: what the two were matched by: "path", "rename", "order" (names that Keras gave), or "end" (of the path).
        shape: of the weight.
        source_shape: of what was there for it.
        dtype: of the weight.
        source_dtype: of what was there for it; where it is another one, the values were cast.
        reason: why it was left.
    """

    path: str
    outcome: Outcome
    shape: Shape | None = None
    dtype: str | None = None
    source: str | None = None
    how: How | None = None
    source_shape: Shape | None = None
    source_dtype: str | None = None
    reason: str | None = None

    def _line(self) -> str:
        source = f" from '{self.source}'" if self.source not in (None, self.path) else ""
        return f"'{self.path}': {self.outcome}{source}{f', {self.reason}' if self.reason else ''}"

    @property
    def cast(self) -> bool:
        """Whether the values were cast to another dtype."""
        return self.outcome != "left" and self.source_dtype != self.dtype


@dataclass(frozen=True, slots=True, repr=False)
class UnusedWeight(Shown):
    """A weight of the source that filled none of the target, and why."""

    path: str
    shape: Shape
    reason: str

    def _line(self) -> str:
        return f"'{self.path}': {self.reason}"


@dataclass(frozen=True, slots=True, repr=False)
class TransferReport(Shown):
    """What became of each weight: `print(report)`, `report.ok`, `report["dense/kernel"]`, `report.to_json()`.

    Attributes:
        source: the name of the source.
        target: the name of the target.
        policy: for weights of other shapes.
        weights: of the target, in order.
        unused: weights of the source that filled none.
        written: False for a dry run.
    """

    source: str
    target: str
    policy: str
    weights: tuple[TransferredWeight, ...]
    unused: tuple[UnusedWeight, ...] = ()
    written: bool = True

    @property
    def ok(self) -> bool:
        """Whether every weight of the target that was asked for was copied or adapted."""
        return all(one.outcome != "left" or one.reason == NOT_SELECTED for one in self.weights)

    @property
    def copied(self) -> tuple[TransferredWeight, ...]:
        """The weights with the values of the source, cast where the dtype is another."""
        return self._with("copied")

    @property
    def adapted(self) -> tuple[TransferredWeight, ...]:
        """The weights whose values were made to fit, by the policy."""
        return self._with("adapted")

    @property
    def left(self) -> tuple[TransferredWeight, ...]:
        """The weights that keep what they held, each with the reason."""
        return self._with("left")

    def _with(self, outcome: Outcome) -> tuple[TransferredWeight, ...]:
        return tuple(one for one in self.weights if one.outcome == outcome)

    def __iter__(self) -> Iterator[TransferredWeight]:
        return iter(self.weights)

    def __getitem__(self, path: str) -> TransferredWeight:
        for one in self.weights:
            if one.path == path:
                return one
        raise KeyError(path)

    def to_json(self, indent: int | None = 2) -> str:
        """The report as JSON.

        An object with `ramet_transfer` (the version of this format, 1), `ok`, `source`, `target`, `policy`, `written`,
        `counts`, `weights` and `unused`: lists of objects with the attributes of `TransferredWeight` and `UnusedWeight`.
        """
        data = {
            "ramet_transfer": VERSION,
            "ok": self.ok,
            "source": self.source,
            "target": self.target,
            "policy": self.policy,
            "written": self.written,
            "counts": {name: len(getattr(self, name)) for name in ("copied", "adapted", "left", "unused")},
            "weights": [_data(one) for one in self.weights],
            "unused": [_data(one) for one in self.unused],
        }
        return json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False)

    def __str__(self) -> str:
        from ramet._weights.show import text

        return text(self)

    def _line(self) -> str:
        from ramet._weights.show import headline

        return headline(self)

    def _html(self) -> str:
        from ramet._weights.show import html

        return html(self)


def _data(one: Any) -> dict[str, Any]:
    return {name: getattr(one, name) for name in type(one).__slots__}
