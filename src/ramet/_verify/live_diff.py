"""What is different between two live models: their graphs and weights, and everything else that they hold.

The graph of a model is what is known to matter. What lies beside it (the optimizer's variables, metrics, vocabularies,
states of recurrent layers, attributes set by hand) is found as `verify` finds it, by walking over both models.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from typing import Any

from ramet._diff import ABSENT, Change, Diff, InMemory, Kind, compare_arrays, compare_weights, diff_graphs
from ramet._graph import Argument
from ramet._keras import LiveVariables, LiveWeights, capture, freeze_argument, frozen_compile_settings, is_library_name
from ramet._verify.beside import MISSING, Beside, Found
from ramet._verify.checks.state import vocabularies_of
from ramet._verify.pair import Side
from ramet._verify.variables import METRICS, OPTIMIZER

__all__ = ["diff_models"]

_LEFT_OUT = (
    "compiled functions, caches, locks and addresses of objects",
    "seeds that initializers without a seed have drawn for themselves",
    "attributes of a library that are off or empty on one side and not set on the other",
    "numbers that Keras counts in the names of random generators",
)
_DRAWN_SEED = re.compile(r".*initializer[^.]*\.(?:seed|_init_seed|_random_seed)")
_RATE = "learning_rate"
# Changes of values: no attribute follows from them.
_VALUES = frozenset({"weights", "optimizer", "metric", "state"})
# Changes that attributes of the models around the op follow from: lists of layers, names of outputs.
_STRUCTURE = frozenset({"added", "removed", "moved", "renamed", "replaced", "order", "input", "output"})


def diff_models(before: Any, after: Any) -> Diff:
    """What is different between two models: graphs, weights, compile settings, and all other state. Neither is changed.

    Args:
        before: The one model.
        after: The other.
    """
    graphs = capture(before), capture(after)
    compiled = frozen_compile_settings(before), frozen_compile_settings(after)
    diff = diff_graphs(*graphs, (LiveWeights(before), LiveWeights(after)), compiled)
    sides = Side(before), Side(after)
    changes = [*diff.changes]
    both = (compiled[0] is None) == (compiled[1] is None)
    rate_is_told = any(change.kind == "compile" and change.what.endswith(_RATE) for change in changes)
    for kind, name in (("optimizer", OPTIMIZER), ("metric", METRICS)) if both else ():
        told = {f"{OPTIMIZER}/{_RATE}"} if rate_is_told else set()
        changes += _compare_variables(*sides, kind, f"{name}/", told)  # type: ignore[arg-type]  # kinds of changes
    changes += _compare_vocabularies(*sides)
    changes += _compare_attributes(*sides, [*changes, *diff.consequences])
    return Diff(diff.before, diff.after, tuple(changes), diff.consequences, diff.compared, _LEFT_OUT)


def _compare_variables(ours: Side, theirs: Side, kind: Kind, prefix: str, told: set[str]) -> list[Change]:
    old, new = (
        {path: variable for path, variable in side.variables.items() if path.startswith(prefix)}
        for side in (ours, theirs)
    )
    if not old or not new:
        # That only one of them is built is one difference, and not one for each variable.
        path = prefix.rstrip("/")
        return [Change(kind, path, path, "variables", len(old), len(new))] if len(old) != len(new) else []
    pairs = [(path, path) for path in sorted({*old, *new} - told)]
    return compare_weights(pairs, LiveVariables(old), LiveVariables(new), kind=kind)[1]


def _compare_vocabularies(ours: Side, theirs: Side) -> Iterator[Change]:
    old, new = dict(vocabularies_of(ours)), dict(vocabularies_of(theirs))
    for path in sorted(old.keys() & new.keys()):
        if old[path] != new[path]:
            lists = [freeze_argument(words) for words in (old[path], new[path])]
            yield Change("state", path, path, "vocabulary", *lists)  # type: ignore[arg-type]  # both are lists


def _compare_attributes(ours: Side, theirs: Side, told: Iterable[Change]) -> list[Change]:
    """What attributes hold besides, each difference once, in an order that is the same from either side."""
    others = {place.path: place.op for place in theirs.places}
    pairs = [(place.op, others[place.path]) for place in ours.places if place.path in others]
    ops = {place.path or ours.model.name: place.op for place in ours.places}
    known = _Told(told, ours.model.name)
    found: dict[tuple[str, str], Change] = {}
    for difference in Beside(pairs, ours.names, None).found:
        path, attribute = _split(difference.difference.path, ops)
        if not known.tells(path, attribute, difference, ops.get(path)):
            found.setdefault((path, attribute), _change(path, attribute, difference))
    return [found[key] for key in sorted(found)]


def _change(path: str, attribute: str, found: Found) -> Change:
    if found.kind == "array":
        place = f"{path}.{attribute}" if attribute else path
        measured = compare_arrays(place, place, InMemory(found.old), InMemory(found.new), kind="state")
        if measured:
            return measured[0]
    return Change("state", path, path, attribute, _value(found.old), _value(found.new))


def _split(path: str, ops: dict[str, Any]) -> tuple[str, str]:
    """The path of what has a name, and the way from there: `block/dense` and `note.words[1]`."""
    place = len(path)
    while True:
        if path[:place] in ops or path[:place] == OPTIMIZER or path[:place].startswith(f"{METRICS}/"):
            return path[:place], path[place:].lstrip(".")
        cut = max(path.rfind(".", 0, place), path.rfind("[", 0, place))
        if cut < 0:
            return path, ""
        place = cut


class _Told:
    """What is known of each op already."""

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

    def tells(self, path: str, attribute: str, found: Found, op: Any) -> bool:
        """Whether another change says so: the same setting, or one that this attribute of a library follows from."""
        if _DRAWN_SEED.fullmatch(attribute) or _first(attribute) in self._whats.get(path, ()):
            return True
        name = attribute.split(".", maxsplit=1)[0].partition("[")[0]
        library = op is None or is_library_name(type(op), name)
        if found.kind == "sharing" and self._rebuilt and not attribute:
            # A layer in a list stands beside another one where layers were added before it.
            return True
        if path in self._rebuilt and (library or _is_length(found)):
            return found.kind != "array"
        if found.kind == "array" or not library:
            return False
        return path in self._explained or _is_off(found) or _counts(attribute, found)


def _is_length(found: Found) -> bool:
    """Whether a list or dict has more items on one side: where layers were added or removed, the list that holds them."""
    return all(isinstance(side, str) and re.fullmatch(r"\d+ items", side) for side in (found.old, found.new))


def _is_off(found: Found) -> bool:
    """Whether one side has nothing and the other what stands for nothing."""
    held = found.new if found.old is MISSING else found.old
    one_sided = found.old is MISSING or found.new is MISSING
    return one_sided and (held is None or held is False or (isinstance(held, list | tuple | dict) and not held))


def _counts(attribute: str, found: Found) -> bool:
    """Whether the name of a random generator differs in its number alone."""
    old, new = found.old, found.new
    if not attribute.endswith("generator.name") or not isinstance(old, str) or not isinstance(new, str):
        return False
    return re.sub(r"_\d+$", "", old) == re.sub(r"_\d+$", "", new)


def _first(what: str) -> str:
    return re.split(r"[.\[]", what, maxsplit=1)[0].lstrip("_")


def _value(value: Any) -> Argument:
    return ABSENT if value is MISSING else freeze_argument(value)
