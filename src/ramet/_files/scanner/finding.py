"""The result of a scan: findings, and a verdict over all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from ramet._report import Cell, Code, Document, Result, Row, Section, Style, count, escape, joined, json_text
from ramet.errors import UnsafeFileError

Severity: TypeAlias = Literal["unsafe", "trust", "note"]
Verdict: TypeAlias = Literal["safe", "needs trust", "unsafe"]

_ORDER: tuple[Severity, ...] = ("unsafe", "trust", "note")
_STYLES: Mapping[str, Style] = {
    "safe": "good",
    "needs trust": "warning",
    "unsafe": "bad",
    "trust": "warning",
    "note": "dim",
}


@dataclass(frozen=True, slots=True, repr=False)
class Finding(Result):
    """One thing that loading the file would run or reach.

    Attributes:
        severity: "unsafe" if the file contains code, opens other files, or is built to do harm; "trust" if it names code
            that must be installed already; "note" for harmless facts.
        kind: One or two words: "lambda", "function", "class", "file", "address", "pickle", ...
        what: The finding as a sentence.
        effect: The effect of loading it, as a sentence.
        place: The position in the file: `config.json: config.layers[2].config.function`.
        path: The layer in the model: `encoder/scale`; empty if the finding belongs to no layer.
        safe_mode: The effect of `safe_mode=True` in Keras, as a sentence.
        advisories: Public advisories about findings of this kind.
        name: The name of the class or function that is needed, without its module; empty for other findings.
    """

    severity: Severity
    kind: str
    what: str
    effect: str
    place: str
    path: str = ""
    safe_mode: str = ""
    advisories: tuple[str, ...] = ()
    name: str = ""

    def _summary(self) -> str:
        return f"{self.severity} at '{self.path or self.place}': {self.what}"

    def __report__(self) -> Document:
        section = self.section()
        return Document(section.title, (Section(rows=section.rows),), style=section.style)

    def section(self) -> Section:
        """Return the finding as a section of the report on the whole file."""
        place: Cell = (Code(self.path), "  (", Code(self.place), ")") if self.path else Code(self.place)
        rows: list[tuple[str, Cell]] = [("where:", place), ("effect:", self.effect)]
        if self.safe_mode:
            rows.append(("safe_mode:", self.safe_mode))
        if self.advisories:
            rows.append(("similar to:", ", ".join(self.advisories)))
        title = f"{self.severity}: {self.what}"
        return Section(title, tuple(Row(row) for row in rows), style=_STYLES[self.severity])


@dataclass(frozen=True, slots=True, repr=False)
class ScanReport(Result):
    """Everything that loading a file would run or reach: the result of `ramet.scan`.

    Print it, show it in a notebook, or write it with `to_json`, `to_markdown` or `to_html`.

    Attributes:
        file: The name of the file.
        kind: `"model"`, `"legacy model"` (an HDF5 file of Keras 2) or `"weights"`.
        keras_version: The version of Keras that wrote the file, according to the file; empty if unknown.
        findings: The findings, worst first, each with `severity`, `what`, `effect`, `place` in the file and `path` of
            the layer.

    >>> import os, tempfile
    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Lambda(lambda x: x * 2, name="double")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "model.keras")
    ...     model.save(file)
    ...     report = ramet.scan(file)
    >>> report.verdict
    'unsafe'
    >>> [(finding.path, finding.what) for finding in report.findings]
    [('double', 'The file contains compiled Python code, a lambda.')]
    """

    file: str
    kind: str
    keras_version: str
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """The verdict over all findings.

        "safe": loading runs only Keras. "needs trust": loading also runs other code, which must be installed already.
        "unsafe": the file contains code, opens other files, or is built to do harm.
        """
        severities = {finding.severity for finding in self.findings}
        return "unsafe" if "unsafe" in severities else "needs trust" if "trust" in severities else "safe"

    def to_json(self) -> str:
        """Return the report as JSON: `{"ramet": "scan", "version": 1, ...}`.

        It has `file`, `kind`, `keras_version`, `verdict`, and `findings` with all their fields.
        """
        fields = {
            "file": self.file,
            "kind": self.kind,
            "keras_version": self.keras_version,
            "verdict": self.verdict,
            "findings": [asdict(finding) for finding in self.findings],
        }
        return json_text("scan", fields)

    def _summary(self) -> str:
        numbers = Counter(finding.severity for finding in self.findings)
        if not numbers:
            return f"{self.file}: {self.verdict}"
        kinds = [f"{numbers[severity]} {severity}" for severity in _ORDER if numbers[severity]]
        counts = f": {', '.join(kinds)}" if len(kinds) > 1 else ""
        return f"{self.file}: {self.verdict} ({count(len(self.findings), 'finding')}{counts})"

    def __report__(self) -> Document:
        sections = tuple(finding.section() for finding in self.findings)
        return Document(self._summary(), sections, style=_STYLES[self.verdict])


def worst_first(findings: list[Finding]) -> tuple[Finding, ...]:
    """Return the findings sorted by severity, otherwise in the order they were found, without duplicates."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: _ORDER.index(finding.severity)))


def unsafe_file(path: Path, findings: Sequence[Finding], fix: str) -> UnsafeFileError:
    """Return the error for a file with findings, of which the worst is the first."""
    return UnsafeFileError(
        f"Cannot load '{escape(path.name)}': it is {'unsafe' if findings[0].severity == 'unsafe' else 'not known to be safe'}.",
        found=joined([escape(finding.what) for finding in findings], 1),
        fix=fix,
        path=findings[0].path or findings[0].place,
    )
