"""The time of a diff by the size of the models: a table of seconds, and microseconds per call.

Run it from the root of the repository: `python -m bench.diff_growth [calls ...]`.
"""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable

from ramet._diff import diff_graphs
from ramet._graph import Call, Graph, Op, Ref, Value, VariableSpec, freeze_dict
from tests.diff.edit import insert_after, rename_all
from tests.graph.big import grow

SIZES = (1_000, 3_000, 10_000)


def main(sizes: tuple[int, ...]) -> None:
    """Print the table to stdout."""
    write("seconds (microseconds per call)")
    write(f"{'calls':>8}" + "".join(f"{pair:>16}" for pair in PAIRS))
    for size in sizes:
        cells = []
        for make in PAIRS.values():
            taken = measure(*make(size))
            cells.append(f"{f'{taken:.2f} ({taken / size * 1e6:.0f})':>16}")
        write(f"{size:>8,}{''.join(cells)}")


def measure(before: Graph, after: Graph) -> float:
    """Return the CPU seconds of a diff and its text."""
    gc.collect()
    start = time.process_time()
    str(diff_graphs(before, after))
    return time.process_time() - start


def alike(size: int, first: int = 0) -> Graph:
    """Return a chain of equal layers with automatic names."""
    value = Value((None, 8), "float32")
    variables = (VariableSpec("kernel", (8, 8), "float32"), VariableSpec("bias", (8,), "float32"))
    settings = freeze_dict({"units": 8, "activation": "relu"})
    names = [f"dense_{first + number}" for number in range(size)]
    ops = [Op(name, "layer", "Dense", config=settings, variables=variables) for name in names]
    ends = [Ref("x"), *map(Ref, names)]
    calls = [Call(name, name, (source,), outputs=(value,)) for name, source in zip(names, ends, strict=False)]
    start = Op("x", "input", "InputLayer", config=freeze_dict({}))
    first_call = Call("x", "x", outputs=(value,))
    return Graph(
        "alike", "Functional", ops=(start, *ops), calls=(first_call, *calls), inputs=Ref("x"), outputs=ends[-1]
    )


def write(line: str) -> None:
    """Print a line to stdout at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


def _middle(graph: Graph) -> str:
    return graph.calls[len(graph.calls) // 2].op


PAIRS: dict[str, Callable[[int], tuple[Graph, Graph]]] = {
    "equal": lambda size: (grow(size), grow(size)),
    "one inserted": lambda size: (grow(size), insert_after(grow(size), _middle(grow(size)), "new")),
    "all renamed": lambda size: (grow(size), rename_all(grow(size), lambda name: f"{name}_b")),
    "all alike": lambda size: (alike(size), alike(size)),
    "alike, numbered": lambda size: (alike(size), alike(size, 900)),
    "alike, one more": lambda size: (alike(size), insert_after(alike(size, 900), "dense_950", "new")),
    "nothing alike": lambda size: (grow(size), alike(size)),
}


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
