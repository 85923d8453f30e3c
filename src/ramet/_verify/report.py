"""The report of `verify`: checks and their differences as frozen values, and a picture of both models."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from shutil import get_terminal_size
from typing import Literal, TypeAlias

from ramet._diff import Weights, diff_graphs
from ramet._draw import Picture, Rankdir, draw_graph
from ramet._graph import Graph, fits_notebook
from ramet._report import (
    Document,
    Result,
    Row,
    Section,
    Style,
    Summarized,
    attempt,
    count,
    encodable,
    escape,
    has_color,
    json_text,
    more,
    to_ansi,
    to_html,
    to_text,
)
from ramet.errors import ArgumentError, VerifyError

Outcome: TypeAlias = Literal["passed", "failed", "not run"]

# What a report proves if no check failed: everything, some checks, the graph, or the outputs of one file on several backends.
Proof: TypeAlias = Literal["twin", "part", "graph", "outputs"]
_PROVED: Mapping[Proof, str] = {
    "twin": "'{twin}' is a twin of '{model}'",
    "part": "'{twin}' matches '{model}' in the checks that were chosen",
    "graph": "'{twin}' has the same graph as '{model}'",
    "outputs": "'{model}' gives the same outputs on every backend",
}
# The mark of each outcome, and its style.
_MARKS: Mapping[Outcome, tuple[str, Style]] = {
    "passed": ("✓", "good"),
    "failed": ("✗", "bad"),
    "not run": ("-", "warning"),
}
_WIDTH = 120


@dataclass(frozen=True, slots=True, repr=False)
class Difference(Summarized):
    """One difference.

    Attributes:
        path: The path of an op, a variable, an attribute of an op (`block/dense.units`), or an output.
        text: The difference in words.
        size: The largest difference between numbers, relative to the largest number; None if it does not apply.
    """

    path: str
    text: str
    size: float | None = None

    def _summary(self) -> str:
        return f"at '{self.path}': {self.text}"

    def __str__(self) -> str:
        return f"{self.path}: {self.text}"


@dataclass(frozen=True, slots=True, repr=False)
class Check(Summarized):
    """The result of one check.

    Attributes:
        name: The name of the check.
        outcome: "passed", "failed" or "not run".
        summary: The things compared, or how many of them differ, in a few words.
        reason: The reason for not running it.
        total: The number of differences.
        differences: The first three of them.
        began: The first call whose value differs; None for a check without calls.
        counts: The number of things compared, by name.
        largest: The largest relative difference between numbers, if a tolerance was given and numbers were compared.
    """

    name: str
    outcome: Outcome
    summary: str = ""
    reason: str | None = None
    total: int = 0
    differences: tuple[Difference, ...] = ()
    began: str | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    largest: float | None = None

    def _summary(self) -> str:
        outcome = "" if self.outcome == "not run" else f"{self.outcome}, "
        return f"'{self.name}': {outcome}{_description(self)}"

    def __str__(self) -> str:
        return _text([self])


@dataclass(frozen=True, slots=True, repr=False)
class Report(Result):
    """The results of all checks: the result of `ramet.verify`.

    A report is true if `ok`. `report["state"]` is one check, and iterating over a report gives all of them. Print it,
    show it in a notebook, or write it with `to_json`, `to_markdown` or `to_html`; `raise_if_failed` turns it into an
    error.

    Attributes:
        model: The name of the original.
        twin: The name of the other model.
        checks: The checks in the order in which they were run, each with `name`, `outcome`, `summary`, and
            `differences` or the `reason` for not running it.
        about: The backend or backends and the tolerance, in words.
        graphs: Both models as data, for a picture.
        proves: What it proves if no check failed: "twin", or less if some checks were left out ("part"), or if only graphs
            or outputs were compared ("graph", "outputs").

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="d")], name="tiny")
    >>> twin = ramet.clone(model)
    >>> twin.set_weights([weight + 1 for weight in twin.get_weights()])
    >>> report = ramet.verify(model, twin, only=["structure", "state"])
    >>> report
    <Report 'tiny' is not a twin of 'tiny': 1 passed, 1 failed>
    >>> report.ok, [check.name for check in report.failed]
    (False, ['state'])
    >>> report["state"].summary, report["state"].differences[0].path
    ('2 of 2 variables differ', 'd/kernel')
    """

    model: str
    twin: str
    checks: tuple[Check, ...]
    about: str = ""
    graphs: tuple[Graph, Graph] | None = field(default=None, compare=False, repr=False)
    proves: Proof = "twin"

    @property
    def ok(self) -> bool:
        """True if no check failed and at least one was run. Checks that were not run have a `reason`."""
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
        """Raise a `VerifyError` that lists the differences, unless `ok`."""
        if self.ok:
            return
        if not self.failed:
            raise VerifyError(
                f"Cannot verify '{self.twin}' against '{self.model}': no check could be run.",
                found="; ".join(f"{check.name}: {check.reason}" for check in self.checks[:3]),
                fix="pass example inputs, inputs=..., or choose other checks with only=.",
            )
        first = next((one.path for check in self.failed for one in check.differences), None)
        failed = f"{len(self.failed)} of {count(len(self.checks), 'check')} failed"
        what = f"'{self.twin}' as a twin of '{self.model}'"
        fix = "create it with ramet.clone, or allow the differences with tolerance= or skip=."
        if self.proves == "outputs":
            what, fix = f"'{self.model}' on every backend", "leave the backend out, or pass a larger tolerance=."
        raise VerifyError(
            f"Cannot accept {what}: {failed}.",
            found=_text(self.failed).replace("\n", "\n            "),
            fix=fix,
            path=first,
        )

    def to_json(self, indent: int | None = 2) -> str:
        """Return the report as JSON: `{"ramet": "verify", "version": 1, ...}`.

        It has `ok`, `proves`, `model`, `twin`, `about`, and `checks`: a list of objects with `name`, `outcome` ("passed", "failed",
        "not run"), `summary`, `reason`, `total` (the number of differences), `differences` (the first three: `path`, `text`,
        `size` or null), `began`, `counts` and `largest` (the largest relative difference if a tolerance was given, else null).
        """
        fields = {
            "ok": self.ok,
            "proves": self.proves,
            "model": self.model,
            "twin": self.twin,
            "about": self.about,
            "checks": [asdict(check) for check in self.checks],
        }
        return json_text("verify", fields, indent=indent)

    def to_html(self) -> str:
        """Return a page that works from disk: both models in one picture, opened at the first value that differs.

        `ramet.draw(model, report=report)` has the histograms of the weights as well.
        """
        return picture_of(self).to_html()

    def to_text(self) -> str:
        """Return the report as plain text."""
        return to_text(self.__report__(), width=_WIDTH)

    def __str__(self) -> str:
        """Return the text, in color if standard output is a terminal, and in characters that it can show."""
        if not has_color(sys.stdout):
            return encodable(self.to_text(), sys.stdout)
        return to_ansi(self.__report__(), width=get_terminal_size().columns)

    def _summary(self) -> str:
        numbers = Counter(check.outcome for check in self.checks)
        counts = ", ".join(f"{numbers[outcome]} {outcome}" for outcome in _MARKS if numbers[outcome])
        if self.ok:
            verdict = _PROVED[self.proves].format(twin=self.twin, model=self.model)
        elif self.proves == "outputs":
            verdict = f"'{self.model}' does not give the same outputs on every backend"
        else:
            verdict = (
                f"'{self.twin}' {'is not a twin of' if self.failed else 'could not be compared with'} '{self.model}'"
            )
        return f"{verdict}: {counts}"

    def __report__(self) -> Document:
        rows = tuple(_row(check) for check in self.checks)
        about = (self.about,) if self.about else ()
        style: Style = "good" if self.ok else "bad"
        return Document(self._summary(), (Section(rows=rows),) if rows else (), style=style, about=about)

    def _html(self) -> str:
        """Return the table, and below it the picture of the differences if a check failed."""
        picture = None
        if self.failed and self.graphs is not None and all(map(fits_notebook, self.graphs)):
            # A picture that fails costs the picture, and not the table.
            picture = attempt(lambda: picture_of(self)._repr_html_() or "")
        return to_html(self.__report__()) + (picture or "")


def _row(check: Check) -> Row:
    style: Style = "dim" if check.outcome == "not run" else ""
    details = tuple(Row((text,), style="dim") for text in _details(check))
    if check.began is not None:
        details += (Row((f"differences begin at {check.began}",), style="title"),)
    mark, mark_style = _MARKS[check.outcome]
    return Row((check.name, _description(check)), mark, style, mark_style, details)


def _description(check: Check) -> str:
    if check.outcome == "not run":
        return f"not run: {check.reason}"
    distance = "" if check.largest is None else f"; largest relative difference: {check.largest:.2g}"
    return check.summary + distance


def _details(check: Check) -> list[str]:
    rest = check.total - len(check.differences)
    return [*map(str, check.differences), *([more(rest)] if rest > 0 else [])]


def _text(checks: Iterable[Check]) -> str:
    """Return the checks with their details, as indented text."""
    lines = []
    for check in checks:
        lines += [f"{check.name}: {_description(check)}", *(f"  {text}" for text in _details(check))]
        lines += [f"  differences begin at {check.began}"] if check.began is not None else []
    return "\n".join(map(escape, lines))


def picture_of(report: Report, weights: Weights | None = None, *, rankdir: Rankdir = "TB", columns: int = 1) -> Picture:
    """Return a picture of the other model with its differences from the original, opened at the first value that differs.

    Args:
        report: The report on two models, or on one file on several backends.
        weights: The values of the other model's variables, for a histogram of each.
        rankdir: "TB" or "LR", as for `ramet.draw`.
        columns: The number of columns, as for `ramet.draw`.
    """
    if report.graphs is None:
        raise ArgumentError(
            f"Cannot draw the report on '{report.twin}': it does not contain the models as data.",
            fix="draw one of them with it: ramet.draw(model, report=report).",
        )
    ours, theirs = report.graphs
    return draw_graph(
        theirs,
        diff_graphs(ours, theirs) or None,
        weights,
        before=ours,
        findings=findings_of(report),
        rankdir=rankdir,
        columns=columns,
    )


def findings_of(report: Report) -> list[tuple[str, str]]:
    """Return path and text of each difference found by failed checks; those at which values begin to differ come first."""
    found = [_beginning(check, check.began) for check in report.failed if check.began is not None]
    for check in report.failed:
        found += [(one.path, f"{check.name}: {one.text}") for one in check.differences]
        rest = check.total - len(check.differences)
        if rest > 0:
            found.append(("", f"{check.name}: {more(rest)}"))
    return found


def _beginning(check: Check, began: str) -> tuple[str, str]:
    # The path may be followed by words: `encoder/d (the other runs e there)`.
    path, _, note = began.partition(" (")
    words = f"differences begin here ({note}" if note else "the first value that differs"
    first = f"; {check.differences[0]}" if check.differences else ""
    return path, f"{check.name}: {words}; {check.summary}{first}"
