"""What stands elsewhere, under another name, or on one side only."""

from __future__ import annotations

from collections.abc import Iterable

from ramet._diff.change import ABSENT, Change
from ramet._diff.findings import Findings
from ramet._diff.place import Place
from ramet._graph import Argument, FrozenList, Ref, freeze

__all__ = ["compare_positions"]

# Neighbours that are named.
_NAMED = 3


def compare_positions(found: Findings) -> None:
    """Nothing; ops that were added, removed, moved and renamed are found."""
    _find_lone(found)
    _find_renamed(found)
    _find_moved(found)


# On one side only.


def _find_lone(found: Findings) -> None:
    match = found.match
    for place in match.before.places:
        if place not in match.to and _tops(place, match.to):
            found.add(place, Change("removed", place.path, None, place.op.class_name, old=_describe(place, match.to)))
    for place in match.after.places:
        if place not in match.back and _tops(place, match.back):
            found.add(place, Change("added", None, place.path, place.op.class_name, new=_describe(place, match.back)))


def _tops(place: Place, pairs: dict[Place, Place]) -> bool:
    """Whether what is around it is on both sides; what is inside something added is told by that.

    What a shared op holds stands at its first place. If it is one of its own there now, that says the sharing.
    """
    above = place.parent
    return above is not None and above in pairs and pairs[above].op.same_as is None


def _describe(place: Place, pairs: dict[Place, Place]) -> Argument:
    told: dict[str, object] = {}
    inside = sum(1 for child in _below(place) if child not in pairs)
    if inside:
        told["inside"] = inside
    if place.op.same_as is not None:
        told["same_as"] = place.op.same_as
    graph = place.around
    if graph is not None and place.calls:
        told["takes"] = _taken(place)
        takers = (taker for call in place.calls for taker in graph.consumers(call.id) if taker.op != place.op.id)
        told["feeds"] = tuple(map(Ref, dict.fromkeys(taker.id for taker in takers)))[:_NAMED]
        if any(
            graph.output_numbers(Ref(call.id, number)) for call in place.calls for number in range(len(call.outputs))
        ):
            told["output"] = True
    elif place.parent is not None:
        told["after"] = place.parent.inside[place.number - 1].op.id if place.number else None
    return freeze(told)


def _taken(place: Place) -> tuple[Ref, ...]:
    """The first values that an op is given, other than its own."""
    own = {call.id for call in place.calls}
    given = (ref for call in place.calls for ref in call.refs() if ref.call not in own)
    return tuple(dict.fromkeys(given))[:_NAMED]


def _below(place: Place) -> Iterable[Place]:
    waiting = list(place.inside)
    while waiting:
        child = waiting.pop()
        yield child
        waiting.extend(child.inside)


# Under another name.


def _find_renamed(found: Findings) -> None:
    match = found.match
    renamed: dict[Place, Change] = {}
    kept: set[Place] = set()
    for place in reversed(match.before.places):
        partner = match.to.get(place)
        if partner is None:
            continue
        old, new = _name(found, place, before=True), _name(found, partner, before=False)
        if old != new:
            renamed[place] = Change("renamed", place.path, partner.path, "name", old, new)
        if (old == new or place in kept) and place.parent is not None:
            # Something in there has its old name.
            kept.add(place.parent)
    for place, change in renamed.items():
        above = place.parent
        # The names inside a renamed model are renamed with it; what is replaced is no longer what it was called.
        with_model = above in renamed and above not in kept and above is not match.before.root
        found.add(place, change, follows=with_model or _replaced(place, match.to[place]))


def _replaced(one: Place, other: Place) -> bool:
    return one.parent is not None and one.first.op.class_name != other.first.op.class_name


def _name(found: Findings, place: Place, *, before: bool) -> str:
    if place.parent is None:
        return (found.match.before if before else found.match.after).graph.name
    return place.op.id


# Elsewhere.


def _find_moved(found: Findings) -> None:
    for place in found.match.before.places:
        partner = found.match.to.get(place)
        if partner is not None and not found.match.share_home(place, partner):
            found.add(place, Change("moved", place.path, partner.path, "nesting", _home(place), _home(partner)))
    for flow in found.flows:
        for place, partner in flow.moved:
            old, new = _neighbours(place), _neighbours(partner)
            found.add(place, Change("moved", place.path, partner.path, "order", old, new))


def _home(place: Place) -> Argument:
    return ABSENT if place.parent is None else place.parent.path


def _neighbours(place: Place) -> Argument:
    """What an op takes; where there are no calls, the op before it."""
    if place.calls:
        return _taken(place)
    before = place.parent.inside[place.number - 1].op.id if place.parent is not None and place.number else None
    return FrozenList((before,))
