"""Results as JSON files, with the machine and the versions."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LATEST = HERE / "latest.json"  # the results of the last run
STORED = HERE / "stored.json"  # the results that `make bench-check` compares with


def machine() -> str:
    """Return a description of the processor and the Python version."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = [line for line in information.read_text(encoding="utf-8").splitlines() if line.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else model
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def write(results: dict[str, Any], path: Path) -> None:
    """Write results to a file."""
    path.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n", encoding="utf-8", newline="\n")


def merge(stored: dict[str, Any], results: dict[str, Any]) -> dict[str, Any]:
    """Return the stored results, updated with new ones; topics and backends that were not measured keep their values."""
    backends = dict(stored.get("backends", {}))
    for backend, result in results["backends"].items():
        before = backends.get(backend, {})
        backends[backend] = {**before, **result, "cases": {**before.get("cases", {}), **result["cases"]}}
    return {**results, "backends": backends}


def read(path: Path) -> dict[str, Any]:
    """Read results from a file."""
    return json.loads(path.read_text(encoding="utf-8"))  # type: ignore[no-any-return]
