"""The time of operations on a graph by its size: a table of seconds, and microseconds per call.

Run it from the root of the repository: `python -m bench.graph_growth [calls ...]`.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable

from ramet._graph import Graph, lint
from tests.graph.big import grow

SIZES = (5_000, 10_000, 20_000)


def main(sizes: tuple[int, ...]) -> None:
    """Print the table to stdout."""
    steps = ("make", "order", "lint", "to_json", "from_json", "equal", "print")
    write("seconds (microseconds per call)")
    write(f"{'calls':>8}" + "".join(f"{step:>16}" for step in steps))
    for size in sizes:
        taken = measure(size)
        cells = "".join(f"{f'{taken[step]:.2f} ({taken[step] / size * 1e6:.0f})':>16}" for step in steps)
        write(f"{size:>8,}{cells}")


def measure(size: int) -> dict[str, float]:
    """Return the CPU seconds of each step on a graph of this size, without caches of the step before."""
    taken: dict[str, float] = {}

    def timed(step: str, work: Callable[[], object]) -> object:
        gc.collect()
        start = time.process_time()
        result = work()
        taken[step] = time.process_time() - start
        return result

    graph = timed("make", lambda: grow(size))
    if not isinstance(graph, Graph):
        raise TypeError
    timed("order", graph.with_changes().order)
    timed("lint", lambda: lint(graph.with_changes()))
    text = str(timed("to_json", graph.to_json))
    again = timed("from_json", lambda: Graph.from_json(text))
    timed("equal", lambda: graph.with_changes() == again)
    timed("print", lambda: str(graph.with_changes()))
    return taken


def write(line: str) -> None:
    """Print a line to stdout at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
