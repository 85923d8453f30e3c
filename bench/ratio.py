"""From seconds to ratios, each with its target.

A target is a number, or a tuple with a number for each backend. There are two kinds of ratios: how many times faster ramet is
(more is better), and, with *over* in the name, how many times longer ramet takes (less is better).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# The names of bench.alternative, which imports Keras; results are read without it.
RAMET, BARE = "ramet.clone", "bare copy"
OTHERS = ("clone_model + set_weights", "deepcopy", "save + load")
BACKENDS = ("torch", "jax", "tensorflow")

FASTER: dict[str, tuple[float, float, float]] = {
    "64 Dense": (20, 15, 12),
    "900 Dense": (20, 15, 12),
    "6-layer transformer": (15, 15, 12),
    "ResNet50": (12, 12, 12),
    "EfficientNetB0": (20, 15, 12),
}
OVER_BARE = {"1 GB in 15 layers": 1.2}
OVER_WEIGHTS = 1.05
GROWTH = 1.2
MEGABYTES_A_SECOND = 400

# The limit of a verb or command: a multiple of alternatives measured in the same run, and the target (None if there is none).
OVER: dict[str, tuple[dict[str, float], float | None]] = {
    "verify": ({"forward and backward": 12, "save and load": 2}, 1),
    "edit, insert": ({"clone_model + set_weights": 1}, 1),
    "edit, freeze": ({"clone_model + set_weights": 1}, 1),
    "diff": ({"compare by hand": 1}, 5),
    "capture": ({"get_config": 1}, 2),
    "draw": ({"capture": 1}, 5),
    "ramet show": ({"load, summary": 1}, 0.5),
    "ramet scan": ({"load, summary": 1}, 0.5),
    "ramet diff": ({"load twice, compare weights": 1}, 0.5),
    "ramet clone": ({"load, clone_model, save": 1}, 1.5),
    "ramet edit": ({"load, clone_model, save": 1}, 1.5),
    "ramet verify": ({"load twice, predict twice": 1}, 5),
}
# Alternatives that need more packages, and are measured only if these are installed.
BESIDE = {"draw": "plot_model"}
FILES = ("diff of files, one array", "diff of files, all arrays")


@dataclass(frozen=True)
class Ratio:
    """A ratio on a backend: of what, to what, and its target."""

    backend: str
    what: str
    against: str
    value: float
    target: float | None = None
    more_is_better: bool = True

    @property
    def meets_target(self) -> bool | None:
        """Whether it meets its target; None if it has none."""
        if self.target is None:
            return None
        return self.value >= self.target if self.more_is_better else self.value <= self.target

    def is_much_worse_than(self, before: Ratio) -> bool:
        """Return whether it is more than a third worse."""
        return self.value < before.value * 2 / 3 if self.more_is_better else self.value > before.value * 3 / 2


def ratios(results: dict[str, Any]) -> Iterator[Ratio]:
    """Yield all ratios of a run. A case whose twin is not exact has none."""
    for backend, result in results["backends"].items():
        for case, measured in result["cases"].items():
            yield from _of_case(backend, case, measured)
        growth = result.get("growth")
        if growth:
            small, large = growth.values()
            yield Ratio(backend, "growth", "time a layer, 900 over 100", large / small, GROWTH, more_is_better=False)
        for way, value in result.get("memory", {}).items():
            target = OVER_WEIGHTS if way == RAMET else None
            if value is not None:
                yield Ratio(backend, "extra peak memory", f"{way} over weights", value, target, more_is_better=False)
        yield from _of_verbs(backend, result.get("verbs", {}))


def _of_case(backend: str, case: str, measured: dict[str, Any]) -> Iterator[Ratio]:
    seconds = measured.get("seconds", {})
    for way in OTHERS:
        if way in seconds:
            wanted = FASTER[case][BACKENDS.index(backend)] if case in FASTER and way == OTHERS[0] else None
            yield Ratio(backend, case, way, seconds[way] / seconds[RAMET], wanted)
    if BARE in seconds:
        yield Ratio(backend, case, BARE, seconds[RAMET] / seconds[BARE], OVER_BARE.get(case), more_is_better=False)


def _of_verbs(backend: str, measured: dict[str, Any]) -> Iterator[Ratio]:
    """Yield the ratios of verbs and commands, if both they and their alternatives were measured."""
    seconds = measured.get("seconds", {})
    for verb, (others, target) in OVER.items():
        if verb in seconds and all(other in seconds for other in others):
            limit = sum(times * seconds[other] for other, times in others.items())
            against = " and ".join(other if times == 1 else f"{times:g} x {other}" for other, times in others.items())
            yield Ratio(backend, verb, f"over {against}", seconds[verb] / limit, target, more_is_better=False)
    for verb, other in BESIDE.items():
        if verb in seconds and other in seconds:
            yield Ratio(backend, verb, other, seconds[other] / seconds[verb])
    for what in FILES:
        if what in seconds:
            yield Ratio(backend, what, "MB/s", measured["megabytes"] / seconds[what], MEGABYTES_A_SECOND)
            read = seconds["read both files"]
            yield Ratio(backend, what, "over reading both", seconds[what] / read, more_is_better=False)
    for verb, by_depth in measured.get("growth", {}).items():
        if len(by_depth) > 1:
            # A stored file has sorted keys, and "160" comes before "40".
            (few, small), (many, large) = sorted(by_depth.items(), key=lambda item: int(item[0]))
            what = f"time a layer, {many} over {few}"
            yield Ratio(backend, f"growth of {verb}", what, large / small, GROWTH, more_is_better=False)
