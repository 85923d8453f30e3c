"""One file on one backend, loaded as the command line was told, in a process of its own; see `ramet._verify.worker`."""

from __future__ import annotations

import argparse
import sys

from ramet._cli.loading import import_modules, live, load
from ramet._cli.option import add_loading

__all__ = ["main"]


def main() -> None:
    """Load the file, run every case, write the outputs."""
    parser = argparse.ArgumentParser()
    for name in ("path", "inputs", "outputs"):
        parser.add_argument(name)
    parser.add_argument("seed", type=int)
    add_loading(parser)
    options = parser.parse_args()
    with live(options):
        from ramet._verify import NotRun
        from ramet._verify import main as run

        custom = import_modules(options.modules)
        try:
            run(
                options.path,
                options.inputs,
                options.outputs,
                options.seed,
                load=lambda path: load(path, options, custom),
            )
        except NotRun as reason:
            sys.exit(str(reason))


if __name__ == "__main__":
    main()
