"""The result of a comparison: `Change`, one difference between two models, and `Diff`, all of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias, get_args

from ramet._graph import EMPTY, Argument, Constant, Frozen, FrozenDict
from ramet._report import Document, Result, Summarized

# In the order in which a summary counts them.
Kind: TypeAlias = Literal[
    "added",
    "removed",
    "moved",
    "replaced",
    "renamed",
    "setting",
    "call",
    "mask",
    "input",
    "output",
    "sharing",
    "variable",
    "value",
    "order",
    "compile",
    "weights",
    "optimizer",
    "metric",
    "state",
    "file",
]
KINDS: tuple[Kind, ...] = get_args(Kind)
_MIRRORED: Mapping[str, Kind] = {"added": "removed", "removed": "added"}

# The value of something that does not exist on one side; None is a value like any other.
ABSENT = Constant("object", "absent", summary="not set")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Change(Summarized, Frozen):
    """One difference between two models.

    Attributes:
        kind: The kind of the difference:

            - ops: "added", "removed", "moved" (to another position in the nesting, the order or the flow of values),
              "renamed", "replaced" (by another class), "setting", "sharing" (one object or several), "order";
            - calls: "call" (arguments, number of calls), "mask", "input", "output", "value" (what a call returns);
            - variables: "variable" (their description), "weights" (their numbers), "optimizer" and "metric" (the numbers of
              the variables of those);
            - "compile" settings;
            - "state": anything else that a live model holds, such as vocabularies and attributes;
            - "file": anything else that a file holds, such as metadata, assets, and arrays or config keys without a layer.
        before: The path in the first model, "" for the model itself; None if it is not there.
        after: The path in the second model; None if it is not there.
        what: The part that differs: a dotted key of the config, an argument of a call, "shape".
        old: The value before, as frozen data; `ABSENT` if there was none.
        new: The value after.
        measure: For weights, the distance between old and new numbers; it is the same from either side.
    """

    kind: Kind
    before: str | None
    after: str | None
    what: str = ""
    old: Argument = ABSENT
    new: Argument = ABSENT
    measure: FrozenDict = EMPTY

    def _summary(self) -> str:
        from ramet._diff.words import label, words

        sentence = f"{label(self)}: {''.join(words(self))}"
        return f"{self.kind}: {' '.join(sentence.split())}"

    def _text(self) -> str:
        from ramet._diff.json import change_text

        return change_text(self)

    @property
    def path(self) -> str:
        """The path in the second model, or in the first if it was removed."""
        return self.after if self.after is not None else self.before or ""

    def mirrored(self) -> Change:
        """Return the same difference with before and after exchanged."""
        kind = _MIRRORED.get(self.kind, self.kind)
        return Change(kind, self.after, self.before, self.what, self.new, self.old, self.measure)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Diff(Result, Frozen):
    """All differences between two models: the result of `ramet.diff`.

    A diff is false if there is no difference. Print it, read `changes`, or write it with `to_json`, `to_markdown` or
    `to_html`. It is frozen, and equal to another diff with the same content.

    Attributes:
        before: The name of the first model.
        after: The name of the second model.
        changes: What was changed, in the order of the models.
        consequences: What follows from the changes: shapes after a layer of another size, names inside a renamed model.
        compared: The number of variables whose values were compared; None if only their descriptions were.
        not_compared: What the comparison left out, each item in a few words.

    >>> import keras, ramet
    >>> model = keras.Sequential([keras.Input((4,)), keras.layers.Dense(2, name="head")], name="net")
    >>> frozen = ramet.clone(model)
    >>> frozen.get_layer("head").trainable = False
    >>> diff = ramet.diff(model, frozen)
    >>> bool(diff), diff.summary
    (True, '1 setting changed')
    >>> [change] = diff.changes
    >>> change.kind, change.path, change.what, change.old, change.new
    ('setting', 'head', 'trainable', True, False)
    >>> bool(ramet.diff(model, ramet.clone(model)))
    False
    """

    before: str
    after: str
    changes: tuple[Change, ...] = ()
    consequences: tuple[Change, ...] = ()
    compared: int | None = None
    not_compared: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.changes or self.consequences)

    def _summary(self) -> str:
        return f"of {self.before!r} and {self.after!r}: {self.summary}"

    def __report__(self) -> Document:
        from ramet._diff.report import diff_document

        return diff_document(self)

    def __reduce__(self) -> tuple[object, ...]:
        # Through JSON, which is flat: pickle recurses.
        return Diff.from_json, (self.to_json(),)

    def _text(self) -> str:
        return self.to_json()

    @property
    def empty(self) -> bool:
        """True if there is no difference."""
        return not self

    @property
    def summary(self) -> str:
        """The numbers of changes in one line: `2 added, 1 setting changed`."""
        from ramet._diff.report import summarize

        return summarize(self)

    def count(self) -> dict[str, int]:
        """Return the number of changes of each kind; consequences are not counted."""
        return dict(Counter(change.kind for change in self.changes))

    def mirrored(self) -> Diff:
        """Return the diff with before and after exchanged: `diff(b, a)`."""
        return Diff(
            self.after,
            self.before,
            tuple(change.mirrored() for change in self.changes),
            tuple(change.mirrored() for change in self.consequences),
            self.compared,
            self.not_compared,
        )

    def to_json(self) -> str:
        """Return the diff as JSON: `{"ramet": "diff", "version": 1, ...}`, from which `from_json` makes an equal diff.

        It has `before`, `after`, `compared`, `not_compared`, `changes` and `consequences`. A change is an object with
        `kind`, `before`, `after`, `what`, `old`, `new` and `measure`, without those that are empty.
        """
        from ramet._diff.json import to_json

        return to_json(self)

    @classmethod
    def from_json(cls, text: str) -> Diff:
        """Return the diff that `to_json` wrote.

        Raises:
            FormatError: The text is not the JSON of a diff. The error names the place.
        """
        from ramet._diff.json import from_json

        return from_json(text)
