"""`python -m tests.fuzz [--count N] [--seed S] [--jobs J]`: run a campaign. The exit code is 1 if an input fails."""

import argparse
import secrets
import sys
from pathlib import Path

from tests.fuzz import differential
from tests.fuzz.campaign import Campaign


def main():
    """Run a campaign and return the exit code. The summary goes to stdout, the progress to stderr."""
    parser = argparse.ArgumentParser(
        prog="python -m tests.fuzz",
        description="Read, show, scan and port mutated model files. Each must succeed or be refused with an error of ramet.",
    )
    parser.add_argument("--count", type=int, default=100_000, help="number of inputs (default: 100,000)")
    parser.add_argument("--seed", type=int, help="seed of the mutations, to repeat a campaign (default: random)")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes (default: 2)")
    parser.add_argument("--seconds", type=float, default=10, help="time limit for one input (default: 10)")
    parser.add_argument(
        "--keep", type=Path, default=Path("build/fuzz"), help="folder for inputs that failed (default: build/fuzz)"
    )
    parser.add_argument(
        "--differential",
        choices=("keras", "tf_keras"),
        nargs="?",
        const="keras",
        help="load each file with this library in a watched process, and look for effects that the scan does not report, or that a "
        "port keeps",
    )
    options = parser.parse_args()
    seed = secrets.randbelow(2**32) if options.seed is None else options.seed
    sys.stdout.write(f"{options.count:,} inputs, seed {seed}, {options.jobs} processes\n")
    if options.differential:
        return _differential(options, seed)
    campaign = Campaign(options.count, seed, jobs=options.jobs, seconds=options.seconds, keep=options.keep)
    summary = campaign.run(lambda text: sys.stderr.write(f"{text}\n"))
    sys.stdout.write(f"\n{summary}\n")
    for number, (kind, text) in sorted(summary.wrong.items())[:20]:
        sys.stdout.write(f"\nwrong: {kind}, kept in {options.keep / f'{seed}-{number}'}\n{text.rstrip()}\n")
    return 1 if summary.wrong else 0


def _differential(options, seed):
    counts, wrong = differential.campaign(
        options.count, seed, jobs=options.jobs, keep=options.keep, loader=options.differential
    )
    sys.stdout.write("\n".join(f"{answer}: {count:,}" for answer, count in sorted(counts.items())) + "\n")
    for number, happened in sorted(wrong.items()):
        sys.stdout.write(f"wrong: called safe, kept in {options.keep}/{seed}-{number}.*: {', '.join(happened)}\n")
    sys.stdout.write(f"{len(wrong):,} wrong\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
