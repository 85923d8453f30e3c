"""Output of commands: results on standard output, messages and progress on standard error, files written whole or not at all."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from ramet._report import Document, escape, escape_lines, has_color, replaced_file, to_ansi, to_text
from ramet.errors import ArgumentError, ModelFileError


def print_result(text: str) -> None:
    """Write a result to standard output."""
    sys.stdout.write(text if text.endswith("\n") else f"{text}\n")


def print_report(document: Document, options: argparse.Namespace, *, width: int | None = None) -> None:
    """Write a report to standard output: in color on a terminal, unless `--no-color` or NO_COLOR forbids it."""
    write = to_ansi if has_color(sys.stdout, wanted=not options.no_color) else to_text
    print_result(write(document, width=width))


def print_message(text: str) -> None:
    """Write a message to standard error."""
    sys.stderr.write(f"{escape_lines(text)}\n")


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
            fix=f"create it: mkdir -p '{folder}'.",
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
