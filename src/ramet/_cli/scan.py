"""`ramet scan`: what loading a model file would run or reach."""

from __future__ import annotations

import argparse
import sys

from ramet._cli.command import Command
from ramet._cli.exit_code import ExitCode
from ramet._cli.option import file_name
from ramet._cli.terminal import has_colour, paint, say

__all__ = ["COMMAND"]

_COLOURS = {"safe": "green", "needs trust": "yellow", "unsafe": "red", "trust": "yellow", "note": "dim"}


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=file_name, help="a .keras file or folder, a .weights.h5 or .weights.json, or a .h5 of Keras 2"
    )
    parser.add_argument("--json", action="store_true", help="as JSON")


def _run(options: argparse.Namespace) -> int:
    from ramet._cli.bounded import bounded
    from ramet._files import scan

    with bounded([options.file]):
        report = scan(options.file)
    if options.json:
        say(report.to_json())
    else:
        lines = str(report).split("\n")
        if has_colour(sys.stdout, wanted=not options.no_color):
            styles = [report.verdict, *(finding.severity for finding in report.findings)]
            heads = iter(styles)
            lines = [line if line.startswith("  ") else paint(line, _COLOURS[next(heads)]) for line in lines]
        say("\n".join(lines))
    return ExitCode.DIFFERENT if report.verdict == "unsafe" else ExitCode.DONE


COMMAND = Command(
    "scan",
    "what loading a model file would run or reach: verdict, places, reasons",
    "Scan a model file for everything that loading it would run or reach, at any depth: code in the file, names of\n"
    "code, files, addresses. Nothing in it is run.\n\n"
    "The verdict is 'safe', 'needs trust' (it names code that must be there already, such as layers of your own) or\n"
    "'unsafe' (it brings code, or reaches out of itself). The exit code is 1 for 'unsafe'.",
    (
        ("ramet scan downloaded.keras", "before anybody loads it"),
        ("ramet scan model.h5 --json", "for programs; docs/cli.md tells the schema"),
        ("ramet scan m.keras >/dev/null || exit 1", "in a script: stop at an unsafe file"),
    ),
    _add_arguments,
    _run,
)
