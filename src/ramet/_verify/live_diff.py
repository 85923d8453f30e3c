"""The diff of two live models: graphs, weights and everything else.

The graph contains what is known to matter. Everything else (variables of the optimizer, metrics, vocabularies, states of
recurrent layers, attributes set by hand) is found as in `verify`, by walking both models side by side.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ramet._diff import ABSENT, Change, Diff, InMemory, Kind, compare_arrays, compare_weights, diff_graphs
from ramet._graph import Argument
from ramet._keras import (
    LiveVariables,
    LiveWeights,
    capture_model,
    freeze_argument,
    frozen_compile_settings,
    is_library_attribute,
    names,
)
from ramet._verify.side import METRICS, OPTIMIZER, Side, ops_in_both
from ramet._verify.side_by_side import MISSING, Found, SideBySide

_LEFT_OUT = (
    "compiled functions, caches, locks and addresses of objects",
    "seeds that initializers without a seed have drawn",
    "attributes of a library that are off or empty in one model and not set in the other",
    "the numbers that Keras adds to the names of random generators",
)
_DRAWN_SEED = re.compile(r".*initializer[^.]*\.(?:seed|_init_seed|_random_seed)")
_RATE = "learning_rate"
# Changes of values, which imply no changes of attributes.
_VALUES = frozenset({"weights", "optimizer", "metric", "state"})
# Changes that imply changes of attributes of the enclosing models: lists of layers, names of outputs.
_STRUCTURE = frozenset({"added", "removed", "moved", "renamed", "replaced", "order", "input", "output"})


def diff_models(before: Any, after: Any) -> Diff:
    """Return the differences between two live models: graphs, weights, compile settings, and all other state.

    Neither model is changed.
    """
    graphs = capture_model(before), capture_model(after)
    compiled = frozen_compile_settings(before), frozen_compile_settings(after)
    diff = diff_graphs(*graphs, (LiveWeights(before), LiveWeights(after)), compiled)
    sides = Side(before), Side(after)
    changes = [*diff.changes]
    both = (compiled[0] is None) == (compiled[1] is None)
    rate_is_known = any(change.kind == "compile" and change.what.endswith(_RATE) for change in changes)
    for kind, name in (("optimizer", OPTIMIZER), ("metric", METRICS)) if both else ():
        known = {f"{OPTIMIZER}/{_RATE}"} if rate_is_known else set()
        changes += _compare_variables(*sides, kind, f"{name}/", known, diff.changes)  # type: ignore[arg-type]  # kinds
    changes += _compare_vocabularies(*sides)
    changes += _compare_attributes(*sides, [*changes, *diff.consequences])
    return Diff(diff.before, diff.after, tuple(changes), diff.consequences, diff.compared, _LEFT_OUT)


def _compare_variables(
    ours: Side, theirs: Side, kind: Kind, prefix: str, known: set[str], changes: Iterable[Change]
) -> list[Change]:
    old, new = (
        {path: variable for path, variable in side.variables.items() if path.startswith(prefix)}
        for side in (ours, theirs)
    )
    if not old or not new:
        # If only one of them is built, that is one difference, not one per variable.
        path = prefix.rstrip("/")
        return [Change(kind, path, path, "variables", len(old), len(new))] if len(old) != len(new) else []
    pairs = [(path, path) for path in {*old, *new} - known]
    if kind == "optimizer" and old.keys() != new.keys():
        moved = _moved_slots(ours, theirs, changes)
        gone = {path for pair in moved for path in pair}
        pairs = [*(pair for pair in pairs if pair[0] not in gone), *moved]
    pairs.sort(key=sorted)  # independent of direction
    return compare_weights(pairs, LiveVariables(old), LiveVariables(new), kind=kind)[1]


def _moved_slots(ours: Side, theirs: Side, changes: Iterable[Change]) -> list[tuple[str, str]]:
    """Return the optimizer variables that have another path on each side, but belong to the same variable.

    Keras names a slot after the path of its variable, and that path depends on how the model was made: in a Sequential
    model, it starts with the name of the model, but not in the same model loaded from a file.
    """
    renamed = {change.before: change.after for change in changes if change.kind == "renamed" and change.before}

    def current(path: str) -> str:
        end = len(path)
        while end > 0:
            if path[:end] in renamed:
                return f"{renamed[path[:end]]}{path[end:]}"
            end = path.rfind("/", 0, end)
        return path

    old = {(current(path), slot): own for own, (path, slot) in _slots(ours, theirs).items()}
    new = {key: own for own, key in _slots(theirs, ours).items()}
    return [(own, new[key]) for key, own in old.items() if key in new]


def _slots(side: Side, other: Side) -> dict[str, tuple[str, str]]:
    """Return, by its path, the variable and the kind of each optimizer slot that the other side does not have."""
    prefix = f"{OPTIMIZER}/"
    owners = {
        str(variable.path).replace("/", "_"): path
        for path, variable in side.variables.items()
        if not path.startswith((prefix, f"{METRICS}/"))
    }
    found: dict[str, tuple[str, str]] = {}
    for path in side.variables.keys() - other.variables.keys():
        name = path.removeprefix(prefix)
        end = name.rfind("_") if path.startswith(prefix) else -1
        while end > 0 and name[:end] not in owners:
            end = name.rfind("_", 0, end)
        if end > 0:
            found[path] = owners[name[:end]], name[end:]
    return found


def _compare_vocabularies(ours: Side, theirs: Side) -> Iterator[Change]:
    old, new = ours.vocabularies, theirs.vocabularies
    in_both = {one.path for one in ours.locations} & {one.path for one in theirs.locations}
    for path in sorted((old.keys() | new.keys()) & in_both):
        if old.get(path) != new.get(path):
            lists = [freeze_argument(side[path]) if path in side else ABSENT for side in (old, new)]
            yield Change("state", path, path, "vocabulary", *lists)  # type: ignore[arg-type]  # values of a change


def _compare_attributes(ours: Side, theirs: Side, changes: Iterable[Change]) -> list[Change]:
    """Return the differences between attributes that the changes do not explain, in an order independent of direction."""
    ops = {location.path or ours.model.name: location.op for location in ours.locations}
    known = _KnownChanges(changes, ours.model.name)
    found: dict[tuple[str, str], Change] = {}
    for difference in SideBySide(ops_in_both(ours, theirs), ours.names, None).found:
        path, attribute = _split(difference.difference.path, ops)
        if not known.explain(path, attribute, difference, ops.get(path)):
            found.setdefault((path, attribute), _change(path, attribute, difference))
    return [*_compare_paths(found, ours.model.name), *(found[key] for key in sorted(found))]


def _compare_paths(found: dict[tuple[str, str], Change], root: str) -> list[Change]:
    """Take the changed paths of layers out of these changes, and return one change for all that begin differently."""
    starts: set[tuple[str, str]] = set()
    for key in [key for key in found if key[1] in (names.PATH, names.PARENT_PATH)]:
        change = found[key]
        if not (isinstance(change.old, str) and isinstance(change.new, str)):
            continue
        del found[key]
        if key[1] == names.PATH:  # the path of the parent is its beginning
            old, new = change.old.split("/"), change.new.split("/")
            while old and new and old[-1] == new[-1]:
                old, new = old[:-1], new[:-1]
            starts.add(("/".join([*old, "..."]), "/".join([*new, "..."])))
    return [Change("state", root, root, "paths of layers", *pair) for pair in sorted(starts, key=sorted)]


def _change(path: str, attribute: str, found: Found) -> Change:
    if found.kind == "array":
        full_path = f"{path}.{attribute}" if attribute else path
        measured = compare_arrays(full_path, full_path, InMemory(found.old), InMemory(found.new), kind="state")
        if measured:
            return measured[0]
    return Change("state", path, path, attribute, _value(found.old), _value(found.new))


def _split(path: str, ops: dict[str, Any]) -> tuple[str, str]:
    """Split a path into that of a named object and the rest: `block/dense` and `note.words[1]`."""
    end = len(path)
    while True:
        if path[:end] in ops or path[:end] == OPTIMIZER or path[:end].startswith(f"{METRICS}/"):
            return path[:end], path[end:].lstrip(".")
        cut = max(path.rfind(".", 0, end), path.rfind("[", 0, end))
        if cut < 0:
            return path, ""
        end = cut


class _KnownChanges:
    """The changes that are known already, by op."""

    def __init__(self, changes: Iterable[Change], root: str) -> None:
        self._whats: dict[str, set[str]] = {}
        self._explained: set[str] = set()
        self._rebuilt: set[str] = set()
        for change in changes:
            if change.kind in _STRUCTURE:
                self._rebuilt.add(root)
                for side in (change.before, change.after):
                    parts = (side or "").split("/")
                    self._rebuilt |= {"/".join(parts[:count]) for count in range(1, len(parts) + 1)}
            path = change.before if change.before is not None else change.after or ""
            path = path.rpartition("/")[0] if change.kind == "variable" else path
            path = OPTIMIZER if change.kind == "compile" and change.what.startswith("optimizer") else path or root
            self._whats.setdefault(path, set()).add(_first(change.what))
            if change.kind == "compile":
                self._explained.add(root)
            if change.kind not in _VALUES:
                self._explained.add(path)

    def explain(self, path: str, attribute: str, found: Found, op: Any) -> bool:
        """Return whether a known change explains this one: the same setting, or one that implies this attribute."""
        if _DRAWN_SEED.fullmatch(attribute) or _first(attribute) in self._whats.get(path, ()):
            return True
        name = attribute.split(".", maxsplit=1)[0].partition("[")[0]
        library = op is None or is_library_attribute(type(op), name)
        if found.kind == "sharing" and self._rebuilt and not attribute:
            # If layers were added before it, a layer in a list is compared with another one.
            return True
        if path in self._rebuilt and (library or _is_length(found)):
            return found.kind != "array"
        if found.kind == "array" or not library:
            return False
        return path in self._explained or _is_off(found) or _counts(attribute, found)


def _is_length(found: Found) -> bool:
    """Return whether only the length of a list or dict differs, as for the list of layers when one is added."""
    return all(isinstance(side, str) and re.fullmatch(r"\d+ items", side) for side in (found.old, found.new))


def _is_off(found: Found) -> bool:
    """Return whether an attribute is missing on one side, and None, False or empty on the other."""
    held = found.new if found.old is MISSING else found.old
    one_sided = found.old is MISSING or found.new is MISSING
    return one_sided and (held is None or held is False or (isinstance(held, list | tuple | dict) and not held))


def _counts(attribute: str, found: Found) -> bool:
    """Return whether the names of random generators differ only in their number."""
    old, new = found.old, found.new
    if not attribute.endswith("generator.name") or not isinstance(old, str) or not isinstance(new, str):
        return False
    return re.sub(r"_\d+$", "", old) == re.sub(r"_\d+$", "", new)


def _first(what: str) -> str:
    return re.split(r"[.\[]", what, maxsplit=1)[0].lstrip("_")


def _value(value: Any) -> Argument:
    return ABSENT if value is MISSING else freeze_argument(value)
