"""The process that reads weights files: if the HDF5 library crashes on a broken file, only this process ends.

It reads requests from its standard input, one line of JSON each, and answers on its standard output with a line of JSON,
followed by the bytes of an array if one was requested. `store.ChildStore` is the other side.

Its budget is processor time, enforced by the system (RLIMIT_CPU): HDF5 loops forever on some broken files. A limit on
the wall clock was tried before; on a busy machine it refused valid files. The parent keeps a generous one, for a process
that neither answers nor computes.
"""

from __future__ import annotations

import contextlib
import json
import math
import signal
import sys
import time
from dataclasses import asdict
from pathlib import Path
from typing import IO, Any

from ramet._files.formats import WeightsReader, open_file
from ramet._files.limits import Limits
from ramet.errors import ModelFileError, OutOfBudgetError

try:
    import resource
except ImportError:  # Windows has no such limits: the parent limits the wall clock there
    resource = None  # type: ignore[assignment]

ENFORCES_PROCESSOR_TIME = resource is not None
# Each array adds to the budget as much time as reading its bytes may take.
BYTES_PER_SECOND = 2**24


def main() -> None:
    """Serve requests for one file until the input ends."""
    requests, answers = sys.stdin.buffer, sys.stdout.buffer
    first = json.loads(requests.readline())
    limits = Limits(**first["limits"])
    _limit_memory(limits.memory)
    _limit_processor_time(time.process_time() + limits.seconds)
    try:
        file_format, container = open_file(Path(first["path"]), limits)
        file = file_format.reader(container.open(first["entry"]), limits)
    except ModelFileError as error:
        _answer(answers, _failure(error))
        return
    # Starting Python and importing libraries is not the file's fault: the budget for all answers begins here.
    seconds = time.process_time() + limits.seconds
    _limit_processor_time(seconds)
    _answer(answers, {})
    for line in requests:
        try:
            request = json.loads(line)
            wanted = request.get("read")
            if "open" in request:
                file.close()
                file = file_format.reader(container.open(request["open"]), limits)
                _answer(answers, {})
            elif wanted is None:
                _answer(answers, {"listing": asdict(file.listing())})
            else:
                seconds += _answer_array(answers, file, wanted) / BYTES_PER_SECOND
                _limit_processor_time(seconds)
        except ModelFileError as error:
            _answer(answers, _failure(error))
        except MemoryError:
            reason = f"they need more memory than the {limits.memory:,} bytes that are allowed"
            _answer(answers, _failure(OutOfBudgetError(f"Cannot read the weights: {reason}.")))


def _answer_array(answers: IO[bytes], file: WeightsReader, path: str) -> int:
    """Send an array and return its size in bytes."""
    import numpy as np

    array = file.read(path)
    data = np.ascontiguousarray(array).reshape(-1).view(np.uint8).data
    _answer(answers, {"shape": array.shape, "dtype": array.dtype.str, "size": len(data)})
    answers.write(data)
    answers.flush()
    return len(data)


def _answer(answers: IO[bytes], answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer).encode("ascii") + b"\n")
    answers.flush()


def _failure(error: ModelFileError) -> dict[str, Any]:
    parts = {"summary": error.summary, "found": error.found, "path": error.path, "fix": error.fix}
    return {"error": parts, "class": type(error).__name__}


def _limit_memory(size: int) -> None:
    """Bound memory; a crash leaves no core file behind."""
    if resource is not None:
        for kind, most in ((resource.RLIMIT_AS, size), (resource.RLIMIT_CORE, 0)):
            with contextlib.suppress(ValueError, OSError):  # a stricter limit is in force already
                resource.setrlimit(kind, (most, most))


def _limit_processor_time(seconds: float) -> None:
    """Let the system end this process once it has used so many seconds of processor time since its start."""
    if resource is not None:
        signal.signal(signal.SIGXCPU, signal.SIG_DFL)  # the parent may have ignored it, which is inherited
        hard = resource.getrlimit(resource.RLIMIT_CPU)[1]
        wanted = math.ceil(seconds)
        soft = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with contextlib.suppress(ValueError, OSError):
            resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))
