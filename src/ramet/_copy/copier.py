"""One copy of one object graph: the walk, and what the plans and the finish step tell each other."""

from __future__ import annotations

import gc
import itertools
import types
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from ramet._copy._compiled import is_at_work
from ramet._copy.atoms import ATOMS, SMALLEST_ID
from ramet._copy.plan import MISSING, Plan, Shell
from ramet.errors import CannotCopyError, RametError

if is_at_work():
    from ramet._copy._compiled.walk import Walk
else:
    from ramet._copy.walk import Walk


class Copier(Walk):
    """One copy of one object graph: what was copied to what, and what is still to be done."""

    def __init__(self, plan_for: Callable[[type], Plan]) -> None:
        super().__init__(plan_for)
        self.late: list[tuple[Any, Any, Any]] = []
        self.finishers: list[Callable[[Copier], None]] = []
        self.tables: defaultdict[str, dict[int, Any]] = defaultdict(dict)  # what the plans look up by id, by topic
        self.forced: set[int] = set()  # functions that must be copied although they looked stateless
        self.keep_compiled = True
        self.has_wishes = False  # whether the user's word kept an object as it is, or made its twin
        self.large_ints = 0  # how many ints were met that may be ids
        self.frozen_ids: set[int] = set()  # those of them that stand where nothing can be changed later
        self._in_progress: set[int] = set()

    def plan_of(self, old: Any) -> Plan:
        """The plan for the class of `old`."""
        return self.plans[type(old)]

    def shares(self, old: Any) -> bool:
        """Whether the twin will use the very same object."""
        new = self.find(old, MISSING)
        return self.plans[type(old)].shares(old, self) if new is MISSING else new is old

    def share(self, old: Any) -> None:
        """From now on the twin uses this very object."""
        self.memo[id(old)] = old
        self.kept.append(old)
        self.has_wishes = True

    def record(self, topic: str) -> list[Any]:
        """The list of what was noted about a topic."""
        return self.records[topic]

    def run(self) -> None:
        """Fill everything that waits, then what had to wait for that."""
        self.settle()
        while self.late:
            plan, old, new = self.late.pop(0)
            plan.fill_late(old, new, self)
            self.settle()

    def settle(self) -> None:
        """Fill every shell that is known so far."""
        try:
            self.fill_all()
        except (RefusalError, UnsettledError, RametError, MemoryError):
            raise
        except Exception as error:
            # A property of a user's class, a library's own copy function: anything may fail. It gets a path.
            raise RefusalError(self.filling, f"copying it failed: {type(error).__name__}: {error}") from error

    def copy_whole(self, part: Any) -> Any:
        """Return the twin of a part for foreign code that may look inside it, so fill it first."""
        new = self.copy(part)
        self.fill_reached(part)
        return new

    def fill_reached(self, root: Any) -> None:
        """Fill the twins of everything reachable from `root`, except those that hold an object still being made."""
        if type(root) in ATOMS:
            return
        while ids := self._fillable(root):
            self.fill_these(ids)

    def _fillable(self, root: Any) -> set[int]:
        waiting = self.waiting()
        if not waiting:
            return set()

        def enters(part: Any) -> bool:
            return id(part) not in self._in_progress and (id(part) in waiting or not self._is_filled(part))

        found = [part for part in itertools.chain([root], reached(root, enters)) if id(part) in waiting]
        return {id(part) for part in found if not self._holds_unfinished(part)}

    def _is_filled(self, old: Any) -> bool:
        """Return whether the twin of `old` already has its parts. An assembly may still have parts that wait."""
        return self.find(old, MISSING) is not MISSING and not self.plans[type(old)].is_assembly

    def _holds_unfinished(self, old: Any) -> bool:
        """Return whether filling the twin of `old` would ask for an object that foreign code is still making.

        Parts that are made as shells ask for nothing. All others are made at once, possibly by foreign code.
        """
        parts = gc.get_referents(old)
        own = getattr(old, "__dict__", None)
        if any(part is own for part in parts):
            parts += gc.get_referents(own)
        for part in parts:
            if id(part) in self._in_progress:
                return True
            if part is own or self.find(part, MISSING) is not MISSING or isinstance(self.plans[type(part)], Shell):
                continue
            if any(id(inner) in self._in_progress for inner in reached(part)):
                return True
        return False

    def assemble(self, root: Any) -> Any:
        """The twin of an immutable object, its immutable parts made first, from the innermost out."""
        memo = self.memo
        stack = [root]
        opened: set[int] = set()
        while stack:
            old = stack[-1]
            if id(old) in memo:
                stack.pop()
                continue
            plan: Any = self.plans[type(old)]
            if not plan.is_assembly:
                memo[id(old)] = plan.copy(old, self)
                stack.pop()
                continue
            if id(old) not in opened:
                opened.add(id(old))
                waiting = [
                    part
                    for part in plan.parts(old, self)
                    if id(part) not in memo and self.plans[type(part)].is_assembly
                ]
                if any(id(part) in opened for part in waiting):
                    self.refuse(old, "it contains itself through objects that cannot change")
                if waiting:
                    stack.extend(waiting)
                    continue
            memo[id(old)] = plan.make(old, self)
            self.kept.append(old)
            stack.pop()
        return memo[id(root)]

    def id_of_twin(self, value: Any) -> Any:
        """The id of the twin where `value` is the id of a copied object, else `value`."""
        return id(self.memo[value]) if type(value) is int and value in self.memo else value

    def look_again(self, put: Callable[[Any], None], value: Any) -> None:
        """In the finish step, put the id of the twin where `value` stands, if that is the id of a copied object."""
        if type(value) is int and value >= SMALLEST_ID:
            self.record("ids").append((put, value))

    def enter(self, old: Any) -> None:
        """Guard a plan that runs foreign code against asking for the object that is being made."""
        if id(old) in self._in_progress:
            self.refuse(old, "its copy function asked for the very object it was making")
        self._in_progress.add(id(old))
        self.expect_anything()

    def leave(self, old: Any) -> None:
        """The foreign code is done."""
        self._in_progress.discard(id(old))

    def refuse(self, old: Any, reason: str, fix: str | None = None) -> None:
        """Stop: this object cannot be copied. `clone` adds where it stands."""
        raise RefusalError(old, reason, fix)


def reached(root: Any, enters: Callable[[Any], bool] = lambda part: True) -> Iterator[Any]:
    """Yield every object reachable from `root`, without entering classes, modules and functions.

    Args:
        root: Any object; not yielded itself.
        enters: Whether to go on to what an object refers to.
    """
    seen: set[int] = {id(root)}
    stack = [root]
    while stack:
        for part in gc.get_referents(stack.pop()):
            if id(part) in seen or isinstance(part, type | types.ModuleType | types.FunctionType):
                continue
            seen.add(id(part))
            yield part
            if enters(part):
                stack.append(part)


class UnsettledError(Exception):
    """Values changed while they were read; another try may have more luck."""


class RefusalError(Exception):
    """Inside the twin room: an object that cannot be copied, not yet with its path."""

    def __init__(self, culprit: Any, reason: str, fix: str | None = None) -> None:
        super().__init__(reason)
        self.culprit = culprit
        self.reason = reason
        self.fix = fix
        self.error: type[CannotCopyError] = CannotCopyError
