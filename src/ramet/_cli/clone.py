"""`ramet clone`: a twin of the model in a file, in another file."""

from __future__ import annotations

import argparse
import json
from typing import Literal

from ramet._cli.command import Command
from ramet._cli.exit_code import ExitCode
from ramet._cli.option import add_loading, add_seed, file_name
from ramet._cli.terminal import Progress, one_line, say
from ramet._cli.writing import check_target, written_beside

__all__ = ["COMMAND"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=file_name, metavar="in", help="the model: a .keras file, or a .h5 of Keras 2")
    parser.add_argument("target", type=file_name, metavar="out", help="the .keras file to write")
    parser.add_argument("--fresh", action="store_true", help="with newly initialised weights")
    add_seed(parser, "reseed every random generator and initialiser: repeatable")
    parser.add_argument("--name", help="another name for the twin; its variable paths begin with it")
    parser.add_argument("--json", action="store_true", help="say what was written as JSON")
    add_loading(parser)


def _run(options: argparse.Namespace) -> int:
    from ramet._cli.loading import checked, import_modules, live, load, parameters_of

    check_target(options.target, ".keras")
    with live(options), Progress(5) as progress:
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
            "ramet_clone": 1,
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
        say(json.dumps(record, indent=1))
    else:
        say(one_line(f"{options.target}: {twin.name} ({record['class_name']}), {record['parameters']:,} parameters"))
    return ExitCode.DONE


COMMAND = Command(
    "clone",
    "write a twin of a model to another file",
    "Load a model, clone it, and write the twin. The file is scanned first, and refused if it is not safe to load.\n"
    "The output appears whole or not at all.",
    (
        ("ramet clone model.keras twin.keras", "the same model, the same bits"),
        ("ramet clone model.keras member_3.keras --fresh --seed 3", "one more member of an ensemble"),
        ("ramet clone online.keras target.keras --name target", "to live in one model with the original"),
        ("ramet clone mine.keras twin.keras --import my_layers", "a model with layers of my_layers.py"),
    ),
    _add_arguments,
    _run,
)
