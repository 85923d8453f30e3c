"""What has been found so far, and what everything that looks for differences needs to know."""

from __future__ import annotations

from collections.abc import Iterator

from ramet._diff.change import Change
from ramet._diff.flow import Flow
from ramet._diff.match import Match
from ramet._diff.place import Place

__all__ = ["Findings"]


class Findings:
    """The differences between two models, as they are found.

    Attributes:
        match: which op is which.
        touched: the places before whose op was changed itself.
        fed: the places before whose op is given values of other shapes or dtypes.
        flows: the inside of every place beside that of its partner, the outermost first.
    """

    def __init__(self, match: Match) -> None:
        self.match = match
        self.touched: set[Place] = set()
        self.fed: set[Place] = set()
        self.flows = [Flow(match, one, other) for one, other in self.objects() if one.inside and other.inside]
        self._changes: list[tuple[tuple[int, int], Change]] = []
        self._consequences: list[tuple[tuple[int, int], Change]] = []
        self._order = _order(match)

    def objects(self) -> Iterator[tuple[Place, Place]]:
        """Every pair of objects, once: what is shared stands at several places."""
        pairs = ((one, self.match.to.get(one)) for one in self.match.before.places)
        return iter(dict.fromkeys((one.first, other.first) for one, other in pairs if other is not None))

    def add(self, place: Place, change: Change, *, follows: bool = False) -> None:
        """Nothing; the change is kept, at this place in the order.

        Args:
            place: of either model.
            change: what was found.
            follows: whether it is the consequence of another one.
        """
        (self._consequences if follows else self._changes).append((self._order[place], change))

    def changed_upwards(self, place: Place) -> bool:
        """Whether the op, or a layer that holds it, was changed or is given something else."""
        above: Place | None = place
        while above is not None:
            if above in self.touched or above in self.fed:
                return True
            # What a graph with calls gives to the ops in it, its own flow says.
            above = above.parent if above.around is None else None
        return False

    def changes(self) -> tuple[Change, ...]:
        """What was done, in the order of the models."""
        return _sorted(self._changes)

    def consequences(self) -> tuple[Change, ...]:
        """What follows from it, in the order of the models."""
        return _sorted(self._consequences)


def _sorted(found: list[tuple[tuple[int, int], Change]]) -> tuple[Change, ...]:
    return tuple(change for _, change in sorted(found, key=lambda pair: pair[0]))


def _order(match: Match) -> dict[Place, tuple[int, int]]:
    """Where each place stands when both models are read together: what was added stands after what it comes after."""
    order = {place: (number, 0) for number, place in enumerate(match.before.places)}
    last = (0, 0)
    for place in match.after.places:
        partner = match.back.get(place)
        last = (last[0], last[1] + 1) if partner is None else order[partner]
        order[place] = last
    return order
