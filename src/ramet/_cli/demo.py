"""`ramet demo`: clone two models with ramet and with Keras, and compare the clones."""

from __future__ import annotations

import argparse
import json

from ramet._cli.command import Command, ExitCode, add_backend, file_name
from ramet._cli.output import check_target, print_result
from ramet._report import json_text


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    add_backend(parser)
    parser.add_argument(
        "--draw",
        dest="picture",
        type=file_name,
        metavar="OUT",
        help="also write a picture of the second model, with what the clone by Keras has lost (.html, .svg)",
    )
    parser.add_argument("--json", action="store_true", help="print the reports on the twins as JSON")


def _run(options: argparse.Namespace) -> int:
    from ramet._cli.loading import choose_backend

    if options.picture is not None:
        check_target(options.picture, ".html", ".svg")
    choose_backend(options.backend)
    if options.json:
        return _print_json()
    from ramet._cli.demo_show import run

    return run(no_color=options.no_color, picture=options.picture)


def _print_json() -> int:
    import ramet
    from ramet._cli.demo_show import founding_model, real_model

    reports = []
    for make in (founding_model, real_model):
        model = make()
        reports.append(ramet.verify(model, ramet.clone(model), progress=False))
    ok = all(report.ok for report in reports)
    print_result(json_text("demo", {"ok": ok, "reports": [json.loads(one.to_json()) for one in reports]}))
    return ExitCode.DONE if ok else ExitCode.DIFFERENT


COMMAND = Command(
    "demo",
    "clone two models with ramet and with Keras, and compare the clones bit by bit",
    "Clone two models with ramet and with Keras, and show which checks each clone passes. The exit code is 0 if every\n"
    "twin made by ramet passes every check.",
    (
        ("ramet demo", "takes about a minute"),
        ("ramet demo --draw demo.html", "also write a picture of the second model"),
        ("ramet demo --backend torch", "the same on PyTorch"),
    ),
    _add_arguments,
    _run,
)
