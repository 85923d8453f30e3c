"""The tables and the plot of the page on performance, made from the stored results of the benchmark.

The builder of the site puts `table()` and `plot()` into the page, in place of the comments `<!-- benchmark table -->` and
`<!-- benchmark plot -->`. The smaller tables are part of the page; a test compares them with `verbs()` and `growth()`.
"""

from __future__ import annotations

import math
from html import escape
from typing import Any

from bench.ratio import BACKENDS, FILES, OTHERS, OVER, RAMET, ratios
from bench.store import STORED, read

_NAMES = {"torch": "torch", "jax": "JAX", "tensorflow": "TensorFlow"}

# The plot, in pixels.
_LEFT, _RIGHT, _TOP, _BAR, _GAP = 150, 60, 46, 7, 14
_WIDTH = 720
# One color for each alternative, with enough contrast on white and on black.
_COLORS = ("#3b82c4", "#c2703d", "#5f9e6e")
_IDS = ("benchmark-title", "benchmark-description")
_LOOK = f'width="100%" font-size="12" font-family="sans-serif" role="img" aria-labelledby="{_IDS[0]} {_IDS[1]}"'
_LABELS = ("clone_model + set_weights", "copy.deepcopy", "save and load")


def table() -> str:
    """Return a Markdown table: for each backend and model, the time of `ramet.clone` and how many times longer others take."""
    results = read(STORED)
    heads = ["backend", "model", "`ramet.clone`", *_LABELS]
    lines = [f"| {' | '.join(heads)} |", f"| --- | --- |{' ---: |' * (len(heads) - 2)}"]
    for backend in BACKENDS:
        for case in _cases(results):
            seconds = results["backends"][backend]["cases"][case]["seconds"]
            # The first ratio is the one that people compare; the others are large, and vary more.
            first, *rest = (seconds[other] / seconds[RAMET] for other in OTHERS)
            cells = [_NAMES[backend], case, f"{seconds[RAMET] * 1000:.1f} ms", f"{first:.1f}x", *map(_times, rest)]
            lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def verbs() -> str:
    """Return a Markdown table of the other functions and commands, with what one would do by hand instead."""
    results = read(STORED)
    by_backend = [results["backends"][backend]["verbs"]["seconds"] for backend in BACKENDS]
    lines = [
        f"| what | {' | '.join(_NAMES[backend] for backend in BACKENDS)} | compared with |",
        f"| --- |{' --- |' * len(BACKENDS)} --- |",
    ]
    for verb, (others, _) in OVER.items():
        other = next(iter(others))
        cells = [f"{_time(seconds[verb])} ({_time(seconds[other])})" for seconds in by_backend]
        lines.append(f"| `{verb}` | {' | '.join(cells)} | {other} |")
    for what in FILES:
        cells = [f"{_time(seconds[what])} ({_time(seconds['read both files'])})" for seconds in by_backend]
        lines.append(f"| {what} | {' | '.join(cells)} | read both files |")
    return "\n".join(lines)


def growth() -> str:
    """Return a Markdown table: how the time for each layer changes from a small to a large model, and the peak memory."""
    results = read(STORED)
    rows: dict[str, dict[str, str]] = {}
    for ratio in ratios(results):
        if ratio.what == "growth":
            rows.setdefault("`ramet.clone`, 900 layers and 100", {})[ratio.backend] = f"{ratio.value:.2f}"
        elif ratio.what.startswith("growth of "):
            sizes = ratio.against.removeprefix("time a layer, ").replace(" over ", " layers and ")
            name = f"`{ratio.what.removeprefix('growth of ')}`, {sizes}"
            rows.setdefault(name, {})[ratio.backend] = f"{ratio.value:.2f}"
        elif ratio.what == "extra peak memory":
            way = ratio.against.removesuffix(" over weights")
            rows.setdefault(f"extra memory of `{way}`, in sizes of the weights", {})[ratio.backend] = (
                f"{ratio.value:.2f}"
            )
    lines = [
        f"| what | {' | '.join(_NAMES[backend] for backend in BACKENDS)} |",
        f"| --- |{' --- |' * len(BACKENDS)}",
    ]
    lines += [
        f"| {name} | {' | '.join(cells.get(backend, '') for backend in BACKENDS)} |" for name, cells in rows.items()
    ]
    return "\n".join(lines)


