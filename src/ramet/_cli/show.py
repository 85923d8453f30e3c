"""`ramet show`: list the content of a model file."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from ramet._cli.command import ANY_FILE, Command, ExitCode, file_name
from ramet._cli.output import add_drawing, check_drawing, direction, print_report, print_result, save_picture
from ramet._report import ProgressBar

if TYPE_CHECKING:
    from ramet._files import FileListing, ModelFile


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=file_name, help=ANY_FILE)
    parser.add_argument(
        "--weights",
        action="store_true",
        help="also read the numbers: one line per variable, with its range and a digest",
    )
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--json", action="store_true", help="print JSON: the graph, the variables and the metadata")
    add_drawing(parser, group, "draw the model; with --weights, a histogram of each variable")


def _run(options: argparse.Namespace) -> int:
    from ramet._cli.bounded import bounded
    from ramet._files import open_model_file

    check_drawing(options)
    with bounded([options.file]), open_model_file(options.file) as file:
        if options.json:
            print_result(_list(file, weights=options.weights).to_json())
        elif options.picture is not None:
            from ramet._draw import draw_graph

            weights = file.weights if options.weights else None
            save_picture(draw_graph(file.graph, weights=weights, **direction(options)), options)
        else:
            print_report(_list(file, weights=options.weights).__report__(), options)
    return ExitCode.DONE


def _list(file: ModelFile, *, weights: bool) -> FileListing:
    from ramet._files import list_file

    with ProgressBar((len(file.weights) + len(file.optimizer_weights)) if weights else 0) as progress:
        return list_file(file, weights=weights, step=lambda path: progress.step(f"reading {path}"))


COMMAND = Command(
    "show",
    "list the layers, shapes, parameters and sharing in a model file",
    "List the content of a model file. Nothing in the file runs, and Keras is not needed.",
    (
        ("ramet show model.keras", "every layer, including those inside other layers"),
        ("ramet show model.weights.h5 --weights", "every variable with its range and a digest of its bytes"),
        ("ramet show model.keras --draw model.html", "an interactive page, which works offline"),
        ("ramet show model.keras --draw model.pdf --rankdir LR", "a drawing for a paper, from left to right"),
        ("ramet show model.keras --json | jq .parameters", "for programs"),
    ),
    _add_arguments,
    _run,
)
