"""Which op of one model is which op of the other.

Level by level from the root: names given by hand first, then what the neighbours say, then the order, then what is left
at the same place. What is left on both sides at the end may have moved to another level.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Hashable, Iterable

from ramet._diff.digest import Digester, is_automatic
from ramet._diff.level import Level
from ramet._diff.place import Place, Side

__all__ = ["Match"]


class Match:
    """The pairs of places, in both directions."""

    def __init__(self, before: Side, after: Side) -> None:
        self.before = before
        self.after = after
        self.digests = Digester()
        self.digests.add(before)
        self.digests.add(after)
        self.to: dict[Place, Place] = {}
        self.back: dict[Place, Place] = {}
        self._waiting: deque[tuple[Place, Place]] = deque()
        self._later: deque[tuple[Place, Place]] = deque()
        self._levels: list[Level] = []
        self._entered: set[tuple[Place, Place]] = set()
        self.pair(before.root, after.root)
        self._enter()
        self._find_moved()
        # A layer that was put into a model is found there before the model is taken for what replaced it. The list grows.
        for level in self._levels:
            level.pair_what_is_left()
            self._enter()

    def pair(self, one: Place, other: Place) -> None:
        """Nothing; the two are each other's, and what is inside them will be looked at."""
        self.to[one] = other
        self.back[other] = one
        # What is inside a shared op belongs to the place where it stands first; a place where it stands again comes after.
        waiting = self._waiting if one.first is one and other.first is other else self._later
        waiting.append((one.first, other.first))

    def free(self, places: Iterable[Place]) -> list[Place]:
        """The places that have no partner yet."""
        return [place for place in places if place not in self.to and place not in self.back]

    def share_home(self, one: Place, other: Place) -> bool:
        """Whether both stand in the same op, which may itself stand at several places."""
        if one.parent is None or other.parent is None:
            return one.parent is other.parent
        home = self.to.get(one.parent)
        return home is not None and home.first is other.parent.first

    def _enter(self) -> None:
        while self._waiting or self._later:
            pair = (self._waiting or self._later).popleft()
            one, other = pair
            if pair in self._entered or not (one.inside and other.inside):
                continue
            self._entered.add(pair)
            if self.digests.of[one].same == self.digests.of[other].same:
                for inner, partner in zip(one.inside, other.inside, strict=True):
                    if inner not in self.to and partner not in self.back:
                        self.pair(inner, partner)
            else:
                level = Level(self, one, other)
                level.match()
                self._levels.append(level)

    def _find_moved(self) -> None:
        """Nothing; ops that left their level are found by name and by what they are, where that tells them apart."""
        digest = self.digests.of
        self._pair_unique(lambda place: (place.op.id, digest[place].exact))
        self._pair_unique(lambda place: digest[place].exact if _says_much(place) else None, apart=True)
        self._pair_unique(lambda place: None if is_automatic(place.op) else (place.op.id, digest[place].loose))

    def _pair_unique(self, key: Callable[[Place], Hashable], *, apart: bool = False) -> None:
        one, other = self._by_key(self.before, key), self._by_key(self.after, key)
        for name, places in one.items():
            partners = other.get(name, ())
            if len(places) != 1 or len(partners) != 1:
                continue
            place, partner = places[0], partners[0]
            if apart and self.share_home(place, partner):
                continue
            # An earlier pair may have brought these along with what is around them.
            if place not in self.to and partner not in self.back:
                self.pair(place, partner)
                self._enter()

    def _by_key(self, side: Side, key: Callable[[Place], Hashable]) -> dict[Hashable, list[Place]]:
        found: dict[Hashable, list[Place]] = {}
        for place in self.free(side.places):
            if place.op.same_as is None and (name := key(place)) is not None:
                found.setdefault(name, []).append(place)
        return found


def _says_much(place: Place) -> bool:
    """Whether an op under another name can be told by what it is: it holds something, and its name says little."""
    return is_automatic(place.op) and bool(place.op.variables or place.inside)
