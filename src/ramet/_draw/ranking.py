"""Rows of a layered layout: every edge goes down, and the edges are as short as possible in total.

Vertices are numbers from 0 to `count`, edges are pairs of them. Nothing recurses, because models are deep, and ties are broken by
the order of the input, so that a graph always has the same layout.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeAlias

Pair: TypeAlias = tuple[int, int]
# The neighbors of each vertex in one direction.
Links: TypeAlias = list[list[int]]

# The most visits of vertices and edges to shorten the edges of a graph: about a quarter of a second.
_MOST_VISITS = 1_500_000


def link(pairs: Sequence[Pair], count: int) -> tuple[Links, Links]:
    """Return the neighbors of each vertex before and after it."""
    before: Links = [[] for _ in range(count)]
    after: Links = [[] for _ in range(count)]
    for source, target in pairs:
        before[target].append(source)
        after[source].append(target)
    return before, after


def without_cycles(pairs: Sequence[Pair], count: int) -> list[Pair]:
    """Return the edges without those that lead back in a depth-first search. Only invalid graphs have any."""
    before, after = link(pairs, count)
    seen, path, back = set[int](), set[int](), set[Pair]()
    # Sources first: whatever they reach is below them.
    for start in sorted(range(count), key=lambda vertex: len(before[vertex]) > 0):
        if start in seen:
            continue
        seen.add(start)
        path.add(start)
        stack = [(start, iter(after[start]))]
        while stack:
            vertex, rest = stack[-1]
            for other in rest:
                if other in path:
                    back.add((vertex, other))
                elif other not in seen:
                    seen.add(other)
                    path.add(other)
                    stack.append((other, iter(after[other])))
                    break
            else:
                path.remove(vertex)
                stack.pop()
    return [pair for pair in pairs if pair not in back]


def connected_parts(before: Links, after: Links) -> list[list[int]]:
    """Return the vertices of each connected part, sorted."""
    seen, parts = set[int](), []
    for start in range(len(after)):
        if start not in seen:
            seen.add(start)
            part = [start]
            for vertex in part:
                new = [other for other in (*before[vertex], *after[vertex]) if other not in seen]
                part += dict.fromkeys(new)
                seen.update(new)
            parts.append(sorted(part))
    return parts


def longest_paths(before: Links, after: Links) -> list[int]:
    """Return the length of the longest path to each vertex of a graph without cycles."""
    ranks = [0] * len(after)
    waiting = list(map(len, before))
    ready = [vertex for vertex, number in enumerate(waiting) if not number]
    for vertex in ready:
        for other in after[vertex]:
            ranks[other] = max(ranks[other], ranks[vertex] + 1)
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    return ranks


def shorten_edges(part: list[int], before: Links, after: Links, ranks: list[int]) -> None:
    """Move vertices of a connected part up and down until its edges are as short as possible in total (network simplex).

    Each edge of a spanning tree of shortest edges divides the part into two sides. Moving one side down by a row makes every
    edge that leaves it shorter and every edge that enters it longer. If there are more of the former, the side moves until
    another edge from it is shortest, which then replaces the one in the tree. At the end, no side has a reason to move. A vertex
    for which its row makes no difference stays at the top.
    """
    # Each part has its share of the visits.
    budget = _MOST_VISITS * len(part) // len(after)
    edges = [(vertex, other) for vertex in part for other in after[vertex]]
    tree = _grow_tree(part, edges, before, after, ranks, budget)
    pull = {vertex: len(after[vertex]) - len(before[vertex]) for vertex in part}
    while tree and budget > 0:
        budget -= len(edges) + 4 * len(part)
        # In this order, a vertex is followed by everything beyond it in the tree.
        order: list[int] = []
        parent: dict[int, int] = {}
        stack = [part[0]]
        while stack:
            vertex = stack.pop()
            order.append(vertex)
            for other in tree[vertex]:
                if other != parent.get(vertex):
                    parent[other] = vertex
                    stack.append(other)
        pulls, sizes = dict(pull), dict.fromkeys(part, 1)
        best, gain = part[0], 0
        for vertex in reversed(order[1:]):
            pulls[parent[vertex]] += pulls[vertex]
            sizes[parent[vertex]] += sizes[vertex]
            own = pulls[vertex] if ranks[parent[vertex]] < ranks[vertex] else -pulls[vertex]
            if own > gain:
                best, gain = vertex, own
        if not gain:
            return
        start = order.index(best)
        side = dict.fromkeys(order[start : start + sizes[best]])
        goes_down = ranks[parent[best]] < ranks[best]
        length, inner, outer = min(
            (abs(ranks[other] - ranks[vertex]), vertex, other)
            for vertex in side
            for other in (after if goes_down else before)[vertex]
            if other not in side
        )
        for vertex in side:
            ranks[vertex] += length - 1 if goes_down else 1 - length
        tree[best].remove(parent[best])
        tree[parent[best]].remove(best)
        tree[inner].append(outer)
        tree[outer].append(inner)


def _grow_tree(
    part: list[int], edges: list[Pair], before: Links, after: Links, ranks: list[int], budget: int
) -> dict[int, list[int]]:
    """Return a spanning tree of edges of length 1. Where there is none, the tree so far moves next to another vertex."""
    tree: dict[int, list[int]] = {part[0]: []}
    new = [part[0]]
    while True:
        for vertex in new:
            for other in (*before[vertex], *after[vertex]):
                if other not in tree and abs(ranks[other] - ranks[vertex]) == 1:
                    tree[vertex].append(other)
                    tree[other] = [vertex]
                    new.append(other)
        if len(tree) == len(part):
            return tree
        budget -= len(edges)
        if budget < 0:
            return {}
        leaving = [(source, target) for source, target in edges if (source in tree) != (target in tree)]
        source, target = min(leaving, key=lambda edge: ranks[edge[1]] - ranks[edge[0]])
        slack = ranks[target] - ranks[source] - 1
        inner, outer = (source, target) if source in tree else (target, source)
        for vertex in tree:
            ranks[vertex] += slack if inner == source else -slack
        tree[inner].append(outer)
        tree[outer] = [inner]
        new = [outer]
