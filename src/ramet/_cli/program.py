"""The program: parse the command line, run the command, and turn errors into messages and exit codes."""

from __future__ import annotations

import argparse
import contextlib
import difflib
import platform
import sys
import sysconfig
import traceback
from collections.abc import Sequence
from importlib import metadata
from typing import Any, NoReturn

import ramet
from ramet._arguments import BACKENDS
from ramet._cli import clone, demo, diff, edit, port, scan, show, verify
from ramet._cli.command import Command, ExitCode
from ramet._cli.completion import SHELLS, completion
from ramet._cli.loading import configured_backend
from ramet._cli.output import discard_output, is_broken_pipe, prepare_output, print_message, print_result
from ramet._copy import why_python_walk
from ramet._report import escape
from ramet.errors import FormatError, ModelFileError, PortError, RametError, RecipeError, UnsafeFileError

COMMANDS: tuple[Command, ...] = (
    show.COMMAND,
    scan.COMMAND,
    port.COMMAND,
    diff.COMMAND,
    clone.COMMAND,
    edit.COMMAND,
    verify.COMMAND,
    demo.COMMAND,
    diff.GIT_COMMAND,
)

_ABOUT = """\
Clone, edit, compare and verify Keras models: exact, independent twins.

show, scan, diff and port read a file as data: nothing in it runs, and Keras is not needed. clone, edit and verify scan the
file, then load it."""
_CODES = "\n".join(f"  {code:d}  {code.meaning}" for code in ExitCode if code <= ExitCode.BUG)
_END = f"""\
exit codes:
{_CODES}

examples:
  ramet show model.keras
  ramet diff before.keras after.keras
  ramet edit model.keras slim.keras --recipe slim.toml
  ramet COMMAND --help            the description of a command, with examples"""


