"""The command line: one file per command.

`main` takes the arguments, runs a command and returns the exit code. `command.py` has the parts of a command, `output.py` all
that it writes, `loading.py` the way from a file to a live model, `bounded.py` the limits for reading files. Nothing heavy is
imported before a command needs it: `ramet --help` starts without NumPy, `ramet show` without Keras.
"""

from ramet._cli.command import ExitCode
from ramet._cli.program import build_parser, main

__all__ = ["ExitCode", "build_parser", "main"]
