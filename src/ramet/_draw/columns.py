"""Columns of a layered layout: long edges and chains are straight, and the picture is narrow."""

from __future__ import annotations

import itertools

from ramet._draw.ordering import Rows
from ramet._draw.ranking import Links, Pair

# The most visits of vertices to cut the blocks of a graph: about a second for all four packings.
_MOST_VISITS = 300_000
# How much wider than its widest row a packing may be.
_WIDER = 1.25
# Each time after this many rounds of cutting, one more cut is made per round.
_HURRY = 5
# Rounds of sliding. More change next to nothing.
_SLIDES = 4


def choose_columns(rows: Rows, above: Links, below: Links, count: int) -> dict[int, float]:
    """Return a column for each vertex, at least 1 apart within a row, with many straight edges (Brandes and Köpf, 2002).

    Each vertex is aligned with the middle one of its neighbors above. The aligned vertices form vertical blocks, which are packed
    to the left. The same is done from below, and both to the right. The middle of the four is symmetric. Columns are multiples of
    1/2, which floats represent exactly: `placement.py` relies on equal columns being equal.

    Args:
        rows: The vertices of each row, in order.
        above: The neighbors of each vertex in the row above.
        below: The neighbors of each vertex in the row below.
        count: The first number of a bend.
    """
    crossed = _crossed(rows, above, count)
    packings: list[dict[int, float]] = []
    for downwards, to_left in itertools.product((True, False), (True, False)):
        turned = [row if to_left else row[::-1] for row in (rows if downwards else rows[::-1])]
        block = _align(turned, above if downwards else below, crossed)
        # Each connected part has its share of the visits.
        packed = _pack(turned, block, count, _MOST_VISITS * len(block) // len(above))
        packings.append({vertex: column if to_left else -column for vertex, column in packed.items()})
    lefts = [min(packing.values()) for packing in packings]
    rights = [max(packing.values()) for packing in packings]
    narrowest = min(range(4), key=lambda number: rights[number] - lefts[number])
    # Packings to the left are aligned at the left, the others at the right.
    ends = (lefts, rights, lefts, rights)
    shifts = [end[narrowest] - end[number] for number, end in enumerate(ends)]
    columns = {}
    for vertex in packings[0]:
        _, second, third, _ = sorted(packing[vertex] + shift for packing, shift in zip(packings, shifts, strict=True))
        columns[vertex] = (second + third) / 2
    for turn in range(_SLIDES):
        _slide(rows, columns, above, below, count, from_left=turn % 2 == 1)
    return columns


def _crossed(rows: Rows, above: Links, count: int) -> set[Pair]:
    """Return the edges, in both directions, that cross a long edge between two of its bends, where it should be straight."""
    crossed = set[Pair]()
    for upper, row in itertools.pairwise(rows):
        position = {vertex: index for index, vertex in enumerate(upper)}
        low, first = 0, 0
        for index, vertex in enumerate(row):
            is_inner = vertex >= count and above[vertex][0] >= count
            if not is_inner and index < len(row) - 1:
                continue
            high = position[above[vertex][0]] if is_inner else len(upper)
            for other in row[first : index + 1]:
                for end in above[other]:
                    if not low <= position[end] <= high and min(other, end) < count:
                        crossed |= {(end, other), (other, end)}
            low, first = high, index + 1
    return crossed


def _align(rows: Rows, back: Links, crossed: set[Pair]) -> dict[int, int]:
    """Return the block of each vertex: the number of its first vertex. Alignments never cross each other."""
    position = {vertex: index for row in rows for index, vertex in enumerate(row)}
    block: dict[int, int] = {}
    for row in rows:
        last = -1
        for vertex in row:
            block[vertex] = vertex
            others = sorted(back[vertex], key=position.__getitem__)
            # The one in the middle, or the two.
            for other in others[max(0, len(others) - 1) // 2 : len(others) // 2 + 1]:
                if position[other] > last and (other, vertex) not in crossed:
                    block[vertex] = block[other]
                    last = position[other]
                    break
    return block


def _pack(rows: Rows, block: dict[int, int], count: int, budget: int) -> dict[int, float]:
    """Return columns: each block as far left as possible, and then back to the right as far as there is room.

    Long blocks that overlap like stairs would make some layouts many times as wide as their widest row (NASNet: ten times). Such
    stairs are cut in pieces, if possible next to a box, so that long edges stay straight.
    """
    rank = {vertex: index for index, row in enumerate(rows) for vertex in row}
    content: dict[int, list[int]] = {}
    for vertex in rank:
        content.setdefault(block[vertex], []).append(vertex)
    neighbors = [pair for row in rows for pair in itertools.pairwise(row)]
    limit = _WIDER * max(map(len, rows))
    for turn in itertools.count():
        budget -= len(neighbors) + len(content)
        right: dict[int, dict[int, Pair]] = {one: {} for one in content}
        waiting = dict.fromkeys(content, 0)
        for pair in neighbors:
            one, other = block[pair[0]], block[pair[1]]
            if other not in right[one]:
                right[one][other] = pair
                waiting[other] += 1
        column = dict.fromkeys(content, 0)
        stairs: dict[int, Pair] = {}
        order = [one for one, number in waiting.items() if not number]
        for one in order:
            for other, pair in right[one].items():
                if column[other] <= column[one]:
                    column[other] = column[one] + 1
                    stairs[other] = pair
                waiting[other] -= 1
                if not waiting[other]:
                    order.append(other)
        widest = max(order, key=column.__getitem__)
        if column[widest] <= limit or budget < 0:
            break
        # The stairs from right to left. They enter a block in one row and leave it in another; a cut between the two splits them.
        cuts: list[Pair] = []
        one, start = widest, stairs[widest][1]
        while one in stairs:
            left, end = stairs[one]
            top, bottom = sorted((rank[start], rank[end]))
            cuts += [cut for cut in itertools.pairwise(content[one]) if top <= rank[cut[0]] and rank[cut[1]] <= bottom]
            one, start = block[left], left
        pieces = max(2, round(column[widest] / limit)) + turn // _HURRY
        chosen = set[Pair]()
        for piece in range(1, pieces):
            wanted = column[widest] * piece / pieces
            chosen.add(min(cuts, key=lambda cut: (min(cut) >= count, abs(column[block[cut[0]]] - wanted))))
        for upper, lower in sorted(chosen):
            own = content[block[upper]]
            place = own.index(lower)
            content[block[upper]], content[lower] = own[:place], own[place:]
            block |= dict.fromkeys(content[lower], lower)
    for one in reversed(order):
        if right[one]:
            column[one] = max(column[one], min(column[other] for other in right[one]) - 1)
    return {vertex: float(column[one]) for vertex, one in block.items()}


def _slide(rows: Rows, columns: dict[int, float], above: Links, below: Links, count: int, *, from_left: bool) -> None:
    """Move straight stretches sideways where this makes the edges at their ends shorter, as far as there is room.

    A stretch consists of boxes only, or of bends only. Edges between two boxes, or two bends, count twice, so that the main path
    becomes straight, and long edges leave it to the side. Where a box is followed by the next one of its stretch, bends beside
    that do not count at all: they can follow. Otherwise, a U-Net would move aside at each of its levels.
    """
    first: dict[int, int] = {}
    stretches: dict[int, list[int]] = {}
    left: dict[int, int] = {}
    right: dict[int, int] = {}
    for row in rows:
        left.update((one, other) for other, one in itertools.pairwise(row))
        right.update(itertools.pairwise(row))
        for vertex in row:
            alike = (other for other in above[vertex] if (other < count) == (vertex < count))
            first[vertex] = next((first[other] for other in alike if columns[other] == columns[vertex]), vertex)
            stretches.setdefault(first[vertex], []).append(vertex)
    for start in sorted(stretches, key=columns.__getitem__, reverse=not from_left):
        own, here = stretches[start], columns[start]
        ends: list[float] = []
        for vertex in own:
            for side in (above[vertex], below[vertex]):
                others = [other for other in side if first[other] != start]
                alike_ends = [columns[other] for other in others if (other < count) == (vertex < count)]
                ends += alike_ends * 2
                if len(others) == len(side):
                    ends += [columns[other] for other in others if (other < count) != (vertex < count)]
        if ends:
            ends.sort()
            # The edges are shortest anywhere between the two ends in the middle.
            wanted = min(max(here, ends[(len(ends) - 1) // 2]), ends[len(ends) // 2])
            low = max((columns[left[vertex]] + 1 for vertex in own if vertex in left), default=wanted)
            high = min((columns[right[vertex]] - 1 for vertex in own if vertex in right), default=max(wanted, low))
            columns |= dict.fromkeys(own, min(max(wanted, low), high))
