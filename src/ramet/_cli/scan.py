"""`ramet scan`: report what loading a model file would run or reach."""

from __future__ import annotations

import argparse

from ramet._cli.command import ANY_FILE, Command, ExitCode, file_name
from ramet._cli.output import print_report, print_result


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=file_name, help=ANY_FILE)
    parser.add_argument("--json", action="store_true", help="print JSON")


def _run(options: argparse.Namespace) -> int:
    from ramet._cli.bounded import bounded
    from ramet._files import scan

    with bounded([options.file]):
        report = scan(options.file)
    if options.json:
        print_result(report.to_json())
    else:
        print_report(report.__report__(), options)
    return ExitCode.DIFFERENT if report.verdict == "unsafe" else ExitCode.DONE


COMMAND = Command(
    "scan",
    "report what loading a model file would run or reach",
    "Scan a model file for everything that loading it would run or reach, at any depth: code in the file, names of\n"
    "code, other files, network addresses. Nothing in the file runs, and Keras is not needed.\n\n"
    "The verdict is 'safe', 'needs trust' (it names code that must be installed, such as your own layers) or 'unsafe'\n"
    "(it contains code, or opens other files). The exit code is 1 for 'unsafe', and 0 otherwise.",
    (
        ("ramet scan downloaded.keras", "before anyone loads it"),
        ("ramet scan model.h5 --json", "for programs"),
        ("ramet scan m.keras >/dev/null || exit 1", "in a script: stop if the file is unsafe"),
    ),
    _add_arguments,
    _run,
)
