"""Timing: interleaved, the best of several after a warm-up, so that a busy machine slows all alike."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from typing import Any

from bench.alternative import ALTERNATIVES, RAMET, wait_for
from bench.case import Case, chain
from bench.exact import differences

# Each way runs until it took this long in all, at least and at most so often.
SECONDS_EACH = 3.0
LEAST_RUNS = 3
MOST_RUNS = 15
GROWTH = (100, 900)


def measure_case(case: Case) -> dict[str, Any]:
    """The best seconds of each way to copy the model; `inexact` instead where our twin is not exact."""
    model = case.make()
    found = differences(model, ALTERNATIVES[RAMET](model), case.inputs())
    if found:
        return {"inexact": found}
    seconds, failed = interleave({name: _copying(way, model) for name, way in ALTERNATIVES.items()})
    return {"seconds": seconds, "failed": failed}


def _copying(way: Callable[[Any], Any], model: Any) -> Callable[[], Any]:
    def work() -> Any:
        copied = way(model)
        wait_for(copied)
        return copied

    return work


def interleave(ways: dict[str, Callable[[], Any]]) -> tuple[dict[str, float], dict[str, str]]:
    """The best seconds of each, taken in turns, and for those that cannot do it the reason."""
    best: dict[str, float] = {}
    spent: dict[str, float] = {}
    failed: dict[str, str] = {}
    for name, work in ways.items():  # the warm-up
        try:
            spent[name] = time_once(work)
        except Exception as error:  # noqa: BLE001  # that it fails is the answer
            failed[name] = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"[:200]
        talk(".")
    spent = dict.fromkeys(spent, 0.0)
    for run in range(MOST_RUNS):
        waiting = [name for name in spent if run < LEAST_RUNS or spent[name] < SECONDS_EACH]
        for name in waiting:
            taken = time_once(ways[name])
            spent[name] += taken
            best[name] = min(taken, best.get(name, taken))
        talk(".")
    return best, failed


def time_once(work: Callable[[], Any]) -> float:
    """Seconds of one run. What the run before left is gone, so that each finds the same memory."""
    gc.collect()
    start = time.perf_counter()
    result = work()
    taken = time.perf_counter() - start
    del result
    return taken


def measure_growth() -> dict[str, float]:
    """Seconds a layer of our clone, by number of layers."""
    models = {depth: chain(depth) for depth in GROWTH}
    ways = {str(depth): _copying(ALTERNATIVES[RAMET], model) for depth, model in models.items()}
    seconds, _ = interleave(ways)
    return {depth: taken / int(depth) for depth, taken in seconds.items()}


def talk(text: str) -> None:
    """Progress, for whoever waits."""
    sys.stderr.write(text)
    sys.stderr.flush()
