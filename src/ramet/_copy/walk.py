"""The walk: one memo, a worklist, no recursion.

`copy(old)` answers at once, with a shared object, a finished immutable one, or an empty shell whose filling waits in
the worklist. So a chain of objects of any length is copied at the default recursion limit.

This is the walk in Python, which says what is to be done; `ramet._copy._compiled` does the same, faster.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ramet._copy.plan import MISSING, Plan, Plans
from ramet._keras import calls, names


class Walk:
    """What was copied to what, and what is still to be filled."""

    def __init__(self, plan_for: Callable[[type], Plan]) -> None:
        self.memo: dict[int, Any] = {}
        self.plans = Plans(plan_for)
        self.todo: list[tuple[Any, Any, Any]] = []
        self.filled: defaultdict[Any, list[tuple[Any, Any]]] = defaultdict(list)  # by plan: what it wants to see again
        self.filling: Any = None  # the object that is being filled, for errors
        self.kept: list[Any] = []  # temporaries, kept alive because the memo knows them by id
        self.records: defaultdict[str, list[Any]] = defaultdict(
            list
        )  # what the plans noted for the finish step, by topic

    def copy(self, old: Any) -> Any:
        """The twin of `old`; the same answer however often it is asked."""
        new = self.memo.get(id(old), MISSING)
        return self.plans[type(old)].copy(old, self) if new is MISSING else new  # type: ignore[arg-type]  # a Copier

    def find(self, old: Any, default: Any = None) -> Any:
        """The twin of `old` if there is one already, or the default."""
        return self.memo.get(id(old), default)

    def copy_each(self, olds: Sequence[Any]) -> list[Any]:
        """The twins of several objects."""
        return [self.copy(old) for old in olds]

    def known(self, olds: Iterable[Any]) -> list[Any]:
        """The twins of those that have one already."""
        memo = self.memo
        return [memo[id(old)] for old in olds if id(old) in memo]

    def place_calls(self) -> dict[int, int]:
        """Give each op of the twin its calls, in their order; answer with each call's position, by id."""
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
        """Say of each tensor of the twin which call it comes from."""
        for old, new in self.records["tensors"]:
            found = calls.history(old)
            if found is not None:
                op, position, index = found
                call = self.find(calls.inbound_at(op, position))
                calls.set_history(new, old, self.copy(op), positions[id(call)], index)
            elif names.HISTORY in old.__dict__:
                new.__dict__[names.HISTORY] = old.__dict__[names.HISTORY]

    def name_calls(self, keys: Iterable[str], ops: Iterable[Any], positions: dict[int, int]) -> set[str]:
        """The keys under which the twin of a functional model knows its calls."""
        by_id = {id(op): op for op in ops}
        twin_keys = set()
        for key in keys:
            number, position = calls.split_node_key(key)
            call = self.find(calls.inbound_at(by_id[number], position))
            twin_keys.add(calls.node_key(self.copy(by_id[number]), positions[id(call)]))
        return twin_keys

    def list_tracked(self) -> None:
        """Give each tracker of the twin the ids of the twins of what the original's tracker lists.

        The stores themselves may hold more: Keras puts some layers there without the tracker's knowledge.
        """
        memo = self.memo
        for old, new in self.records["trackers"]:
            new.__dict__[names.STORED_IDS] = {
                name: {id(memo[number]) for number in list(numbers) if number in memo}
                for name, numbers in old.__dict__[names.STORED_IDS].items()
            }

    def expect_anything(self) -> None:
        """Foreign code is about to run, which may lead from anywhere to anything."""

    def lend_memo(self) -> dict[int, Any]:
        """The memo as a dict, for foreign code."""
        return self.memo

    def take_memo_back(self) -> None:
        """What foreign code put into it is known from now on."""

    def waiting(self) -> set[int]:
        """Return the ids of the originals whose twins are not filled yet."""
        return {id(old) for _, old, _ in self.todo}

    def fill_these(self, ids: set[int]) -> None:
        """Fill the twins of the originals with these ids now."""
        chosen = [entry for entry in self.todo if id(entry[1]) in ids]
        self.todo[:] = [entry for entry in self.todo if id(entry[1]) not in ids]
        filling = self.filling
        for plan, old, new in chosen:
            self.filling = old
            plan.fill(old, new, self)
        self.filling = filling

    def fill_all(self) -> None:
        """Fill every shell that is known so far."""
        while self.todo or self.filled:
            if self.todo:
                plan, old, new = self.todo.pop()
                self.filling = old
                plan.fill(old, new, self)
            else:
                plan, pairs = self.filled.popitem()
                plan.after(pairs, self)
