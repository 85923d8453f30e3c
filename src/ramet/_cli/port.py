"""`ramet port`: rewrite model files for another version of Keras."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import difflib
import json
import os
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from ramet._cli.command import Command, ExitCode, add_backend, file_name
from ramet._cli.output import print_message, print_report, print_result, terminal_width
from ramet._report import Code, Document, ProgressBar, Row, Section, count, escape
from ramet.errors import ArgumentError, PortError, RametError

if TYPE_CHECKING:
    from ramet._port import PortReport


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "files",
        type=file_name,
        nargs="+",
        metavar="file",
        help="the model to port, then the file to write. With --into, any number of models: .h5 and .keras files, the JSON "
        "of a model (with --weights), or SavedModel folders",
    )
    parser.add_argument(
        "--to",
        metavar="VERSION",
        help="the Keras that is to load the result, such as 3.8, or tf_keras; default: the newest",
    )
    parser.add_argument(
        "--plan", action="store_true", help="only print what would be changed, left out and refused; write nothing"
    )
    parser.add_argument(
        "--against",
        metavar="WHAT",
        help="run both files on random inputs, in separate processes, and compare: tf_keras, or the Python of an "
        "environment with the other version of Keras",
    )
    parser.add_argument("--into", type=file_name, metavar="FOLDER", help="port every file into this folder")
    parser.add_argument(
        "--weights", type=file_name, metavar="FILE", help="the weights that belong to the JSON of a model"
    )
    parser.add_argument(
        "--function",
        dest="functions",
        metavar="LAYER=MODULE:NAME",
        action="append",
        default=[],
        help="the function of a Lambda layer, whose code in the file is never run. Can be repeated",
    )
    parser.add_argument(
        "--import",
        dest="modules",
        metavar="MODULE",
        action="append",
        default=[],
        help="a module with classes or functions that the model uses. Can be repeated",
    )
    parser.add_argument(
        "--trust", action="store_true", help="with --against: run the original even if it contains code"
    )
    parser.add_argument("--force", action="store_true", help="replace the output file if it exists")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_backend(parser)


def _run(options: argparse.Namespace) -> int:
    _check_against(options)
    pairs = _pairs(options)
    custom, functions = _custom(options)
    if options.into is not None:
        return _port_many(pairs, options, custom, functions)
    source, target = pairs[0]
    with ProgressBar(2) as progress:
        progress.step(f"porting {source}")
        report = _port_one(source, target, options, custom, functions)
    if target is None and not options.plan and not report.is_current:
        raise ArgumentError(
            "Cannot port the model: the output file is missing.",
            fix=f"name it, ramet port {escape(str(source))} new{_extension(options)}, or add --plan.",
        )
    if options.json:
        print_result(report.to_json())
    else:
        print_report(report.__report__(), options, width=terminal_width())
    return _exit_code(report)


def _check_against(options: argparse.Namespace) -> None:
    """Check, before anything is written, what is to run the other file."""
    if options.against is None:
        return
    if options.plan:
        raise ArgumentError(
            "Cannot use --against with --plan: there is no file to compare with, because a plan writes nothing.",
            fix="leave out one of them.",
        )
    from ramet._port import check_python

    check_python(options.against)


def _exit_code(report: PortReport) -> int:
    is_different = report.comparison is not None and not report.comparison.is_equal
    return ExitCode.DIFFERENT if report.refusals or is_different else ExitCode.DONE


def _pairs(options: argparse.Namespace) -> list[tuple[Path, Path | None]]:
    """Return the files to port, each with the file to write."""
    files: list[Path] = options.files
    if options.into is not None:
        if options.weights is not None:
            raise ArgumentError(
                "Cannot use --weights with --into: it applies to a single model.", fix="port that model alone."
            )
        if options.into.exists() and not options.into.is_dir():
            raise ArgumentError(
                f"Cannot port files into '{escape(str(options.into))}': it is not a folder.",
                fix="pass the path of a folder, which is created if it does not exist.",
            )
        names = [Path(f"{file.stem}{_extension(options)}") for file in files]
        if len(set(names)) < len(names):
            # Many files are called model.h5: keep the folders that tell them apart.
            parents = [file.absolute().parent for file in files]
            common = os.path.commonpath(parents)
            names = [parent.relative_to(common) / name for parent, name in zip(parents, names, strict=True)]
        targets = [options.into / name for name in names]
        twice = next((target for target in targets if targets.count(target) > 1), None)
        if twice is not None:
            raise ArgumentError(
                f"Cannot port the files into one folder: two of them would become '{escape(twice.name)}'.",
                fix="port them into different folders.",
            )
        return list(zip(files, targets, strict=True))
    if len(files) > 2:
        raise ArgumentError(
            f"Cannot port {count(len(files), 'file')} at once without a folder.", fix="add --into FOLDER."
        )
    # A file that is current needs no target: the report says that it is current.
    return [(files[0], None if options.plan or len(files) == 1 else files[1])]


def _extension(options: argparse.Namespace) -> str:
    return ".h5" if options.to == "tf_keras" else ".keras"


def _custom(options: argparse.Namespace) -> tuple[list[str], dict[str, str]]:
    """Return the names of the user's classes and functions, and the function of each Lambda layer."""
    names: list[str] = []
    functions: dict[str, str] = {}
    if not options.modules and not options.functions:
        return names, functions
    given = list(map(_parse_function, options.functions))
    from ramet._cli.loading import choose_backend, import_modules

    choose_backend(options.backend)
    import keras

    names += map(keras.saving.get_registered_name, import_modules(options.modules).values())
    for layer, module, name in given:
        import_modules([module])
        known = {key for key, value in vars(sys.modules[module]).items() if callable(value)}
        if name not in known:
            raise ArgumentError(
                f"Cannot use '{escape(f'{module}:{name}')}': the module has no function '{escape(name)}'.",
                closest=difflib.get_close_matches(name, known),
                fix="define the function in that module.",
            )
        functions[layer] = keras.saving.get_registered_name(getattr(sys.modules[module], name))
    return names, functions


