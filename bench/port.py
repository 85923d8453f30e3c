"""Measure `ramet port` on a file of 100 MB: seconds, and peak memory relative to the file.

    python -m bench.port

The file is written by Keras here, as HDF5 of Keras 2, and ported in a process of its own, as a user would do it.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

_MEGABYTE = 1_000_000
_MAKE = """
import keras, ramet, sys
layers = keras.layers
model = keras.Sequential([keras.Input((4096,)), *(layers.Dense(2048) for _ in range(5)), layers.Dense(10)])
model.save(sys.argv[1] + "/new.keras")
ramet.port(sys.argv[1] + "/new.keras", sys.argv[1] + "/old.h5", to="tf_keras")
"""
_PORT = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-m", "ramet", "port", *sys.argv[1:]], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def main() -> None:
    """Print a table of three ports."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", _MAKE, folder], check=True, capture_output=True)
        rows = [
            _measure(folder, "old.h5", "ported.keras"),
            _measure(folder, "new.keras", "older.keras", "--to", "3.8"),
            _measure(folder, "new.keras", "older.h5", "--to", "tf_keras"),
        ]
    sys.stdout.write("| port | file | seconds | peak memory / file |\n| --- | --- | --- | --- |\n")
    for name, size, seconds, memory in rows:
        sys.stdout.write(f"| {name} | {size / _MEGABYTE:.0f} MB | {seconds:.1f} | {memory / size:.2f} |\n")


def _measure(folder: str, source: str, target: str, *options: str) -> tuple[str, int, float, int]:
    start = time.perf_counter()
    arguments = [str(Path(folder, source)), str(Path(folder, target)), *options]
    done = subprocess.run([sys.executable, "-c", _PORT, *arguments], check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    return f"{source} to {target}", Path(folder, source).stat().st_size, seconds, int(done.stdout) * 1024


if __name__ == "__main__":
    main()
