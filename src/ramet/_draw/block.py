"""Calls of a big model that are shown as one: blocks that repeat."""

from __future__ import annotations

import re
from collections.abc import Iterator

from ramet._graph import Call, Graph, refs

__all__ = ["BIG", "Block", "find_blocks"]

# A level with more calls than this starts folded.
BIG = 36
_SMALLEST = 3
_LONGEST_PERIOD = 12

Block = tuple[str, list[int]]

# The beginning of a name up to its last counted word: `conv2_block1` of `conv2_block1_0_bn`.
_COUNTED = re.compile(r"(?:.*[_/.\-])?[A-Za-z]+(?:[_.\-])?[0-9]+[a-z]?(?![A-Za-z0-9])")


def find_blocks(graph: Graph) -> list[Block]:
    """Blocks of a big graph: a label and the positions of the calls. Drawn as one box each, they form no cycle."""
    if len(graph.calls) <= BIG:
        return []
    return _by_name(graph) or _by_repetition(graph)


def _by_name(graph: Graph) -> list[Block]:
    """Calls whose names begin alike: `block_3_expand`, `block_3_project`."""
    named: dict[str, list[int]] = {}
    for place, call in enumerate(graph.calls):
        found = _COUNTED.match(call.op[:200])
        if found and not _is_input(graph, call):
            named.setdefault(found[0], []).append(place)
    blocks = [(label, places) for label, places in named.items() if len(places) >= _SMALLEST]
    blocks = _without_cycles(graph, blocks)
    return blocks if len(blocks) > 1 else []


def _without_cycles(graph: Graph, blocks: list[Block]) -> list[Block]:
    """The blocks that can be drawn as one box each without an edge that leads back."""
    home = list(range(len(graph.calls)))
    for number, (_, places) in enumerate(blocks):
        for place in places:
            home[place] = len(graph.calls) + number
    before: dict[int, set[int]] = {item: set() for item in home}
    after: dict[int, set[int]] = {item: set() for item in home}
    for place, producers in enumerate(graph._index.before):
        for producer in producers:
            if home[producer] != home[place]:
                before[home[place]].add(home[producer])
                after[home[producer]].add(home[place])
    ready = [item for item, needed in before.items() if not needed]
    done = set()
    while ready:
        item = ready.pop()
        done.add(item)
        for other in after[item]:
            before[other].discard(item)
            if not before[other]:
                ready.append(other)
    return [block for number, block in enumerate(blocks) if len(graph.calls) + number in done]


def _by_repetition(graph: Graph) -> list[Block]:
    """Stretches of calls that look alike and follow each other, cut where only one value is on its way."""
    stretches = list(_stretches(graph))
    signs = [tuple(_class_of(graph, graph.calls[place]) for place in places) for places in stretches]
    blocks: list[Block] = []
    start = 0
    while start < len(stretches):
        period, times = _repeats(signs, start)
        if not times:
            start += 1
            continue
        if sum(map(len, signs[start : start + period])) < _SMALLEST:
            # Forty layers of one class in a row are one block, not forty.
            period, times = period * times, 1
        for _ in range(times):
            places = [place for stretch in stretches[start : start + period] for place in stretch]
            blocks.append((f"block {len(blocks) + 1}", places))
            start += period
    return blocks


def _repeats(signs: list[tuple[str, ...]], start: int) -> tuple[int, int]:
    """The period that covers the most from here on, the shortest of equals, and how often it is repeated."""
    best, period_of_best, times_of_best = _SMALLEST, 0, 0
    for period in range(1, min(_LONGEST_PERIOD, (len(signs) - start) // 2) + 1):
        pattern = signs[start : start + period]
        times = 1
        while signs[start + times * period : start + (times + 1) * period] == pattern:
            times += 1
        covered = sum(map(len, pattern)) * times
        # A longer period must cover more by a whole turn: three rounds of four are four rounds of three.
        if times > 1 and covered >= best + (period if times_of_best else 1):
            best, period_of_best, times_of_best = covered, period, times
    return period_of_best, times_of_best


def _stretches(graph: Graph) -> Iterator[list[int]]:
    """The calls, cut after each one where no more than one value is on its way. Inputs stand for themselves."""
    begin, end = _lives(graph)
    stretch: list[int] = []
    on_their_way = 0
    for place, call in enumerate(graph.calls):
        on_their_way += begin[place] - end[place]
        if _is_input(graph, call):
            continue
        stretch.append(place)
        if on_their_way <= 1:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def _lives(graph: Graph) -> tuple[list[int], list[int]]:
    """How many values begin, and how many end to be needed, at each call."""
    begin, end = [0] * len(graph.calls), [0] * (len(graph.calls) + 1)
    kept = {ref.call for ref in refs(graph.outputs)}
    for place, call in enumerate(graph.calls):
        uses = graph._index.after[place]
        first, last = place, max(uses, default=place)
        if _is_input(graph, call):
            # An input belongs to the block that takes it; one that the whole model takes belongs to none.
            first = min(uses, default=place)
            if last - first > _LONGEST_PERIOD:
                continue
        elif call.id in kept:
            last = len(graph.calls)
        elif all(value.dtype == "bool" for value in call.outputs):
            # Masks travel along the whole model.
            continue
        if first < last:
            begin[first] += 1
            end[last] += 1
    return begin, end


def _is_input(graph: Graph, call: Call) -> bool:
    op = graph._index.ops.get(call.op)
    return op is not None and op.kind == "input"


def _class_of(graph: Graph, call: Call) -> str:
    op = graph._index.ops.get(call.op)
    return op.class_name if op is not None else "?"
