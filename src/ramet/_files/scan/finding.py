"""What a scan says: findings, and a verdict over all of them."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import asdict, dataclass
from typing import Literal, TypeAlias

from ramet._graph import Shown, escape

__all__ = ["Finding", "ScanReport", "Severity", "Verdict"]

Severity: TypeAlias = Literal["unsafe", "trust", "note"]
Verdict: TypeAlias = Literal["safe", "needs trust", "unsafe"]

_ORDER: tuple[Severity, ...] = ("unsafe", "trust", "note")


@dataclass(frozen=True, slots=True, repr=False)
class Finding(Shown):
    """One thing that loading the file would run or reach.

    Attributes:
        severity: "unsafe": the file itself brings code, or reaches out of itself. "trust": code is run that the file names
            and that must be there already. "note": worth knowing, and harmless.
        kind: one or two words: "lambda", "function", "class", "file", "address", "pickle", ...
        what: what it is, as a sentence.
        effect: what loading does with it, as a sentence.
        place: where in the file: `config.json: config.layers[2].config.function`.
        path: where in the model: `encoder/scale`; empty for what belongs to no layer.
        safe_mode: what Keras' `safe_mode=True` does about it, as a sentence.
        advisories: public advisories of this kind.
    """

    severity: Severity
    kind: str
    what: str
    effect: str
    place: str
    path: str = ""
    safe_mode: str = ""
    advisories: tuple[str, ...] = ()

    def _line(self) -> str:
        return f"{self.severity} at '{self.path or self.place}': {self.what}"

    def __str__(self) -> str:
        lines = [f"{self.severity}: {escape(self.what)}"]
        where = f"{escape(self.path)}  ({escape(self.place)})" if self.path else escape(self.place)
        lines.append(f"  where:  {where}")
        lines.append(f"  effect: {escape(self.effect)}")
        if self.safe_mode:
            lines.append(f"  safe_mode: {self.safe_mode}")
        if self.advisories:
            lines.append(f"  like:   {', '.join(self.advisories)}")
        return "\n".join(lines)


@dataclass(frozen=True, slots=True, repr=False)
class ScanReport(Shown):
    """All findings in a file.

    Attributes:
        file: the name of the file.
        kind: "model", "legacy model" or "weights".
        keras_version: the Keras that wrote it, as it says itself; empty where it does not.
        findings: the worst first.
    """

    file: str
    kind: str
    keras_version: str
    findings: tuple[Finding, ...]

    @property
    def verdict(self) -> Verdict:
        """The verdict over all findings.

        "safe": nothing is run but Keras. "needs trust": other code is run, which must be there already. "unsafe": the
        file brings code, reaches out of itself, or is made to harm.
        """
        severities = {finding.severity for finding in self.findings}
        if "unsafe" in severities:
            return "unsafe"
        return "needs trust" if "trust" in severities else "safe"

    def to_json(self) -> str:
        """The report as JSON: `file`, `kind`, `keras_version`, `verdict`, and `findings` with all their fields."""
        record = {
            "format": "ramet-scan-1",
            "file": self.file,
            "kind": self.kind,
            "keras_version": self.keras_version,
            "verdict": self.verdict,
            "findings": [asdict(finding) for finding in self.findings],
        }
        return json.dumps(record, indent=2)

    def _line(self) -> str:
        counts = Counter(finding.severity for finding in self.findings)
        told = ", ".join(f"{counts[severity]} {severity}" for severity in _ORDER if counts[severity])
        return f"{self.file}: {self.verdict}" + (f" ({told})" if told else "")

    def __str__(self) -> str:
        return "\n".join([escape(self._line()), *map(str, self.findings)])


def worst_first(findings: list[Finding]) -> tuple[Finding, ...]:
    """The findings sorted by severity, otherwise as found; each once."""
    return tuple(sorted(dict.fromkeys(findings), key=lambda finding: _ORDER.index(finding.severity)))
