"""`python -m ramet`, and the command `ramet`."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; answers with the exit code."""
    parser = argparse.ArgumentParser(prog="ramet", description="Exact, independent twins of Keras models.")
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("demo", help="clone two models, with ramet and with Keras, and compare them bit by bit")
    parser.parse_args(arguments)
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    from ramet._demo.show import run

    return run()


if __name__ == "__main__":
    sys.exit(main())
