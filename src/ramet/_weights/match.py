"""Which weight of one model is which of another: by path, by order, or by the end of the path."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

__all__ = ["How", "Match", "Slot", "automatic_stem", "guess_stem", "match"]

How: TypeAlias = Literal["path", "rename", "order", "end"]

_NUMBER = re.compile(r"_\d+$")
# How many levels deeper one of two models may stand for their paths to end alike.
_DEEPER = 32


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of one weight.

    Attributes:
        owner: the path of the op it belongs to; empty for the root.
        name: its own.
        shape: of what it holds.
        dtype: of what it holds.
        class_name: of the op, where that is known.
        stem: the owner's path, with `_#` for the numbers in names that Keras gave.
    """

    owner: str
    name: str
    shape: tuple[int, ...]
    dtype: str
    class_name: str | None = None
    stem: str = ""

    @property
    def path(self) -> str:
        """The path of the weight."""
        return f"{self.owner}/{self.name}" if self.owner else self.name


@dataclass(frozen=True, slots=True)
class Match:
    """A weight of the source, and how it was found to be the one that is meant."""

    source: Slot
    how: How


def automatic_stem(name: str) -> str:
    """A name that Keras gave, without its number.

    >>> automatic_stem("dense_17"), automatic_stem("dense")
    ('dense_#', 'dense_#')
    """
    return f"{_NUMBER.sub('', name)}_#"


def guess_stem(owner: str, automatic: Iterable[str]) -> str:
    """The stem of a path whose ops are not known: names that end in a number and are automatic on the other side.

    >>> guess_stem("block_1/dense_3", {"dense_#"})
    'block_1/dense_#'
    """
    known = set(automatic)
    stems = ((part, automatic_stem(part)) for part in owner.split("/"))
    return "/".join(stem if stem in known else part for part, stem in stems)


def match(sources: list[Slot], targets: list[Slot], renamed: Mapping[str, str]) -> dict[str, Match]:
    """The match of each weight of the target that has one, by its path.

    Args:
        sources: All weights there are.
        targets: All weights wanted.
        renamed: The path on the target's side of each source that the user renamed.
    """
    known = {slot.path for slot in targets}
    found: dict[str, Match] = {}
    rest = []
    for slot in sources:
        if slot.path not in renamed:
            rest.append(slot)
        elif renamed[slot.path] in known:
            found[renamed[slot.path]] = Match(slot, "rename")
    for how, pairs in (("order", _by_order), ("path", _by_path), ("end", _by_end)):
        used = {one.source.path for one in found.values()}
        ours = [slot for slot in rest if slot.path not in used]
        theirs = [slot for slot in targets if slot.path not in found]
        found |= {target.path: Match(source, how) for source, target in pairs(ours, theirs)}  # type: ignore[arg-type]  # as listed above
    return found


def _by_path(sources: list[Slot], targets: list[Slot]) -> Iterator[tuple[Slot, Slot]]:
    by_path = {slot.path: slot for slot in sources}
    yield from ((by_path[slot.path], slot) for slot in targets if slot.path in by_path)


def _by_order(sources: list[Slot], targets: list[Slot]) -> Iterator[tuple[Slot, Slot]]:
    """Ops that Keras named and numbered, where both sides have as many, alike one by one, under other numbers.

    Two models of one architecture, built after each other, have `dense, dense_1` and `dense_2, dense_3`, or, worse,
    `dense_1, dense_2` and `dense_2, dense_3`: by path, a layer would get the weights of its neighbour.
    """
    ours, theirs = _by_stem(sources), _by_stem(targets)
    for stem, wanted in theirs.items():
        there = ours.get(stem, {})
        alike = len(there) == len(wanted) and there.keys() != wanted.keys()
        if alike and all(map(_are_alike, there.values(), wanted.values())):
            for mine, yours in zip(there.values(), wanted.values(), strict=True):
                yield from zip(mine, yours, strict=True)


def _by_end(sources: list[Slot], targets: list[Slot]) -> Iterator[tuple[Slot, Slot]]:
    """Ops whose path is the end of another's, as when one of the models stands deeper, where only one comes in question."""
    ours, theirs = _by_owner(sources), _by_owner(targets)
    edges = {(owner, owner[cut:]) for owner in ours for cut in _cuts(owner) if owner[cut:] in theirs}
    edges |= {(owner[cut:], owner) for owner in theirs for cut in _cuts(owner) if owner[cut:] in ours}
    fitting = [(mine, yours) for mine, yours in sorted(edges) if _are_alike(ours[mine], theirs[yours])]
    counts: dict[tuple[int, str], int] = {}
    for pair in fitting:
        for side, owner in enumerate(pair):
            counts[side, owner] = counts.get((side, owner), 0) + 1
    for mine, yours in fitting:
        if counts[0, mine] == 1 and counts[1, yours] == 1:
            yield from zip(ours[mine], theirs[yours], strict=True)


def _cuts(owner: str) -> Iterator[int]:
    """Where the shorter ends of a path begin."""
    place = owner.find("/")
    for _ in range(_DEEPER):
        if place < 0:
            return
        yield place + 1
        place = owner.find("/", place + 1)


def _by_owner(slots: list[Slot]) -> dict[str, list[Slot]]:
    found: dict[str, list[Slot]] = {}
    for slot in slots:
        if slot.owner:
            found.setdefault(slot.owner, []).append(slot)
    return found


def _by_stem(slots: list[Slot]) -> dict[str, dict[str, list[Slot]]]:
    found: dict[str, dict[str, list[Slot]]] = {}
    for owner, owned in _by_owner(slots).items():
        if "_#" in owned[0].stem:
            found.setdefault(owned[0].stem, {})[owner] = owned
    return found


def _are_alike(ours: list[Slot], theirs: list[Slot]) -> bool:
    """Whether two ops own the same weights: names, shapes, and class where it is known."""
    classes = {ours[0].class_name, theirs[0].class_name} - {None}
    return len(classes) <= 1 and [(slot.name, slot.shape) for slot in ours] == [
        (slot.name, slot.shape) for slot in theirs
    ]
