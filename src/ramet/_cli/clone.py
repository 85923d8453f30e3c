"""`ramet clone`: write a twin of a model to another file."""

from __future__ import annotations

import argparse
from typing import Literal

from ramet._cli.command import MODEL_FILE, Command, ExitCode, add_loading, file_name
from ramet._cli.loading import checked, import_modules, live, load, parameters_of
from ramet._cli.output import check_target, print_result, written_beside
from ramet._report import ProgressBar, count, escape, json_text


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=file_name, metavar="in", help=f"the model: {MODEL_FILE}")
    parser.add_argument("target", type=file_name, metavar="out", help="the .keras file to write")
    parser.add_argument("--fresh", action="store_true", help="initialize the weights anew")
    parser.add_argument(
        "--seed", type=int, metavar="N", help="reseed every random generator and initializer, for repeatable results"
    )
    parser.add_argument("--name", help="the name of the twin; its variable paths begin with it")
    parser.add_argument("--json", action="store_true", help="print a summary of the output as JSON")
    add_loading(parser)


def _run(options: argparse.Namespace) -> int:
    check_target(options.target, ".keras")
    with live(options), ProgressBar(5) as progress:
        progress.step(f"scanning {options.source}")
        with checked([options.source], options) as (source,):
            progress.step("starting Keras")
            import keras

            import ramet

            custom = import_modules(options.modules)
            progress.step(f"loading {options.source}")
            model = load(source, options, custom)
        progress.step("cloning")
        weights: Literal["fresh", "copy"] = "fresh" if options.fresh else "copy"
        twin = ramet.clone(model, weights=weights, seed=options.seed, name=options.name)
        progress.step(f"writing {options.target}")
        with written_beside(options.target) as beside:
            twin.save(beside)
        record = {
            "source": str(options.source),
            "target": str(options.target),
            "name": twin.name,
            "class_name": type(twin).__name__,
            "parameters": parameters_of(twin),
            "weights": weights,
            "seed": options.seed,
            "backend": keras.backend.backend(),
            "keras_version": keras.__version__,
        }
    if options.json:
        print_result(json_text("clone", record, indent=1))
    else:
        print_result(
            escape(f"{options.target}: {twin.name} ({record['class_name']}), {count(parameters_of(twin), 'parameter')}")
        )
    return ExitCode.DONE


COMMAND = Command(
    "clone",
    "write a twin of a model to another file",
    "Load a model, clone it, and write the twin. The file is scanned first, and refused if it is not safe to load.\n"
    "The output file is written completely or not at all.",
    (
        ("ramet clone model.keras twin.keras", "the same model, bit by bit"),
        ("ramet clone model.keras member_3.keras --fresh --seed 3", "another member of an ensemble"),
        ("ramet clone online.keras target.keras --name target", "for use in one model with the original"),
        ("ramet clone mine.keras twin.keras --import my_layers", "a model with layers from my_layers.py"),
    ),
    _add_arguments,
    _run,
)
