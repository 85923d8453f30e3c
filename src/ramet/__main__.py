"""`python -m ramet`, and the command `ramet`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

_HERE = os.path.realpath(Path.cwd())
if __name__ == "__main__" and not sys.flags.safe_path and os.path.realpath(Path(__file__).parents[1]) != _HERE:
    # `python -m` looks for modules in the current folder first, which may have been downloaded together with a model.
    sys.path[:] = [folder for folder in sys.path if os.path.realpath(folder) != _HERE]

from ramet._cli import main  # noqa: E402  # only now is the path safe to import from

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
