"""The result of a scan: findings, and a verdict over all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from ramet._report import Cell, Code, Document, Result, Row, Section, Style, json_text

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
    """

    severity: Severity
    kind: str
    what: str
    effect: str
    place: str
    path: str = ""
    safe_mode: str = ""
    advisories: tuple[str, ...] = ()

    def _summary(self) -> str:
        return f"{self.severity} at '{self.path or self.place}': {self.what}"

    def __report__(self) -> Document:
        return Document(self._title, (Section(rows=self._rows),), style=_STYLES[self.severity])

    def section(self) -> Section:
        """Return the finding as a section of the report on the whole file."""
        return Section(self._title, self._rows, style=_STYLES[self.severity])

    @property
    def _title(self) -> str:
        return f"{self.severity}: {self.what}"

    @property
    def _rows(self) -> tuple[Row, ...]:
        place: Cell = (Code(self.path), "  (", Code(self.place), ")") if self.path else Code(self.place)
        rows: list[tuple[str, Cell]] = [("where:", place), ("effect:", self.effect)]
        if self.safe_mode:
            rows.append(("safe_mode:", self.safe_mode))
        if self.advisories:
            rows.append(("similar to:", ", ".join(self.advisories)))
        return tuple(Row(row) for row in rows)


@dataclass(frozen=True, slots=True, repr=False)
class ScanReport(Result):
    """The result of `ramet.scan`: everything that loading a file would run or reach.

    Attributes:
        file: The name of the file.
        kind: "model", "legacy model" (an HDF5 file of Keras 2) or "weights".
        keras_version: The version of Keras that wrote the file, according to the file; empty if unknown.
        findings: The findings, worst first.
        verdict: "safe", "needs trust" or "unsafe".
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
        if "unsafe" in severities:
            return "unsafe"
        return "needs trust" if "trust" in severities else "safe"

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
        counts = ", ".join(f"{numbers[severity]} {severity}" for severity in _ORDER if numbers[severity])
        return f"{self.file}: {self.verdict}" + (f" ({counts})" if counts else "")

    def __report__(self) -> Document:
        sections = tuple(finding.section() for finding in self.findings)
        return Document(self._summary(), sections, style=_STYLES[self.verdict])


def worst_first(findings: list[Finding]) -> tuple[Finding, ...]:
    """Return the findings sorted by severity, otherwise in the order they were found, without duplicates."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: _ORDER.index(finding.severity)))
