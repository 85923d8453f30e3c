"""The command line: one file a command. Nothing heavy is imported before a command needs it."""

from ramet._cli.program import main

__all__ = [
    "main",
]
