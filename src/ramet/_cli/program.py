"""The program: a command is found and run, and whatever happens becomes a message and an exit code."""

from __future__ import annotations

import argparse
import os
import sys
import traceback
from collections.abc import Sequence

from ramet._cli.exit_code import ExitCode, code_of
from ramet._cli.parser import build_parser, check_command
from ramet._cli.terminal import one_line, say, tell
from ramet.errors import RametError

__all__ = ["main"]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; answers with the exit code.

    Args:
        arguments: As typed, without the program's name; None for those of this process.
    """
    given = sys.argv[1:] if arguments is None else list(arguments)
    for stream in (sys.stdout, sys.stderr):
        # A terminal that cannot show a sign gets its code: no output fails for the sake of a letter.
        stream.reconfigure(errors="backslashreplace")  # type: ignore[union-attr]  # standard streams are text files
    try:
        code = _carry_out(given)
        sys.stdout.flush()
    except BrokenPipeError:
        # Nobody reads any more, as after `| head`.
        _write_no_more()
        return ExitCode.BROKEN_PIPE
    except OSError as error:
        _write_no_more()
        tell(f"Cannot write the result: {error.strerror}.")
        return ExitCode.FILE
    return code


def _write_no_more() -> None:
    """Drop what standard output still holds: Python would try once more when it ends, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _carry_out(given: list[str]) -> int:
    parser = build_parser()
    try:
        check_command(given)
        options = parser.parse_args(given)
    except SystemExit as end:
        return int(end.code or 0)
    if options.version or options.completion or options.run is None:
        return _about(options, parser)
    try:
        return int(options.run(options))
    except BrokenPipeError:
        raise
    except KeyboardInterrupt:
        tell("interrupted; nothing half done was left")
        return ExitCode.INTERRUPTED
    except RametError as error:
        _trace(options)
        tell(str(error))
        return code_of(error)
    except MemoryError:
        _trace(options)
        tell("Cannot go on: there is not enough memory.")
        return ExitCode.FILE
    except OSError as error:
        _trace(options)
        where = f" '{one_line(str(error.filename))}'" if error.filename else ""
        tell(f"Cannot go on: {error.strerror or error}{where}.")
        return ExitCode.FILE
    except Exception as error:  # noqa: BLE001  # the last door: a user gets a sentence, not a traceback
        _trace(options)
        tell(f"This is a bug in ramet: {type(error).__name__}: {' '.join(str(error).split())[:300]}")
        tell("  fix: report it with what the same command prints with --debug, and the file if you can.")
        return ExitCode.BUG


def _about(options: argparse.Namespace, parser: argparse.ArgumentParser) -> int:
    if options.completion:
        from ramet._cli.completion import completion

        say(completion(parser, options.completion))
        return ExitCode.DONE
    if options.version:
        from ramet._cli.version import versions

        say(versions())
        return ExitCode.DONE
    parser.print_help(sys.stderr)
    return ExitCode.USAGE


def _trace(options: argparse.Namespace) -> None:
    if options.debug:
        tell(traceback.format_exc().rstrip())
