"""Output of commands: results on standard output, messages on standard error, pictures, and files that are written whole."""

from __future__ import annotations

import argparse
import contextlib
import errno
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ramet._cli.command import file_name
from ramet._report import (
    SUBSTITUTES,
    Document,
    escape,
    escape_lines,
    has_color,
    is_terminal,
    replaced_file,
    to_ansi,
    to_text,
)
from ramet.errors import ArgumentError, ModelFileError

if TYPE_CHECKING:
    from ramet._draw import Picture


def prepare_output() -> None:
    """Make standard output and standard error accept every character, and write the same bytes on every system."""
    for stream in (sys.stdout, sys.stderr):
        # Windows ends lines with two characters. Its consoles need them; files and other programs do not.
        newline = None if stream.isatty() else "\n"
        stream.reconfigure(errors=SUBSTITUTES, newline=newline)  # type: ignore[union-attr]  # standard streams are text files


def print_result(text: str) -> None:
    """Write a result to standard output."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def print_report(document: Document, options: argparse.Namespace, *, width: int | None = None) -> None:
    """Write a report to standard output: in color on a terminal, unless `--no-color` or NO_COLOR forbids it."""
    write = to_ansi if has_color(sys.stdout, wanted=not options.no_color) else to_text
    print_result(write(document, width=width))


def terminal_width() -> int | None:
    """Return the number of columns of the terminal on standard output; None if that is a file or a pipe."""
    return shutil.get_terminal_size().columns if is_terminal(sys.stdout) else None


def print_message(text: str) -> None:
    """Write a message to standard error."""
    sys.stderr.write(f"{escape_lines(text)}\n")


def is_broken_pipe(error: OSError) -> bool:
    """Return whether nobody reads the output any more. Windows calls that an invalid argument, without a file name."""
    is_invalid = error.errno == errno.EINVAL and error.filename is None
    return isinstance(error, BrokenPipeError) or (sys.platform == "win32" and is_invalid)


def discard_output() -> None:
    """Discard what is left in standard output: Python would try to write it again at exit, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def check_target(path: Path, *endings: str) -> None:
    """Raise an error, before any work is done, if a file with one of these extensions could not be written in the end."""
    if path.suffix.lower() not in endings:
        raise ArgumentError(
            f"Cannot write '{path}': the file extension is not supported.",
            expected=f"a name that ends in {' or '.join(filter(None, [', '.join(endings[:-1]), endings[-1]]))}",
            fix=f"write to '{path.with_suffix(endings[0]).name}'." if path.stem else "choose a file name.",
        )
    folder = Path(os.path.realpath(path)).parent
    if not folder.is_dir():
        raise ModelFileError(
            f"Cannot write '{path}': the folder '{folder}' does not exist.",
            fix="create the folder first.",
            path=str(path),
        )
    if not os.access(folder, os.W_OK):
        raise ModelFileError(f"Cannot write '{path}': the folder '{folder}' is not writable.", path=str(path))
    if path.exists() and not path.is_file():
        raise ModelFileError(
            f"Cannot write '{path}': it exists and is not a file.", fix="choose another name.", path=str(path)
        )


@contextlib.contextmanager
def written_beside(path: Path) -> Iterator[Path]:
    """Yield a file to write, which replaces `path` at the end of the block if nothing was raised.

    Raises:
        ModelFileError: The file cannot be written.
    """
    try:
        with replaced_file(path) as beside:
            yield beside
    except OSError as error:
        reason = escape(error.strerror or str(error))
        raise ModelFileError(f"Cannot write '{path}': {reason}.", path=str(path)) from error


# Pictures.


def add_drawing(parser: argparse.ArgumentParser, group: argparse._ActionsContainer, purpose: str) -> None:
    """Add the options of commands that write a picture.

    Args:
        parser: The parser of the command.
        group: The parser, or the group of mutually exclusive options, that gets `--draw`.
        purpose: The help of `--draw`.
    """
    group.add_argument(
        "--draw",
        "--html",
        dest="picture",
        type=file_name,
        metavar="OUT",
        help=f"{purpose}: an interactive page (.html), or a drawing (.svg, .png, .pdf)",
    )
    drawing = parser.add_argument_group("drawing")
    drawing.add_argument("--rankdir", choices=("TB", "LR"), help="draw from top to bottom, or from left to right")
    drawing.add_argument("--columns", type=int, metavar="N", help="fold a long picture into this many columns")
    drawing.add_argument("--scale", type=float, metavar="S", help="pixels per unit of a .png file; default: 2")


def check_drawing(options: argparse.Namespace) -> None:
    """Raise an error, before any work is done, if the picture could not be written in the end."""
    if options.picture is None:
        for name in ("rankdir", "columns", "scale"):
            if getattr(options, name) is not None:
                raise ArgumentError(
                    f"Cannot use --{name}: no picture is drawn.", fix=f"add --draw model.svg, or leave out --{name}."
                )
        return
    check_target(options.picture, ".html", ".svg", ".png", ".pdf")
    from ramet._draw import check_direction
    from ramet._draw import check_target as check_picture

    check_picture(options.picture, options.scale)
    check_direction(**direction(options))


def direction(options: argparse.Namespace) -> dict[str, Any]:
    """Return `rankdir` and `columns` as arguments of `draw_graph`."""
    return {"rankdir": options.rankdir or "TB", "columns": 1 if options.columns is None else options.columns}


def save_picture(picture: Picture, options: argparse.Namespace) -> None:
    """Write the picture, and print its name."""
    picture.save(options.picture, scale=options.scale)
    print_message(f"wrote {escape(str(options.picture))}")
