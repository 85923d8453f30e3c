"""The parts of a command: its description, its exit codes, and the arguments that several commands share."""

from __future__ import annotations

import argparse
import enum
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from ramet._arguments import BACKENDS
from ramet._report import escape

# Help texts of arguments.
ANY_FILE = "a .keras file or folder, a .weights.h5 or .weights.json file, or an .h5 file of Keras 2"
MODEL_FILE = "a .keras file, or an .h5 file of Keras 2"


class ExitCode(enum.IntEnum):
    """The exit codes of every command, each with its meaning and an example."""

    meaning: str
    example: str

    def __new__(cls, value: int, meaning: str, example: str) -> ExitCode:
        code = int.__new__(cls, value)
        code._value_ = value
        code.meaning, code.example = meaning, example
        return code

    DONE = 0, "success; for diff and verify, equal; for scan, not unsafe", "`ramet diff` on two copies of one file"
    DIFFERENT = 1, "different; a check failed; a file that is not safe to load", "`ramet scan` on a file with a lambda"
    USAGE = 2, "wrong arguments, or an operation that this model does not support", "`ramet show --wrong`"
    FILE = 3, "a file is missing, or cannot be read or written", "`ramet show missing.keras`"
    BUG = 4, "a bug in ramet", "the message explains how to report it"
    # As a shell reports a program that was ended by a signal.
    INTERRUPTED = 130, "interrupted; no incomplete file is left behind", "Ctrl-C"
    BROKEN_PIPE = 141, "the program that reads the output has ended", "`ramet show model.keras | head -1`"


@dataclass(frozen=True, slots=True)
class Command:
    """One command of the program."""

    name: str
    summary: str  # one line for the list of commands
    about: str  # the description, including the exit code
    examples: tuple[tuple[str, str], ...]  # command lines, each with its purpose
    add_arguments: Callable[[argparse.ArgumentParser], None]
    run: Callable[[argparse.Namespace], int]  # returns the exit code

    @property
    def epilogue(self) -> str:
        """The examples, as the end of the help."""
        lines = ["examples:"]
        for line, purpose in self.examples:
            lines += [f"  {line}", f"      {purpose}"]
        return "\n".join(lines)


# Types of arguments.


def file_name(text: str) -> Path:
    """Return the path of a file. Standard input and output cannot be read twice, or replaced as a whole."""
    if text == "-":
        raise argparse.ArgumentTypeError("'-' is not supported: standard input and output cannot be used; name a file")
    if not text or "\0" in text:
        raise argparse.ArgumentTypeError(f"'{escape(text)}' is not a file name")
    return Path(text)


def comma_list(text: str) -> list[str]:
    """Return names separated by commas."""
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise argparse.ArgumentTypeError(f"'{escape(text)}' contains an empty name")
    return names


# Options of commands that load a model.


def add_backend(parser: argparse._ActionsContainer) -> None:
    """Add `--backend`."""
    parser.add_argument(
        "--backend",
        choices=BACKENDS,
        help="the backend of Keras; default: as set by KERAS_BACKEND or keras.json, or one that is installed",
    )


def add_loading(parser: argparse.ArgumentParser) -> None:
    """Add the options of commands that load a model."""
    group = parser.add_argument_group("loading")
    add_backend(group)
    group.add_argument(
        "--import",
        dest="modules",
        metavar="MODULE",
        action="append",
        default=[],
        help="import this module before loading: it defines classes or functions that the model uses, and is trusted. "
        "Can be repeated",
    )
    group.add_argument(
        "--no-compile", action="store_true", help="load layers and weights only, without optimizer, loss and metrics"
    )
    group.add_argument(
        "--trust", action="store_true", help="load the file even if the scan finds code in it, which may then run"
    )


def loading_arguments(options: argparse.Namespace) -> list[str]:
    """Return the options of `add_loading`, except the backend, as arguments for another process."""
    flags = {"--no-compile": options.no_compile, "--trust": options.trust}
    return [*(f"--import={name}" for name in options.modules), *(flag for flag, is_set in flags.items() if is_set)]
