"""`ramet demo`: two models, cloned by ramet and by Keras, and compared."""

from __future__ import annotations

import argparse
import json

from ramet._cli.command import Command
from ramet._cli.exit_code import ExitCode
from ramet._cli.option import BACKENDS
from ramet._cli.terminal import say

__all__ = ["COMMAND"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--backend", choices=BACKENDS, help="what Keras runs on; else as KERAS_BACKEND or keras.json say"
    )
    parser.add_argument("--json", action="store_true", help="the reports on ramet's twins as JSON")


def _run(options: argparse.Namespace) -> int:
    from ramet._cli.loading import choose_backend

    choose_backend(options.backend)
    if options.json:
        return _say_json()
    from rich.console import Console

    from ramet._cli.demo_show import run

    return run(Console(no_color=True if options.no_color else None))


def _say_json() -> int:
    import ramet
    from ramet._cli.demo_models import founding_model, real_model

    reports = []
    for make in (founding_model, real_model):
        model = make()
        reports.append(ramet.verify(model, ramet.clone(model), progress=False))
    ok = all(report.ok for report in reports)
    say(json.dumps({"ramet_demo": 1, "ok": ok, "reports": [json.loads(one.to_json()) for one in reports]}, indent=2))
    return ExitCode.DONE if ok else ExitCode.DIFFERENT


COMMAND = Command(
    "demo",
    "clone two models, with ramet and with Keras, and compare them bit by bit",
    "Clone two models, with ramet and with Keras, and show what each got right. The exit code is 0 if every twin of\n"
    "ramet's passed every check.",
    (("ramet demo", "takes about a minute"), ("ramet demo --backend torch", "the same on PyTorch")),
    _add_arguments,
    _run,
)
