"""`ramet show`: what is in a model file."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from ramet._cli.command import Command
from ramet._cli.drawing import add_drawing, check_drawing, direction, save_picture
from ramet._cli.exit_code import ExitCode
from ramet._cli.option import file_name
from ramet._cli.terminal import Progress, has_colour, paint, say

if TYPE_CHECKING:
    from ramet._files import ModelFile, Weights

__all__ = ["COMMAND", "show_text"]

_NUMBERS = ("float", "int", "uint", "bool", "bfloat")
_DIGITS = 12


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=file_name, help="a .keras file or folder, a .weights.h5 or .weights.json, or a .h5 of Keras 2"
    )
    parser.add_argument(
        "--weights", action="store_true", help="also read the numbers: a line a variable, with its range and a digest"
    )
    way = parser.add_mutually_exclusive_group()
    way.add_argument(
        "--json", action="store_true", help="as JSON: the graph, the variables, and what the file says of itself"
    )
    add_drawing(parser, way, "draw the model, with --weights a histogram of each variable")


def _run(options: argparse.Namespace) -> int:
    from ramet._cli.bounded import bounded
    from ramet._files import read_archive

    check_drawing(options)
    with bounded([options.file]), read_archive(options.file) as file:
        if options.json:
            say(_json(file, weights=options.weights))
        elif options.picture is not None:
            _draw(file, options)
        else:
            say(show_text(file, weights=options.weights, colour=has_colour(sys.stdout, wanted=not options.no_color)))
    return ExitCode.DONE


def show_text(file: ModelFile, *, weights: bool, colour: bool) -> str:
    """The file as text."""
    from ramet._files import show_lines
    from ramet._graph import escape

    lines = show_lines(file)
    end_of_head = lines.index("")
    if colour:
        lines[:end_of_head] = [paint(lines[0], "bold"), *(paint(line, "dim") for line in lines[1:end_of_head])]
    if weights:
        rows = [(escape(path), told) for path, told in _told(file)]
        width = max((len(path) for path, _ in rows), default=0)
        lines += ["", "Weights", *(f"  {path:<{width}}  {_words(told)}" for path, told in rows)]
    return "\n".join(lines)


def _told(file: ModelFile) -> Iterator[tuple[str, dict[str, Any]]]:
    """What there is to say of each variable of the model, then of its optimizer."""
    sources = [("", file.weights), ("optimizer/", file.optimizer_weights)]
    with Progress(sum(len(source) for _, source in sources)) as progress:
        for prefix, source in sources:
            for path in source:
                progress.step(f"reading {prefix}{path}")
                yield f"{prefix}{path}", _variable(source, path)


def _variable(source: Weights, path: str) -> dict[str, Any]:
    spec = source.spec(path)
    told: dict[str, Any] = {"shape": list(spec.shape), "dtype": spec.dtype, "digest": source.digest(path)}
    # Texts have no range.
    return told | (asdict(source.statistics(path)) if spec.dtype.startswith(_NUMBERS) else {})


def _words(told: dict[str, Any]) -> str:
    words = f"{tuple(told['shape'])} {told['dtype']}  {told['digest'][:_DIGITS]}"
    if "mean" in told:
        words += f"  {told['smallest']:.4g} to {told['largest']:.4g}, mean {told['mean']:.4g}"
        words += f", {told['nans']:,} nan" if told["nans"] else ""
    return words


def _json(file: ModelFile, *, weights: bool) -> str:
    from ramet._graph import to_json

    graph = file.graph
    trainable = sum(spec.size for _, spec in graph.variables() if spec.trainable and spec.tied is None)
    head = {
        "ramet_show": 1,
        "file": file.path.name,
        "kind": file.kind,
        "name": graph.name,
        "class_name": graph.class_name,
        "parameters": graph.parameters,
        "trainable_parameters": trainable,
        "metadata": file.metadata,
        "compiled": file.compile_config is not None,
        "assets": [{"name": asset.name, "size": asset.size} for asset in file.assets],
        "optimizer_variables": len(file.optimizer_weights),
    }
    if weights:
        head["weights"] = [{"path": path, **told} for path, told in _told(file)]
    # The JSON of a graph has a line an op: written as it is, it stays readable.
    return f'{json.dumps(head, indent=1)[:-2]},\n "graph": {to_json(graph).strip()}}}'


def _draw(file: ModelFile, options: argparse.Namespace) -> None:
    from ramet._draw import draw_graph

    weights = file.weights if options.weights else None
    save_picture(draw_graph(file.graph, weights=weights, **direction(options)), options)


COMMAND = Command(
    "show",
    "what is in a model file: layers, shapes, parameters, sharing",
    "Show what is in a model file. Nothing in the file is run, and Keras is not needed.",
    (
        ("ramet show model.keras", "every layer, also those inside layers"),
        ("ramet show model.weights.h5 --weights", "every variable with its range and a digest of its bytes"),
        ("ramet show model.keras --draw model.html", "a page to explore, which opens from disk"),
        ("ramet show model.keras --draw model.pdf --rankdir LR", "a drawing for a paper, from left to right"),
        ("ramet show model.keras --json | jq .parameters", "for programs; docs/cli.md tells the schema"),
    ),
    _add_arguments,
    _run,
)
