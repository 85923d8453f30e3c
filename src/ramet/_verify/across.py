"""One file on several backends: one process each, the same inputs, outputs compared within a tolerance."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ramet._files import read_archive
from ramet._verify.compare import Tolerance
from ramet._verify.findings import Findings
from ramet._verify.report import Check, Report
from ramet._verify.run import compare_by_path
from ramet.errors import ArgumentError

BACKENDS = ("jax", "torch", "tensorflow")
# Backends add in different orders: of the largest number, a part in ten thousand for float32, and more for halves.
TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}
_SECONDS = 600
WORKER = ("ramet._verify.worker",)


def check_request(path: Path, backends: list[str]) -> None:
    """Refuse a backend that does not exist, and a file that is not there."""
    for name in backends:
        if name not in BACKENDS:
            raise ArgumentError(
                f"Cannot verify on the backend {name!r}: Keras has none of that name that ramet knows.",
                expected=", ".join(BACKENDS),
                fix="use these names.",
            )
    if not path.is_file():
        raise ArgumentError(f"Cannot verify '{path}': there is no such file.", fix="save the model there first.")


def verify_across(
    path: Path, backends: list[str], tolerance: Tolerance, seed: int, worker: Sequence[str] = WORKER
) -> Report:
    """A check for each backend after the first that could run, against that one.

    Args:
        path: Of the file.
        backends: Their names.
        tolerance: How far outputs may be apart.
        seed: Of the inputs.
        worker: The module that loads and runs the file, and arguments for it.
    """
    check_request(path, backends)
    tolerance = TOLERANCE if tolerance is None else tolerance
    checks: list[Check] = []
    first: tuple[str, dict[str, list[Any]]] | None = None
    with tempfile.TemporaryDirectory() as folder:
        inputs = Path(folder) / "inputs.npz"
        for name in backends:
            outputs = _run(path, name, inputs, Path(folder) / f"{name}.npz", seed, worker)
            if isinstance(outputs, str):
                checks.append(Check(name, "not run", reason=outputs))
            elif first is None:
                first = name, outputs
                checks.append(
                    Check(name, "passed", summary=f"{len(outputs)} outputs; the others are compared with them")
                )
            else:
                checks.append(_compare(name, first, outputs, tolerance))
    with read_archive(path) as file:
        graphs = file.graph, file.graph
    about = f"one file on {', '.join(backends)}, compared within {tolerance}"
    return Report(path.name, path.name, tuple(checks), about, graphs)


def _compare(
    name: str, first: tuple[str, dict[str, list[Any]]], outputs: dict[str, list[Any]], tolerance: Tolerance
) -> Check:
    findings = Findings(name)
    for difference in compare_by_path(first[1], outputs, tolerance):
        findings.add(difference)
    findings.count("outputs", len(outputs))
    return findings.check(f"{len(outputs)} outputs as on {first[0]}, within the tolerance")


def _run(
    path: Path, backend: str, inputs: Path, outputs: Path, seed: int, worker: Sequence[str]
) -> dict[str, list[Any]] | str:
    """The outputs by path, or why there are none."""
    if importlib.util.find_spec(backend) is None:
        return f"{backend} is not installed"
    # -P: nothing is imported from the current folder.
    command = [sys.executable, "-P", "-m", *worker, str(path), str(inputs), str(outputs), str(seed)]
    environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    try:
        done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"it took more than {_SECONDS} seconds"
    if done.returncode != 0 or not outputs.is_file():
        lines = [line for line in done.stderr.strip().split("\n") if line.strip()]
        return lines[-1][:200] if lines else f"the process ended with code {done.returncode}"
    with np.load(outputs, allow_pickle=False) as held:
        found: dict[str, list[Any]] = {}
        for key in held.files:
            found.setdefault(key.rpartition("@")[0], []).append(held[key])
    return found
