"""The other verbs and start-up: `import ramet`, `show`, `verify`, `diff`, `edit`. What fails says why."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras

import ramet
from bench.measure import interleave
from ramet import edits


def measure_verbs() -> dict[str, float | str]:
    """Seconds of each verb on EfficientNetB0; of the command line, beyond the start of a bare Python."""
    model = keras.applications.EfficientNetB0(weights=None)
    twin = ramet.clone(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        return {**_measure_programs(path), **_measure_calls(model, twin)}


def _measure_programs(path: Path) -> dict[str, float | str]:
    commands = {
        "python": ["-c", ""],
        "import ramet": ["-c", "import ramet"],
        "ramet show": ["-m", "ramet", "show", str(path)],
    }
    seconds, _, failed = interleave({name: _running(arguments) for name, arguments in commands.items()})
    bare = seconds.pop("python")
    return {**{name: taken - bare for name, taken in seconds.items()}, **failed}


def _running(arguments: list[str]) -> Callable[[], Any]:
    return lambda: subprocess.run([sys.executable, *arguments], capture_output=True, check=True)


def _measure_calls(model: Any, twin: Any) -> dict[str, float | str]:
    dense = ramet.of_class(keras.layers.Dense)
    dropout = edits.insert_after(dense, lambda old: keras.layers.Dropout(0.1))
    seconds, _, failed = interleave(
        {
            "verify": lambda: ramet.verify(model, twin),
            "diff": lambda: ramet.diff(model, twin),
            "edit": lambda: ramet.edit(model, dropout),
        }
    )
    return {**seconds, **failed}
