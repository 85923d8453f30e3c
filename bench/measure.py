"""Timing: ways are measured in turn after a warm-up, so that a busy machine slows all of them, and the best run counts."""

from __future__ import annotations

import gc
import sys
import time
from collections.abc import Callable
from typing import Any

from bench.alternative import ALTERNATIVES, RAMET, wait_for
from bench.case import Case, chain
from bench.exact import differences

# Each way has turns until it has taken this many seconds in total, within a least and a most number.
SECONDS_EACH = 3.0
LEAST_TURNS = 3
MOST_TURNS = 15
# In its turn, a way runs several times unless it takes long. The first run finds other data in the processor's caches, like
# one clone in a program; the others find what they need, like clones in a loop.
RUNS_A_TURN = 3
LONG = 0.5
GROWTH = (100, 900)


def measure_case(case: Case) -> dict[str, Any]:
    """Return the best seconds of each way to copy the model; instead, `inexact` with the reasons if the twin is not exact."""
    model = case.make()
    found = differences(model, ALTERNATIVES[RAMET](model), case.inputs())
    if found:
        return {"inexact": found}
    seconds, first, failed = interleave({name: _copying(way, model) for name, way in ALTERNATIVES.items()})
    return {"seconds": seconds, "first": first, "failed": failed}


def _copying(way: Callable[[Any], Any], model: Any) -> Callable[[], Any]:
    def work() -> Any:
        copied = way(model)
        wait_for(copied)
        return copied

    return work


def interleave(
    ways: dict[str, Callable[[], Any]], *, turns: int | None = None
) -> tuple[dict[str, float], dict[str, float], dict[str, str]]:
    """Measure the ways in turn, so that a busy machine slows all of them.

    Args:
        ways: Functions by name.
        turns: The number of turns of each way, including the first; None for a warm-up that does not count, and then as many
            as `SECONDS_EACH` allows.

    Returns:
        The best seconds of each way, the best of the first runs of its turns, and the reasons of those that failed.
    """
    best: dict[str, float] = {}
    best_first: dict[str, float] = {}
    spent: dict[str, float] = {}
    failed: dict[str, str] = {}

    def record(name: str, taken: list[float]) -> None:
        spent[name] += sum(taken)
        best[name] = min(*taken, best.get(name, taken[0]))
        best_first[name] = min(taken[0], best_first.get(name, taken[0]))

    for name, work in ways.items():
        try:
            taken = time_turn(work)
        except Exception as error:  # noqa: BLE001  # the failure is the result
            failed[name] = f"{type(error).__name__}: {str(error).strip().splitlines()[0] if str(error) else ''}"[:200]
            continue
        spent[name] = 0.0
        if turns is not None:
            record(name, taken)
        talk(".")
    for turn in range(MOST_TURNS if turns is None else turns - 1):
        waiting = [name for name in spent if turns or turn < LEAST_TURNS or spent[name] < SECONDS_EACH]
        for name in waiting:
            record(name, time_turn(ways[name]))
        talk(".")
    return best, best_first, failed


def time_turn(work: Callable[[], Any]) -> list[float]:
    """Return the seconds of each run of a turn. Garbage of the turn before is collected first."""
    gc.collect()
    taken: list[float] = []
    while not taken or (len(taken) < RUNS_A_TURN and sum(taken) < LONG):
        start = time.perf_counter()
        result = work()
        taken.append(time.perf_counter() - start)
        del result
    return taken


def measure_growth() -> dict[str, float]:
    """Return the seconds per layer of `ramet.clone`, by the number of layers."""
    models = {depth: chain(depth) for depth in GROWTH}
    ways = {str(depth): _copying(ALTERNATIVES[RAMET], model) for depth, model in models.items()}
    # From first runs: in later runs, the caches hold most of the small model, and almost nothing of the large one.
    _, first, _ = interleave(ways)
    return {depth: taken / int(depth) for depth, taken in first.items()}


def talk(text: str) -> None:
    """Write progress to stderr."""
    sys.stderr.write(text)
    sys.stderr.flush()
