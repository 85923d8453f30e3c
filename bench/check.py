"""`python -m bench.check [RESULTS]`: fail if a ratio is more than a third worse than the stored one.

A ratio that was never stored is compared with its target. Without a file of results, everything is measured.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from bench.ratio import Ratio, ratios
from bench.run import measure_backends
from bench.store import STORED, read


def much_worse(now: dict[str, Any], stored: dict[str, Any]) -> list[tuple[Ratio, Ratio | None]]:
    """Return the stored ratios that became worse, each with the current one; None if it was not measured."""
    current = {(ratio.backend, ratio.what, ratio.against): ratio for ratio in ratios(now)}
    found = []
    for before in ratios(stored):
        after = current.get((before.backend, before.what, before.against))
        if after is None or after.is_much_worse_than(before):
            found.append((before, after))
    return found


def missing_targets(now: dict[str, Any], stored: dict[str, Any]) -> list[Ratio]:
    """Return the ratios that miss their target and were never stored."""
    known = {(ratio.backend, ratio.what, ratio.against) for ratio in ratios(stored)}
    return [
        ratio
        for ratio in ratios(now)
        if ratio.meets_target is False and (ratio.backend, ratio.what, ratio.against) not in known
    ]


def main(arguments: list[str]) -> int:
    """Print the ratios that became worse or miss their target, and return 1 if there are any, else 0."""
    stored = read(STORED)
    now = read(Path(arguments[0])) if arguments else measure_backends()
    found = much_worse(now, stored)
    for before, after in found:
        value = "not measured" if after is None else f"{after.value:.2f}"
        sys.stdout.write(f"{before.backend}, {before.what}, {before.against}: {before.value:.2f} -> {value}\n")
    summary = f"{len(found)} ratios are more than a third worse" if found else "no ratio is a third worse"
    sys.stdout.write(f"{summary} than stored\n")
    missed = missing_targets(now, stored)
    for ratio in missed:
        sys.stdout.write(
            f"{ratio.backend}, {ratio.what}, {ratio.against}: {ratio.value:.2f} misses the target of {ratio.target:g}\n"
        )
    return 1 if found or missed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
