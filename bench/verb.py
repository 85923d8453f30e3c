"""The other verbs and start-up: `import ramet`, `show`, `verify`, `diff`, `edit`. What is not there says so."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras

import ramet
from bench.measure import interleave

NOT_THERE = "not there yet"


def measure_verbs() -> dict[str, float | str]:
    """Seconds of each verb on EfficientNetB0; of the command line, beyond the start of a bare Python."""
    model = keras.applications.EfficientNetB0(weights=None)
    twin = ramet.clone(model)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.keras"
        model.save(path)
        return {**_measure_programs(path), **_measure_calls(model, twin)}


def _measure_programs(path: Path) -> dict[str, float | str]:
    commands = {"python": ["-c", ""], "import ramet": ["-c", "import ramet"]}
    if importlib.util.find_spec("ramet._cli") is not None:
        commands["ramet show"] = ["-m", "ramet", "show", str(path)]
    seconds, _, failed = interleave({name: _running(arguments) for name, arguments in commands.items()})
    bare = seconds.pop("python")
    return {"ramet show": NOT_THERE, **{name: taken - bare for name, taken in seconds.items()}, **failed}


def _running(arguments: list[str]) -> Callable[[], Any]:
    return lambda: subprocess.run([sys.executable, *arguments], capture_output=True, check=True)


def _measure_calls(model: Any, twin: Any) -> dict[str, float | str]:
    verbs: dict[str, Callable[[], Any]] = {
        "verify": lambda: ramet.verify(model, twin),  # type: ignore[attr-defined]
        "diff": lambda: ramet.diff(model, twin),  # type: ignore[attr-defined]
        "edit": lambda: _edit(model),
    }
    there = {name: work for name, work in verbs.items() if hasattr(ramet, name)}
    seconds, _, failed = interleave(there)
    return {**dict.fromkeys(verbs, NOT_THERE), **seconds, **failed}


def _edit(model: Any) -> Any:
    from ramet import edits

    dense = ramet.of_class(keras.layers.Dense)  # type: ignore[attr-defined]
    return ramet.edit(model, edits.insert_after(dense, lambda old: keras.layers.Dropout(0.1)))  # type: ignore[attr-defined]
