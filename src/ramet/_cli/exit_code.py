"""What the exit code says, and which error gives which."""

from __future__ import annotations

import enum

from ramet.errors import FormatError, ModelFileError, RametError, RecipeError, UnsafeFileError

__all__ = ["ExitCode", "code_of"]


class ExitCode(enum.IntEnum):
    """The exit codes of every command."""

    DONE = 0  # done; for diff and verify, equal; for scan, safe
    DIFFERENT = 1  # different, a check failed, or a file that is not safe to load
    USAGE = 2  # what was asked for is wrong, or cannot be done to this model
    FILE = 3  # a file is missing, or cannot be read or written
    BUG = 4  # a mistake of ramet's own
    # As a shell says it of a program that a signal ended.
    INTERRUPTED = 130
    BROKEN_PIPE = 141


def code_of(error: RametError) -> ExitCode:
    """The exit code for an error that says what the user can do."""
    if isinstance(error, UnsafeFileError):
        return ExitCode.DIFFERENT
    return ExitCode.FILE if isinstance(error, ModelFileError | RecipeError | FormatError) else ExitCode.USAGE
