"""`ramet edit`: a recipe carried out on the model in a file."""

from __future__ import annotations

import argparse
import json

from ramet._cli.command import Command
from ramet._cli.exit_code import ExitCode
from ramet._cli.option import add_loading, add_seed, file_name
from ramet._cli.terminal import Progress, one_line, say
from ramet._cli.writing import check_target, written_beside
from ramet.errors import ArgumentError

__all__ = ["COMMAND"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=file_name, metavar="in", help="the model: a .keras file, or a .h5 of Keras 2")
    parser.add_argument(
        "target", type=file_name, metavar="out", nargs="?", help="the .keras file to write; not needed with --plan"
    )
    parser.add_argument(
        "--recipe", type=file_name, metavar="TOML", required=True, help="the edits, as docs/recipes.md tells"
    )
    parser.add_argument(
        "--plan", action="store_true", help="only say what each edit would touch and skip; write nothing"
    )
    add_seed(parser, "make the weights of new layers repeatable")
    parser.add_argument(
        "--unsaved",
        action="store_true",
        help="allow edits inside a class that makes its own parts, and would make the old ones when it is loaded",
    )
    parser.add_argument("--json", action="store_true", help="the plan, and what was written, as JSON")
    add_loading(parser)


def _run(options: argparse.Namespace) -> int:
    from ramet._cli.loading import checked, import_modules, live, load, parameters_of

    if not options.plan:
        if options.target is None:
            raise ArgumentError(
                "Cannot edit the model: there is no file to write it to.",
                fix="name one, ramet edit in.keras out.keras --recipe ..., or ask for the --plan only.",
            )
        check_target(options.target, ".keras")
    with live(options), Progress(6) as progress:
        progress.step(f"scanning {options.source}")
        with checked([options.source], options) as (source,):
            progress.step("starting Keras")
            import ramet

            custom = import_modules(options.modules)
            progress.step(f"reading {options.recipe}")
            recipe = ramet.read_recipe(options.recipe)
            progress.step(f"loading {options.source}")
            model = load(source, options, custom)
        progress.step("editing")
        plan = ramet.plan(model, recipe)
        record = json.loads(plan.to_json())
        text = plan.to_text()
        if not options.plan:
            edited = ramet.edit(model, recipe, seed=options.seed, unsaved=options.unsaved)
            progress.step(f"writing {options.target}")
            with written_beside(options.target) as beside:
                edited.save(beside)
            parameters = parameters_of(model), parameters_of(edited)
            record["written"] = {"target": str(options.target), "name": edited.name, "parameters": parameters[1]}
            count = f"{parameters[1]:,} parameters ({parameters[1] - parameters[0]:+,})"
            text += "\n\n" + one_line(f"{options.target}: {edited.name} ({type(edited).__name__}), {count}")
    say(json.dumps(record, indent=1) if options.json else text)
    return ExitCode.DONE


COMMAND = Command(
    "edit",
    "carry out a recipe on a model, and write the result to another file",
    "Load a model, carry out the edits of a recipe on a twin of it, and write that. The file is scanned first, and\n"
    "refused if it is not safe to load. The output appears whole or not at all.",
    (
        ("ramet edit model.keras --recipe slim.toml --plan", "what each edit would touch, and what it skips and why"),
        ("ramet edit model.keras slim.keras --recipe slim.toml", "do it"),
        ("ramet diff model.keras slim.keras", "what has changed"),
    ),
    _add_arguments,
    _run,
)
