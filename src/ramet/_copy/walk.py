"""The walk: one memo, a worklist, no recursion.

`copy(old)` returns immediately: a shared object, a finished immutable one, or an empty shell whose filling waits in the
worklist. So a chain of objects of any length is copied at the default recursion limit, and an object that refers to
itself needs no special case. Filling a shell calls `copy` for its parts, which adds to the worklist. The memo (id of an
original -> twin) keeps identity: what is one object in the original is one object in the twin, however many paths lead
to it.

This is the walk in Python, which defines the behavior. `ramet._copy._compiled` does the same for the dozen most common
forms of objects, about three times as fast, and calls the copy rules for the rest. Alternatives that were
tried: filling many objects of a class column by column in Python (harder to read and half as fast), generating code per
class, `mypyc` on the rules (a fifth faster), and one torch call for many tensors (no gain).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ramet._copy.rule import MISSING, CopyRule, RuleTable
from ramet._keras import calls, names


class Walk:
    """The twins made so far, and the shells that are still to be filled."""

    def __init__(self, rule_for: Callable[[type], CopyRule]) -> None:
        self.memo: dict[int, Any] = {}
        self.rules = RuleTable(rule_for)
        self.todo: list[tuple[Any, Any, Any]] = []
        self.filled: defaultdict[Any, list[tuple[Any, Any]]] = defaultdict(list)  # by rule: pairs for `rule.after`
        self.filling: Any = None  # the object being filled, for errors
        self.kept_alive: list[Any] = []  # originals kept alive because the memo refers to them by id
        self.records: defaultdict[str, list[Any]] = defaultdict(
            list
        )  # what the rules recorded for the finish step, by topic

    def copy(self, old: Any) -> Any:
        """Return the twin of `old`, always the same one."""
        new = self.memo.get(id(old), MISSING)
        return self.rules[type(old)].copy(old, self) if new is MISSING else new  # type: ignore[arg-type]  # a Copier

    def find(self, old: Any, default: Any = None) -> Any:
        """Return the twin of `old` if it exists already, otherwise the default."""
        return self.memo.get(id(old), default)

    def copy_each(self, olds: Sequence[Any]) -> list[Any]:
        """Return the twins of several objects."""
        return [self.copy(old) for old in olds]

    def known(self, olds: Iterable[Any]) -> list[Any]:
        """Return the existing twins of these objects."""
        memo = self.memo
        return [memo[id(old)] for old in olds if id(old) in memo]

    def place_calls(self) -> dict[int, int]:
        """Give each op of the twin its calls, in their order. Return the position of each call by its id."""
        positions: dict[int, int] = {}
        for old, new in self.records["ops"]:
            own = self.known(calls.inbound(old))
            if own:
                positions.update(zip(map(id, own), range(len(own)), strict=True))
                calls.put(new.__dict__[names.INBOUND], own)
            following = self.known(calls.outbound(old))
            if following:
                calls.put(new.__dict__[names.OUTBOUND], following)
        return positions

    def write_histories(self, positions: dict[int, int]) -> None:
        """Set the call that each tensor of the twin comes from."""
        for old, new in self.records["tensors"]:
            found = calls.history(old)
            if found is not None:
                op, position, index = found
                call = self.find(calls.inbound_at(op, position))
                calls.set_history(new, old, self.copy(op), positions[id(call)], index)
            elif names.HISTORY in old.__dict__:
                new.__dict__[names.HISTORY] = old.__dict__[names.HISTORY]

    def name_calls(self, keys: Iterable[str], ops: Iterable[Any], positions: dict[int, int]) -> set[str]:
        """Return the keys under which the twin of a functional model keeps its calls."""
        by_id = {id(op): op for op in ops}
        twin_keys = set()
        for key in keys:
            number, position = calls.split_node_key(key)
            call = self.find(calls.inbound_at(by_id[number], position))
            twin_keys.add(calls.node_key(self.copy(by_id[number]), positions[id(call)]))
        return twin_keys

    def list_tracked(self) -> None:
        """Give each tracker of the twin the ids of the twins of what the original's tracker lists.

        The stores themselves may hold more: Keras puts some layers there without registering them with the tracker.
        """
        memo = self.memo
        for old, new in self.records["trackers"]:
            new.__dict__[names.STORED_IDS] = {
                name: {id(memo[number]) for number in list(numbers) if number in memo}
                for name, numbers in old.__dict__[names.STORED_IDS].items()
            }

    def prepare_for_foreign_code(self) -> None:
        """Prepare for foreign code, which may reach any object. Only the compiled walk needs this."""

    def lend_memo(self) -> dict[int, Any]:
        """Return the memo as a dict, for foreign code."""
        return self.memo

    def take_memo_back(self) -> None:
        """Take over what foreign code added to the memo."""

    def waiting(self) -> set[int]:
        """Return the ids of the originals whose twins are not filled yet."""
        return {id(old) for _, old, _ in self.todo}

    def fill_these(self, ids: set[int]) -> None:
        """Fill the twins of the originals with these ids now."""
        chosen = [entry for entry in self.todo if id(entry[1]) in ids]
        self.todo[:] = [entry for entry in self.todo if id(entry[1]) not in ids]
        filling = self.filling
        for rule, old, new in chosen:
            self.filling = old
            rule.fill(old, new, self)
        self.filling = filling

    def fill_all(self) -> None:
        """Fill all waiting shells."""
        while self.todo or self.filled:
            if self.todo:
                rule, old, new = self.todo.pop()
                self.filling = old
                rule.fill(old, new, self)
            else:
                rule, pairs = self.filled.popitem()
                rule.after(pairs, self)
