"""`python -m bench.check [MEASURED]`: fail where a ratio fell by more than a third of what is stored.

Without a file of results it measures anew.
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


def main(arguments: list[str]) -> int:
    """The exit status: 1 where something fell."""
    stored = read(STORED)
    now = read(Path(arguments[0])) if arguments else measure_backends()
    found = fallen(now, stored)
    for before, after in found:
        value = "gone" if after is None else f"{after.value:.2f}"
        sys.stdout.write(f"{before.backend}, {before.what}, {before.against}: {before.value:.2f} became {value}\n")
    sys.stdout.write(
        "\n".join([f"{len(found)} fell by more than a third", ""]) if found else "no ratio fell by a third\n"
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