class _Parser(argparse.ArgumentParser):
    """A parser whose errors look like all others."""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Refuse unknown options here, because Python would leave them to the parser of all commands."""
        found, unknown = super().parse_known_args(args, namespace)
        if unknown:
            message = f"unrecognized arguments: {escape(' '.join(unknown))}"
            close = difflib.get_close_matches(unknown[0].partition("=")[0], self._option_string_actions, n=1)
            self.error("\n".join([message, *(f"  closest:  '{option}'" for option in close)]))
        return found, unknown

    def error(self, message: str) -> NoReturn:
        """Print the error and exit."""
        print_message(f"{self.prog}: {message}\n  fix: see `{self.prog} --help`.")
        raise SystemExit(int(ExitCode.USAGE))


def build_parser() -> argparse.ArgumentParser:
    """Return the parser with all commands."""
    parser = _Parser(
        prog="ramet",
        description=_ABOUT,
        epilog=_END,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument(
        "--version", action="store_true", help="print the versions of everything involved, for bug reports"
    )
    parser.add_argument("--completion", choices=SHELLS, help="print the completion script for this shell")
    parser.set_defaults(run=None, debug=False, no_color=False)
    commands = parser.add_subparsers(metavar="COMMAND", title="commands", parser_class=_Parser)
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
        added.add_argument("--no-color", action="store_true", help="no colors, even on a terminal; same as NO_COLOR=1")
        added.add_argument("--debug", action="store_true", help="print the traceback of any error")
        added.set_defaults(run=command.run)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return the exit code.

    Args:
        arguments: The arguments without the name of the program; None for those of this process.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    prepare_output()
    try:
        code = _run(given)
        sys.stdout.flush()
    except OSError as error:
        discard_output()
        if is_broken_pipe(error):  # the reader has gone, as after `| head`
            return ExitCode.BROKEN_PIPE
        print_message(f"Cannot write the result: {error.strerror}.")
        return ExitCode.FILE
    return code


def _run(given: list[str]) -> int:
    parser = build_parser()
    try:
        _check_command(parser, given)
        options = parser.parse_args(given)
    except SystemExit as end:
        return int(end.code or 0)
    if options.completion:
        print_result(completion(parser, options.completion))
        return ExitCode.DONE
    if options.version:
        print_result(_versions())
        return ExitCode.DONE
    if options.run is None:
        parser.print_help(sys.stderr)
        return ExitCode.USAGE
    try:
        return int(options.run(options))
    except KeyboardInterrupt:
        print_message("interrupted; no incomplete file was left")
        return ExitCode.INTERRUPTED
    except Exception as error:  # a user gets a sentence, not a traceback
        if isinstance(error, OSError) and is_broken_pipe(error):
            raise
        if options.debug:
            print_message(traceback.format_exc().rstrip())
        return _report_error(error)


def _report_error(error: Exception) -> ExitCode:
    """Print an error as a sentence, and return the exit code."""
    if isinstance(error, RametError):
        from ramet._select import LIST_OPS

        print_message(str(error).replace(LIST_OPS, "`ramet show`"))
        if isinstance(error, UnsafeFileError | PortError):
            return ExitCode.DIFFERENT
        return ExitCode.FILE if isinstance(error, ModelFileError | RecipeError | FormatError) else ExitCode.USAGE
    if isinstance(error, MemoryError):
        print_message("Cannot continue: there is not enough memory.")
        return ExitCode.FILE
    if isinstance(error, OSError):
        file = f" '{escape(str(error.filename))}'" if error.filename else ""
        print_message(f"Cannot continue: {error.strerror or error}{file}.")
        return ExitCode.FILE
    print_message(f"This is a bug in ramet: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
    print_message(
        "  fix: report it with the output of `ramet --version` and of the same command with --debug, and the file if possible."
    )
    return ExitCode.BUG


def _check_command(parser: argparse.ArgumentParser, arguments: Sequence[str]) -> None:
    """Name the closest command for an unknown one: Python's own message lists all of them."""
    word = next(iter(arguments), "")
    names = [command.name for command in COMMANDS]
    if not word or word.startswith("-") or word in names:
        return
    print_message(f"ramet: Cannot run '{escape(word)}': there is no such command.")
    is_option = f"--{word}" in parser._option_string_actions
    close = [f"--{word}"] if is_option else difflib.get_close_matches(word, names, n=1)
    if close:
        print_message(f"  closest:  '{close[0]}'")
    print_message("  fix: see `ramet --help` for all commands.")
    raise SystemExit(int(ExitCode.USAGE))


def _versions() -> str:
    """Return what a bug report needs to know about this installation, without importing Keras or a backend."""
    reason = why_python_walk()
    backend, origin = configured_backend()
    if backend in BACKENDS and _version_of(backend) == "not installed":
        origin += "; not installed"
    lines = {
        "walk": "compiled" if reason is None else f"Python ({reason})",
        "Keras": _version_of("keras"),
        "backend": f"{escape(backend)} ({origin})",
        **{name: _version_of(name) for name in BACKENDS},
        "Python": f"{platform.python_version()} ({_python_build()})",
        "platform": platform.platform(),
    }
    return "\n".join([f"ramet {ramet.__version__}", *(f"  {name:<12}{value}" for name, value in lines.items())])


def _version_of(package: str) -> str:
    """Return the version of an installed package."""
    for name in (package, f"{package}-cpu"):  # TensorFlow for the CPU has its own package name
        with contextlib.suppress(metadata.PackageNotFoundError):
            return metadata.version(name)
    return "not installed"


def _python_build() -> str:
    """Return the implementation of the running Python, and whether it has a GIL."""
    name = platform.python_implementation()
    if not sysconfig.get_config_var("Py_GIL_DISABLED"):
        return name
    enabled = sys._is_gil_enabled()  # type: ignore[attr-defined, unused-ignore]  # since Python 3.13
    return f"{name}, free-threaded, GIL {'enabled' if enabled else 'disabled'}"
