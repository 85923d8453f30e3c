"""A diff as a document: sections of rows, in which changes that are alike share a row."""

from __future__ import annotations

import re
from collections.abc import Callable, Hashable, Iterator, Sequence

from ramet._diff.change import Change, Diff
from ramet._diff.distance import describe_distance, group_by_layer, relative_distance
from ramet._diff.values import tokens
from ramet._diff.words import Words, code, label, name_list, words
from ramet._report import Cell, Document, Row, Section, Style, count, more, split_off

# Rows of a section; the JSON has them all.
_SHOWN = 20
# From this number on, equal changes of several layers share a row, and so do names that differ only in their number.
_ALIKE = 4
# From this number on, changes of one setting to various values share a row, too.
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
# Sections that list how far numbers moved, and the word for what they list.
_NUMBERS = {"Optimizer": "variables", "Metrics": "variables"}
_SUBJECTS = {"setting": "layers", "variable": "variables", "call": "layers", "mask": "layers", "value": "layers"}
_FLAGS = {False: "frozen (", True: "unfrozen ("}
_MARKS: dict[str, tuple[str, Style]] = {"added": ("+", "good"), "removed": ("-", "bad")}
_COUNTED: dict[str, str] = {
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


def diff_document(diff: Diff) -> Document:
    """Return a line that sums the diff up, and a section for each group of changes."""
    before, after = code(diff.before), code(diff.after)
    names: Words = [before] if before == after else [before, " -> ", after]
    return Document((*names, f": {summarize(diff)}"), tuple(_sections(diff)), complete="`to_json()`")


def summarize(diff: Diff) -> str:
    """Return the number of changes of each kind in a line."""
    counts = diff.count()
    parts = [_count(kind, counts[kind]) for kind in _COUNTED if kind in counts and kind not in _LATER]
    weights = counts.get("weights", 0)
    if weights:
        parts.append(f"weights of {weights:,} of {diff.compared or weights:,} variables")
    parts += [_count(kind, counts[kind]) for kind in _LATER if kind in counts]
    if not parts:
        return count(len(diff.consequences), "consequence") if diff else "no difference"
    return ", ".join(parts)


def _count(kind: str, number: int) -> str:
    word = _COUNTED[kind]
    return f"{number:,} {word}" if kind in _PLAIN else f"{count(number, word)} changed"


def _sections(diff: Diff) -> Iterator[Section]:
    """Yield the sections that have rows."""
    for title, kinds in _TITLES.items():
        changes = [change for change in diff.changes if change.kind in kinds]
        if title == "Optimizer":
            yield from _weights(diff)
        if changes:
            numbers = title in _NUMBERS
            rows = _moved_rows(changes, _NUMBERS[title]) if numbers else _rows(title, changes)
            yield _limited(title, list(rows))
    if diff.consequences:
        yield Section("Consequences", tuple(_consequences(diff.consequences)), grouped=True)
    if diff.not_compared:
        yield Section("Not compared", tuple(Row((reason,)) for reason in diff.not_compared))


def _row(subject: Cell, description: Sequence[str], kind: str = "") -> Row:
    mark, style = _MARKS.get(kind, ("", ""))
    return Row((subject, tuple(description)), mark, style)


def _weights(diff: Diff) -> Iterator[Section]:
    changes = [change for change in diff.changes if change.kind == "weights"]
    if changes:
        rows = [_weight_row(path, group) for path, group in group_by_layer(changes)]
        yield _limited("Weights", rows, " that moved less")


def _limited(title: str, rows: list[Row], note: str = "") -> Section:
    # A line "and 1 more" would take the place of the row.
    first, rest = split_off(rows, _SHOWN if len(rows) > _SHOWN + 1 else None)
    return Section(title, tuple(first), rest, note, grouped=True)


def _moved_rows(changes: list[Change], subject: str) -> Iterator[Row]:
    """Yield single numbers by their values, then arrays: those that moved furthest first, many of them in one row."""
    single = [change for change in changes if not len(change.measure) or change.measure.get("size") == 1]
    others = [change for change in single if change.what in ("shape", "presence")]
    if len(others) >= _ALIKE:
        kinds = {change.what for change in others}
        reasons = {"shape": "other shapes", "presence": "present on one side only"}
        yield _row(f"{len(others):,} {subject}", [" or ".join(text for what, text in reasons.items() if what in kinds)])
        single = [change for change in single if change.what not in ("shape", "presence")]
    arrays = [change for change in changes if len(change.measure) and change.measure.get("size") != 1]
    for change in single:
        yield _row(label(change), words(change))
    if len(arrays) >= _ALIKE:
        yield _row(f"{len(arrays):,} {subject}", [describe_distance(arrays)])
        arrays = []
    for change in sorted(arrays, key=lambda change: -relative_distance([change])):
        yield _row(label(change), words(change))


def _rows(title: str, changes: list[Change]) -> Iterator[Row]:
    if title == "Renamed":
        renumbered = [change for change in changes if _stem(str(change.old)) == _stem(str(change.new))]
        if len(renumbered) >= _ALIKE:
            first = renumbered[0]
            example = [code(str(first.old)), " -> ", code(str(first.new))]
            yield _row(f"{len(renumbered):,} names", ["differ only in their number: ", *example, ", and so on"])
            together = set(map(id, renumbered))
            changes = [change for change in changes if id(change) not in together]
    # The rare change comes first: a reader would miss it behind hundreds that are alike.
    for group in sorted(_alike(changes), key=len):
        yield from _group_rows(group)


def _alike(changes: list[Change]) -> list[list[Change]]:
    """Return groups of changes that share a row, and all others on their own, in the order of the models."""
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
        yield _row(label(first), words(first), first.kind)
        return
    subject = f"{len(group):,} {_SUBJECTS[first.kind]}"
    if len({_values(change) for change in group}) == 1:
        what = words(first)
        if first.what == "trainable":
            what = [_FLAGS[first.new is True], *what, ")"]
        yield _row(subject, [*what, ": ", label(first), " to ", label(last)])
    else:
        yield _row(subject, [*words(first), " in ", label(first), f", {more(len(group) - 1)} to other values"])


def _stem(name: str) -> str:
    return re.sub(r"_?[0-9]+$", "", name)


def _weight_row(path: str, changes: list[Change]) -> Row:
    odd = [change for change in changes if change.what in ("shape", "presence")]
    if odd:
        return _row(label(odd[0]), words(odd[0]))
    names = name_list([change.path.rpartition("/")[2] for change in changes], 4)
    return _row(code(path) if path else "the model", [*names, ": ", describe_distance(changes)])


def _consequences(changes: Sequence[Change]) -> Iterator[Row]:
    """Yield one row for each kind of consequence, with the first example."""
    groups: dict[tuple[str, str], list[Change]] = {}
    for change in changes:
        what = change.what.partition(" of ")[0] if change.kind == "value" else change.what
        groups.setdefault((change.kind, what), []).append(change)
    for (kind, what), group in groups.items():
        first = group[0]
        rest = f", {more(len(group) - 1)}" if len(group) > 1 else ""
        about = code(" ".join(filter(None, [_SUBJECT.get(kind, kind), what])))
        yield _row(about, [label(first), " ", *_example(first), rest])


_SUBJECT = {"value": "output", "renamed": "", "setting": "", "input": "input", "order": "order of", "mask": ""}


def _example(change: Change) -> Words:
    description = words(change)
    # The first cell of the row names the part already.
    return description[2:] if len(description) > 2 and change.what and description[0] == change.what else description
