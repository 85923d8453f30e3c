"""Copy rules: how objects of one class are copied. The base classes of all rules."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ramet._copy.atoms import SMALLEST_ID

if TYPE_CHECKING:
    from ramet._copy.copier import Copier


MISSING: Any = object()  # returned for an object that has no twin yet


class CopyRule:
    """The rule by which objects of one class are copied. One instance serves all objects of the class."""

    def copy(self, old: Any, copier: Copier) -> Any:
        """Return the twin of `old`, possibly still empty. Called once per object, when the memo does not have it."""
        raise NotImplementedError

    def shares(self, old: Any, copier: Copier) -> bool:
        """Return whether `copy` would return `old` itself."""
        return False

    form = ""  # how the compiled walk copies such objects; "" to call the rule instead. Not inherited, see walk.pyx
    is_state = False  # whether functions that reach such an object must be copied with it
    is_batched = False  # whether values of variables wait to be copied in batches
    is_assembly = False  # whether objects are made from parts that must be copied first


class ShareRule(CopyRule):
    """Share an object that is immutable or exists only once."""

    form = "shared"

    def copy(self, old: Any, copier: Copier) -> Any:
        return old

    def shares(self, old: Any, copier: Copier) -> bool:
        return True


class ShareOnRequestRule(ShareRule):
    """Share an object because the user asked for it."""

    def copy(self, old: Any, copier: Copier) -> Any:
        copier.has_requests = True
        return old


class IntRule(CopyRule):
    """An int. If it is the id of an object of the model, the twin has the id of that object's twin.

    The holder of the int checks it again in the finish step, when all twins are known.
    """

    form = "int"

    def copy(self, old: Any, copier: Copier) -> Any:
        if old < SMALLEST_ID:
            return old
        copier.large_ints += 1
        return copier.id_of_twin(old)

    def shares(self, old: Any, copier: Copier) -> bool:
        if old < SMALLEST_ID:
            return True
        copier.frozen_ids.add(old)
        return old not in copier.memo


class ShellRule(CopyRule):
    """A mutable object: created empty right away, filled later from the worklist."""

    def copy(self, old: Any, copier: Copier) -> Any:
        new = self.start(old, copier)
        copier.memo[id(old)] = new
        copier.todo.append((self, old, new))
        return new

    def start(self, old: Any, copier: Copier) -> Any:
        """Return a new, empty object of the same class."""
        raise NotImplementedError

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        """Put the twins of the parts of `old` into `new`."""
        raise NotImplementedError


class AssemblyRule(CopyRule):
    """An immutable object: made from its parts, so its parts come first."""

    is_assembly = True

    def copy(self, old: Any, copier: Copier) -> Any:
        return copier.assemble(old)

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        """Return the parts that must be copied before `make` can be called."""
        raise NotImplementedError

    def make(self, old: Any, copier: Copier) -> Any:
        """Return the new object, or `old` itself if none of its parts changed."""
        raise NotImplementedError


class RuleTable(dict[type, CopyRule]):
    """The copy rules of the classes found so far: a dict that looks up missing classes once."""

    def __init__(self, rule_for: Callable[[type], CopyRule]) -> None:
        super().__init__()
        self.rule_for = rule_for

    def __missing__(self, cls: type) -> CopyRule:
        rule = self[cls] = self.rule_for(cls)
        return rule
