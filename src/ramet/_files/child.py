"""The process that reads HDF5: a C library that may crash on a broken file, and takes only itself down here.

It answers requests from its standard input, one line of JSON each, on its standard output: a line of JSON, followed by
the bytes of an array when one was asked for.
"""

from __future__ import annotations

import contextlib
import json
import sys
from pathlib import Path
from typing import IO, Any

from ramet._files.h5 import H5File
from ramet._files.limits import Limits
from ramet._files.listing import to_record
from ramet._files.problem import ModelFileError, OutOfBudgetError
from ramet._files.source import open_source

__all__ = ["main"]


def main() -> None:
    """Serve requests for one file until the input ends."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    first = json.loads(requests.readline())
    limits = Limits(**first["limits"])
    path = Path(first["path"])
    _restrict(limits)
    try:
        _, container = open_source(path, limits)
        file = H5File(container.open(first["entry"]), limits)
    except ModelFileError as error:
        _answer(answers, _failure(error))
        return
    _answer(answers, {})
    for line in requests:
        try:
            request = json.loads(line)
            wanted = request.get("read")
            if "open" in request:
                file.close()
                file = H5File(container.open(request["open"]), limits)
                _answer(answers, {})
            elif wanted is None:
                _answer(answers, {"listing": to_record(file.listing())})
            else:
                _answer_array(answers, file, wanted)
        except ModelFileError as error:
            _answer(answers, _failure(error))
        except MemoryError:
            most = f"they need more memory than the {limits.memory:,} bytes that are allowed"
            _answer(answers, _failure(OutOfBudgetError(f"Cannot read the weights: {most}.")))


def _answer_array(answers: IO[bytes], file: H5File, path: str) -> None:
    import numpy as np

    spec, array = file.read(path)
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    _answer(answers, {"shape": spec.shape, "dtype": spec.dtype, "kind": array.dtype.str, "size": len(data)})
    answers.write(data)
    answers.flush()


def _answer(answers: IO[bytes], record: dict[str, Any]) -> None:
    answers.write(json.dumps(record).encode("ascii") + b"\n")
    answers.flush()


def _failure(error: ModelFileError) -> dict[str, Any]:
    parts = {"summary": error.summary, "found": error.found, "path": error.path}
    return {"error": parts, "class": type(error).__name__}


def _restrict(limits: Limits) -> None:
    """Bound memory and time; a crash leaves no core file behind."""
    try:
        import resource
    except ImportError:  # Windows has no such limits
        return
    wanted = {
        resource.RLIMIT_AS: limits.memory,
        # The time for each answer is bounded by who asks; this ends what goes on without anybody to ask.
        resource.RLIMIT_CPU: 3 * limits.seconds,
        resource.RLIMIT_CORE: 0,
    }
    for kind, most in wanted.items():
        with contextlib.suppress(ValueError, OSError):  # a stricter limit is in force already
            resource.setrlimit(kind, (most, most))


if __name__ == "__main__":
    main()