def _parse_function(text: str) -> tuple[str, str, str]:
    """Return layer, module and name of an argument of `--function`."""
    layer, _, place = text.partition("=")
    module, _, name = place.partition(":")
    if not (layer and module and name):
        raise ArgumentError(
            f"Cannot read --function {escape(text)!a}.",
            expected="LAYER=MODULE:NAME",
            fix="for example --function scale=my_layers:scale.",
        )
    return layer, module, name


def _port_one(
    source: Path, target: Path | None, options: argparse.Namespace, custom: list[str], functions: dict[str, str]
) -> PortReport:
    from ramet._cli.bounded import bounded
    from ramet._files import private_copy
    from ramet._port import compare_ported, plan_port

    weights: Path | None = options.weights
    with contextlib.ExitStack() as stack:
        given = source
        if options.against and not options.trust:
            # What was scanned is what runs.
            source = stack.enter_context(private_copy(source))
            weights = None if weights is None else stack.enter_context(private_copy(weights))
        with bounded([source] if weights is None else [source, weights]):
            report = plan_port(
                source,
                target=target,
                to=options.to,
                weights=weights,
                functions=functions,
                # Of many files, only some have the layer.
                needs_functions=options.into is None,
                custom=custom,
                force=options.force,
                isolated=True,
                runs=bool(options.against) and not options.trust,
            )
        if options.against and report.is_written:
            report = compare_ported(
                report,
                source=source,
                against=options.against,
                weights=weights,
                backend=options.backend,
                modules=_modules(options),
                trusted=options.trust,
            )
        return dataclasses.replace(report, source=str(given))


def _modules(options: argparse.Namespace) -> list[str]:
    """Return the modules with the user's classes and functions."""
    return [*options.modules, *(_parse_function(text)[1] for text in options.functions)]


