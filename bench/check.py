"""`python -m bench.check [MEASURED]`: fail where a ratio fell by more than a third of what is stored.

A ratio that was never stored is held against its target. Without a file of results, everything is measured anew.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from bench.ratio import Ratio, ratios
from bench.run import measure_backends
from bench.store import STORED, read


def fallen(now: dict[str, Any], stored: dict[str, Any]) -> list[tuple[Ratio, Ratio | None]]:
    """The stored ratios that fell, each with what it is now; None where it is no longer there."""
    current = {(ratio.backend, ratio.what, ratio.against): ratio for ratio in ratios(now)}
    found = []
    for before in ratios(stored):
        after = current.get((before.backend, before.what, before.against))
        if after is None or after.fell_from(before):
            found.append((before, after))
    return found


def missed(now: dict[str, Any], stored: dict[str, Any]) -> list[Ratio]:
    """The ratios that miss their target and have nothing stored to be compared with."""
    known = {(ratio.backend, ratio.what, ratio.against) for ratio in ratios(stored)}
    return [
        ratio
        for ratio in ratios(now)
        if ratio.is_reached is False and (ratio.backend, ratio.what, ratio.against) not in known
    ]


def main(arguments: list[str]) -> int:
    """Print what fell or misses its target, and return the exit status: 1 if there is any."""
    stored = read(STORED)
    now = read(Path(arguments[0])) if arguments else measure_backends()
    found = fallen(now, stored)
    for before, after in found:
        value = "gone" if after is None else f"{after.value:.2f}"
        sys.stdout.write(f"{before.backend}, {before.what}, {before.against}: {before.value:.2f} became {value}\n")
    sys.stdout.write(
        "\n".join([f"{len(found)} fell by more than a third", ""]) if found else "no ratio fell by a third\n"
    )
    beyond = missed(now, stored)
    for ratio in beyond:
        sys.stdout.write(
            f"{ratio.backend}, {ratio.what}, {ratio.against}: {ratio.value:.2f} misses the target of {ratio.reach:g}\n"
        )
    return 1 if found or beyond else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
