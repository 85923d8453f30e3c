"""One process of a campaign: reads inputs by number. A crash ends only this process.

It answers requests from its standard input, one line of JSON each, with a line of JSON. The system ends it if an input
exceeds its time limit, also inside a C library.
"""

import importlib
import json
import os
import resource
import signal
import sys
import tempfile
import traceback
from pathlib import Path

from tests.fuzz.case import make
from tests.fuzz.look import look

_MEMORY = 8 * 2**30


def main():
    """Serve requests until the input ends."""
    seed, prepare = sys.argv[1:3]
    # Output of libraries must not get between the answers.
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)
    resource.setrlimit(resource.RLIMIT_AS, (_MEMORY, _MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if prepare:
        module, _, function = prepare.partition(":")
        getattr(importlib.import_module(module), function)()
    with tempfile.TemporaryDirectory(prefix="ramet-fuzz-") as folder:
        for line in sys.stdin:
            answers.write(json.dumps(_looked_at(seed, json.loads(line), Path(folder))) + "\n")
            answers.flush()


def _looked_at(seed, request, folder):
    """Return the answers for an input, or the traceback of an unexpected error."""
    case = make(seed, request["number"])
    path = case.write(folder)
    signal.setitimer(signal.ITIMER_REAL, request["seconds"])
    try:
        read, scanned, ported = look(path, isolated=request["isolated"])
        return {"kind": case.kind, "read": read, "scanned": scanned, "ported": ported}
    except Exception:  # noqa: BLE001  # the campaign looks for any error that is not one of ramet
        return {"kind": case.kind, "wrong": traceback.format_exc()}
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        for name in case.files:
            (folder / name).unlink()


if __name__ == "__main__":
    main()
