"""Order of the vertices and bends in each row of a layered layout: few edges cross."""

from __future__ import annotations

from bisect import bisect_left, bisect_right, insort
from typing import TypeAlias

from ramet._draw.ranking import Links

Rows: TypeAlias = list[list[int]]

# The most visits of vertices and edges to order a graph: about half a second.
_MOST_VISITS = 1_500_000
# The search ends after this many sweeps without fewer crossings.
_PATIENCE = 8


def order_rows(vertices: list[int], ranks: list[int], above: Links, below: Links) -> Rows:
    """Return the vertices of each row in an order with few crossings.

    The first order is that of a depth-first search: most models have no crossings in it, and their branches are in the order of
    the input. Otherwise, rows are sorted by the medians or means of their neighbors, downwards and upwards in turns, and vertices
    swapped with the next one. The best order is kept, also over a second attempt, from the bottom.
    """
    best: Rows = []
    fewest = float("inf")
    # Each connected part has its share of the visits.
    most_visits = _MOST_VISITS * len(vertices) // len(ranks)
    visits = 0
    for ways, back in ((below, above), (above, below)):
        rows = _search(vertices, ranks, ways, back)
        order = _Order(rows, above, below)
        own, idle, turn = float("inf"), 0, 0
        while idle < _PATIENCE and (visits < most_visits or not best):
            visits += order.swap(most_visits - visits)
            crossings = order.crossings()
            idle = 0 if crossings < own else idle + 1
            own = min(own, crossings)
            if crossings < fewest:
                best, fewest = [list(row) for row in rows], crossings
            if not fewest:
                return best
            visits += order.sweep(downwards=turn % 2 == 0, flip=turn % 4 >= 2, by_median=turn % 8 < 4)
            turn += 1
    return best


def _search(vertices: list[int], ranks: list[int], ways: Links, back: Links) -> Rows:
    """Return the rows in the order of a depth-first search from the vertices that have nothing at their back."""
    rows: Rows = [[] for _ in range(max(ranks[vertex] for vertex in vertices) + 1)]
    seen = set[int]()
    for start in sorted(vertices, key=lambda vertex: len(back[vertex]) > 0):
        stack = [start]
        while stack:
            vertex = stack.pop()
            if vertex not in seen:
                seen.add(vertex)
                rows[ranks[vertex]].append(vertex)
                stack += reversed(ways[vertex])
    return rows


class _Order:
    """Rows that are being ordered. The methods return the number of visits, from which the time follows."""

    def __init__(self, rows: Rows, above: Links, below: Links) -> None:
        self._rows, self._above, self._below = rows, above, below
        self._position = {vertex: index for row in rows for index, vertex in enumerate(row)}

    def sweep(self, *, downwards: bool, flip: bool, by_median: bool) -> int:
        """Sort each row by the middles of the positions in the row before; `flip` reverses vertices with equal middles."""
        visits = 0
        for row in self._rows if downwards else reversed(self._rows):
            middles: dict[int, float] = {}
            for vertex in row:
                others = self._positions(vertex, above=downwards)
                visits += len(others) + 1
                if others and by_median:
                    others.sort()
                    others = [others[(len(others) - 1) // 2], others[len(others) // 2]]
                if others:
                    middles[vertex] = sum(others) / len(others)
            ordered = iter(sorted(reversed(middles) if flip else middles, key=middles.__getitem__))
            # A vertex without neighbors stays where it is.
            self._set(row, [next(ordered) if vertex in middles else vertex for vertex in row])
        return visits

    def swap(self, most_visits: int) -> int:
        """Swap neighbors in each row while this removes crossings."""
        visits = 0
        waiting = {number for number, row in enumerate(self._rows) if len(row) > 1}
        while waiting:
            changed = set[int]()
            for number in sorted(waiting):
                row = list(self._rows[number])
                ups = {vertex: sorted(self._positions(vertex, above=True)) for vertex in row}
                downs = {vertex: sorted(self._positions(vertex, above=False)) for vertex in row}
                cost = len(row) + sum(map(len, ups.values())) + sum(map(len, downs.values()))
                visits += cost
                better = True
                while better and visits < most_visits:
                    visits += cost
                    better = False
                    for index in range(len(row) - 1):
                        left, right = row[index], row[index + 1]
                        if _saved(ups[left], ups[right]) + _saved(downs[left], downs[right]) > 0:
                            row[index], row[index + 1] = right, left
                            better = True
                if row != self._rows[number]:
                    self._set(self._rows[number], row)
                    changed |= {number - 1, number + 1}
            waiting = {number for number in changed if 0 <= number < len(self._rows) and len(self._rows[number]) > 1}
        return visits

    def crossings(self) -> int:
        """Return the number of crossings: for each edge, the edges from further left that end further right."""
        found = 0
        for row in self._rows:
            passed: list[int] = []
            for vertex in row:
                ends = self._positions(vertex, above=False)
                found += sum(len(passed) - bisect_right(passed, end) for end in ends)
                for end in ends:
                    insort(passed, end)
        return found

    def _positions(self, vertex: int, *, above: bool) -> list[int]:
        return [self._position[other] for other in (self._above if above else self._below)[vertex]]

    def _set(self, row: list[int], order: list[int]) -> None:
        row[:] = order
        for index, vertex in enumerate(order):
            self._position[vertex] = index


def _saved(left: list[int], right: list[int]) -> int:
    """Return how many crossings disappear if two neighbors are swapped, from the sorted positions that their edges lead to."""
    pairs = len(left) * len(right)
    if not pairs or left[-1] < right[0]:
        return -pairs
    return sum(bisect_left(right, one) + bisect_right(right, one) for one in left) - pairs
