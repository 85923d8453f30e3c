"""The ratios as Markdown tables, legible in a terminal."""

from __future__ import annotations

from typing import Any

from bench.ratio import BARE, OTHERS, RAMET, Ratio, ratios


def render(results: dict[str, Any]) -> str:
    """Return the tables, with the machine and the versions above them."""
    found = {(ratio.backend, ratio.what, ratio.against): ratio for ratio in ratios(results)}
    lines = [
        f"{results['machine']}",
        *(f"{name}: {_versions(result)}" for name, result in results["backends"].items()),
        "",
        "Targets are in parentheses; ! marks a missed target.",
        "",
    ]
    head = ["case", "backend", "ramet ms", "(first)", *OTHERS, f"over {BARE}"]
    rows = []
    for case in _cases(results):
        for backend, result in results["backends"].items():
            measured = result["cases"].get(case)
            if measured is not None:
                rows.append([case, backend, *_cells(measured, found, backend, case)])
    if rows:
        lines += [
            "The milliseconds of `ramet.clone`, (first) with cold processor caches; how many times longer each alternative takes;",
            f"and, in the column `over {BARE}`, how many times longer `ramet.clone` takes than a bare copy of the arrays.",
            "",
            *grid(head, rows),
            "",
        ]
    lines += grid(["measured", "backend", "value"], _others(results, found))
    return "\n".join(lines)


def _versions(result: dict[str, Any]) -> str:
    return ", ".join(f"{package} {version}" for package, version in result["versions"].items())


def _cases(results: dict[str, Any]) -> list[str]:
    return list(dict.fromkeys(case for result in results["backends"].values() for case in result["cases"]))


def _cells(measured: dict[str, Any], found: dict[tuple[str, str, str], Ratio], backend: str, case: str) -> list[str]:
    if "inexact" in measured:
        return [f"no ratio, the twin is not exact: {'; '.join(measured['inexact'][:3])}", *[""] * (len(OTHERS) + 2)]
    failed = measured["failed"]
    if RAMET in failed:
        return [f"failed: {failed[RAMET]}", *[""] * (len(OTHERS) + 2)]
    first = measured.get("first", {}).get(RAMET)
    cells = [f"{measured['seconds'][RAMET] * 1000:.1f}", "" if first is None else f"{first * 1000:.1f}"]
    cells += ["fails" if way in failed else _cell(found.get((backend, case, way))) for way in (*OTHERS, BARE)]
    return cells


def _cell(ratio: Ratio | None) -> str:
    if ratio is None:
        return ""
    digits = 1 if ratio.more_is_better else 2
    target = "" if ratio.target is None else f" ({ratio.target:g})"
    return f"{ratio.value:.{digits}f}{target}{' !' if ratio.meets_target is False else ''}"


def _others(results: dict[str, Any], found: dict[tuple[str, str, str], Ratio]) -> list[list[str]]:
    cases = set(_cases(results))
    rows = [
        [f"{what}: {against}", backend, _cell(ratio)]
        for (backend, what, against), ratio in found.items()
        if what not in cases
    ]
    for backend, result in results["backends"].items():
        verbs = result.get("verbs", {})
        rows.extend([verb, backend, f"{taken:.3f} s"] for verb, taken in verbs.get("seconds", {}).items())
        rows.extend([verb, backend, f"failed: {reason}"] for verb, reason in verbs.get("failed", {}).items())
    return rows


def grid(head: list[str], rows: list[list[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    widths = [max(len(row[column]) for row in [head, *rows]) for column in range(len(head))]
    line = "| " + " | ".join("-" * width for width in widths) + " |"
    lines = [
        "| " + " | ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) + " |"
        for row in [head, *rows]
    ]
    return [lines[0], line, *lines[1:]]
