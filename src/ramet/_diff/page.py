"""What a page about a diff says, whatever it is written in: sections of rows."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass

from ramet._diff.change import Change, Diff
from ramet._diff.digest import tokens
from ramet._diff.far import how_far, layers, moved
from ramet._diff.line import Words, code, label, words

__all__ = ["Row", "Section", "sections", "summarise"]

# Rows of a section; the JSON has them all.
_SHOWN = 20
# From here on, equal changes of several layers are told together, and names that differ only in their number.
_ALIKE = 4
# From here on, changes of one setting to various values are told together, too.
_ALIKE_IN_KIND = 9

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
    "Optimizer": ("optimizer",),
    "Metrics": ("metric",),
    "Other state": ("state",),
    "File": ("file",),
}
# Sections that list how far numbers moved.
_NUMBERS = {"Optimizer": "variables", "Metrics": "variables"}
_SUBJECTS = {"setting": "layers", "variable": "variables", "call": "layers", "mask": "layers", "value": "layers"}
_FLAGS = {False: "frozen (", True: "unfrozen ("}
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
    "optimizer": "optimizer variable",
    "metric": "metric variable",
    "state": "other state",
    "file": "other part",
}
_PLAIN = frozenset({"added", "removed", "moved", "replaced", "renamed", "sharing", "order"})
_LATER = ("optimizer", "metric", "state", "file")


@dataclass(frozen=True, slots=True)
class Row:
    """One line: a sign, what it is about, what there is to say."""

    sign: str
    label: str
    words: Words


@dataclass(frozen=True, slots=True)
class Section:
    """A title, rows, how many more there are, and what is to be said of those."""

    title: str
    rows: list[Row]
    more: int = 0
    note: str = ""


def summarise(diff: Diff) -> str:
    """How much is different, in a line."""
    counts = diff.count()
    parts = [_count(kind, counts[kind]) for kind in _COUNTED if kind in counts and kind not in _LATER]
    weights = counts.get("weights", 0)
    if weights:
        parts.append(f"weights of {weights:,} of {diff.compared or weights:,} variables")
    parts += [_count(kind, counts[kind]) for kind in _LATER if kind in counts]
    if not parts:
        return f"{len(diff.consequences):,} consequences" if diff else "no difference"
    return ", ".join(parts)


def _count(kind: str, count: int) -> str:
    return f"{count:,} {_COUNTED[kind]}{'' if kind in _PLAIN or count == 1 else 's'}{_ending(kind)}"


def _ending(kind: str) -> str:
    return "" if kind in _PLAIN else " changed"


def sections(diff: Diff) -> Iterator[Section]:
    """The sections that have something to say."""
    for title, kinds in _TITLES.items():
        changes = [change for change in diff.changes if change.kind in kinds]
        if title == "Optimizer":
            yield from _weights(diff)
        if changes:
            numbers = title in _NUMBERS
            rows = _moved_rows(changes, _NUMBERS[title]) if numbers else _rows(title, changes)
            yield _limited(title, list(rows))
    if diff.consequences:
        yield Section("In consequence", list(_consequences(diff.consequences)))
    if diff.not_compared:
        yield Section("Not compared", [Row("", _sentence(reason), []) for reason in diff.not_compared])


def _sentence(text: str) -> str:
    """Words of ours as they are; anything else, which a JSON may bring along, as what comes from a model."""
    return text if re.fullmatch(r"[\w ,.;:()'-]*", text) else code(text)


def _weights(diff: Diff) -> Iterator[Section]:
    changes = [change for change in diff.changes if change.kind == "weights"]
    if changes:
        rows = [_weight_row(path, group) for path, group in layers(changes)]
        yield _limited("Weights", rows, " that moved less")


def _limited(title: str, rows: list[Row], note: str = "") -> Section:
    # One more line would say that there is one more.
    shown = rows if len(rows) <= _SHOWN + 1 else rows[:_SHOWN]
    return Section(title, shown, len(rows) - len(shown), note)


def _moved_rows(changes: list[Change], subject: str) -> Iterator[Row]:
    """Single numbers by their values, then arrays: those that moved furthest first, many of them in one row."""
    single = [change for change in changes if not len(change.measure) or change.measure.get("size") == 1]
    others = [change for change in single if change.what in ("shape", "presence")]
    if len(others) >= _ALIKE:
        kinds = {change.what for change in others}
        told = [
            text
            for what, text in (("shape", "other shapes"), ("presence", "present on one side only"))
            if what in kinds
        ]
        yield Row("", f"{len(others):,} {subject}", [" or ".join(told)])
        single = [change for change in single if change.what not in ("shape", "presence")]
    arrays = [change for change in changes if len(change.measure) and change.measure.get("size") != 1]
    for change in single:
        yield Row("", label(change), words(change))
    if len(arrays) >= _ALIKE:
        yield Row("", f"{len(arrays):,} {subject}", [how_far(arrays)])
        arrays = []
    for change in sorted(arrays, key=lambda change: -moved([change])):
        yield Row("", label(change), words(change))


def _rows(title: str, changes: list[Change]) -> Iterator[Row]:
    if title == "Renamed":
        renumbered = [change for change in changes if _stem(str(change.old)) == _stem(str(change.new))]
        if len(renumbered) >= _ALIKE:
            first = renumbered[0]
            told = ["differ only in their number: ", code(str(first.old)), " -> ", code(str(first.new)), ", and so on"]
            yield Row("", f"{len(renumbered):,} names", told)
            told_already = set(map(id, renumbered))
            changes = [change for change in changes if id(change) not in told_already]
    # The rare change comes first: it is the one that a reader would miss behind hundreds that are alike.
    for group in sorted(_alike(changes), key=len):
        yield from _group_rows(group)


def _alike(changes: list[Change]) -> list[list[Change]]:
    """Changes that are told together, and all others on their own, in the order of the models."""
    groups = _by(changes, _values)
    single = [change for group in groups if len(group) < _ALIKE for change in group]
    kinds = {
        (group[0].kind, group[0].what)
        for group in _by(single, lambda change: (change.kind, change.what))
        if len(group) >= _ALIKE_IN_KIND and group[0].kind in _SUBJECTS
    }
    together = {id(change) for group in groups if len(group) >= _ALIKE for change in group}

    def key(change: Change) -> tuple[object, ...]:
        if change.kind not in _SUBJECTS:
            return (id(change),)
        if id(change) in together:
            return _values(change)
        return (change.kind, change.what) if (change.kind, change.what) in kinds else (id(change),)

    return _by(changes, key)


def _values(change: Change) -> tuple[object, ...]:
    return (change.kind, change.what, *tokens(change.old), None, *tokens(change.new))


def _by(changes: list[Change], key: Callable[[Change], Hashable]) -> list[list[Change]]:
    groups: dict[Hashable, list[Change]] = {}
    for change in changes:
        groups.setdefault(key(change), []).append(change)
    return list(groups.values())


def _group_rows(group: list[Change]) -> Iterator[Row]:
    first, last = group[0], group[-1]
    if len(group) == 1:
        yield Row(_SIGNS.get(first.kind, ""), label(first), words(first))
        return
    subject = f"{len(group):,} {_SUBJECTS[first.kind]}"
    if len({_values(change) for change in group}) == 1:
        told = words(first)
        if first.what == "trainable" and (word := _FLAGS.get(first.new is True)):
            told = [word, *told, ")"]
        yield Row("", subject, [*told, ": ", label(first), " to ", label(last)])
    else:
        yield Row("", subject, [*words(first), " in ", label(first), f", and {len(group) - 1:,} more to other values"])


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
