"""`ramet diff`: what is different between two model files."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from ramet._cli.command import Command
from ramet._cli.drawing import add_drawing, check_drawing, direction, save_picture
from ramet._cli.exit_code import ExitCode
from ramet._cli.option import file_name
from ramet._cli.terminal import Progress, has_colour, paint, say

if TYPE_CHECKING:
    from ramet._diff import Diff
    from ramet._files import ModelFile

__all__ = ["COMMAND", "compare", "diff_text"]


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "before",
        type=file_name,
        metavar="a",
        help="a .keras file or folder, a .weights.h5 or .weights.json, or a .h5 of Keras 2",
    )
    parser.add_argument("after", type=file_name, metavar="b", help="another")
    way = parser.add_mutually_exclusive_group()
    way.add_argument("--json", action="store_true", help="as JSON, with every change")
    way.add_argument("--markdown", action="store_true", help="as Markdown, for a pull request")
    add_drawing(parser, way, "draw it on the graph")


def _run(options: argparse.Namespace) -> int:
    from ramet._cli.bounded import bounded
    from ramet._files import read_archive

    check_drawing(options)
    files = [options.before, options.after]
    with bounded(files), read_archive(options.before) as before, read_archive(options.after) as after:
        diff = compare(before, after)
        if options.json:
            say(diff.to_json())
        elif options.markdown:
            say(diff.to_markdown())
        elif options.picture is not None:
            _draw(before, after, diff, options)
        else:
            say(diff_text(diff, colour=has_colour(sys.stdout, wanted=not options.no_color)))
    return ExitCode.DIFFERENT if diff else ExitCode.DONE


def compare(before: ModelFile, after: ModelFile) -> Diff:
    """The diff of two files, with a bar on a terminal while weights are read."""
    from ramet._files import diff_files

    for file in (before, after):
        file.start()
    with Progress(len(before.weights) + len(before.optimizer_weights)) as progress:
        return diff_files(before, after, lambda path: progress.step(f"comparing {path}"))


def _draw(before: ModelFile, after: ModelFile, diff: Diff, options: argparse.Namespace) -> None:
    from ramet._draw import draw_graph

    picture = draw_graph(after.graph, diff, after.weights, before=before.graph, **direction(options))
    save_picture(picture, options)


def diff_text(diff: Diff, *, colour: bool) -> str:
    """The diff as text; in colour, with titles in bold, what was added in green, what was removed in red."""
    # What the library says to people who write Python, in the words of the command line.
    text = str(diff).replace("; `to_json()` has all", "; `ramet diff --json` has all")
    if not colour:
        return text
    lines = []
    for number, line in enumerate(text.split("\n")):
        style = {"  +": "green", "  -": "red"}.get(line[:3])
        if style is None and (number == 0 or not line.startswith(" ")):
            style = "bold"
        lines.append(paint(line, style) if style and line else line)
    return "\n".join(lines)


COMMAND = Command(
    "diff",
    "what is different between two model files, weights included",
    "Compare two model files: layers, settings, calls, masks, sharing, compile settings, weights. Nothing in them is\n"
    "run, and Keras is not needed. The exit code is 0 if they are equal and 1 if they differ.",
    (
        ("ramet diff before.keras after.keras", "what changed, in sections"),
        ("ramet diff a.keras b.keras --markdown", "for a pull request"),
        ("ramet diff a.keras b.keras --draw d.html", "drawn on the graph, to explore"),
        ("ramet diff a.weights.h5 b.weights.h5 --json", "for programs; docs/cli.md tells the schema"),
    ),
    _add_arguments,
    _run,
)
