"""Results as JSON: what was measured, where, and with which versions."""

from __future__ import annotations

import json
import os
import platform
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
LATEST = HERE / "latest.json"  # what the last run measured
STORED = HERE / "stored.json"  # what `make bench-check` compares with


def machine() -> str:
    """The processor and the Python, in words."""
    model = platform.processor() or platform.machine()
    information = Path("/proc/cpuinfo")
    if information.exists():
        lines = [line for line in information.read_text().splitlines() if line.startswith("model name")]
        model = lines[0].partition(":")[2].strip() if lines else model
    return f"{model}, {os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}"


def write(results: dict[str, Any], path: Path) -> None:
    """Write results to a file."""
    path.write_text(json.dumps(results, indent=1, sort_keys=True) + "\n")


def merge(stored: dict[str, Any], results: dict[str, Any]) -> dict[str, Any]:
    """The stored results with what was measured now in their place; topics and backends not measured now stay."""
    backends = dict(stored.get("backends", {}))
    for backend, result in results["backends"].items():
        before = backends.get(backend, {})
        backends[backend] = {**before, **result, "cases": {**before.get("cases", {}), **result["cases"]}}
    return {**results, "backends": backends}


def read(path: Path) -> dict[str, Any]:
    """Read results from a file."""
    return json.loads(path.read_text())  # type: ignore[no-any-return]
