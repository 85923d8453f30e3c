"""The report of a port: what was changed, left out and refused, and what happened to every array."""

from __future__ import annotations

import dataclasses
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from ramet._port.notes import Note, Refusal
from ramet._report import Cell, Code, Document, Result, Row, Section, count, json_text, split_off

_SHOWN = 12
_TITLES = {
    "caution": "Watch out: the same under a condition",
    "translated": "Translated: expressed by other layers, settings or weights",
    "rewritten": "Rewritten: the same setting in another form",
    "renamed": "Renamed",
    "dropped": "Dropped: default values, and settings without influence on results",
    "left out": "Left out",
}


@dataclass(frozen=True, repr=False)
class PortReport(Result):
    """What porting a file changed, left out and refused. It prints as a table.

    Attributes:
        source: The path of the file that was ported.
        target: The path of the new file; `None` for a plan.
        from_version: The version of Keras that wrote the source.
        to_version: The version of Keras that loads the target, or "tf_keras".
        notes: What was rewritten, translated, dropped, renamed and left out.
        refusals: The reasons why the file cannot be ported; empty if it can.
        arrays: What happened to each array of the source, by its path: "used", "converted" or "left out", and the
            variable or the reason.
        is_current: Whether the target loads the source as it is.
        is_written: Whether the target was written.
        comparison: The result of running both files, or `None`.

    >>> import os, tempfile
    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,), name="x"), keras.layers.Dense(2, name="head")])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = os.path.join(folder, "new.keras")
    ...     model.save(file)
    ...     report = ramet.port(file, to="3.12")
    >>> report.arrays["layers/dense/vars/0"]
    ('used', 'layers/dense/vars/0')
    """

    source: str
    target: str | None
    from_version: str
    to_version: str
    notes: tuple[Note, ...] = ()
    refusals: tuple[Refusal, ...] = ()
    arrays: dict[str, tuple[str, str]] = field(default_factory=dict)
    is_current: bool = False
    is_written: bool = False
    comparison: Any = None

    @property
    def target_name(self) -> str:
        """The version that loads the target, in words: "Keras 3.8"."""
        return self.to_version if self.to_version == "tf_keras" else f"Keras {self.to_version}"

    def with_written(self) -> PortReport:
        """Return the report of the same port after the target was written."""
        return dataclasses.replace(self, is_written=True)

    def with_comparison(self, comparison: Any) -> PortReport:
        """Return the report with the result of running both files."""
        return dataclasses.replace(self, comparison=comparison)

    def _summary(self) -> str:
        return f"'{Path(self.source).name}' to {self.target_name}: {self._verdict()}"

    def _verdict(self) -> str:
        if self.refusals:
            return f"refused, {count(len(self.refusals), 'reason')}"
        if self.is_current:
            return "already current"
        if self.is_written:
            return f"written to '{Path(self.target or '').name}'"
        return "can be ported"

    def __report__(self) -> Document:
        name = Path(self.source).name
        writer = self.from_version if self.from_version.startswith("Keras") else f"Keras {self.from_version}"
        title: Cell = (Code(name), f" ({writer}) to {self.target_name}: ", self._verdict())
        if self.is_written:
            how = "already current, copied to '" if self.is_current else "written to '"
            title = (*title[:2], how, Code(Path(self.target or "").name), "'")
        sections = []
        if self.refusals:
            rows, more = split_off(self.refusals, _SHOWN)
            sections.append(
                Section(
                    "Refused",
                    tuple(
                        Row(
                            ((Code(one.path),) if one.path else ("the model",), one.reason),
                            mark="✗",
                            style="bad",
                            details=(Row((f"fix: {one.fix}",), style="dim"),),
                        )
                        for one in rows
                    ),
                    more=more,
                    style="bad",
                    columns=("layer", "reason"),
                )
            )
        for kind, heading in _TITLES.items():
            found = [note for note in self.notes if note.kind == kind]
            if found:
                sections.append(_notes_section(heading, found))
        sections.append(self._arrays_section())
        if self.comparison is not None:
            sections.append(self.comparison.section())
        return Document(title, tuple(sections), style="bad" if self.refusals else "good", complete="to_json()")

    def _arrays_section(self) -> Section:
        counts = Counter(what for what, _ in self.arrays.values())
        rows = [Row((what, count(counts[what], "array"))) for what in ("used", "converted") if counts[what]]
        reasons = Counter(why for what, why in self.arrays.values() if what == "left out")
        rows += [Row(("left out", f"{count(number, 'array')}: {why}")) for why, number in reasons.most_common(_SHOWN)]
        return Section("Arrays of the source", tuple(rows) or (Row(("none", "")),), columns=("", ""))

    def to_json(self) -> str:
        """Return the report as JSON, with every note and every array."""
        fields = {
            "source": self.source,
            "target": self.target,
            "from": self.from_version,
            "to": self.to_version,
            "written": self.is_written,
            "current": self.is_current,
            "notes": [{"kind": note.kind, "path": note.path, "text": note.text} for note in self.notes],
            "refusals": [{"path": one.path, "reason": one.reason, "fix": one.fix} for one in self.refusals],
            "arrays": {path: {"fate": what, "detail": why} for path, (what, why) in self.arrays.items()},
            "comparison": None if self.comparison is None else self.comparison.fields(),
        }
        return json_text("port", fields)


def _notes_section(heading: str, notes: list[Note]) -> Section:
    """Return a section in which notes with the same text are one row."""
    by_text: dict[str, list[str]] = {}
    for note in notes:
        by_text.setdefault(note.text, []).append(note.path)
    rows = []
    for text, paths in by_text.items():
        where: Any = "the model"
        if paths[0]:
            more = f" and {count(len(paths) - 1, 'other layer')}" if len(paths) > 1 else ""
            where = (Code(paths[0]), more) if more else (Code(paths[0]),)
        rows.append(Row((where, text)))
    shown, more_rows = split_off(rows, _SHOWN)
    return Section(heading, tuple(shown), more=more_rows, columns=("layer", "change"))
