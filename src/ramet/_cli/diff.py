"""`ramet diff` and `ramet git-diff`: the differences between two model files."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from ramet._cli.command import ANY_FILE, Command, ExitCode, file_name
from ramet._cli.output import (
    add_drawing,
    check_drawing,
    direction,
    discard_output,
    is_broken_pipe,
    print_report,
    print_result,
    save_picture,
)
from ramet._report import Document, ProgressBar, Style, escape, escape_lines, has_color, paint, to_ansi, to_text
from ramet.errors import ModelFileError

if TYPE_CHECKING:
    from ramet._diff import Diff
    from ramet._files import ModelFile

_NO_FILE = "."  # git's mode for a missing file
# git passes "/dev/null" on every system; the shell that it uses on Windows turns that into "nul".
_NOTHING = frozenset({"/dev/null", os.devnull})


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("before", type=file_name, metavar="a", help=ANY_FILE)
    parser.add_argument("after", type=file_name, metavar="b", help="the file to compare it with")
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--json", action="store_true", help="print JSON, with every change")
    group.add_argument("--markdown", action="store_true", help="print Markdown, for a pull request")
    add_drawing(parser, group, "draw the differences on the graph")


def _run(options: argparse.Namespace) -> int:
    from ramet._cli.bounded import bounded
    from ramet._files import open_model_file

    check_drawing(options)
    files = [options.before, options.after]
    with bounded(files), open_model_file(options.before) as before, open_model_file(options.after) as after:
        diff = _compare(before, after)
        if options.json:
            print_result(diff.to_json())
        elif options.markdown:
            print_result(diff.to_markdown())
        elif options.picture is not None:
            from ramet._draw import draw_graph

            picture = draw_graph(after.graph, diff, after.weights, before=before.graph, **direction(options))
            save_picture(picture, options)
        else:
            print_report(_document(diff), options)
    return ExitCode.DIFFERENT if diff else ExitCode.DONE


def _compare(before: ModelFile, after: ModelFile) -> Diff:
    """Return the diff of two files, with a progress bar while weights are read."""
    from ramet._files import diff_files

    for file in (before, after):
        file.start()
    with ProgressBar(len(before.weights) + len(before.optimizer_weights)) as progress:
        return diff_files(before, after, lambda path: progress.step(f"comparing {path}"))


def _document(diff: Diff) -> Document:
    """Return the report on a diff, which names the option of this command that lists all changes."""
    return replace(diff.__report__(), complete="`ramet diff --json`")


# The diff that git calls.


def _add_git_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "given",
        nargs="+",
        metavar="ARGUMENT",
        help="the arguments from git: path, old-file, old-hex, old-mode, new-file, new-hex, new-mode, and for a renamed "
        "file new-path and a description",
    )


def _run_for_git(options: argparse.Namespace) -> int:
    try:
        _print_change(options)
        sys.stdout.flush()
    except OSError as error:
        if not is_broken_pipe(error):
            raise
        # The reader has gone, as after `git diff | head`. git would treat any other exit code as a crash.
        discard_output()
    return ExitCode.DONE


def _print_change(options: argparse.Namespace) -> None:
    # git writes to a pager, and sets this if the pager supports colors.
    paged = os.environ.get("GIT_PAGER_IN_USE") == "true" and not os.environ.get("NO_COLOR")
    color = not options.no_color and (paged or has_color(sys.stdout, wanted=True))
    for line in _title(options.given):
        print_result(paint(line, "title") if color else line)
    files = options.given[1:]
    if len(files) < 6:
        print_result("  unmerged")
        return
    if files[1] == files[4]:
        print_result("  the content is the same")
        return
    try:
        print_result(_change_text(files[0], files[3], color=color))
    except ModelFileError as error:
        # Any exit code but 0 would stop git before the next file.
        print_result(escape_lines(str(error)))


def _title(given: Sequence[str]) -> Iterator[str]:
    """Yield the name of the model, and the changes of its file besides its content."""
    old_name, files = escape(given[0]), given[1:]
    yield f"model {escape(given[7]) if len(given) > 7 else old_name}"
    if len(files) < 6:
        return
    old_mode, new_mode = files[2], files[5]
    if _NO_FILE in (old_mode, new_mode) or files[0] in _NOTHING or files[3] in _NOTHING:
        added = old_mode == _NO_FILE or files[0] in _NOTHING
        yield f"{'new' if added else 'deleted'} file mode {escape(new_mode if added else old_mode)}"
        return
    if len(given) > 7:
        about = given[8] if len(given) > 8 else ""
        word = "copied" if "copy from" in about else "renamed"
        yield f"{word} {old_name} -> {escape(given[7])}"
    if old_mode != new_mode:
        yield f"mode {escape(old_mode)} -> {escape(new_mode)}"


def _change_text(old: str, new: str, *, color: bool) -> str:
    from ramet._cli.bounded import bounded
    from ramet._files import list_file, open_model_file

    if old in _NOTHING or new in _NOTHING:
        added = old in _NOTHING
        path = Path(new if added else old)
        with bounded([path]), open_model_file(path) as file:
            text = str(list_file(file))
        return _signed(text.split("\n"), "+" if added else "-", color=color)
    files = [Path(old), Path(new)]
    with bounded(files), open_model_file(files[0]) as before, open_model_file(files[1]) as after:
        document = _document(_compare(before, after))
        return to_ansi(document) if color else to_text(document)


def _signed(lines: Sequence[str], sign: str, *, color: bool) -> str:
    signed = [f"{sign} {line}".rstrip() for line in lines]
    style: Style = "good" if sign == "+" else "bad"
    return "\n".join(paint(line, style) for line in signed) if color else "\n".join(signed)


COMMAND = Command(
    "diff",
    "list the differences between two model files, including weights",
    "Compare two model files: layers, settings, calls, masks, sharing, compile settings, weights. Nothing in the files\n"
    "runs, and Keras is not needed. The exit code is 0 if they are equal and 1 if they differ.",
    (
        ("ramet diff before.keras after.keras", "the changes, in sections"),
        ("ramet diff a.keras b.keras --markdown", "for a pull request"),
        ("ramet diff a.keras b.keras --draw d.html", "an interactive page with the changes on the graph"),
        ("ramet diff a.weights.h5 b.weights.h5 --json", "for programs"),
    ),
    _add_arguments,
    _run,
)
GIT_COMMAND = Command(
    "git-diff",
    "compare model files for `git diff`; git calls this command",
    "Show how a model file changed. git calls this command with its own arguments; the examples set it up.\n"
    "The exit code is always 0, because git would stop otherwise; a file that cannot be read is reported in the output.",
    (
        ("echo '*.keras diff=keras' >> .gitattributes", "mark the files that are models"),
        ("git config diff.keras.command 'ramet git-diff'", "set the command that compares them"),
    ),
    _add_git_arguments,
    _run_for_git,
)
