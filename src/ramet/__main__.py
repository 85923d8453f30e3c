"""`python -m ramet`, and the command `ramet`."""

from __future__ import annotations

import sys

from ramet._cli.program import main

__all__ = ["main"]

if __name__ == "__main__":
    sys.exit(main())
