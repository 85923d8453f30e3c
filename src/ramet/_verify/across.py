"""One file on several backends: a process for each, the same inputs, outputs compared within a tolerance.

Keras runs on one backend per process. `verify_across` starts the processes and compares their outputs; `run_worker` is what
they run.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import keras
import numpy as np

from ramet._arguments import check_backend
from ramet._files import open_model_file
from ramet._keras import arrays_of, load_copy
from ramet._verify.compare import Tolerance, compare_by_path, measured
from ramet._verify.findings import Findings, NotRun
from ramet._verify.inputs import Case, signatures_of
from ramet._verify.pair import Pair
from ramet._verify.report import Check, Report
from ramet.errors import ArgumentError

# Relative to the largest number. Adding in another order changes the last bits, and a few more in deep networks and in half
# precision.
TOLERANCE = {"float64": 1e-9, "float32": 1e-4, "float16": 1e-2, "bfloat16": 5e-2}
_SECONDS = 600
_WORKER = ("from ramet._verify import run_worker; run_worker()",)


def check_backends(path: Path, backends: list[str]) -> None:
    """Raise an error if a backend is unknown or not installed, if there is only one, or if the file does not exist."""
    for name in backends:
        check_backend("verify on", name)
    if len(set(backends)) < 2:
        raise ArgumentError(
            f"Cannot verify one file on {f'{backends[0]} alone' if backends else 'no backend'}: its outputs are compared "
            "between backends.",
            expected="at least two backends",
            fix="name another backend, or pass two models.",
        )
    if not path.is_file():
        raise ArgumentError(f"Cannot verify '{path}': the file does not exist.", fix="save the model there first.")


def verify_across(
    path: Path, backends: list[str], tolerance: Tolerance, seed: int, worker: Sequence[str] = _WORKER
) -> Report:
    """Compare each backend with the first one that could run, and return a report with a check for each.

    A backend that cannot load or run the file is a failed check: elsewhere, the file works. The tolerance None is the default
    of each dtype. `worker` is Python code that calls `run_worker`, and further arguments.
    """
    check_backends(path, backends)
    tolerance = TOLERANCE if tolerance is None else tolerance
    checks: list[Check] = []
    first: tuple[str, dict[str, list[Any]]] | None = None
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        inputs = Path(folder) / "inputs.npz"
        for name in backends:
            outputs = _run(path, name, inputs, Path(folder) / f"{name}.npz", seed, worker)
            if isinstance(outputs, str):
                checks.append(Check(name, "failed", summary=f"the file cannot be run: {outputs}"))
            elif first is None:
                first = name, outputs
                summary = f"{len(outputs)} outputs, with which the other backends are compared"
                checks.append(Check(name, "passed", summary=summary))
            else:
                findings = Findings(name)
                findings.add(compare_by_path(first[1], outputs, measured(tolerance)))
                findings.count("outputs", len(outputs))
                checks.append(findings.check(f"{len(outputs)} outputs are as on {first[0]}, within the tolerance"))
    with open_model_file(path) as file:
        graphs = file.graph, file.graph
    about = f"one file on {', '.join(backends)}, compared within {tolerance}"
    return Report(path.name, path.name, tuple(checks), about, graphs, proves="outputs")


def _run(
    path: Path, backend: str, inputs: Path, outputs: Path, seed: int, worker: Sequence[str]
) -> dict[str, list[Any]] | str:
    """Return the outputs by path, or the reason why there are none."""
    # -P: nothing is imported from the current folder.
    command = [sys.executable, "-P", "-c", *worker, str(path), str(inputs), str(outputs), str(seed)]
    environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
    try:
        # Libraries write messages in any encoding.
        done = subprocess.run(
            command, env=environment, capture_output=True, errors="replace", timeout=_SECONDS, check=False
        )
    except subprocess.TimeoutExpired:
        return f"the process took more than {_SECONDS} seconds"
    if done.returncode != 0 or not outputs.is_file():
        lines = [line for line in done.stderr.strip().split("\n") if line.strip()]
        return lines[-1][:200] if lines else f"the process ended with code {done.returncode}"
    with np.load(outputs, allow_pickle=False) as held:
        found: dict[str, list[Any]] = {}
        for key in held.files:
            found.setdefault(key.rpartition("@")[0], []).append(held[key])
    return found


def run_worker(arguments: Sequence[str] | None = None, load: Callable[[Path], Any] = load_copy) -> None:
    """Load a file, run every case, and write the outputs. The first process also writes the inputs for the others.

    The arguments are the path of the file, those of the inputs and outputs, and the seed; by default those of this process.
    """
    path, inputs, outputs, seed = arguments or sys.argv[1:]
    try:
        _write_outputs(load(Path(path)), Path(inputs), Path(outputs), int(seed))
    except NotRun as reason:
        sys.exit(str(reason))


def _write_outputs(model: Any, inputs: Path, outputs: Path, seed: int) -> None:
    pair = Pair(model, model, seed=seed)
    if inputs.is_file():
        cases = _read_cases(pair, inputs)
    else:
        cases = [case for case in pair.cases if case.name != "extremes"]
        _write_cases(cases, inputs)
    found: dict[str, Any] = {}
    for case in cases:
        result = pair.result(pair.ours, case)
        if result.error is not None:
            raise result.error
        for place, arrays in result.outputs.items():
            for number, array in enumerate(arrays):
                # Files support NumPy's own dtypes only; widening the others loses nothing.
                saved = array if array.dtype.kind in "biufcUS" else array.astype("float32")
                found[f"{case.name}: {place}@{number}"] = saved
    np.savez(outputs, **found)


def _write_cases(cases: list[Case], path: Path) -> None:
    arrays: dict[str, Any] = {}
    for case in cases:
        for number, value in enumerate(keras.tree.flatten((case.args, case.kwargs))):
            if value is not None:
                arrays[f"{case.name}@{number}"] = arrays_of(value)[0]
    np.savez(path, **arrays)


def _read_cases(pair: Pair, path: Path) -> list[Case]:
    """Return the cases of the first process, in the structure of this model's inputs."""
    signature = signatures_of(pair.ours.model, pair.ours.locations)[0]
    cases = []
    with np.load(path, allow_pickle=False) as held:
        for name in dict.fromkeys(key.rpartition("@")[0] for key in held.files):
            flat = [held.get(f"{name}@{number}") for number in range(len(signature.leaves()))]
            args, kwargs = keras.tree.pack_sequence_as((signature.args, signature.kwargs), flat)
            cases.append(Case(name, tuple(args), dict(kwargs)))
    return cases
