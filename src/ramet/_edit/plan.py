"""What edits would do to a model, before anything is done."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from ramet._edit.edit import Edit
from ramet._graph import Shown, escape

_LIMIT = 20


@dataclass(frozen=True, slots=True, repr=False)
class Touch(Shown):
    """One op that an edit changes.

    Attributes:
        path: Where it stands.
        what: What happens to it, in a few words.
        calls: The calls it happens at; all of them when empty.
        claims: The aspects of the op that are changed. Two edits may not claim the same one.
        detail: What the edit needs to know again when it is carried out.
    """

    path: str
    what: str
    calls: tuple[str, ...] = ()
    claims: frozenset[str] = frozenset()
    detail: Any = None

    def _line(self) -> str:
        return f"'{self.path}': {self.what}{_at(self)}"


@dataclass(frozen=True, slots=True, repr=False)
class Skip(Shown):
    """One op that an edit leaves alone although it might be meant, and why."""

    path: str
    reason: str

    def _line(self) -> str:
        return f"'{self.path}': {self.reason}"


@dataclass(frozen=True, slots=True, repr=False)
class AdaptedWeight(Shown):
    """One weight that an edit makes fit another shape.

    Attributes:
        path: Where it is: `conv/kernel`.
        old: Its shape before.
        new: Its shape afterwards.
        method: How its values are made: `pad`, `slice`, `mean`, `repeat` or `fresh`.
        axes: The axes along which it is adapted, counted from 0.
    """

    path: str
    old: tuple[int, ...]
    new: tuple[int, ...]
    method: str
    axes: tuple[int, ...]

    def _line(self) -> str:
        return f"'{self.path}': {self}"

    def __str__(self) -> str:
        along = f", {'axis' if len(self.axes) == 1 else 'axes'} {', '.join(map(str, self.axes))}" if self.axes else ""
        return f"{self.old} -> {self.new}  {self.method}{along}"


@dataclass(frozen=True, slots=True, repr=False)
class Step(Shown):
    """What one edit would do."""

    edit: Edit
    touched: tuple[Touch, ...] = ()
    skipped: tuple[Skip, ...] = ()
    notes: tuple[str, ...] = ()
    adapted: tuple[AdaptedWeight, ...] = ()

    def _line(self) -> str:
        skipped = f", {len(self.skipped):,} skipped" if self.skipped else ""
        return f"{self.edit!r}: {_count(len(self.touched), 'op')}{skipped}"


@dataclass(frozen=True, slots=True, repr=False)
class Plan(Shown):
    """What a list of edits would do to one model. Nothing has been done.

    Attributes:
        model: The model's name.
        steps: One for each edit.
        notes: What concerns the model as a whole.
    """

    model: str
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()

    def _line(self) -> str:
        return f"for '{self.model}': {_count(len(self.steps), 'edit')}, {_count(self._touched, 'op')} touched"

    def __str__(self) -> str:
        return self.to_text()

    @property
    def _touched(self) -> int:
        return len({touch.path for step in self.steps for touch in step.touched})

    def to_text(self, limit: int | None = _LIMIT) -> str:
        """The plan to read; at most `limit` ops an edit."""
        lines = [f"Plan {escape(self._line())}"]
        for number, step in enumerate(self.steps, 1):
            kept = ", the same function" if step.edit.preserving else ""
            lines += ["", f"{number}. {escape(repr(step.edit))}: {_count(len(step.touched), 'op')}{kept}"]
            width = max((len(escape(touch.path)) for touch in step.touched[:limit]), default=0)
            rows = [(f"   {escape(t.path):<{width}}  {escape(t.what)}{_at(t)}").rstrip() for t in step.touched]
            lines += _cut(rows, limit)
            lines += _cut([f"   skipped {escape(s.path)}: {escape(s.reason)}" for s in step.skipped], limit)
            if step.adapted:
                width = max(len(escape(one.path)) for one in step.adapted[:limit])
                lines.append(f"   {_count(len(step.adapted), 'weight')} adapted:")
                lines += _cut([f"   {escape(one.path):<{width}}  {one}" for one in step.adapted], limit)
            lines += [f"   note: {escape(note)}" for note in step.notes]
        if self.notes:
            lines += ["", *(f"note: {escape(note)}" for note in self.notes)]
        return "\n".join(lines)

    def to_json(self) -> str:
        """The plan as JSON: `{"format": "ramet.plan", "version": 1, ...}`."""
        steps = [
            {
                "edit": repr(step.edit),
                "kind": step.edit.kind,
                "preserving": step.edit.preserving,
                "touched": [{"path": t.path, "what": t.what, "calls": list(t.calls)} for t in step.touched],
                "skipped": [{"path": s.path, "reason": s.reason} for s in step.skipped],
                "notes": list(step.notes),
                "adapted": [
                    {"path": a.path, "old": list(a.old), "new": list(a.new), "method": a.method, "axes": list(a.axes)}
                    for a in step.adapted
                ],
            }
            for step in self.steps
        ]
        record = {"format": "ramet.plan", "version": 1, "model": self.model, "steps": steps, "notes": list(self.notes)}
        return json.dumps(record, indent=1)


def _at(touch: Touch) -> str:
    return f", at {', '.join(touch.calls)}" if touch.calls else ""


def _cut(rows: list[str], limit: int | None) -> list[str]:
    return rows if limit is None or len(rows) <= limit else [*rows[:limit], f"   and {len(rows) - limit:,} more"]


def _count(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
