"""Peak memory of one copy relative to the size of the weights, in a separate process: `python -m bench.memory WAY`."""

from __future__ import annotations

import ctypes
import gc
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

STATUS = Path("/proc/self/status")
CLEAR = Path("/proc/self/clear_refs")


def measure_memory(way: str) -> float | None:
    """Return the extra peak of a fresh process that copies 1 GB this way, relative to 1 GB; None if it cannot be measured."""
    if not STATUS.exists():
        return None
    done = subprocess.run(
        [sys.executable, "-m", "bench.memory", way], capture_output=True, text=True, check=False, env=os.environ.copy()
    )
    if done.returncode:
        raise RuntimeError(done.stderr)
    return float(json.loads(done.stdout.splitlines()[-1]))


def extra_peak(way: str) -> float:
    """Return the extra peak of this process while it copies 1 GB this way, relative to 1 GB."""
    from bench.alternative import ALTERNATIVES, wait_for
    from bench.case import chain, gigabyte

    ALTERNATIVES[way](chain(2))  # imports and compiles, which does not count
    model = gigabyte()
    wait_for(model)  # JAX may still be computing the weights, which does not count, either
    size = 4 * model.count_params()  # float32
    _give_back_memory()
    CLEAR.write_text("5", encoding="utf-8")  # Linux: resets the peak to the current size
    before = _kilobytes("VmRSS")
    copied: Any = ALTERNATIVES[way](model)
    wait_for(copied)
    return (_kilobytes("VmHWM") - before) * 1024 / size


def _give_back_memory() -> None:
    """Free memory left over from building the model, which would hide what copying takes."""
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)


def _kilobytes(field: str) -> int:
    line = next(line for line in STATUS.read_text(encoding="utf-8").splitlines() if line.startswith(field))
    return int(line.split()[1])


if __name__ == "__main__":
    sys.stdout.write(f"{json.dumps(extra_peak(sys.argv[1]))}\n")
