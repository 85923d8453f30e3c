"""One copy of one object graph: the walk, and the state that copy rules and the finish step share."""

from __future__ import annotations

import gc
import itertools
import types
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

from ramet._copy._compiled import uses_compiled_walk
from ramet._copy.atoms import ATOMS, SMALLEST_ID
from ramet._copy.refusal import RefusalError, ValuesChangedError
from ramet._copy.rule import MISSING, CopyRule, ShellRule
from ramet.errors import RametError

if uses_compiled_walk():
    from ramet._copy._compiled.walk import Walk
else:
    from ramet._copy.walk import Walk


class Copier(Walk):
    """The state of one copy: the twins made so far, and the work that is left."""

    def __init__(self, rule_for: Callable[[type], CopyRule]) -> None:
        super().__init__(rule_for)
        self.late: list[tuple[Any, Any, Any]] = []
        self.finishers: list[Callable[[Copier], None]] = []
        self.tables: defaultdict[str, dict[int, Any]] = defaultdict(dict)  # caches of the rules: topic -> id -> value
        self.forced: set[int] = set()  # ids of functions to copy although they looked stateless
        self.keep_compiled = True
        self.has_requests = False  # whether share=, or a rule of the user, decided about an object
        self.large_ints = 0  # the number of ints found that may be ids
        self.frozen_ids: set[int] = set()  # such ints in immutable objects
        self._in_progress: set[int] = set()

    def shares(self, old: Any) -> bool:
        """Return whether the twin will use the same object."""
        new = self.find(old, MISSING)
        return self.rules[type(old)].shares(old, self) if new is MISSING else new is old

    def share(self, old: Any) -> None:
        """Let the twin use this object itself from now on."""
        self.memo[id(old)] = old
        self.kept_alive.append(old)
        self.has_requests = True

    def run(self) -> None:
        """Fill all waiting shells, then everything that had to wait for them."""
        self.fill_waiting()
        while self.late:
            rule, old, new = self.late.pop(0)
            rule.fill_late(old, new, self)
            self.fill_waiting()

    def fill_waiting(self) -> None:
        """Fill all waiting shells."""
        try:
            self.fill_all()
        except (RefusalError, ValuesChangedError, RametError, MemoryError):
            raise
        except Exception as error:
            # A property of a user's class or a library's copy function may raise anything. The error gets a path.
            raise RefusalError(self.filling, f"copying it failed: {type(error).__name__}: {error}") from error

    def copy_whole(self, part: Any) -> Any:
        """Return the twin of a part for foreign code. It is filled first, because that code may look inside it."""
        new = self.copy(part)
        self.fill_reached(part)
        return new

    def fill_reached(self, root: Any) -> None:
        """Fill the twins of everything reachable from `root`, except those that hold an object still being made."""
        if type(root) in ATOMS or isinstance(root, type):
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
        return self.find(old, MISSING) is not MISSING and not self.rules[type(old)].is_assembly

    def _holds_unfinished(self, old: Any) -> bool:
        """Return whether filling the twin of `old` would need an object that foreign code is still making.

        Parts that are made as shells need nothing. All others are made immediately, possibly by foreign code.
        """
        parts = gc.get_referents(old)
        own = getattr(old, "__dict__", None)
        if any(part is own for part in parts):
            parts += gc.get_referents(own)
        for part in parts:
            if id(part) in self._in_progress:
                return True
            if part is own or self.find(part, MISSING) is not MISSING or isinstance(self.rules[type(part)], ShellRule):
                continue
            if any(id(inner) in self._in_progress for inner in reached(part)):
                return True
        return False

    def assemble(self, root: Any) -> Any:
        """Return the twin of an immutable object, making its immutable parts first, from the innermost out.

        An immutable object cannot be made empty and filled later like a shell, so its parts come first. A stack
        replaces the recursion.
        """
        memo = self.memo
        stack = [root]
        opened: set[int] = set()
        while stack:
            old = stack[-1]
            if id(old) in memo:
                stack.pop()
                continue
            rule: Any = self.rules[type(old)]
            if not rule.is_assembly:
                memo[id(old)] = rule.copy(old, self)
                stack.pop()
                continue
            if id(old) not in opened:
                opened.add(id(old))
                waiting = [
                    part
                    for part in rule.parts(old, self)
                    if id(part) not in memo and self.rules[type(part)].is_assembly
                ]
                if any(id(part) in opened for part in waiting):
                    self.refuse(old, "it contains itself through immutable objects")
                if waiting:
                    stack.extend(waiting)
                    continue
            memo[id(old)] = rule.make(old, self)
            self.kept_alive.append(old)
            stack.pop()
        return memo[id(root)]

    def id_of_twin(self, value: Any) -> Any:
        """Return the id of the twin if `value` is the id of a copied object, and `value` otherwise."""
        return id(self.memo[value]) if type(value) is int and value in self.memo else value

    def replace_id_later(self, put: Callable[[Any], None], value: Any) -> None:
        """Let the finish step call `put` with the id of the twin, if `value` turns out to be the id of a copied object."""
        if type(value) is int and value >= SMALLEST_ID:
            self.records["ids"].append((put, value))

    def begin_foreign_copy(self, old: Any) -> None:
        """Record that foreign code makes the twin of `old`; refuse if that code requests the object it is making."""
        if id(old) in self._in_progress:
            self.refuse(old, "its copy function requested the object that it was making")
        self._in_progress.add(id(old))
        self.prepare_for_foreign_code()

    def end_foreign_copy(self, old: Any) -> None:
        self._in_progress.discard(id(old))

    def refuse(self, old: Any, reason: str, fix: str | None = None) -> None:
        """Raise an error: this object cannot be copied. The path to it is added later."""
        raise RefusalError(old, reason, fix)


def reached(root: Any, enters: Callable[[Any], bool] = lambda part: True) -> Iterator[Any]:
    """Yield every object reachable from `root`, without entering classes, modules and functions.

    Args:
        root: Any object; not yielded itself.
        enters: Whether to follow the references of an object.
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
