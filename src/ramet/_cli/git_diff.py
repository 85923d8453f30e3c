"""`ramet git-diff`: what git calls to show how a model file changed."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from ramet._cli.command import Command
from ramet._cli.diff import compare, diff_text
from ramet._cli.exit_code import ExitCode
from ramet._cli.show import show_text
from ramet._cli.terminal import has_colour, one_line, paint, printable, say
from ramet.errors import ModelFileError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["COMMAND"]

_NO_FILE = "."  # git's mode of a file that is not there


def _add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "given",
        nargs="+",
        metavar="ARGUMENT",
        help="as git gives them: path, old-file, old-hex, old-mode, new-file, new-hex, new-mode, and for a renamed file "
        "new-path, about",
    )


def _run(options: argparse.Namespace) -> int:
    try:
        _show(options)
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has seen enough, as after `git diff | head`. git would call any other exit code a crash.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return ExitCode.DONE


def _show(options: argparse.Namespace) -> None:
    # git draws through a pager, and says by this whether that takes colours.
    paged = os.environ.get("GIT_PAGER_IN_USE") == "true" and not os.environ.get("NO_COLOR")
    colour = not options.no_color and (paged or has_colour(sys.stdout, wanted=True))
    for line in _title(options.given):
        say(paint(line, "bold") if colour else line)
    files = options.given[1:]
    if len(files) < 6:
        say("  unmerged")
        return
    if files[1] == files[4]:
        say("  the content is the same")
        return
    try:
        say(_told(files[0], files[3], colour=colour))
    except ModelFileError as error:
        # Any other exit code than 0 would stop git, with the files behind this one unseen.
        say(printable(str(error)))


def _title(given: Sequence[str]) -> Iterator[str]:
    """The name of the model, and what happened to its file besides its content."""
    old_name, files = one_line(given[0]), given[1:]
    yield f"model {one_line(given[7]) if len(given) > 7 else old_name}"
    if len(files) < 6:
        return
    old_mode, new_mode = files[2], files[5]
    if _NO_FILE in (old_mode, new_mode) or os.devnull in (files[0], files[3]):
        added = old_mode == _NO_FILE or files[0] == os.devnull
        yield f"{'new' if added else 'deleted'} file mode {one_line(new_mode if added else old_mode)}"
        return
    if len(given) > 7:
        about = given[8] if len(given) > 8 else ""
        word = "copied" if "copy from" in about else "renamed"
        yield f"{word} {old_name} -> {one_line(given[7])}"
    if old_mode != new_mode:
        yield f"mode {one_line(old_mode)} -> {one_line(new_mode)}"


def _told(old: str, new: str, *, colour: bool) -> str:
    from ramet._cli.bounded import bounded
    from ramet._files import read_archive

    if os.devnull in (old, new):
        added = old == os.devnull
        path = Path(new if added else old)
        with bounded([path]), read_archive(path) as file:
            text = show_text(file, weights=False, colour=False)
        return _signed(text.split("\n"), "+" if added else "-", colour=colour)
    files = [Path(old), Path(new)]
    with bounded(files), read_archive(files[0]) as before, read_archive(files[1]) as after:
        return diff_text(compare(before, after), colour=colour)


def _signed(lines: Sequence[str], sign: str, *, colour: bool) -> str:
    signed = [f"{sign} {line}".rstrip() for line in lines]
    style = "green" if sign == "+" else "red"
    return "\n".join(paint(line, style) for line in signed) if colour else "\n".join(signed)


COMMAND = Command(
    "git-diff",
    "the diff of model files for git, which calls it",
    "Show how a model file changed, called by git with its own arguments. docs/cli.md tells the set-up, of two lines.\n"
    "The exit code is 0 also for a file that cannot be read, which is then said: git would stop at another.",
    (
        ("echo '*.keras diff=keras' >> .gitattributes", "say which files are models"),
        ("git config diff.keras.command 'ramet git-diff'", "and what shows how they changed"),
    ),
    _add_arguments,
    _run,
)