def plot() -> str:
    """Return an SVG: how many times longer each alternative takes, as bars on a log scale, a group for each model.

    It has no background, and its text has the color of the page around it. A bar is the median of the backends, and the line
    on it reaches from the smallest to the largest.
    """
    results = read(STORED)
    cases = _cases(results)
    found = {(ratio.what, ratio.against, ratio.backend): ratio.value for ratio in ratios(results)}
    values = {
        (case, other): sorted(found[case, other, backend] for backend in BACKENDS) for case in cases for other in OTHERS
    }
    longest = math.log10(max(one[-1] for one in values.values()))
    group = len(OTHERS) * (_BAR + 2) + _GAP
    height = _TOP + group * len(cases) + 22

    def position(value: float) -> float:
        return _LEFT + max(0.0, math.log10(value)) / longest * (_WIDTH - _LEFT - _RIGHT)

    title = "How many times longer the alternatives take than ramet.clone"
    description = "; ".join(
        f"{case}: {', '.join(f'{label} {_times(values[case, other][1])}' for other, label in _pairs())}"
        for case in cases
    )
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" {_LOOK}>',
        f'<title id="{_IDS[0]}">{escape(title)}</title>',
        f'<desc id="{_IDS[1]}">{escape(description)}.</desc>',
    ]
    for number, (label, color) in enumerate(zip(_LABELS, _COLORS, strict=True)):
        left = _LEFT + number * 200
        parts.append(f'<rect x="{left}" y="4" width="12" height="12" fill="{color}"/>')
        parts.append(f'<text x="{left + 18}" y="14" fill="currentColor">{escape(label)}</text>')
    for power in range(int(longest) + 1):
        x = position(10**power)
        parts.append(
            f'<line x1="{x:.1f}" y1="{_TOP - 8}" x2="{x:.1f}" y2="{height - 22}" stroke="currentColor" stroke-opacity="0.25"/>'
        )
        parts += [
            f'<text x="{x:.1f}" y="{y}" text-anchor="middle" fill="currentColor">{10**power:,}x</text>'
            for y in (_TOP - 13, height - 6)
        ]
    for row, case in enumerate(cases):
        top = _TOP + row * group
        middle = top + (len(OTHERS) * (_BAR + 2)) / 2 + 4
        parts.append(
            f'<text x="{_LEFT - 10}" y="{middle:.1f}" text-anchor="end" fill="currentColor">{escape(case)}</text>'
        )
        for number, other in enumerate(OTHERS):
            low, median, high = values[case, other]
            y = top + number * (_BAR + 2)
            parts.append(
                f'<rect x="{_LEFT}" y="{y}" width="{position(median) - _LEFT:.1f}" height="{_BAR}" fill="{_COLORS[number]}"/>'
                f'<line x1="{position(low):.1f}" y1="{y + _BAR / 2}" x2="{position(high):.1f}" y2="{y + _BAR / 2}" '
                'stroke="currentColor" stroke-width="1.5"/>'
                f'<text x="{position(high) + 5:.1f}" y="{y + _BAR + 1}" font-size="9" fill="currentColor">'
                f"{_times(median)}</text>"
            )
    return "\n".join([*parts, "</svg>"])


def _pairs() -> list[tuple[str, str]]:
    return list(zip(OTHERS, _LABELS, strict=True))


def _cases(results: dict[str, Any]) -> list[str]:
    """Return the models that were measured on every backend."""
    return sorted(set.intersection(*(set(results["backends"][backend]["cases"]) for backend in BACKENDS)))


def _times(value: float) -> str:
    return f"{value:.0f}x"


def _time(seconds: float) -> str:
    return f"{seconds * 1000:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
