"""From seconds to ratios, each with what is to be reached.

`reach` is a list by backend. A ratio of speed says how many times faster ours is; an *over* ratio says how much more ours
takes than the limit.
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


def _of_case(backend: str, case: str, measured: dict[str, Any]) -> Iterator[Ratio]:
    seconds = measured.get("seconds", {})
    for way in OTHERS:
        if way in seconds:
            wanted = FASTER[case][BACKENDS.index(backend)] if case in FASTER and way == OTHERS[0] else None
            yield Ratio(backend, case, way, seconds[way] / seconds[RAMET], wanted)
    if BARE in seconds:
        yield Ratio(backend, case, BARE, seconds[RAMET] / seconds[BARE], OVER_BARE.get(case), more_is_better=False)
