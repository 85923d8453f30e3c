"""The grammar of the command line, and the help that teaches it."""

from __future__ import annotations

import argparse
import difflib
import sys
from collections.abc import Sequence
from typing import NoReturn

from ramet._cli import clone, demo, diff, edit, git_diff, scan, show, verify
from ramet._cli.command import Command
from ramet._cli.completion import SHELLS
from ramet._cli.exit_code import ExitCode
from ramet._cli.terminal import one_line, printable

__all__ = ["COMMANDS", "Parser", "build_parser"]

COMMANDS: tuple[Command, ...] = tuple(
    module.COMMAND for module in (show, scan, diff, clone, edit, verify, demo, git_diff)
)

_ABOUT = """\
Exact, independent twins of Keras models: cloned, edited, compared and verified.

show, scan and diff read a file as data: nothing in it is run, and Keras is not needed. clone, edit and verify load
it, after a scan."""
_END = """\
exit codes:
  0  done; for diff and verify, equal; for scan, not unsafe
  1  different; a check failed; a file that is not safe to load
  2  wrong usage, or what cannot be done to this model
  3  a file is missing, or cannot be read or written
  4  a bug of ramet's own

examples:
  ramet show model.keras
  ramet diff before.keras after.keras
  ramet edit model.keras slim.keras --recipe slim.toml
  ramet COMMAND --help            what a command does, with examples"""


class Parser(argparse.ArgumentParser):
    """A parser whose mistakes read like all others: what, closest, what to do."""

    def error(self, message: str) -> NoReturn:
        """Say what is wrong with the arguments, and end."""
        sys.stderr.write(f"{printable(f'{self.prog}: {message}')}\n")
        sys.stderr.write(f"  fix: see `{self.prog} --help`.\n")
        raise SystemExit(int(ExitCode.USAGE))


def build_parser() -> Parser:
    """The whole program's parser."""
    # Written beside the help of Python: abbreviated options would change their meaning when others are added.
    parser = Parser(
        prog="ramet",
        description=_ABOUT,
        epilog=_END,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="store_true", help="the versions of ramet, Keras and the backends")
    parser.add_argument("--completion", choices=SHELLS, help="print the script that completes words in this shell")
    parser.set_defaults(run=None, debug=False, no_color=False)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", parser_class=Parser)
    for command in COMMANDS:
        added = commands.add_parser(
            command.name,
            help=command.summary,
            description=command.about,
            epilog=command.epilogue,
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.add_arguments(added)
        added.add_argument("--no-color", action="store_true", help="no colours, also on a terminal; as NO_COLOR=1")
        added.add_argument("--debug", action="store_true", help="show the traceback of whatever goes wrong")
        added.set_defaults(run=command.run)
    return parser


def check_command(arguments: Sequence[str]) -> None:
    """Say which command is meant by one that is not there: Python's own message lists all, and guesses none."""
    word = next(iter(arguments), "")
    names = [command.name for command in COMMANDS]
    if not word or word.startswith("-") or word in names:
        return
    close = difflib.get_close_matches(word, names, n=1)
    sys.stderr.write(one_line(f"ramet: Cannot run '{word}': there is no such command.") + "\n")
    if close:
        sys.stderr.write(f"  closest:  '{close[0]}'\n")
    sys.stderr.write("  fix: see `ramet --help` for all commands.\n")
    raise SystemExit(int(ExitCode.USAGE))
