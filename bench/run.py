"""Running the measurements in one process per backend, and collecting their results."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from bench.ratio import BACKENDS
from bench.store import machine

# On the CPU, without log messages at startup; oneDNN is off, because TensorFlow announces it and no copy uses it.
QUIET = {
    "CUDA_VISIBLE_DEVICES": "-1",
    "JAX_PLATFORMS": "cpu",
    "TF_CPP_MIN_LOG_LEVEL": "3",
    "TF_ENABLE_ONEDNN_OPTS": "0",
}


def measure_backends(backends: tuple[str, ...] = BACKENDS, topics: tuple[str, ...] = ()) -> dict[str, Any]:
    """Return all measurements, or those of some topics, on each backend."""
    results: dict[str, Any] = {"machine": machine(), "backends": {}}
    for backend in backends:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "result.json"
            command = [sys.executable, "-m", "bench.worker", str(path), *topics]
            subprocess.run(command, check=True, env={**os.environ, **QUIET, "KERAS_BACKEND": backend})
            results["backends"][backend] = json.loads(path.read_text(encoding="utf-8"))
    return results
