"""One difference between two models, and all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from ramet._graph import EMPTY, Argument, Constant, Frozen, FrozenDict, Shown

__all__ = ["ABSENT", "KINDS", "Change", "Diff", "Kind"]

Kind: TypeAlias = Literal[
    "added",
    "removed",
    "moved",
    "renamed",
    "replaced",
    "setting",
    "call",
    "mask",
    "input",
    "output",
    "value",
    "variable",
    "sharing",
    "order",
    "compile",
    "weights",
    "optimizer",
    "metric",
    "state",
    "file",
]
KINDS: frozenset[str] = frozenset(get_args(Kind))
_MIRRORED: Mapping[str, Kind] = {"added": "removed", "removed": "added"}

# Stands where there is nothing on one side: None is a value like any other.
ABSENT = Constant("object", "absent", summary="not set")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Change(Shown, Frozen):
    """One difference.

    Attributes:
        kind: "added", "removed", "moved" (another place in the nesting, in the order or in the flow), "renamed",
            "replaced" (another class at the same place), "setting", "call" (arguments, number of calls), "mask", "input",
            "output", "value" (what a call gives), "variable" (its description), "sharing" (one object or several),
            "order", "compile", "weights" (what a variable holds), "optimizer" and "metric" (what their variables hold),
            "state" (anything else that a live model holds: vocabularies, states, attributes), "file" (anything else that a
            file holds: metadata, assets, arrays and attributes of no variable, config keys of no layer).
        before: the path in the model before, "" for the model itself; None where it was not there.
        after: the path in the model after; None where it is no longer there.
        what: which part of it: a dotted key of the config, an argument of a call, "shape".
        old: what stood there, as frozen data; `ABSENT` for nothing.
        new: what stands there now.
        measure: for weights, how far apart they are: the same seen from either side.
    """

    kind: Kind
    before: str | None
    after: str | None
    what: str = ""
    old: Argument = ABSENT
    new: Argument = ABSENT
    measure: FrozenDict = EMPTY

    def _line(self) -> str:
        from ramet._diff.line import tell

        return f"{self.kind}: {' '.join(tell(self).split())}"

    def _text(self) -> str:
        from ramet._diff.json import change_text

        return change_text(self)

    @property
    def path(self) -> str:
        """Where it stands now, or stood when it is no longer there."""
        return self.after if self.after is not None else self.before or ""

    def mirrored(self) -> Change:
        """The same difference, seen from the other side."""
        kind = _MIRRORED.get(self.kind, self.kind)
        return Change(kind, self.after, self.before, self.what, self.new, self.old, self.measure)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Diff(Shown, Frozen):
    """All differences between two models.

    Attributes:
        before: the name of the model before.
        after: the name of the model after.
        changes: what was done, in the order of the models.
        consequences: what follows from it: shapes after a layer of another size, names inside a renamed model.
        compared: how many variables of the model were compared by value; None when only their descriptions were.
        not_compared: what was left out of the comparison, each in a few words.
    """

    before: str
    after: str
    changes: tuple[Change, ...] = ()
    consequences: tuple[Change, ...] = ()
    compared: int | None = None
    not_compared: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes or self.consequences)

    def _line(self) -> str:
        return f"of {self.before!r} and {self.after!r}: {self.summary}"

    def __str__(self) -> str:
        from ramet._diff.text import text

        return text(self)

    def __reduce__(self) -> tuple[object, ...]:
        # By way of JSON, which is flat: pickle itself recurses.
        return Diff.from_json, (self.to_json(),)

    def _text(self) -> str:
        return self.to_json()

    def _html(self) -> str:
        from ramet._diff.html import html

        return html(self)

    @property
    def empty(self) -> bool:
        """Whether there is no difference at all."""
        return not self

    @property
    def summary(self) -> str:
        """The first line of the text: `2 layers added, 1 setting changed`."""
        from ramet._diff.text import summarise

        return summarise(self)

    def count(self) -> dict[str, int]:
        """How many changes there are of each kind; consequences are not counted."""
        return dict(Counter(change.kind for change in self.changes))

    def mirrored(self) -> Diff:
        """The diff from the other side: `diff(b, a)`."""
        return Diff(
            self.after,
            self.before,
            tuple(change.mirrored() for change in self.changes),
            tuple(change.mirrored() for change in self.consequences),
            self.compared,
            self.not_compared,
        )

    def to_json(self) -> str:
        """The diff as JSON; `ramet/_diff/json.py` tells the schema."""
        from ramet._diff.json import to_json

        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Diff:
        """The diff that `to_json` made this text of.

        Raises:
            FormatError: the text is not the JSON of a diff; it says where.
        """
        from ramet._diff.json import from_json

        return from_json(text)

    def to_markdown(self) -> str:
        """The diff as Markdown, for a pull request. Names cannot change the page they are shown on."""
        from ramet._diff.markdown import markdown

        return markdown(self)
