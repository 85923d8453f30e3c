"""`ramet verify`: whether the model in a file is a twin of that in another."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from ramet._cli.command import Command
from ramet._cli.drawing import add_drawing, check_drawing, direction, save_picture
from ramet._cli.exit_code import ExitCode
from ramet._cli.option import add_loading, comma_list, file_name, loading_arguments
from ramet._cli.terminal import Progress, has_colour, is_terminal, one_line, printable, say
from ramet.errors import ArgumentError

if TYPE_CHECKING:
    from ramet._verify import Report

__all__ = ["COMMAND"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=file_name, metavar="a", help="the original: a .keras file, or a .h5 of Keras 2")
    parser.add_argument(
        "twin",
        type=file_name,
        metavar="b",
        nargs="?",
        help="the other; left out to compare one file on several backends",
    )
    parser.add_argument(
        "--backends",
        type=comma_list,
        metavar="NAMES",
        help="two files: verify on each of these, jax,torch say; one file: compare its outputs on them",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        metavar="T",
        help="how far numbers may be apart, as a part of the largest; else bit by bit",
    )
    parser.add_argument(
        "--only", type=comma_list, metavar="CHECKS", help="run these checks: structure,state,outputs say"
    )
    parser.add_argument("--skip", type=comma_list, metavar="CHECKS", help="leave these checks out")
    parser.add_argument("--seed", type=int, metavar="N", default=0, help="of the inputs and of random layers")
    parser.add_argument("--json", action="store_true", help="as JSON")
    add_drawing(parser, parser, "also draw it, opened at the first value that differs")
    add_loading(parser)


def _run(options: argparse.Namespace) -> int:
    check_drawing(options)
    if options.picture is not None and options.twin is not None and options.backends:
        raise ArgumentError(
            "Cannot draw two files on several backends: each has a report of its own.",
            fix="leave --backends out, or --draw.",
        )
    if options.twin is not None:
        return _on_each(options) if options.backends else _two_files(options)
    if not options.backends:
        raise ArgumentError(
            "Cannot verify one file: there is nothing to compare it with.",
            fix="name another file, or several backends: --backends jax,torch.",
        )
    from ramet._cli.across import verify_one_file

    report = verify_one_file(options)
    _say(report, options)
    if options.picture is not None:
        _draw(report, None, options)
    return ExitCode.DONE if report.ok else ExitCode.DIFFERENT


def _two_files(options: argparse.Namespace) -> int:
    from ramet._cli.loading import checked, import_modules, live, load_alike

    with live(options):
        with checked([options.model, options.twin], options) as files:
            import ramet

            with Progress(2) as progress:
                progress.step("starting Keras")
                custom = import_modules(options.modules)
                progress.step("loading both files")
                models = list(load_alike(files, options, custom))
        report = ramet.verify(
            *models, tolerance=options.tolerance, only=options.only, skip=options.skip, seed=options.seed
        )
    _say(report, options)
    if options.picture is not None:
        _draw(report, models[1], options)
    return ExitCode.DONE if report.ok else ExitCode.DIFFERENT


def _draw(report: Report, twin: Any, options: argparse.Namespace) -> None:
    from ramet._verify import picture_of

    weights = None
    if twin is not None:
        from ramet._keras import LiveWeights

        weights = LiveWeights(twin)
    save_picture(picture_of(report, weights, **direction(options)), options)


def _on_each(options: argparse.Namespace) -> int:
    """The same on several backends: Keras runs on one in a process, so each has its own."""
    codes, reports = [], {}
    for backend in options.backends:
        command = [sys.executable, "-P", "-m", "ramet", "verify", *_same_again(options, backend)]
        if options.json:
            done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
            reports[backend] = json.loads(done.stdout) if done.stdout else None
        else:
            say(f"{backend}:")
            sys.stdout.flush()
            done = subprocess.run(command, check=False)
        codes.append(done.returncode)
    if options.json:
        say(json.dumps({"ramet_reports": 1, "ok": not any(codes), "backends": reports}, indent=2))
    return max(codes)


def _same_again(options: argparse.Namespace, backend: str) -> list[str]:
    """The arguments of this run, for a run on one backend."""
    flags = {"--json": options.json, "--debug": options.debug, "--no-color": options.no_color}
    given = [*(flag for flag, is_set in flags.items() if is_set), *loading_arguments(options)]
    given += [f"--{name}={','.join(names)}" for name in ("only", "skip") if (names := getattr(options, name))]
    given += [] if options.tolerance is None else [f"--tolerance={options.tolerance!r}"]
    return [*given, f"--seed={options.seed}", f"--backend={backend}", "--", str(options.model), str(options.twin)]


def _say(report: Report, options: argparse.Namespace) -> None:
    if options.json:
        # Written once more in ASCII: a name may hold what a terminal acts on.
        say(json.dumps(json.loads(report.to_json()), indent=2))
        return
    from rich.console import Console

    colour = has_colour(sys.stdout, wanted=not options.no_color)
    width = None if is_terminal(sys.stdout) else 120
    console = Console(force_terminal=colour, no_color=not colour, width=width, highlight=False, legacy_windows=False)
    with console.capture() as drawn:
        console.print(_harmless(report))
    say("\n".join(line.rstrip() for line in drawn.get().rstrip().split("\n")))


def _harmless(report: Report) -> Report:
    """The report with whatever a terminal would act on written as an escape."""
    checks = [
        replace(
            check,
            summary=printable(check.summary),
            reason=None if check.reason is None else printable(check.reason),
            began=None if check.began is None else printable(check.began),
            differences=tuple(
                replace(one, path=one_line(one.path), text=printable(one.text)) for one in check.differences
            ),
        )
        for check in report.checks
    ]
    return replace(report, model=one_line(report.model), twin=one_line(report.twin), checks=tuple(checks))


COMMAND = Command(
    "verify",
    "whether one model is an exact twin of another: ten checks",
    "Load two models and check whether one is an exact twin of the other: structure, settings, state, identity,\n"
    "outputs, masks, gradients, training, independence, file. The files are scanned first, and refused if they are not\n"
    "safe to load. The exit code is 0 if no check failed, and 1 otherwise.",
    (
        ("ramet verify model.keras twin.keras", "every check, bit by bit"),
        ("ramet verify a.keras b.keras --backends jax,torch", "on each of these backends"),
        ("ramet verify model.keras --backends jax,torch,tensorflow", "one file: the same outputs everywhere?"),
        ("ramet verify a.keras b.keras --only state --tolerance 1e-6", "are the weights close?"),
        ("ramet verify a.keras b.keras --draw page.html", "a page that opens at the first value that differs"),
    ),
    _add_arguments,
    _run,
)
