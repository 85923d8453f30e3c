"""`ramet verify`: check whether the model in one file is a twin of that in another."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from ramet._cli.command import MODEL_FILE, Command, ExitCode, add_loading, comma_list, file_name, loading_arguments
from ramet._cli.loading import checked, import_modules, live, load, load_alike
from ramet._cli.output import (
    add_drawing,
    check_drawing,
    direction,
    print_report,
    print_result,
    save_picture,
    terminal_width,
)
from ramet._report import ProgressBar, json_text
from ramet.errors import ArgumentError

if TYPE_CHECKING:
    from ramet._verify import Report

_WIDTH = 120


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("model", type=file_name, metavar="a", help=f"the original: {MODEL_FILE}")
    parser.add_argument(
        "twin",
        type=file_name,
        metavar="b",
        nargs="?",
        help="the other file; leave it out to compare one file on several backends",
    )
    parser.add_argument(
        "--backends",
        type=comma_list,
        metavar="NAMES",
        help="for example jax,torch. Two files: verify them on each backend; one file: compare its outputs on them",
    )
    parser.add_argument(
        "--tolerance",
        type=float,
        metavar="T",
        help="the largest relative difference allowed between numbers; default: compare bit by bit",
    )
    parser.add_argument(
        "--only", type=comma_list, metavar="CHECKS", help="run only these checks, for example structure,state,outputs"
    )
    parser.add_argument("--skip", type=comma_list, metavar="CHECKS", help="leave out these checks")
    parser.add_argument("--seed", type=int, metavar="N", default=0, help="the seed of inputs and random layers")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_drawing(parser, parser, "also draw the differences, opened at the first value that differs")
    add_loading(parser)


def _run(options: argparse.Namespace) -> int:
    check_drawing(options)
    if options.picture is not None and options.twin is not None and options.backends:
        raise ArgumentError(
            "Cannot draw two files on several backends: each backend has its own report.",
            fix="leave out --backends or --draw.",
        )
    if options.twin is None:
        report, twin = _verify_one_file(options), None
    elif options.backends:
        return _on_each_backend(options)
    else:
        report, twin = _verify_two_files(options)
    if options.json:
        print_result(report.to_json())
    else:
        print_report(report.__report__(), options, width=terminal_width() or _WIDTH)
    if options.picture is not None:
        from ramet._keras import LiveWeights
        from ramet._verify import picture_of

        weights = None if twin is None else LiveWeights(twin)
        save_picture(picture_of(report, weights, **direction(options)), options)
    return ExitCode.DONE if report.ok else ExitCode.DIFFERENT


def _verify_two_files(options: argparse.Namespace) -> tuple[Report, Any]:
    """Return the report on two files, and the model in the second."""
    with live(options):
        with checked([options.model, options.twin], options) as files:
            import ramet

            with ProgressBar(2) as progress:
                progress.step("starting Keras")
                custom = import_modules(options.modules)
                progress.step("loading both files")
                model, twin = load_alike(files, options, custom)
        report = ramet.verify(
            model, twin, tolerance=options.tolerance, only=options.only, skip=options.skip, seed=options.seed
        )
    return report, twin


def _on_each_backend(options: argparse.Namespace) -> int:
    """Verify two files on several backends, each in a separate process: Keras runs on one backend per process."""
    codes, reports = [], {}
    for backend in options.backends:
        command = [sys.executable, "-P", "-m", "ramet", "verify", *_arguments_for(options, backend)]
        if options.json:
            done = subprocess.run(command, stdout=subprocess.PIPE, check=False)
            reports[backend] = json.loads(done.stdout) if done.stdout else None
        else:
            print_result(f"{backend}:")
            sys.stdout.flush()
            done = subprocess.run(command, check=False)
        codes.append(done.returncode)
    if options.json:
        print_result(json_text("verify-backends", {"ok": not any(codes), "backends": reports}))
    return max(codes)


def _arguments_for(options: argparse.Namespace, backend: str) -> list[str]:
    """Return the arguments for the same command on one backend."""
    flags = {"--json": options.json, "--debug": options.debug, "--no-color": options.no_color}
    given = [*(flag for flag, is_set in flags.items() if is_set), *loading_arguments(options)]
    given += [f"--{name}={','.join(names)}" for name in ("only", "skip") if (names := getattr(options, name))]
    given += [] if options.tolerance is None else [f"--tolerance={options.tolerance!r}"]
    return [*given, f"--seed={options.seed}", f"--backend={backend}", "--", str(options.model), str(options.twin)]


def _verify_one_file(options: argparse.Namespace) -> Report:
    """Return the report on the outputs of one file on several backends."""
    if not options.backends:
        raise ArgumentError(
            "Cannot verify one file: there is nothing to compare it with.",
            fix="name another file, or several backends with --backends jax,torch.",
        )
    if options.only or options.skip:
        raise ArgumentError(
            "Cannot select checks for one file: only its outputs are compared.",
            fix="leave out --only and --skip, or name two files.",
        )
    with live(options), checked([options.model], options) as (file,):
        from ramet._verify import verify_across

        worker = ("from ramet._cli.verify import run_worker; run_worker()", *loading_arguments(options))
        return verify_across(file, options.backends, options.tolerance, options.seed, worker)


def run_worker() -> None:
    """Run one file on one backend: `verify_across` starts this in a separate process, with the options of this command."""
    parser = argparse.ArgumentParser()
    for name in ("path", "inputs", "outputs"):
        parser.add_argument(name)
    parser.add_argument("seed", type=int)
    add_loading(parser)
    options = parser.parse_args()
    with live(options):
        from ramet._verify import run_worker as write_outputs

        custom = import_modules(options.modules)
        arguments = (options.path, options.inputs, options.outputs, str(options.seed))
        write_outputs(arguments, load=lambda path: load(path, options, custom))


COMMAND = Command(
    "verify",
    "check whether one model is an exact twin of another",
    "Load two models and check whether one is an exact twin of the other: structure, settings, state, identity,\n"
    "outputs, masks, gradients, training, independence, file. The files are scanned first, and refused if they are not\n"
    "safe to load. The exit code is 0 if no check failed, and 1 otherwise.",
    (
        ("ramet verify model.keras twin.keras", "every check, bit by bit"),
        ("ramet verify a.keras b.keras --backends jax,torch", "on each of these backends"),
        ("ramet verify model.keras --backends jax,torch,tensorflow", "one file: the same outputs on every backend?"),
        ("ramet verify a.keras b.keras --only state --tolerance 1e-6", "are the weights close?"),
        ("ramet verify a.keras b.keras --draw page.html", "a page that opens at the first value that differs"),
    ),
    _add_arguments,
    _run,
)
