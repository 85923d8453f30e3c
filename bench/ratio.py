"""From seconds to ratios, each with its target.

A target is one number, or a tuple with one for each backend. A ratio of speed says how many times faster ramet is; an *over*
ratio says how many times as long ramet takes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# The names as in bench.alternative, which needs Keras; results are read without it.
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

# What a verb or command may take: so many times each of the others, measured in the same run. None where none is set.
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
# Not everybody has what draws these.
BESIDE = {"draw": "plot_model"}
FILES = ("diff of files, one array", "diff of files, all arrays")


@dataclass(frozen=True)
class Ratio:
    """One number: on which backend, of what, against what, and what it should be."""

    backend: str
    what: str
    against: str
    value: float
    reach: float | None = None
    more_is_better: bool = True

    @property
    def is_reached(self) -> bool | None:
        """Whether it is as good as it should be; None where nothing was set."""
        if self.reach is None:
            return None
        return self.value >= self.reach if self.more_is_better else self.value <= self.reach

    def fell_from(self, before: Ratio) -> bool:
        """Whether more than a third of it is gone."""
        return self.value < before.value * 2 / 3 if self.more_is_better else self.value > before.value * 3 / 2


def ratios(results: dict[str, Any]) -> Iterator[Ratio]:
    """All ratios of one run. A case whose twin is not exact has none."""
    for backend, result in results["backends"].items():
        for case, measured in result["cases"].items():
            yield from _of_case(backend, case, measured)
        growth = result.get("growth")
        if growth:
            small, large = growth.values()
            yield Ratio(backend, "growth", "time a layer, 900 over 100", large / small, GROWTH, more_is_better=False)
        for way, value in result.get("memory", {}).items():
            reach = OVER_WEIGHTS if way == RAMET else None
            if value is not None:
                yield Ratio(backend, "extra peak memory", f"{way} over weights", value, reach, more_is_better=False)
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
    """The ratios of verbs and commands. One that failed, or beside which nothing was measured, has none."""
    seconds = measured.get("seconds", {})
    for verb, (others, reach) in OVER.items():
        if verb in seconds and all(other in seconds for other in others):
            limit = sum(times * seconds[other] for other, times in others.items())
            against = " and ".join(other if times == 1 else f"{times:g} x {other}" for other, times in others.items())
            yield Ratio(backend, verb, f"over {against}", seconds[verb] / limit, reach, more_is_better=False)
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
            (few, small), (many, large) = by_depth.items()
            what = f"time a layer, {many} over {few}"
            yield Ratio(backend, f"growth of {verb}", what, large / small, GROWTH, more_is_better=False)
