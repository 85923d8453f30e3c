"""All measurements on one backend, as JSON: `KERAS_BACKEND=jax python -m bench.worker OUT [TOPIC ...]`."""

from __future__ import annotations

import importlib.metadata
import json
import sys
from pathlib import Path
from typing import Any

import keras

from bench.alternative import CLONE_MODEL, RAMET
from bench.case import CASES
from bench.measure import measure_case, measure_growth, talk
from bench.memory import measure_memory
from bench.verb import measure_verbs

MEMORY, GROWTH, VERBS = "memory", "growth", "verbs"
TOPICS = (*(case.name for case in CASES), GROWTH, MEMORY, VERBS)


def measure(topics: list[str]) -> dict[str, Any]:
    """Return the measurements of the topics on the backend of this process."""
    result: dict[str, Any] = {"backend": keras.backend.backend(), "versions": _versions(), "cases": {}}
    for case in CASES:
        if case.name in topics:
            talk(f"{result['backend']}: {case.name} ")
            result["cases"][case.name] = measure_case(case)
            talk("\n")
    if GROWTH in topics:
        talk(f"{result['backend']}: growth ")
        result[GROWTH] = measure_growth()
        talk("\n")
    if MEMORY in topics:
        talk(f"{result['backend']}: memory\n")
        result[MEMORY] = {way: measure_memory(way) for way in (RAMET, CLONE_MODEL)}
    if VERBS in topics:
        talk(f"{result['backend']}: verbs ")
        result[VERBS] = measure_verbs()
        talk("\n")
    return result


def _versions() -> dict[str, str]:
    backend = keras.backend.backend()
    packages = {"jax": ("jax",), "torch": ("torch",), "tensorflow": ("tensorflow", "tensorflow-cpu")}[backend]
    versions = {"keras": keras.__version__}
    for package in packages:
        try:
            versions[backend] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return versions


if __name__ == "__main__":
    Path(sys.argv[1]).write_text(json.dumps(measure(sys.argv[2:] or list(TOPICS))), encoding="utf-8")
