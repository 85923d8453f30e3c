"""A diff as a document: sections of rows, in which changes that are alike share a row."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from ramet._diff.change import KINDS, Change, Diff
from ramet._diff.distance import describe_distance, group_by_layer, relative_distance
from ramet._diff.values import tokens
from ramet._diff.words import Words, code, label, name_list, words
from ramet._graph import group
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
    "Weights": ("weights",),
    "Optimizer": ("optimizer",),
    "Metrics": ("metric",),
    "Other state": ("state",),
    "File": ("file",),
}
_SUBJECTS = {"setting": "layers", "variable": "variables", "call": "layers", "mask": "layers", "value": "layers"}
_FLAGS = {False: "frozen (", True: "unfrozen ("}
_MARKS: dict[str, tuple[str, Style]] = {"added": ("+", "good"), "removed": ("-", "bad")}
# The words for the kind of a consequence, if it is not the kind itself.
_CONSEQUENCES = {"value": "output", "renamed": "", "setting": "", "order": "order of", "mask": ""}
# Kinds that are counted as they are, `2 added`, and the words for others, `2 compile settings changed`.
_PLAIN = frozenset({"added", "removed", "moved", "replaced", "renamed", "sharing", "order"})
_COUNTED = {
    "compile": "compile setting",
    "optimizer": "optimizer variable",
    "metric": "metric variable",
    "state": "other state",
    "file": "other part",
}


def diff_document(diff: Diff) -> Document:
    """Return a line that sums the diff up, and a section for each group of changes."""
    before, after = code(diff.before), code(diff.after)
    names: Words = [before] if before == after else [before, " -> ", after]
    return Document((*names, f": {summarize(diff)}"), tuple(_sections(diff)), complete="`to_json()`")


def summarize(diff: Diff) -> str:
    """Return the number of changes of each kind in a line."""
    counts = diff.count()
    parts = [_count(kind, counts[kind], diff.compared) for kind in KINDS if kind in counts]
    if not parts:
        return count(len(diff.consequences), "consequence") if diff else "no difference"
    return ", ".join(parts)


def _count(kind: str, number: int, compared: int | None) -> str:
    if kind == "weights":
        return f"weights of {number:,} of {compared or number:,} variables"
    return f"{number:,} {kind}" if kind in _PLAIN else f"{count(number, _COUNTED.get(kind, kind))} changed"


def _sections(diff: Diff) -> Iterator[Section]:
    """Yield the sections that have rows."""
    for title, kinds in _TITLES.items():
        changes = [change for change in diff.changes if change.kind in kinds]
        rows = list(_rows(title, changes))
        if rows:
            # A line "and 1 more" would take the place of the row.
            first, rest = split_off(rows, _SHOWN if len(rows) > _SHOWN + 1 else None)
            note = " that moved less" if title == "Weights" else ""
            yield Section(title, tuple(first), rest, note, grouped=True)
    if diff.consequences:
        yield Section("Consequences", tuple(_consequences(diff.consequences)), grouped=True)
    if diff.not_compared:
        yield Section("Not compared", tuple(Row((reason,)) for reason in diff.not_compared), folded=True)


def _row(subject: Cell, description: Sequence[str], kind: str = "") -> Row:
    mark, style = _MARKS.get(kind, ("", ""))
    return Row((subject, tuple(description)), mark, style)


def _rows(title: str, changes: list[Change]) -> Iterator[Row]:
    if title == "Weights":
        yield from (_weight_row(path, moved) for path, moved in group_by_layer(changes))
        return
    if title in ("Optimizer", "Metrics"):
        yield from _moved_rows(changes)
        return
    if title == "Renamed":
        renumbered = [change for change in changes if _stem(str(change.old)) == _stem(str(change.new))]
        if len(renumbered) >= _ALIKE:
            first = renumbered[0]
            example = [code(str(first.old)), " -> ", code(str(first.new))]
            yield _row(f"{len(renumbered):,} names", ["differ only in their number: ", *example, ", and so on"])
            together = set(map(id, renumbered))
            changes = [change for change in changes if id(change) not in together]
    # The rare change comes first: a reader would miss it behind hundreds that are alike.
    for alike in sorted(_alike(changes), key=len):
        yield _group_row(alike)


def _moved_rows(changes: list[Change]) -> Iterator[Row]:
    """Yield single numbers by their values, then arrays: those that moved furthest first, many of them in one row."""
    arrays = [change for change in changes if len(change.measure) and change.measure.get("size") != 1]
    single = [change for change in changes if not len(change.measure) or change.measure.get("size") == 1]
    others = [change for change in single if change.what in ("shape", "presence")]
    if len(others) >= _ALIKE:
        kinds = {change.what for change in others}
        reasons = {"shape": "other shapes", "presence": "present on one side only"}
        yield _row(f"{len(others):,} variables", [" or ".join(text for what, text in reasons.items() if what in kinds)])
        single = [change for change in single if change.what not in ("shape", "presence")]
    for change in single:
        yield _row(label(change), words(change))
    if len(arrays) >= _ALIKE:
        yield _row(f"{len(arrays):,} variables", [describe_distance(arrays)])
        arrays = []
    for change in sorted(arrays, key=lambda change: -relative_distance([change])):
        yield _row(label(change), words(change))


def _alike(changes: Sequence[Change]) -> Iterable[Sequence[Change]]:
    """Return groups of changes that share a row, and all others on their own, in the order of the models."""
    values = {id(change): _values(change) for change in changes}
    equal = Counter(values.values())
    others = Counter((change.kind, change.what) for change in changes if equal[values[id(change)]] < _ALIKE)

    def key(change: Change) -> tuple[object, ...]:
        if change.kind in _SUBJECTS and equal[values[id(change)]] >= _ALIKE:
            return values[id(change)]
        if change.kind in _SUBJECTS and others[change.kind, change.what] >= _ALIKE_IN_KIND:
            return change.kind, change.what
        return (id(change),)

    return group((key(change), change) for change in changes).values()


def _values(change: Change) -> tuple[object, ...]:
    return (change.kind, change.what, *tokens(change.old), None, *tokens(change.new))


def _group_row(alike: Sequence[Change]) -> Row:
    first, last = alike[0], alike[-1]
    if len(alike) == 1:
        return _row(label(first), words(first), first.kind)
    subject = f"{len(alike):,} {_SUBJECTS[first.kind]}"
    if len(set(map(_values, alike))) > 1:
        return _row(subject, [*words(first), " in ", label(first), f", {more(len(alike) - 1)} to other values"])
    what = words(first)
    if first.what == "trainable":
        what = [_FLAGS[first.new is True], *what, ")"]
    return _row(subject, [*what, ": ", label(first), " to ", label(last)])


def _stem(name: str) -> str:
    return re.sub(r"_?[0-9]+$", "", name)


def _weight_row(path: str, changes: Sequence[Change]) -> Row:
    odd = [change for change in changes if change.what in ("shape", "presence")]
    if odd:
        return _row(label(odd[0]), words(odd[0]))
    names = name_list([change.path.rpartition("/")[2] for change in changes], 4)
    return _row(code(path) if path else "the model", [*names, ": ", describe_distance(changes)])


def _consequences(changes: Iterable[Change]) -> Iterator[Row]:
    """Yield one row for each kind of consequence, with the first example."""

    def part(change: Change) -> str:
        return change.what.partition(" of ")[0] if change.kind == "value" else change.what

    for alike in group(((change.kind, part(change)), change) for change in changes).values():
        first = alike[0]
        example = words(first)
        if len(example) > 2 and first.what and example[0] == first.what:
            # The first cell of the row names the part already.
            example = example[2:]
        rest = f", {more(len(alike) - 1)}" if len(alike) > 1 else ""
        about = code(" ".join(filter(None, [_CONSEQUENCES.get(first.kind, first.kind), part(first)])))
        yield _row(about, [label(first), " ", *example, rest])
