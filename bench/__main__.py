"""`python -m bench [--backend B ...] [--only TOPIC ...] [--store]`: measure, print the table, write the JSON."""

from __future__ import annotations

import argparse
import sys

from bench.ratio import BACKENDS
from bench.run import measure_backends
from bench.store import LATEST, STORED, merge, read, write
from bench.table import render


def main() -> None:
    """Print the table to stdout, and write the results to a file."""
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure ramet and its alternatives.")
    parser.add_argument("--backend", action="append", choices=BACKENDS, help="measure only this backend (repeatable)")
    parser.add_argument(
        "--only",
        action="append",
        default=[],
        metavar="TOPIC",
        help="measure only a case, growth, memory or verbs (repeatable)",
    )
    parser.add_argument(
        "--store", action="store_true", help="store the results, with which `make bench-check` compares"
    )
    options = parser.parse_args()
    results = measure_backends(tuple(options.backend or BACKENDS), tuple(options.only))
    path = STORED if options.store else LATEST
    write(merge(read(STORED), results) if options.store else results, path)
    sys.stdout.write(f"{render(results)}\n")
    sys.stderr.write(f"written to {path}\n")


if __name__ == "__main__":
    main()
