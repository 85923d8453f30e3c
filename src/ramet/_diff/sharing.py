"""Which ops are one and the same object: sharing that was made or lost."""

from __future__ import annotations

from collections.abc import Mapping

from ramet._diff.change import ABSENT, Change
from ramet._diff.findings import Findings
from ramet._diff.place import Place, Side
from ramet._graph import Argument

__all__ = ["compare_sharing"]


def compare_sharing(found: Findings) -> None:
    """Nothing; places that hold one object on one side and several on the other are found."""
    match = found.match
    lost = _parted(match.before, match.to)
    made = {match.back[place]: other for place, other in _parted(match.after, match.back).items()}
    for place in match.before.places:
        if place in lost or place in made:
            change = Change(
                "sharing", place.path, match.to[place].path, "same_as", _path(lost, place), _path(made, place)
            )
            found.add(place, change)


def _parted(side: Side, pairs: Mapping[Place, Place]) -> dict[Place, Place]:
    """The places that hold the object of an earlier one, where their partners do not; with the earlier one."""
    first: dict[Place, Place] = {}
    found: dict[Place, Place] = {}
    for place in side.places:
        if place in pairs:
            earlier = first.setdefault(place.first, place)
            if earlier is not place and pairs[earlier].first is not pairs[place].first:
                found[place] = earlier
    return found


def _path(found: Mapping[Place, Place], place: Place) -> Argument:
    return found[place].path if place in found else ABSENT
