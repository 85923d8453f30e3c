"""The speed of `sync`, in calls per second, compared with a loop over the variables.

Run it from the root of the repository, on each backend: `KERAS_BACKEND=jax python -m bench.sync_speed [layers ...]`.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import keras

import ramet
from ramet._weights import sync

SIZES = (4, 50, 200)
UNITS = 64
TAU = 0.005
# Other processes may use the machine, so the best round of this many calls counts, within this many seconds.
ROUND = 5
SECONDS = 3.0


def main(sizes: tuple[int, ...]) -> None:
    """Print the table to stdout."""
    write(f"{keras.backend.backend()}: calls per second (milliseconds per call), dense layers of {UNITS} units")
    write(f"{'variables':>10}{'loop, soft':>20}{'sync, soft':>20}{'loop, hard':>20}{'sync, hard':>20}")
    for size in sizes:
        model = grow(size)
        rates = [calls_per_second(work, model, tau) for tau in (TAU, 1.0) for work in (loop, sync)]
        write(f"{len(model.weights):>10}" + "".join(f"{f'{rate:,.0f} ({1e3 / rate:.2f})':>20}" for rate in rates))


def grow(size: int) -> Any:
    """Return a chain of dense layers."""
    return keras.Sequential([keras.Input((UNITS,)), *(keras.layers.Dense(UNITS) for _ in range(size))])


def loop(source: Any, target: Any, tau: float) -> None:
    """Update the target with a loop written by hand."""
    for theirs, ours in zip(source.weights, target.weights, strict=True):
        ours.assign(theirs if tau == 1 else tau * theirs + (1 - tau) * ours)


def calls_per_second(work: Callable[[Any, Any, float], None], source: Any, tau: float) -> float:
    """Return the calls per second once everything is compiled: the best of many short rounds."""
    target = ramet.clone(source)
    best = 0.0
    start = time.perf_counter()
    while time.perf_counter() - start < SECONDS or not best:
        finish(target)
        began = time.perf_counter()
        for _ in range(ROUND):
            work(source, target, tau)
        finish(target)
        best = max(best, ROUND / (time.perf_counter() - began))
    return best


def finish(target: Any) -> None:
    """Wait until the device is done."""
    for variable in (target.weights[0], target.weights[-1]):
        keras.ops.convert_to_numpy(variable)


def write(line: str) -> None:
    """Print a line to stdout at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main(tuple(map(int, sys.argv[1:])) or SIZES)
