"""Aligning two sequences: which items of one correspond to which of the other, in order."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from itertools import pairwise
from typing import TypeAlias

from ramet._graph import group

Items = Sequence[Hashable]
Span = tuple[int, int, int, int]
_Chain: TypeAlias = "tuple[tuple[int, int], _Chain] | None"

# How often a span is split at its unique items.
_ROUNDS = 40
# The most insertions and removals in a span. The work grows with the square of their number.
_EDITS = 200


def align(before: Items, after: Items, *, guess: bool = True) -> list[tuple[int, int]]:
    """Return pairs of positions with equal items, increasing on both sides, in about linear time.

    Equal beginnings and ends are paired first, then items that occur once on each side (as in a patience diff), which splits
    the sequences into spans that are treated in the same way. Spans without such items are solved with the fewest insertions
    and removals. The result is not always the longest one: that would take quadratic time.

    Args:
        before: The first sequence.
        after: The second sequence.
        guess: Whether to pair each item of a span that would take too many edits with the next equal one.
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
    positions = {after[j]: j for j in range(start, end)}
    pairs = [(i, positions[before[i]]) for i in range(low, high) if counts[before[i]] == 1 and others[before[i]] == 1]
    return [pairs[number] for number in longest_increasing([j for _, j in pairs])]


def _fewest_edits(before: Items, after: Items, span: Span) -> list[tuple[int, int]] | None:
    """Return the pairs that the fewest insertions and removals leave; None if that would take too many.

    Diagonals are followed as far as items are equal, with one more insertion or removal in each round (Myers, 1986).
    """
    low, high, start, end = span
    width, height = high - low, end - start
    # How far each diagonal was followed, and the equal items on the way there: the last pair, and a chain of those before it.
    reached: dict[int, tuple[int, _Chain]] = {1: (0, None)}
    for edits in range(min(width + height, _EDITS) + 1):
        for diagonal in range(-edits, edits + 1, 2):
            down = diagonal == -edits or (diagonal != edits and reached[diagonal - 1][0] < reached[diagonal + 1][0])
            x, chain = reached[diagonal + 1 if down else diagonal - 1]
            if not down:
                x += 1
            y = x - diagonal
            while x < width and y < height and before[low + x] == after[start + y]:
                chain = ((low + x, start + y), chain)
                x, y = x + 1, y + 1
            reached[diagonal] = x, chain
            if x >= width and y >= height:
                found: list[tuple[int, int]] = []
                while chain:
                    pair, chain = chain
                    found.append(pair)
                return found
    return None


def _in_turn(before: Items, after: Items, span: Span) -> Iterator[tuple[int, int]]:
    """Yield each item paired with the next equal one on the other side."""
    low, high, start, end = span
    positions = group((after[j], j) for j in range(start, end))
    last = start - 1
    for i in range(low, high):
        candidates = positions.get(before[i], ())
        number = bisect_right(candidates, last)
        if number < len(candidates):
            last = candidates[number]
            yield i, last


def longest_increasing(numbers: Sequence[int]) -> list[int]:
    """Return the positions of a longest increasing subsequence."""
    tails: list[int] = []
    ends: list[int] = []
    previous: list[int] = []
    for position, number in enumerate(numbers):
        length = bisect_left(tails, number)
        previous.append(ends[length - 1] if length else -1)
        tails[length : length + 1] = [number]
        ends[length : length + 1] = [position]
    found: list[int] = []
    position = ends[-1] if ends else -1
    while position >= 0:
        found.append(position)
        position = previous[position]
    return found[::-1]


def gaps(pairs: Sequence[tuple[int, int]], before: int, after: int) -> Iterator[Span]:
    """Yield the spans between pairs: start and end on one side, start and end on the other.

    Args:
        pairs: Positions on both sides, sorted by the first; pairs that are out of order are ignored.
        before: The length of the first side.
        after: The length of the second side.
    """
    kept = [pairs[number] for number in longest_increasing([second for _, second in pairs])]
    edges = [(-1, -1), *kept, (before, after)]
    for (i, j), (k, m) in pairwise(edges):
        if k > i + 1 and m > j + 1:
            yield i + 1, k, j + 1, m