def _port_many(
    pairs: list[tuple[Path, Path | None]], options: argparse.Namespace, custom: list[str], functions: dict[str, str]
) -> int:
    """Port many files, and print one table. A file that fails does not stop the others."""
    rows, records, worst = [], [], int(ExitCode.DONE)
    ported = "can be ported" if options.plan else "ported"
    counts = {ported: 0, "refused": 0, "failed": 0}
    names = Counter(source.name for source, _ in pairs)
    with ProgressBar(len(pairs)) as progress:
        for source, target in pairs:
            progress.step(f"porting {source}")
            shown = source.name if names[source.name] == 1 else str(source)
            try:
                report = _port_one(source, None if options.plan else target, options, custom, functions)
            except RametError as error:
                is_refused = isinstance(error, PortError)
                counts["refused" if is_refused else "failed"] += 1
                worst = ExitCode.DIFFERENT
                rows.append(_row(shown, "refused: " * is_refused + error.summary, error.found, error.fix))
                records.append({"source": str(source), "error": error.summary, "found": error.found, "fix": error.fix})
                continue
            records.append(json.loads(report.to_json()))
            code = _exit_code(report)
            worst = max(worst, code)
            kind = "refused" if report.refusals else "failed" if code else ported
            counts[kind] += 1
            if code:
                rows.append(_row(shown, _outcome(report), None, report.refusals[0].fix if report.refusals else None))
            else:
                rows.append(Row(((Code(shown),), _outcome(report)), mark="✓", mark_style="good"))
    if options.json:
        print_result(json.dumps(records, indent=1))
        return worst
    words = ", ".join(f"{number} {word}" for word, number in counts.items() if number)
    title = f"{count(len(pairs), 'file')}: {words}"
    section = Section("", tuple(rows), columns=("file", "result"))
    document = Document(title, (section,), style="bad" if worst else "good")
    print_report(document, options, width=terminal_width())
    if counts["refused"]:
        print_message("ramet port FILE --plan shows every reason.")
    return worst


def _row(name: str, text: str, found: str | None, fix: str | None) -> Row:
    """Return the row of a file that was not ported."""
    more = [f"found: {found}"] if found else []
    more += [f"fix: {fix}"] if fix else []
    details = tuple(Row((line,), style="dim") for line in more)
    return Row(((Code(name),), text), mark="✗", mark_style="bad", details=details)


def _outcome(report: PortReport) -> str:
    if report.refusals:
        first = report.refusals[0]
        more = f" (and {len(report.refusals) - 1} more)" if len(report.refusals) > 1 else ""
        return f"refused: {first}{more}"
    text = "already current" if report.is_current else f"Keras {report.from_version} to {report.target_name}"
    translated = sum(note.kind == "translated" for note in report.notes)
    if translated:
        text += f", {count(translated, 'translation')}"
    if report.comparison is not None:
        text += ", equal outputs" if report.comparison.is_equal else ", DIFFERENT outputs"
    return text


COMMAND = Command(
    "port",
    "rewrite a model file for another version of Keras",
    "Rewrite a model file so that another version of Keras loads it: files of Keras 1 and 2 for Keras 3, and files of Keras 3\n"
    "for older releases or for tf_keras. The file is read as data, and nothing in it runs. What cannot be expressed exactly is\n"
    "refused, with the layer and the reason; then nothing is written, and the exit code is 1.",
    (
        ("ramet port old.h5 new.keras", "a file that the newest Keras loads"),
        ("ramet port new.keras old.keras --to 3.8", "a file that Keras 3.8 loads; --to tf_keras for tf_keras"),
        ("ramet port old.h5 new.keras --plan", "what would be rewritten, translated and refused, and why"),
        ("ramet port old.h5 new.keras --against tf_keras", "run both, and compare the outputs"),
        ("ramet port models/*.h5 --into ported/", "many files, one table"),
    ),
    _add_arguments,
    _run,
)
