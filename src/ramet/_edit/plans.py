"""Plans: the preview of edits, as frozen values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from ramet._report import Code, Document, Result, Row, Section, Summarized, count, json_text, split_off, to_text

if TYPE_CHECKING:
    from ramet._edit.base import Edit

_LIMIT = 20


@dataclass(frozen=True, slots=True, repr=False)
class Touch(Summarized):
    """One op that an edit changes.

    Attributes:
        path: The path of the op.
        what: The change, in a few words.
        calls: The calls at which it changes; empty for all of them.
        claims: The aspects of the op that are changed. Two edits may not claim the same one.
        detail: Data that the edit needs again when it is applied.
    """

    path: str
    what: str
    calls: tuple[str, ...] = ()
    claims: frozenset[str] = field(kw_only=True)
    detail: Any = None

    def _summary(self) -> str:
        return f"'{self.path}': {self.description}"

    @property
    def description(self) -> str:
        """The change, with the calls at which it happens."""
        return f"{self.what}, at {', '.join(self.calls)}" if self.calls else self.what


@dataclass(frozen=True, slots=True, repr=False)
class Skip(Summarized):
    """One op that matches an edit but cannot be changed by it, with the reason."""

    path: str
    reason: str

    def _summary(self) -> str:
        return f"'{self.path}': {self.reason}"


# What an edit plans, in any order; a string is a note.
PlanItems: TypeAlias = Iterator[Touch | Skip | str]


@dataclass(frozen=True, slots=True, repr=False)
class AdaptedWeight(Summarized):
    """One weight that an edit adapts to another shape.

    Attributes:
        path: The path of the weight: `conv/kernel`.
        old: Its shape before.
        new: Its shape afterwards.
        method: The way to get its values: `pad`, `slice`, `mean`, `repeat` or `fresh`.
        axes: The axes along which it is adapted, counted from 0.
    """

    path: str
    old: tuple[int, ...]
    new: tuple[int, ...]
    method: str
    axes: tuple[int, ...]

    def _summary(self) -> str:
        return f"'{self.path}': {self}"

    def __str__(self) -> str:
        return f"{self.old} -> {self.new}  {self.adaptation}"

    @property
    def adaptation(self) -> str:
        """The method and the axes."""
        word = "axis" if len(self.axes) == 1 else "axes"
        return f"{self.method}, {word} {', '.join(map(str, self.axes))}" if self.axes else self.method


@dataclass(frozen=True, slots=True, repr=False)
class Step(Summarized):
    """The effect of one edit."""

    edit: Edit
    touched: tuple[Touch, ...] = ()
    skipped: tuple[Skip, ...] = ()
    notes: tuple[str, ...] = ()
    adapted: tuple[AdaptedWeight, ...] = ()

    @classmethod
    def of(cls, edit: Edit, items: Iterable[Touch | Skip | str]) -> Self:
        """Return the step that consists of what an edit planned."""
        found = list(items)
        touched = tuple(one for one in found if isinstance(one, Touch))
        skipped = tuple(one for one in found if isinstance(one, Skip))
        return cls(edit, touched, skipped, tuple(one for one in found if isinstance(one, str)))

    def _summary(self) -> str:
        skipped = f", {len(self.skipped):,} skipped" if self.skipped else ""
        return f"{self.edit!r}: {count(len(self.touched), 'op')}{skipped}"

    def sections(self, number: int, limit: int | None) -> Iterator[Section]:
        """Yield the sections about this step, with at most `limit` rows each."""
        kept = ", function preserved" if self.edit.preserves_function else ""
        title = (f"{number}. ", Code(repr(self.edit)), f": {count(len(self.touched), 'op')}{kept}")
        touched, rest = split_off(self.touched, limit)
        yield Section(title, tuple(Row((Code(one.path), one.description)) for one in touched), rest, grouped=True)
        if self.skipped:
            skipped, rest = split_off(self.skipped, limit)
            cells = [("skipped ", Code(one.path), ": ", one.reason) for one in skipped]
            yield Section(rows=tuple(Row((cell,), style="warning") for cell in cells), more=rest, more_note=" skipped")
        if self.adapted:
            adapted, rest = split_off(self.adapted, limit)
            rows = tuple(Row((Code(one.path), f"{one.old} -> {one.new}", one.adaptation)) for one in adapted)
            yield Section(f"{count(len(self.adapted), 'weight')} adapted:", rows, rest, style="", level=2)
        if self.notes:
            yield Section(rows=tuple(Row((f"note: {note}",)) for note in self.notes))


@dataclass(frozen=True, slots=True, repr=False)
class Plan(Result):
    """The effect of a list of edits on a model, which has not been changed: the result of `ramet.plan`.

    Print it, show it in a notebook, or write it with `to_json`, `to_markdown` or `to_html`.

    Attributes:
        model: The name of the model.
        steps: One step for each edit, with the ops `touched`, the ops `skipped` and why, the weights `adapted` to other
            shapes, and `notes`.
        notes: Notes about the model as a whole, such as what a saved file does not keep.

    >>> import keras, ramet
    >>> from ramet import edits as e
    >>> model = keras.Sequential(
    ...     [keras.Input((4,)), keras.layers.Dense(3, name="a"), keras.layers.Dropout(0.5, name="drop")], name="net"
    ... )
    >>> plan = ramet.plan(model, e.remove("drop"), e.update("a", units=5, weights="pad"))
    >>> plan
    <Plan for 'net': 2 edits, 2 ops touched>
    >>> [touch.path for step in plan.steps for touch in step.touched]
    ['drop', 'a']
    >>> print(plan.steps[1].adapted[0])
    (4, 3) -> (4, 5)  pad, axis 1
    """

    model: str
    steps: tuple[Step, ...]
    notes: tuple[str, ...] = ()

    def _summary(self) -> str:
        return f"for '{self.model}': {count(len(self.steps), 'edit')}, {count(self._touched, 'op')} touched"

    @property
    def _touched(self) -> int:
        return len({touch.path for step in self.steps for touch in step.touched})

    def __report__(self, limit: int | None = _LIMIT) -> Document:
        sections = [section for number, step in enumerate(self.steps, 1) for section in step.sections(number, limit)]
        if self.notes:
            sections.append(Section("Notes", tuple(Row((note,)) for note in self.notes)))
        return Document(f"Plan {self._summary()}", tuple(sections))

    def to_text(self, limit: int | None = _LIMIT) -> str:
        """Return the plan as text, with at most `limit` ops per edit."""
        return to_text(self.__report__(limit))

    def to_json(self) -> str:
        """Return the plan as JSON: `{"ramet": "plan", "version": 1, "model": ..., "steps": [...], "notes": [...]}`."""
        steps = [
            {
                "edit": repr(step.edit),
                "kind": step.edit.kind,
                "preserving": step.edit.preserves_function,
                "touched": [{"path": t.path, "what": t.what, "calls": list(t.calls)} for t in step.touched],
                "skipped": list(map(asdict, step.skipped)),
                "notes": list(step.notes),
                "adapted": list(map(asdict, step.adapted)),
            }
            for step in self.steps
        ]
        return json_text("plan", {"model": self.model, "steps": steps, "notes": list(self.notes)}, indent=1)
