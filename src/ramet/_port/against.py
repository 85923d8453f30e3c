"""Run the original and the ported file on the same inputs, each in a process of its own, and compare the outputs."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ramet._files import Json, walk_json
from ramet._report import Row, Section, Summarized, escape
from ramet.errors import ArgumentError, PortError

TOLERANCE = 1e-4
_SCRIPT = Path(__file__).with_name("run_model.py")
_LONGEST = 300
_ERROR = re.compile(r"[\w.]*(Error|Exception)\b.*:")


@dataclass(frozen=True, slots=True, repr=False)
class Comparison(Summarized):
    """The outputs of two files on the same random inputs.

    Attributes:
        against: What ran the other file: "tf_keras", or the path of a Python.
        differences: For each output, the largest difference relative to the largest value.
    """

    against: str
    differences: tuple[float, ...]

    @property
    def is_equal(self) -> bool:
        """Whether all outputs are equal, apart from rounding."""
        return all(one <= TOLERANCE for one in self.differences)

    def _summary(self) -> str:
        return f"against {self.against}: {'equal' if self.is_equal else 'different'}"

    def section(self) -> Section:
        """Return the comparison as a part of a report."""
        rows = tuple(
            Row(
                (f"output {number}", f"largest relative difference: {one:.1e}"),
                mark="✓" if one <= TOLERANCE else "✗",
                style="good" if one <= TOLERANCE else "bad",
            )
            for number, one in enumerate(self.differences)
        )
        words = "equal outputs" if self.is_equal else "different outputs"
        return Section(f"Compared with {self.against}: {words}", rows, style="good" if self.is_equal else "bad")

    def fields(self) -> dict[str, Any]:
        """Return the comparison for JSON."""
        return {"against": self.against, "equal": self.is_equal, "differences": list(self.differences)}


def check_python(against: str) -> None:
    """Raise `ArgumentError` if there is nothing that could run the other file.

    Args:
        against: "tf_keras", or the path of a Python.
    """
    if against == "tf_keras":
        if importlib.util.find_spec("tf_keras") is None:
            raise ArgumentError("Cannot compare with tf_keras: it is not installed.", fix="pip install tf_keras.")
    elif shutil.which(against) is None:
        reason = "it is not a program" if os.path.exists(against) else "no such file or directory"  # noqa: PTH110
        raise ArgumentError(
            f"Cannot compare with '{escape(against)}': {reason}.",
            expected="tf_keras, or the path of a Python in which another version of Keras is installed",
            fix="for example --against tf_keras, or --against old-env/bin/python.",
        )


def compare(
    source: Path,
    target: Path,
    *,
    config: Json,
    against: str,
    is_source_old: bool,
    weights: Path | None,
    backend: str | None,
    modules: Sequence[str],
    trusted: bool,
) -> Comparison:
    """Run both files and compare their outputs.

    Args:
        source: The original.
        target: The ported file.
        config: The config of the original, which shows the sizes of embeddings.
        against: "tf_keras", or the path of a Python with the version of Keras that is not the installed one.
        is_source_old: Whether `against` runs the original; otherwise it runs the ported file.
        weights: The weights of the original, if they are in another file.
        backend: The backend of the installed Keras, or None for the configured one.
        modules: Modules to import before the installed Keras loads its file.
        trusted: Whether code in the original may run.
    """
    other = {"library": "tf_keras"} if against == "tf_keras" else {"library": "keras"}
    python = sys.executable if against == "tf_keras" else against
    with tempfile.TemporaryDirectory(prefix="ramet-port-") as folder:
        common = {
            "inputs": str(Path(folder) / "in.npz"),
            "largest": embedding_sizes(config),
            "padding": _padding(config),
        }
        original = common | {"model": str(source), "weights": str(weights) if weights else None, "trusted": trusted}
        ported = common | {"model": str(target)}
        installed = {"library": "keras", "modules": list(modules)}
        here = (sys.executable, (ported if is_source_old else original) | installed)
        there = (python, (original if is_source_old else ported) | other)
        # The first one makes the inputs. The newer file knows more of their sizes.
        answers = [_run(*one, folder, backend) for one in (here, there)]
    first, second = reversed(answers) if is_source_old else answers
    return Comparison(against, _differences(first, second))


def _run(python: str, request: dict[str, Any], folder: str, backend: str | None) -> list[Any]:
    import numpy as np

    number = len(list(Path(folder).glob("request*")))
    outputs = Path(folder) / f"out{number}.npz"
    file = Path(folder) / f"request{number}.json"
    file.write_text(json.dumps(request | {"outputs": str(outputs)}), encoding="utf-8")
    environment = dict(os.environ)
    if backend and request["library"] == "keras":
        environment["KERAS_BACKEND"] = backend
    try:
        done = subprocess.run(
            [python, str(_SCRIPT), str(file)], env=environment, capture_output=True, text=True, check=False, timeout=900
        )
    except OSError as error:
        raise ArgumentError(
            f"Cannot compare with '{escape(python)}': {error.strerror}.",
            expected="tf_keras, or the path of a Python in which another version of Keras is installed",
            fix="for example --against tf_keras, or --against old-env/bin/python.",
        ) from error
    if done.returncode:
        lines = [" ".join(line.split()) for line in done.stderr.splitlines() if line.strip()]
        errors = [line for line in lines if _ERROR.match(line)]
        last = (errors or lines or [f"exit code {done.returncode}"])[-1]
        runner = request["library"] if python == sys.executable else f"the Python '{escape(python)}'"
        raise PortError(
            f"Cannot run '{escape(Path(request['model']).name)}' with {runner}: it raised an error.",
            found=escape(last[:_LONGEST]),
            fix="the file was written; load it yourself to see the whole error.",
        )
    with np.load(outputs, allow_pickle=False) as stored:
        return [stored[f"out_{index}"] for index in range(len(stored.files))]


def _differences(first: list[Any], second: list[Any]) -> tuple[float, ...]:
    import numpy as np

    if len(first) != len(second) or any(one.shape != two.shape for one, two in zip(first, second, strict=True)):
        return (float("inf"),)
    found = []
    for one, two in zip(first, second, strict=True):
        if one.dtype.kind not in "fiub":
            found.append(0.0 if np.array_equal(one, two) else float("inf"))
            continue
        a, b = one.astype("float64"), two.astype("float64")
        same = (a == b) | (np.isnan(a) & np.isnan(b))
        gap = np.where(same, 0.0, np.abs(a - b))
        largest = np.max(np.abs(a[np.isfinite(a)]), initial=1e-6)
        found.append(float(np.max(np.nan_to_num(gap, nan=np.inf), initial=0.0) / largest))
    return tuple(found)


def _padding(config: Json) -> Any:
    """Return the value that a model masks; None if it masks nothing."""
    for item in walk_json(config):
        settings = item.get("config") if isinstance(item, dict) else None
        if isinstance(settings, dict) and item.get("class_name") == "Masking":
            return settings.get("mask_value", 0.0)
        if isinstance(settings, dict) and settings.get("mask_zero") is True:
            return 0
    return None


def embedding_sizes(config: Json) -> dict[str, int]:
    """Return the number of rows of the smallest embedding for every input, by its number, if there is an embedding."""
    sizes = [
        item["config"].get("input_dim")
        for item in walk_json(config)
        if isinstance(item, dict) and item.get("class_name") == "Embedding" and isinstance(item.get("config"), dict)
    ]
    whole = [size for size in sizes if type(size) is int and size > 0]
    if not whole:
        return {}
    inputs = config.get("config", {}) if isinstance(config, dict) else {}
    layers = inputs.get("layers", []) if isinstance(inputs, dict) else inputs
    reads: dict[str, int] = {}
    names = [
        layer.get("name") or layer.get("config", {}).get("name")
        for layer in layers
        if isinstance(layer, dict) and layer.get("class_name") == "InputLayer"
    ]
    for layer in layers:
        if isinstance(layer, dict) and layer.get("class_name") == "Embedding":
            text = json.dumps(layer.get("inbound_nodes", []))
            for number, name in enumerate(names):
                if f'"{name}"' in text:
                    reads[str(number)] = min(whole)
    if not reads:
        reads["0"] = min(whole)
    return reads
