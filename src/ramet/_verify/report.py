"""What verifying answers: a report of checks, as frozen values."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from ramet._graph import Shown
from ramet.errors import VerifyError

if TYPE_CHECKING:
    from ramet._graph import Graph

__all__ = ["Check", "Difference", "Outcome", "Report", "VerifyError"]

Outcome: TypeAlias = Literal["passed", "failed", "not run"]

# Raised by one whenever a reader of the JSON would have to change.
VERSION = 1


@dataclass(frozen=True, slots=True, repr=False)
class Difference(Shown):
    """One thing that is not the same.

    Attributes:
        path: where: an op, a variable, an attribute of an op (`block/dense.units`), or an output.
        text: what, for a reader.
        size: how far numbers are apart at most, relative to the largest number; None where that says nothing.
    """

    path: str
    text: str
    size: float | None = None

    def _line(self) -> str:
        return f"at '{self.path}': {self.text}"

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


@dataclass(frozen=True, slots=True, repr=False)
class Check(Shown):
    """One thing verified.

    Attributes:
        name: of the check.
        outcome: "passed", "failed" or "not run".
        summary: what was compared, or how much of it differs, in a few words.
        reason: why it was not run.
        differences: the first three.
        total: how many there are.
        began: the first call whose value differs; None where the check has no calls to look at.
        counts: how much was looked at, by name.
        largest: the largest relative difference between numbers, where a tolerance was given and numbers were compared.
    """

    name: str
    outcome: Outcome
    summary: str = ""
    reason: str | None = None
    differences: tuple[Difference, ...] = ()
    total: int = 0
    began: str | None = None
    counts: Mapping[str, int] = field(default_factory=lambda: MappingProxyType({}))
    largest: float | None = None

    def _line(self) -> str:
        from ramet._verify.show import words

        told = words(self)
        return f"'{self.name}': {told}" if self.outcome == "not run" else f"'{self.name}': {self.outcome}, {told}"

    def __str__(self) -> str:
        from ramet._verify.show import findings

        return findings([self])

    def __reduce__(self) -> tuple[object, ...]:
        # A read-only view cannot be pickled.
        return _revive, (self.to_data(),)

    def to_data(self) -> dict[str, Any]:
        """The check as plain data, for JSON."""
        differences = [{"path": one.path, "text": one.text, "size": one.size} for one in self.differences]
        return {
            "name": self.name,
            "outcome": self.outcome,
            "summary": self.summary,
            "reason": self.reason,
            "total": self.total,
            "differences": differences,
            "began": self.began,
            "counts": dict(self.counts),
            "largest": self.largest,
        }


def _revive(data: dict[str, Any]) -> Check:
    parts = {**data, "counts": MappingProxyType(data["counts"])}
    parts["differences"] = tuple(Difference(**one) for one in data["differences"])
    return Check(**parts)


@dataclass(frozen=True, slots=True, repr=False)
class Report(Shown):
    """All that was verified: `report.ok`, `print(report)`, `report["state"]`, `report.to_json()`, `report.to_html()`.

    Attributes:
        model: the name of the original.
        twin: the name of the other.
        checks: in the order they were run.
        about: the backend, or the backends, and the tolerance, in words.
        graphs: the original and the other as data, for a picture.
    """

    model: str
    twin: str
    checks: tuple[Check, ...]
    about: str = ""
    graphs: tuple[Graph, Graph] | None = field(default=None, compare=False, repr=False)

    @property
    def ok(self) -> bool:
        """Whether no check failed, and at least one was run. What was not run says why: look at `checks`."""
        return not self.failed and any(check.outcome == "passed" for check in self.checks)

    @property
    def failed(self) -> tuple[Check, ...]:
        """The checks that failed."""
        return tuple(check for check in self.checks if check.outcome == "failed")

    def __bool__(self) -> bool:
        return self.ok

    def __iter__(self) -> Iterator[Check]:
        return iter(self.checks)

    def __getitem__(self, name: str) -> Check:
        found = next((check for check in self.checks if check.name == name), None)
        if found is None:
            raise KeyError(name)
        return found

    def raise_if_failed(self) -> None:
        """Raise a `VerifyError` that lists what differs, unless `ok`."""
        if self.ok:
            return
        from ramet._verify.show import findings

        if not self.failed:
            raise VerifyError(
                f"Cannot say whether '{self.twin}' is a twin of '{self.model}': no check could be run.",
                found="; ".join(f"{check.name}: {check.reason}" for check in self.checks[:3]),
                fix="pass example inputs, inputs=..., or choose other checks with only=.",
            )
        first = next((one.path for check in self.failed for one in check.differences), None)
        count = f"{len(self.failed)} of {len(self.checks)} checks failed"
        raise VerifyError(
            f"Cannot take '{self.twin}' for a twin of '{self.model}': {count}.",
            found=findings(self.failed).replace("\n", "\n            "),
            fix="make it with ramet.clone, or allow what is meant with tolerance= or skip=.",
            path=first,
        )

    def to_json(self, indent: int | None = 2) -> str:
        """The report as JSON.

        An object with `ramet_report` (the version of this format, 1), `ok`, `model`, `twin`, `about`, and `checks`: a list
        of objects with `name`, `outcome` ("passed", "failed", "not run"), `summary`, `reason`, `total` (how many
        differences), `differences` (the first three: `path`, `text`, `size` or null), `began`, `counts` and `largest` (the largest relative difference,
        where a tolerance was given; else null).
        """
        data = {
            "ramet_report": VERSION,
            "ok": self.ok,
            "model": self.model,
            "twin": self.twin,
            "about": self.about,
            "checks": [check.to_data() for check in self.checks],
        }
        return json.dumps(data, indent=indent, ensure_ascii=False, allow_nan=False, default=str)

    def to_html(self) -> str:
        """A page that works from disk: the models on one picture, opened at the first value that differs.

        `ramet.draw(model, report=report)` has the histograms of the weights as well.
        """
        from ramet._verify.picture import picture_of

        return picture_of(self).to_html()

    def __str__(self) -> str:
        from ramet._verify.show import printed

        return printed(self)

    def __rich__(self) -> Any:
        from ramet._verify.show import table

        return table(self)

    def _line(self) -> str:
        from ramet._verify.show import headline

        return headline(self)

    def _html(self) -> str:
        from ramet._verify.show import html

        return html(self)
