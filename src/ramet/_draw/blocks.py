"""Finding the repeated blocks of a big model, each of which is drawn as one box."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from graphlib import CycleError, TopologicalSorter

from ramet._graph import Call, Graph, Op, refs

# A level with more calls than this is drawn as blocks.
_BIG = 36
_SMALLEST = 3
_LONGEST_PERIOD = 12

Block = tuple[str, list[int]]

# The beginning of a name up to its last numbered word: `conv2_block1` in `conv2_block1_0_bn`.
_COUNTED = re.compile(r"(?:.*[_/.\-])?[A-Za-z]+(?:[_.\-])?[0-9]+[a-z]?(?![A-Za-z0-9])")


def find_blocks(graph: Graph) -> list[Block]:
    """Return the blocks of a big graph: a label and the indices of the calls. Drawn as one box each, they form no cycle."""
    if len(graph.calls) <= _BIG:
        return []
    return _by_name(graph) or _by_repetition(graph)


def _by_name(graph: Graph) -> list[Block]:
    """Return calls whose names have the same beginning: `block_3_expand`, `block_3_project`."""
    named: dict[str, list[int]] = {}
    for number, call in enumerate(graph.calls):
        found = _COUNTED.match(call.op[:200])
        if found and not _is_input(graph, call):
            named.setdefault(found[0], []).append(number)
    blocks = [(label, numbers) for label, numbers in named.items() if len(numbers) >= _SMALLEST]
    blocks = _without_cycles(graph, blocks)
    return blocks if len(blocks) > 1 else []


def _without_cycles(graph: Graph, blocks: list[Block]) -> list[Block]:
    """Return the blocks that can be drawn as one box each without an edge that leads back."""
    home = list(range(len(graph.calls)))
    for index, (_, numbers) in enumerate(blocks):
        for number in numbers:
            home[number] = len(graph.calls) + index
    sorter = TopologicalSorter[int]()
    for number, producers in enumerate(graph._index.before):
        sorter.add(home[number], *(home[producer] for producer in producers if home[producer] != home[number]))
    # After this error, the sorter still returns everything that is not on or behind a cycle.
    with suppress(CycleError):
        sorter.prepare()
    done = set[int]()
    while ready := sorter.get_ready():
        done.update(ready)
        sorter.done(*ready)
    return [block for index, block in enumerate(blocks) if len(graph.calls) + index in done]


def _by_repetition(graph: Graph) -> list[Block]:
    """Return repeated sequences of calls, cut where only one value is alive."""
    stretches = list(_stretches(graph))
    classes = [tuple(op_of(graph, graph.calls[number]).class_name for number in numbers) for numbers in stretches]
    blocks: list[Block] = []
    start = 0
    while start < len(stretches):
        period, times = _repeats(classes, start)
        if not times:
            start += 1
            continue
        if sum(map(len, classes[start : start + period])) < _SMALLEST:
            # Forty layers of one class in a row are one block, not forty.
            period, times = period * times, 1
        for _ in range(times):
            numbers = [number for stretch in stretches[start : start + period] for number in stretch]
            blocks.append((f"block {len(blocks) + 1}", numbers))
            start += period
    return blocks


def _repeats(classes: list[tuple[str, ...]], start: int) -> tuple[int, int]:
    """Return the period that covers the most calls from here on, the shortest one of equals, and its repetitions."""
    best, period_of_best, times_of_best = _SMALLEST, 0, 0
    for period in range(1, min(_LONGEST_PERIOD, (len(classes) - start) // 2) + 1):
        pattern = classes[start : start + period]
        times = 1
        while classes[start + times * period : start + (times + 1) * period] == pattern:
            times += 1
        covered = sum(map(len, pattern)) * times
        # A longer period must cover a whole turn more: three rounds of four are four rounds of three.
        if times > 1 and covered >= best + (period if times_of_best else 1):
            best, period_of_best, times_of_best = covered, period, times
    return period_of_best, times_of_best


def _stretches(graph: Graph) -> Iterator[list[int]]:
    """Yield the calls in stretches that end where at most one value is alive. Inputs belong to none."""
    begin, end = _lifetimes(graph)
    stretch: list[int] = []
    alive = 0
    for number, call in enumerate(graph.calls):
        alive += begin[number] - end[number]
        if _is_input(graph, call):
            continue
        stretch.append(number)
        if alive <= 1:
            yield stretch
            stretch = []
    if stretch:
        yield stretch


def _lifetimes(graph: Graph) -> tuple[list[int], list[int]]:
    """Return how many values are first needed, and how many are last needed, at each call."""
    begin, end = [0] * len(graph.calls), [0] * (len(graph.calls) + 1)
    kept = {ref.call for ref in refs(graph.outputs)}
    for number, call in enumerate(graph.calls):
        uses = graph._index.after[number]
        first, last = number, max(uses, default=number)
        if _is_input(graph, call):
            # An input belongs to the block that receives it; one that the whole model uses belongs to none.
            first = min(uses, default=number)
            if last - first > _LONGEST_PERIOD:
                continue
        elif call.id in kept:
            last = len(graph.calls)
        elif all(value.dtype == "bool" for value in call.outputs):
            # Masks pass through the whole model.
            continue
        if first < last:
            begin[first] += 1
            end[last] += 1
    return begin, end


def _is_input(graph: Graph, call: Call) -> bool:
    return op_of(graph, call).kind == "input"


def op_of(graph: Graph, call: Call) -> Op:
    """Return the op of a call, or one that is made up if the graph is invalid and has none."""
    return graph._index.ops.get(call.op) or Op(call.op, "layer", "?")
