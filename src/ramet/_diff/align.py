"""Two sequences laid side by side: which items of one are which of the other, in order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise

__all__ = ["align", "gaps", "increasing"]

Items = Sequence[Hashable]
Span = tuple[int, int, int, int]

# Rounds of splitting at items that stand once; what is left then is paired in one go.
_ROUNDS = 40
# Insertions and removals that are looked for between two sure pairs. The work grows with their number.
_EDITS = 200


def align(before: Items, after: Items, *, guess: bool = True) -> list[tuple[int, int]]:
    """Pairs of positions with equal items, increasing on both sides. As many as are easily found, in about linear time.

    Equal beginnings and ends come first; then items that stand once on each side, and what lies between these in the same
    way; then as few insertions and removals as explain the rest.

    Args:
        before: the one sequence.
        after: the other.
        guess: whether, where that takes too many, each item is paired with the next of its kind.
    """
    found: list[tuple[int, int]] = []
    waiting = [((0, len(before), 0, len(after)), 0)]
    while waiting:
        span, rounds = waiting.pop()
        span = _trim(before, after, span, found)
        low, high, start, end = span
        if low == high or start == end:
            continue
        anchors = _unique_pairs(before, after, span) if rounds < _ROUNDS else []
        if anchors:
            found += anchors
            edges = [(low - 1, start - 1), *anchors, (high, end)]
            for (i, j), (k, m) in pairwise(edges):
                waiting.append(((i + 1, k, j + 1, m), rounds + 1))
        else:
            fewest = _fewest_edits(before, after, span)
            found += fewest if fewest is not None else _in_turn(before, after, span) if guess else ()
    return sorted(found)


def _trim(before: Items, after: Items, span: Span, found: list[tuple[int, int]]) -> Span:
    low, high, start, end = span
    while low < high and start < end and before[low] == after[start]:
        found.append((low, start))
        low, start = low + 1, start + 1
    while low < high and start < end and before[high - 1] == after[end - 1]:
        high, end = high - 1, end - 1
        found.append((high, end))
    return low, high, start, end


def _unique_pairs(before: Items, after: Items, span: Span) -> list[tuple[int, int]]:
    low, high, start, end = span
    counts, others = Counter(before[low:high]), Counter(after[start:end])
    places = {after[place]: place for place in range(start, end)}
    pairs = [
        (place, places[before[place]])
        for place in range(low, high)
        if counts[before[place]] == 1 and others[before[place]] == 1
    ]
    kept = increasing([place for _, place in pairs])
    return [pairs[place] for place in kept]


def _fewest_edits(before: Items, after: Items, span: Span) -> list[tuple[int, int]] | None:
    """The pairs that the fewest insertions and removals leave; None when that would take too many.

    Diagonals are followed as far as items are equal, with one more insertion or removal in each round (Myers, 1986).
    """
    low, high, start, end = span
    width, height = high - low, end - start
    reached = {1: 0}
    rounds: list[dict[int, int]] = []
    for edits in range(min(width + height, _EDITS) + 1):
        rounds.append(dict(reached))
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (diagonal != edits and reached[diagonal - 1] < reached[diagonal + 1])
            x = reached[diagonal + 1] if down else reached[diagonal - 1] + 1
            y = x - diagonal
            while x < width and y < height and before[low + x] == after[start + y]:
                x, y = x + 1, y + 1
            reached[diagonal] = x
            if x >= width and y >= height:
                return [(low + i, start + j) for i, j in _way_back(rounds, width, height)]
    return None


def _way_back(rounds: list[dict[int, int]], x: int, y: int) -> Iterator[tuple[int, int]]:
    """The equal items on the way that was found, from the end."""
    for edits in reversed(range(len(rounds))):
        reached, diagonal = rounds[edits], x - y
        down = diagonal == -edits or (diagonal != edits and reached[diagonal - 1] < reached[diagonal + 1])
        previous = diagonal + 1 if down else diagonal - 1
        before, after = reached[previous], reached[previous] - previous
        while x > max(before, 0) and y > max(after, 0):
            x, y = x - 1, y - 1
            yield x, y
        x, y = before, after


def _in_turn(before: Items, after: Items, span: Span) -> Iterator[tuple[int, int]]:
    low, high, start, end = span
    places: dict[Hashable, list[int]] = {}
    for place in range(start, end):
        places.setdefault(after[place], []).append(place)
    last = start - 1
    for place in range(low, high):
        candidates = places.get(before[place], [])
        number = bisect_right(candidates, last)
        if number < len(candidates):
            last = candidates[number]
            yield place, last


def increasing(numbers: Sequence[int]) -> list[int]:
    """The positions of a longest increasing subsequence."""
    tails: list[int] = []
    at: list[int] = []
    before: list[int] = []
    for place, number in enumerate(numbers):
        length = bisect_left(tails, number)
        before.append(at[length - 1] if length else -1)
        tails[length : length + 1] = [number]
        at[length : length + 1] = [place]
    found: list[int] = []
    place = at[-1] if at else -1
    while place >= 0:
        found.append(place)
        place = before[place]
    return found[::-1]


def gaps(pairs: Sequence[tuple[int, int]], before: int, after: int) -> Iterator[Span]:
    """What lies between pairs that are in order: from and to on one side, from and to on the other.

    Args:
        pairs: positions on both sides, sorted by the first; those out of order are passed over.
        before: the length of the one side.
        after: the length of the other.
    """
    kept = [pairs[place] for place in increasing([second for _, second in pairs])]
    edges = [(-1, -1), *kept, (before, after)]
    for (i, j), (k, m) in pairwise(edges):
        if k > i + 1 and m > j + 1:
            yield i + 1, k, j + 1, m
