"""The report of a transfer as frozen values: the outcome for each weight."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from ramet._report import Code, Document, Result, Row, Section, Summarized, json_text, plain, split_off
from ramet._weights.match import How

Outcome: TypeAlias = Literal["copied", "adapted", "left"]
Shape: TypeAlias = tuple[int, ...]

# Rows of each section; the JSON has them all.
_MOST_ROWS = 40
NOT_SELECTED = "not selected"


@dataclass(frozen=True, slots=True, repr=False)
class TransferredWeight(Summarized):
    """The outcome for one weight of the target.

    Attributes:
        path: The path of the weight in the target.
        outcome: "copied", "adapted" or "left".
        shape: The shape of the weight.
        dtype: The dtype of the weight.
        source: The path of the weight in the source that matches it, or None.
        how: How the two were matched: by "path", "rename", "order" (for names that Keras generated) or "end" (of the path).
        source_shape: The shape of the weight in the source.
        source_dtype: The dtype of the weight in the source. If it is another one, the values were cast.
        reason: The reason for leaving it.
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

    def _summary(self) -> str:
        source = f" from '{self.source}'" if self.source not in (None, self.path) else ""
        return f"'{self.path}': {self.outcome}{source}{f', {self.reason}' if self.reason else ''}"

    @property
    def cast(self) -> bool:
        """True if the values were cast to another dtype."""
        return self.outcome != "left" and self.source_dtype != self.dtype


@dataclass(frozen=True, slots=True, repr=False)
class UnusedWeight(Summarized):
    """A weight of the source that was not used, with the reason."""

    path: str
    shape: Shape
    reason: str

    def _summary(self) -> str:
        return f"'{self.path}': {self.reason}"


@dataclass(frozen=True, slots=True, repr=False)
class TransferReport(Result):
    """The outcome for each weight of the target: the result of `ramet.transfer`.

    `report["dense/kernel"]` is the outcome for one weight, and iterating over a report gives all of them. Print it,
    show it in a notebook, or write it with `to_json`, `to_markdown` or `to_html`.

    Attributes:
        source: The name of the source.
        target: The name of the target.
        policy: The policy for weights of other shapes.
        weights: The weights of the target, in order, each with `path`, `outcome`, and the `source` or the `reason` for
            leaving it.
        unused: The weights of the source that were not used, each with the `reason`.
        written: `False` for a dry run.

    >>> import keras, ramet
    >>> def model(head):
    ...     return keras.Sequential(
    ...         [keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dense(2, name=head)], name="net"
    ...     )
    >>> report = ramet.transfer(model("old_head"), model("new_head"))
    >>> report
    <TransferReport net -> net: 2 copied, 2 left unchanged, 2 unused>
    >>> report.ok, [(weight.path, weight.reason) for weight in report.left][0]
    (False, ('new_head/kernel', 'no weight of the source matches'))
    >>> report["a/kernel"].outcome
    'copied'
    """

    source: str
    target: str
    policy: str
    weights: tuple[TransferredWeight, ...]
    unused: tuple[UnusedWeight, ...] = ()
    written: bool = True

    @property
    def ok(self) -> bool:
        """True if every selected weight of the target was copied or adapted."""
        return all(one.outcome != "left" or one.reason == NOT_SELECTED for one in self.weights)

    @property
    def copied(self) -> tuple[TransferredWeight, ...]:
        """The weights with the values of the source, cast if the dtype differs."""
        return self._with("copied")

    @property
    def adapted(self) -> tuple[TransferredWeight, ...]:
        """The weights whose values the policy adapted to another shape."""
        return self._with("adapted")

    @property
    def left(self) -> tuple[TransferredWeight, ...]:
        """The weights that keep their values, each with the reason."""
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
        """Return the report as JSON: `{"ramet": "transfer", "version": 1, ...}`.

        It has `ok`, `source`, `target`, `policy`, `written`, `counts`, `weights` and `unused`: lists of objects with the
        attributes of `TransferredWeight` and `UnusedWeight`.
        """
        fields = {
            "ok": self.ok,
            "source": self.source,
            "target": self.target,
            "policy": self.policy,
            "written": self.written,
            "counts": {name: len(getattr(self, name)) for name in ("copied", "adapted", "left", "unused")},
            "weights": [_fields(weight) for weight in self.weights],
            "unused": [_fields(weight) for weight in self.unused],
        }
        return json_text("transfer", fields, indent=indent)

    def _summary(self) -> str:
        return plain(self._title)

    @property
    def _title(self) -> tuple[str, ...]:
        skipped = sum(weight.reason == NOT_SELECTED for weight in self.left)
        numbers = {
            "copied": len(self.copied),
            "adapted": len(self.adapted),
            "left unchanged": len(self.left) - skipped,
            "not selected": skipped,
            "unused": len(self.unused),
        }
        counts = ", ".join(f"{number:,} {word}" for word, number in numbers.items() if number) or "no weights"
        return Code(self.source), " -> ", Code(self.target), f": {counts}{'' if self.written else ' (dry run)'}"

    def __report__(self) -> Document:
        """Return a section for each outcome; those to look at first come first."""
        left = [weight for weight in self.left if weight.reason != NOT_SELECTED]
        sections = {
            "Left unchanged": [
                _row(one.path, "" if one.shape is None else one.shape, one.reason or "") for one in left
            ],
            f"Adapted by '{self.policy}'": [
                _row(one.path, f"{one.source_shape} -> {one.shape}", _origin(one)) for one in self.adapted
            ],
            "Unused weights of the source": [_row(one.path, one.shape, one.reason) for one in self.unused],
            "Copied": [_row(one.path, one.shape, _origin(one)) for one in self.copied],
        }
        return Document(
            self._title,
            tuple(_section(title, rows) for title, rows in sections.items() if rows),
            style="good" if self.ok else "warning",
            complete="`to_json()`",
        )


def _section(title: str, rows: list[Row]) -> Section:
    first, rest = split_off(rows, _MOST_ROWS)
    return Section(title, tuple(first), rest, widest=48)


def _row(path: str, shape: object, words: str) -> Row:
    return Row((Code(path), str(shape), words))


def _origin(weight: TransferredWeight) -> str:
    """Return how the source of a weight was found and how its values were changed, if it is not obvious."""
    origins = {
        "rename": f"renamed from {weight.source}",
        "order": f"matched by its order, from {weight.source}",
        "end": f"matched by the end of its path, from {weight.source}",
    }
    cast = f"cast from {weight.source_dtype} to {weight.dtype}" if weight.cast else ""
    return "; ".join(filter(None, [origins.get(weight.how or "", ""), cast]))


def _fields(weight: Any) -> dict[str, Any]:
    return {name: getattr(weight, name) for name in type(weight).__slots__}
