"""How objects of one class are copied: the kinds of plan that there are."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from ramet._copy.atoms import SMALLEST_ID

if TYPE_CHECKING:
    from ramet._copy.copier import Copier

MISSING: Any = object()  # what the memo answers for an object it does not know


class Plan:
    """How objects of one class are copied. One instance serves all objects of the class."""

    def copy(self, old: Any, copier: Copier) -> Any:
        """The twin of `old`, perhaps still empty. Called once an object, when the memo does not know it."""
        raise NotImplementedError

    def shares(self, old: Any, copier: Copier) -> bool:
        """Whether `copy` would return `old` itself."""
        return False

    form = ""  # how the compiled walk copies such objects; "" if it must ask the plan. Not inherited: see there
    is_state = False  # whether functions that reach such an object must be copied with it
    is_batched = False  # whether values of variables wait, to be copied in one call
    is_assembly = False  # whether its objects are made from parts that must come first


class Share(Plan):
    """Nothing can change it, or there is only one of it: the twin uses the very same object."""

    form = "shared"

    def copy(self, old: Any, copier: Copier) -> Any:
        return old

    def shares(self, old: Any, copier: Copier) -> bool:
        return True


class ShareByWish(Share):
    """The user wants the very same object in the twin."""

    def copy(self, old: Any, copier: Copier) -> Any:
        copier.has_wishes = True
        return old


class IntPlan(Plan):
    """An int, which may be the id of an object of the model: then the twin has the id of its twin.

    What holds the int looks again in the finish step, when all twins are known.
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


class Shell(Plan):
    """A mutable object: made empty at once, filled later from the worklist."""

    def copy(self, old: Any, copier: Copier) -> Any:
        new = self.start(old, copier)
        copier.memo[id(old)] = new
        copier.todo.append((self, old, new))
        return new

    def start(self, old: Any, copier: Copier) -> Any:
        """A new, empty object of the same class."""
        raise NotImplementedError

    def fill(self, old: Any, new: Any, copier: Copier) -> None:
        """Put the twins of the parts of `old` into `new`."""
        raise NotImplementedError


class Assembly(Plan):
    """An immutable object: made from its parts, so its parts come first."""

    is_assembly = True

    def copy(self, old: Any, copier: Copier) -> Any:
        return copier.assemble(old)

    def parts(self, old: Any, copier: Copier) -> Iterable[Any]:
        """What must be copied before `make` can be called."""
        raise NotImplementedError

    def make(self, old: Any, copier: Copier) -> Any:
        """The new object, or `old` itself where none of its parts changed."""
        raise NotImplementedError


class Plans(dict[type, Plan]):
    """The plan of each class that was met, found once. A dict that asks for what it does not have."""

    def __init__(self, plan_for: Callable[[type], Plan]) -> None:
        super().__init__()
        self.plan_for = plan_for

    def __missing__(self, cls: type) -> Plan:
        plan = self[cls] = self.plan_for(cls)
        return plan
