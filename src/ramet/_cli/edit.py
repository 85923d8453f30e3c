"""`ramet edit`: apply a recipe to a model and write the result."""

from __future__ import annotations

import argparse
import json

from ramet._cli.command import MODEL_FILE, Command, ExitCode, add_loading, file_name
from ramet._cli.loading import checked, import_modules, live, load, parameters_of
from ramet._cli.output import check_target, print_report, print_result, written_beside
from ramet._report import ProgressBar, count, escape
from ramet.errors import ArgumentError


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("source", type=file_name, metavar="in", help=f"the model: {MODEL_FILE}")
    parser.add_argument(
        "target", type=file_name, metavar="out", nargs="?", help="the .keras file to write; not needed with --plan"
    )
    parser.add_argument(
        "--recipe",
        type=file_name,
        metavar="TOML",
        required=True,
        help="the edits, as `ramet.Recipe.to_toml` writes them",
    )
    parser.add_argument(
        "--plan", action="store_true", help="only print what each edit would change and skip; write nothing"
    )
    parser.add_argument("--seed", type=int, metavar="N", help="the seed of the weights of new layers")
    parser.add_argument(
        "--unsaved",
        action="store_true",
        help="allow edits that the saved file would lose, inside a class that creates its own layers",
    )
    parser.add_argument("--json", action="store_true", help="print the plan and a summary of the output as JSON")
    add_loading(parser)


def _run(options: argparse.Namespace) -> int:
    if not options.plan:
        if options.target is None:
            raise ArgumentError(
                "Cannot edit the model: the output file is missing.",
                fix="name it, ramet edit in.keras out.keras --recipe ..., or add --plan.",
            )
        check_target(options.target, ".keras")
    with live(options), ProgressBar(6) as progress:
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
        written = None
        if not options.plan:
            edited = ramet.edit(model, recipe, seed=options.seed, unsaved=options.unsaved)
            progress.step(f"writing {options.target}")
            with written_beside(options.target) as beside:
                edited.save(beside)
            before, after = parameters_of(model), parameters_of(edited)
            written = {"target": str(options.target), "name": edited.name, "parameters": after}
    if options.json:
        record = json.loads(plan.to_json())
        print_result(json.dumps(record | ({"written": written} if written else {}), indent=1))
        return ExitCode.DONE
    print_report(plan.__report__(), options)
    if written:
        size = f"{count(after, 'parameter')} ({after - before:+,})"
        print_result("\n" + escape(f"{options.target}: {edited.name} ({type(edited).__name__}), {size}"))
    return ExitCode.DONE


COMMAND = Command(
    "edit",
    "apply a recipe to a model, and write the result to another file",
    "Load a model, apply the edits of a recipe to a twin of it, and write the twin. The file is scanned first, and\n"
    "refused if it is not safe to load. The output file is written completely or not at all.",
    (
        ("ramet edit model.keras --recipe slim.toml --plan", "what each edit would change, what it skips, and why"),
        ("ramet edit model.keras slim.keras --recipe slim.toml", "apply the edits"),
        ("ramet diff model.keras slim.keras", "show the changes"),
    ),
    _add_arguments,
    _run,
)
