"""What a page about a diff says, whatever it is written in: sections of rows."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from ramet._diff.change import Change, Diff
from ramet._diff.far import how_far, layers
from ramet._diff.line import Words, code, label, words

__all__ = ["Row", "Section", "sections", "summarise"]

# Rows of a section; the JSON has them all.
_SHOWN = 20
# Names that differ only in their number are told together from here on.
_ALIKE = 4

_TITLES: dict[str, tuple[str, ...]] = {
    "Inputs and outputs": ("input", "output"),
    "Added": ("added",),
    "Removed": ("removed",),
    "Moved": ("moved",),
    "Replaced": ("replaced",),
    "Renamed": ("renamed",),
    "Settings": ("setting",),
    "Calls": ("call", "order"),
    "Masks": ("mask",),
    "Sharing": ("sharing",),
    "Variables": ("variable",),
    "Values": ("value",),
    "Compile": ("compile",),
}
_SIGNS = {"added": "+", "removed": "-"}
_COUNTED = {
    "added": "added",
    "removed": "removed",
    "moved": "moved",
    "replaced": "replaced",
    "renamed": "renamed",
    "setting": "setting",
    "call": "call",
    "mask": "mask",
    "input": "input",
    "output": "output",
    "sharing": "sharing",
    "variable": "variable",
    "value": "value",
    "order": "order",
    "compile": "compile setting",
}
_PLAIN = frozenset({"added", "removed", "moved", "replaced", "renamed", "sharing", "order"})


@dataclass(frozen=True, slots=True)
class Row:
    """One line: a sign, what it is about, what there is to say."""

    sign: str
    label: str
    words: Words


@dataclass(frozen=True, slots=True)
class Section:
    """A title, rows, and how many more there are."""

    title: str
    rows: list[Row]
    more: int = 0


def summarise(diff: Diff) -> str:
    """How much is different, in a line."""
    counts = diff.count()
    parts = []
    for kind, word in _COUNTED.items():
        count = counts.get(kind, 0)
        if count:
            parts.append(f"{count:,} {word}{'' if kind in _PLAIN or count == 1 else 's'}{_ending(kind)}")
    weights = counts.get("weights", 0)
    if weights:
        parts.append(f"weights of {weights:,} of {diff.compared or weights:,} variables")
    if not parts:
        return f"{len(diff.consequences):,} consequences" if diff else "no difference"
    return ", ".join(parts)


def _ending(kind: str) -> str:
    return "" if kind in _PLAIN else " changed"


def sections(diff: Diff) -> Iterator[Section]:
    """The sections that have something to say."""
    for title, kinds in _TITLES.items():
        changes = [change for change in diff.changes if change.kind in kinds]
        if changes:
            yield _limited(title, list(_rows(title, changes)))
    weights = [change for change in diff.changes if change.kind == "weights"]
    if weights:
        yield _limited("Weights", [_weight_row(path, group) for path, group in layers(weights).items()])
    if diff.consequences:
        yield Section("In consequence", list(_consequences(diff.consequences)))


def _limited(title: str, rows: list[Row]) -> Section:
    # One more line would say that there is one more.
    shown = rows if len(rows) <= _SHOWN + 1 else rows[:_SHOWN]
    return Section(title, shown, len(rows) - len(shown))


def _rows(title: str, changes: list[Change]) -> Iterator[Row]:
    if title == "Renamed":
        renumbered = [change for change in changes if _stem(str(change.old)) == _stem(str(change.new))]
        if len(renumbered) >= _ALIKE:
            first = renumbered[0]
            told = ["differ only in their number: ", code(str(first.old)), " -> ", code(str(first.new)), ", and so on"]
            yield Row("", f"{len(renumbered):,} names", told)
            told_already = set(map(id, renumbered))
            changes = [change for change in changes if id(change) not in told_already]
    for change in changes:
        yield Row(_SIGNS.get(change.kind, ""), label(change), words(change))


def _stem(name: str) -> str:
    return re.sub(r"_?[0-9]+$", "", name)


def _weight_row(path: str, changes: list[Change]) -> Row:
    names: Words = []
    for change in changes[:4]:
        names += [", ", code(change.path.rpartition("/")[2])] if names else [code(change.path.rpartition("/")[2])]
    if len(changes) > 4:
        names.append(f" and {len(changes) - 4:,} more")
    odd = [change for change in changes if change.what in ("shape", "presence")]
    if odd:
        return Row("", label(odd[0]), words(odd[0]))
    return Row("", code(path) if path else "the model", [*names, ": ", how_far(changes)])


def _consequences(changes: Sequence[Change]) -> Iterator[Row]:
    """One row for each thing that follows, with the first example."""
    groups: dict[tuple[str, str], list[Change]] = {}
    for change in changes:
        what = change.what.partition(" of ")[0] if change.kind == "value" else change.what
        groups.setdefault((change.kind, what), []).append(change)
    for (kind, what), group in groups.items():
        first = group[0]
        rest = f", and {len(group) - 1:,} more" if len(group) > 1 else ""
        about = code(" ".join(filter(None, [_SUBJECT.get(kind, kind), what])))
        yield Row("", about, [label(first), " ", *_example(first), rest])


_SUBJECT = {"value": "output", "renamed": "", "setting": "", "input": "input", "order": "order of", "mask": ""}


def _example(change: Change) -> Words:
    told = words(change)
    # The row says which part it is.
    return told[2:] if len(told) > 2 and change.what and told[0] == change.what else told
