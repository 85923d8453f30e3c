"""Measure `ramet port` on a file of 100 MB: time, and peak memory relative to the file.

    python -m bench.port

The file is written here, as HDF5 of Keras 2, and ported in a process of its own, as a user would do it. Next to it, in the
same run, is what users otherwise do if Keras 3 happens to load the file: load it, and save it again.
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
_LOAD_AND_SAVE = "import keras, sys; keras.models.load_model(sys.argv[1]).save(sys.argv[2])"
_RUN = """
import resource, subprocess, sys
subprocess.run([sys.executable, *sys.argv[1:]], check=True, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)
"""


def main() -> None:
    """Print a table of three ports, and of loading and saving the same file with Keras."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-c", _MAKE, folder], check=True, capture_output=True)
        old, new = (str(Path(folder, name)) for name in ("old.h5", "new.keras"))
        port = ("-m", "ramet", "port")
        runs = {
            "`.h5` of Keras 2 to Keras 3": (old, *port, old, str(Path(folder, "ported.keras"))),
            "Keras 3 to Keras 3.8": (new, *port, new, str(Path(folder, "older.keras")), "--to", "3.8"),
            "Keras 3 to `.h5` of tf_keras": (new, *port, new, str(Path(folder, "older.h5")), "--to", "tf_keras"),
            "by hand: `load_model` and `save`": (old, "-c", _LOAD_AND_SAVE, old, str(Path(folder, "by_hand.keras"))),
        }
        rows = {name: _measure(*command) for name, command in runs.items()}
    by_hand = rows["by hand: `load_model` and `save`"][1]
    sys.stdout.write(
        "| 100 MB | seconds | times as fast as by hand | peak memory / file |\n| --- | --- | --- | --- |\n"
    )
    for name, (size, seconds, memory) in rows.items():
        sys.stdout.write(f"| {name} | {seconds:.1f} | {by_hand / seconds:.1f} | {memory / size:.2f} |\n")
    sys.stdout.write(f"\nThe file has {rows['Keras 3 to Keras 3.8'][0] / _MEGABYTE:.0f} MB.\n")


def _measure(source: str, *command: str) -> tuple[int, float, int]:
    """Return the size of the source, the time of a command, and its peak memory in bytes."""
    start = time.perf_counter()
    done = subprocess.run([sys.executable, "-c", _RUN, *command], check=True, capture_output=True, text=True)
    seconds = time.perf_counter() - start
    return Path(source).stat().st_size, seconds, int(done.stdout) * 1024


if __name__ == "__main__":
    main()
